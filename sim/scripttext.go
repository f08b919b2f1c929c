package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// ScriptHeader is the first line of a script.
const ScriptHeader = "holdfast script 1"

// Below separates a script from the outcome with which it was written.
const below = "----"

// usualScript returns the default settings of a script.
func usualScript() Script {
	return Script{
		Members: 3, Clients: 1, Workers: 1, Cells: cellNames[0], Duration: 20 * time.Second,
		TTL: time.Second, Lease: 3 * time.Second, Drift: 0.05,
	}
}

// setting is a line of a script's settings.
type setting struct {
	name  string
	value func(*Script) string
	set   func(*Script, string) error
	shown bool // always, and not only if it differs from the default
}

func settingsOfScripts() []setting {
	text := func(name string, at func(*Script) *string, shown bool) setting {
		return setting{name, func(s *Script) string { return *at(s) }, func(s *Script, v string) error {
			*at(s) = v
			return nil
		}, shown}
	}
	number := func(name string, at func(*Script) *int, shown bool) setting {
		return setting{name, func(s *Script) string { return strconv.Itoa(*at(s)) }, func(s *Script, v string) (err error) {
			if *at(s), err = strconv.Atoi(v); err != nil {
				return fmt.Errorf("a number like 3 is allowed")
			}
			return nil
		}, shown}
	}
	length := func(name string, at func(*Script) *time.Duration, shown bool) setting {
		return setting{name, func(s *Script) string { return at(s).String() }, func(s *Script, v string) (err error) {
			if *at(s), err = time.ParseDuration(v); err != nil {
				return fmt.Errorf("a duration like 20s or 300ms is allowed")
			}
			return nil
		}, shown}
	}
	flag := func(name string, at func(*Script) *bool) setting {
		return setting{name, func(s *Script) string { return flagValue(*at(s)).String() }, func(s *Script, v string) error {
			if v != "yes" && v != "no" {
				return fmt.Errorf("yes or no is allowed")
			}
			*at(s) = v == "yes"
			return nil
		}, false}
	}
	return slices.Concat([]setting{
		text("protocol", func(s *Script) *string { return &s.Protocol }, true),
		text("without", func(s *Script) *string { return &s.Without }, false),
		number("members", func(s *Script) *int { return &s.Members }, true),
		number("founders", func(s *Script) *int { return &s.Founders }, false),
		{"faults", func(s *Script) string { return s.Faults.String() }, setFaults, false},
		flag("one-crash", func(s *Script) *bool { return &s.Once }),
		flag("survivors-keep-locks", func(s *Script) *bool { return &s.Survive }),
		{"cells", func(s *Script) string { return s.Cells }, setCells, false},
		number("clients", func(s *Script) *int { return &s.Clients }, true),
		number("workers", func(s *Script) *int { return &s.Workers }, false),
		number("visitors", func(s *Script) *int { return &s.Visitors }, false),
		flag("heir", func(s *Script) *bool { return &s.Heir }),
		flag("heir-squanders", func(s *Script) *bool { return &s.Squanders }),
		number("crowd", func(s *Script) *int { return &s.Crowd }, false),
		number("willing", func(s *Script) *int { return &s.Willing }, false),
		flag("observer", func(s *Script) *bool { return &s.Observer }),
		flag("gatherers", func(s *Script) *bool { return &s.Gatherers }),
		flag("busy", func(s *Script) *bool { return &s.Busy }),
		flag("costs", func(s *Script) *bool { return &s.Costs }),
		flag("users-within-members", func(s *Script) *bool { return &s.Locals }),
		{"names", formatNames, setNames, false},
		length("ttl", func(s *Script) *time.Duration { return &s.TTL }, false),
		length("duration", func(s *Script) *time.Duration { return &s.Duration }, true),
		length("lease", func(s *Script) *time.Duration { return &s.Lease }, false),
		{"drift", func(s *Script) string { return strconv.FormatFloat(s.Drift, 'g', -1, 64) }, setDrift, false},
		number("waiters_per_name", func(s *Script) *int { return &s.Waiters }, false),
		number("locks_per_session", func(s *Script) *int { return &s.LocksPerSession }, false),
		number("sessions", func(s *Script) *int { return &s.Sessions }, false),
		number("quota_locks", func(s *Script) *int { return &s.Quota }, false),
		{"options", func(s *Script) string { return s.Options.String() }, setOptions, false},
		flag("store-ttl", func(s *Script) *bool { return &s.StoreTTL }),
		flag("store-watch", func(s *Script) *bool { return &s.StoreWatch }),
		flag("store-ends", func(s *Script) *bool { return &s.StoreEnds }),
	}, settingsOfFar(length))
}

// settingsOfFar are the settings for the distance between members.
func settingsOfFar(length func(name string, at func(*Script) *time.Duration, shown bool) setting) []setting {
	return []setting{
		length("far", func(s *Script) *time.Duration { return &s.Far }, false),
		length("far-from", func(s *Script) *time.Duration { return &s.FarFrom }, false),
		length("far-until", func(s *Script) *time.Duration { return &s.FarUntil }, false),
	}
}

// setOptions reads NAME=VALUE[,NAME=VALUE…].
func setOptions(s *Script, v string) error {
	s.Options = option.Values{}
	for part := range strings.SplitSeq(v, ",") {
		name, value, valued := strings.Cut(part, "=")
		if _, given := s.Options[name]; !valued || given {
			return fmt.Errorf("options like placement=10s,hold_on=1m are allowed, each once")
		}
		s.Options[name] = value
	}
	return nil
}

func setFaults(s *Script, v string) (err error) {
	s.Faults, err = ParseFaults(v)
	return err
}

func setCells(s *Script, v string) error {
	if !slices.Contains(cellNames[:], v) {
		return fmt.Errorf("one of %s is allowed", strings.Join(cellNames[:], ", "))
	}
	s.Cells = v
	return nil
}

func setDrift(s *Script, v string) (err error) {
	if s.Drift, err = strconv.ParseFloat(v, 64); err != nil {
		return fmt.Errorf("a number like 0.05 is allowed")
	}
	return nil
}

func formatNames(s *Script) string {
	var all []string
	for _, n := range s.Names {
		text := n.Name
		if n.Use != holdfast.ModeExclusive {
			text += "/" + n.Use.String()
		}
		if n.Capacity != 0 {
			text += "/" + strconv.Itoa(n.Capacity)
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func setNames(s *Script, v string) error {
	s.Names = nil
	for _, text := range strings.Fields(v) {
		parts := strings.Split(text, "/")
		n := Name{Name: parts[0]}
		wrong := fmt.Errorf("names like n0, n1/shared and n2/slots/3 are allowed, each once")
		if n.Name == "" || slices.ContainsFunc(s.Names, func(o Name) bool { return o.Name == n.Name }) {
			return wrong
		}
		switch {
		case len(parts) == 1:
		case len(parts) == 2 && parts[1] == holdfast.ModeShared.String():
			n.Use = holdfast.ModeShared
		case len(parts) == 3 && parts[1] == holdfast.ModeSlots.String():
			capacity, err := strconv.Atoi(parts[2])
			if err != nil || capacity < 1 || capacity > 1000 {
				return wrong
			}
			n.Use, n.Capacity = holdfast.ModeSlots, capacity
		default:
			return wrong
		}
		s.Names = append(s.Names, n)
	}
	return nil
}

// sections are the parts of a script for its readers; a choice means the same in each.
var sections = [...]string{"settings", "faults", "processes", "users", "messages"}

// section returns the section for a choice.
func (c *Choice) section() string {
	switch {
	case c.who == "":
		return "faults"
	case strings.Contains(c.who, "→"):
		return "messages"
	case c.what == "call":
		return "users"
	}
	return "processes"
}

// String is the script as in a file, without its outcome.
func (s *Script) String() string {
	var b strings.Builder
	b.WriteString(ScriptHeader + "\n\n[settings]\n")
	usual := usualScript()
	usual.Founders = s.Members
	for _, set := range settingsOfScripts() {
		if v := set.value(s); set.shown || v != set.value(&usual) {
			b.WriteString(set.name + " " + v + "\n")
		}
	}
	for _, section := range sections[1:] {
		first := true
		for i := range s.Choices {
			if c := &s.Choices[i]; c.section() == section {
				if first {
					b.WriteString("\n[" + section + "]\n")
				}
				first = false
				b.WriteString(c.String() + "\n")
			}
		}
	}
	return b.String()
}

// ParseScript reads a script, and returns the text below it: the verdict and the transcript with which it was written.
// The error names the line, the mistake and the allowed values.
func ParseScript(text string) (s *Script, golden string, err error) {
	text, golden, _ = strings.Cut(text, "\n"+below+"\n")
	usual := usualScript()
	s = &usual
	r := scriptReader{script: s, settings: settingsOfScripts(), seen: map[string]int{}}
	for i, line := range strings.Split(text, "\n") {
		if err := r.line(i+1, strings.TrimSpace(line)); err != nil {
			return nil, "", fmt.Errorf("script line %d: %w", i+1, err)
		}
	}
	if s.Protocol == "" {
		return nil, "", fmt.Errorf("script: no protocol; a line like %q belongs under [settings]", "protocol central")
	}
	if s.Founders == 0 {
		s.Founders = s.Members
	}
	return s, golden, nil
}

// scriptReader reads the lines of a script.
type scriptReader struct {
	script   *Script
	settings []setting
	section  string
	seen     map[string]int // the line of each key
}

func (r *scriptReader) line(number int, line string) error {
	switch {
	case number == 1:
		if line != ScriptHeader {
			return fmt.Errorf("%q is no script of this version; the first line must be %q", line, ScriptHeader)
		}
	case line == "" || strings.HasPrefix(line, "#"):
	case strings.HasPrefix(line, "["):
		name := strings.Trim(line, "[]")
		if line != "["+name+"]" || !slices.Contains(sections[:], name) {
			return fmt.Errorf("%s is no section; [%s] are", line, strings.Join(sections[:], "], ["))
		}
		r.section = name
	case r.section == "":
		return fmt.Errorf("%q is in no section; begin with [settings]", line)
	case r.section == sections[0]:
		return r.setting(number, line)
	default:
		c, err := parseChoice(line)
		if err != nil {
			return err
		}
		r.script.Choices = append(r.script.Choices, c)
		return r.once(number, c.Key())
	}
	return nil
}

func (r *scriptReader) setting(number int, line string) error {
	name, value, _ := strings.Cut(line, " ")
	value = strings.TrimSpace(value)
	var names []string
	for _, known := range r.settings {
		if known.name != name {
			names = append(names, known.name)
			continue
		}
		if value == "" {
			return fmt.Errorf("%s has no value", name)
		}
		if err := known.set(r.script, value); err != nil {
			return fmt.Errorf("%s %q: %w", name, value, err)
		}
		return r.once(number, name)
	}
	return fmt.Errorf("%q is no setting; %s are", name, strings.Join(names, ", "))
}

// once refuses a second line for the same key.
func (r *scriptReader) once(number int, key string) error {
	if before := r.seen[key]; before > 0 {
		return fmt.Errorf("%s is in line %d already; give it once", key, before)
	}
	r.seen[key] = number
	return nil
}
