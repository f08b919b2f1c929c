package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
)

const spaceSyntax = "NAME=PROTOCOL[,option=value…]"

// usual is the protocol that complaints suggest, and that the default space has in memory.
const usual = "central"

// served are the names of the protocols that this version serves.
func served() []string {
	return []string{usual, "grantor", "permission", "bakery", "claim", durable}
}

// durable is the protocol that keeps its locks on the disk. The default space has it where nothing else is configured.
const durable = "consensus"

// option is something that a space may set, and the words for its values, the default
// first. With usual it may also be a length of time, and the word on stands for that one;
// with timed a length of time too, without such a word; with most a whole number from 1 to
// that; with text any that it finds nothing wrong with. Where there are no words, left says
// what holds when it is left out.
type option struct {
	name     string
	keywords []string
	usual    time.Duration
	timed    bool
	span     span // of lengths of time; zero means optionSpan
	most     int
	text     func(string) *flaw
	says     string // what text allows
	left     string
	alone    bool // its name alone stands for true
	// refused says of words that another protocol takes why this one does not.
	refused map[string]flaw
}

// optionSpan is which lengths of time an option may be.
var optionSpan = span{time.Second, time.Hour}

// optionsOf are those of a protocol that is served: on a partition only the side with a
// quorum grants (primary), or every side does (any); with preempt the member with the
// highest id coordinates. What placement and hold_on do, and the lengths that on stands
// for, package protocol/grantor says; what defer, retain and capacity do, package
// protocol/permission; what messages and grace do, package protocol/bakery; what shards and
// autopilot do, package protocol/consensus. Those of claim are claimOptions.
func optionsOf(protocol string) []option {
	options := []option{
		{name: "partition", keywords: []string{"primary", "any"}},
		{name: "preempt", keywords: []string{"false", "true"}},
	}
	switch protocol {
	case "grantor":
		options = append(options,
			option{name: "placement", keywords: []string{"off", "on"}, usual: 10 * time.Second},
			option{name: "hold_on", keywords: []string{"off", "on"}, usual: time.Minute})
	case "permission":
		options[0] = option{name: "partition", keywords: []string{"primary"}, refused: map[string]flaw{"any": {
			"no member could merge what the sides of a partition have granted",
			"leave it out for primary, or use protocol central or grantor",
		}}}
		options = append(options,
			option{name: "defer", keywords: []string{"false", "true"}},
			option{name: "retain", keywords: []string{"false", "true"}},
			option{name: "capacity", keywords: []string{"off"}, most: holdfast.MaxCapacity})
	case "bakery":
		options[0] = option{name: "partition", keywords: []string{"primary"}, refused: map[string]flaw{"any": {
			"a lock is decided by a majority of the leaders",
			"leave it out for primary, or use protocol central or grantor",
		}}}
		options = append(options,
			option{name: "messages", keywords: []string{"merged", "published"}},
			option{name: "grace", keywords: []string{"0", "snaplock"}, timed: true})
	case durable:
		options[0] = option{name: "partition", keywords: []string{"primary"}, refused: map[string]flaw{"any": {
			"a lock is decided by a majority of the voters",
			"leave it out for primary, or use protocol central or grantor",
		}}}
		options[1] = option{name: "preempt", keywords: []string{"false"}, refused: map[string]flaw{"true": {
			"no coordinator decides its locks", "leave it out for false",
		}}}
		options = append(options,
			option{name: "shards", most: consensus.MaxShards, left: "1"},
			option{name: "autopilot", keywords: []string{"1h", "off"}, timed: true, span: span{consensus.LeastAutopilot, 30 * 24 * time.Hour}})
	case "claim":
		options[0] = option{name: "partition", keywords: []string{"primary"}, refused: map[string]flaw{"any": {
			"the store decides, which has no sides",
			"leave it out for primary, or use protocol central or grantor",
		}}}
		options = append(options, claimOptions()...)
	}
	return options
}

// allowed says what the option may be.
func (o *option) allowed() string {
	allowed := slices.Clone(o.keywords)
	if o.isTime() {
		allowed = append(allowed, o.spans().String())
	}
	if o.most != 0 {
		allowed = append(allowed, fmt.Sprintf("1 to %d", o.most))
	}
	if o.text != nil {
		allowed = append(allowed, o.says)
	}
	return strings.Join(allowed, ", ")
}

// spans is which lengths of time it may be.
func (o *option) spans() span { return cmp.Or(o.span, optionSpan) }

// unset is what holds where the option is left out.
func (o *option) unset() string {
	if len(o.keywords) == 0 {
		return o.left
	}
	return o.keywords[0]
}

// isTime reports whether the option may be a length of time.
func (o *option) isTime() bool { return o.timed || o.usual != 0 }

// judge says what is wrong with a value; the flaw of one that is none at all needs no words.
func (o *option) judge(value string) *flaw {
	if slices.Contains(o.keywords, value) {
		return nil
	}
	if wrong, known := o.refused[value]; known {
		return &wrong
	}
	if o.text != nil {
		return o.text(value)
	}
	if _, err := strconv.Atoi(value); err == nil && o.most != 0 {
		_, wrong := readCount(value, 1, o.most)
		return wrong
	}
	_, err := time.ParseDuration(value)
	if !o.isTime() || err != nil {
		return &flaw{"", suggest(value, o.keywords, "leave it out for "+o.unset())}
	}
	_, wrong := readDuration(value, o.spans(), formatDuration(o.usual))
	return wrong
}

// String is the space as the command line spells it, without passwords.
func (s Space) String() string {
	var b strings.Builder
	b.WriteString(hushed(s.Name) + "=" + hushed(s.Protocol))
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		b.WriteString("," + hushed(name) + "=" + redacted(name, s.Options[name]))
	}
	return b.String()
}

// addSpaces adds the spaces of a flag or a variable to a layer.
func (l *loader) addSpaces(y layer, text, origin string) {
	for item := range strings.SplitSeq(text, ";") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue // a semicolon at the end, or a variable set to nothing
		}
		space, wrong := readSpace(item)
		if wrong != nil {
			l.complain(Problem{"spaces", quote(redactedItem(item)), origin, wrong.wrong, spaceSyntax, wrong.fix})
			continue
		}
		l.addSpace(y, space, origin)
	}
}

// addSpace adds one space to a layer, unless its name will not do.
func (l *loader) addSpace(y layer, space Space, origin string) {
	if err := holdfast.CheckSpace(space.Name); err != nil {
		l.complain(Problem{"spaces", quote(space.String()), origin, hushed(err.Error()), spaceSyntax, "give the space another name"})
		return
	}
	if !y.setSpace(setting{Space: space, Origin: origin}) {
		l.complain(Problem{"spaces." + space.Name, quote(space.String()), origin, "the space is given twice", "", "give each space once"})
	}
}

// readSpace reads NAME=PROTOCOL[,option=value…].
func readSpace(text string) (Space, *flaw) {
	name, rest, found := strings.Cut(text, "=")
	if !found {
		return Space{}, &flaw{"it names no protocol", "write it as in " + oneLine(text+"="+usual)}
	}
	protocol, more, others := strings.Cut(rest, ",")
	space := Space{Name: strings.TrimSpace(name), Protocol: strings.TrimSpace(protocol)}
	if !others {
		return space, nil
	}
	for _, part := range splitOptions(space.Protocol, more) {
		name, value, found := strings.Cut(part, "=")
		alone := slices.ContainsFunc(optionsOf(space.Protocol), func(o option) bool { return o.alone && o.name == strings.TrimSpace(part) })
		switch {
		case alone:
			value = "true"
		case !found:
			return Space{}, &flaw{"its option " + quote(hushed(part)) + " has no value", "write option=value"}
		}
		if wrong := space.setOption(strings.TrimSpace(name), strings.TrimSpace(value)); wrong != nil {
			return Space{}, wrong
		}
	}
	return space, nil
}

func (s *Space) setOption(name, value string) *flaw {
	if _, taken := s.Options[name]; taken {
		return &flaw{"its option " + quote(name) + " is given twice", "give each option once"}
	}
	if s.Options == nil {
		s.Options = map[string]string{}
	}
	s.Options[name] = value
	return nil
}

// readSpaces takes what was merged: default first, then by name.
func (l *loader) readSpaces() {
	names := l.merged.MapKeys("spaces")
	slices.SortFunc(names, func(a, b string) int {
		if (a == holdfast.DefaultSpace) != (b == holdfast.DefaultSpace) {
			if a == holdfast.DefaultSpace {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	var all []setting
	for _, name := range names {
		if found, ok := l.setting(mergePath("spaces") + delimiter + name); ok {
			all = append(all, found)
		}
	}
	l.settleDefault(all)
	for _, found := range all {
		l.config.origins["spaces."+found.Space.Name] = found.Origin
		l.checkSpace(found)
		l.config.Spaces = append(l.config.Spaces, found.Space.clone())
	}
}

// Option is the value of an option: the one that was given, or its default. An option
// that the protocol does not have is "", and so is one whose default the protocol makes.
func (s Space) Option(name string) string {
	if value, given := s.Options[name]; given {
		return value
	}
	for _, o := range optionsOf(s.Protocol) {
		if o.name == name && len(o.keywords) > 0 {
			return o.keywords[0]
		}
	}
	return ""
}

// OptionDuration is how long an option is that may be a length of time: 0 where it is off,
// or the protocol does not have it.
func (s Space) OptionDuration(name string) time.Duration {
	value := s.Option(name)
	for _, o := range optionsOf(s.Protocol) {
		switch {
		case o.name != name:
		case value == "on":
			return o.usual
		default:
			if length, wrong := readDuration(value, o.spans(), ""); wrong == nil {
				return length
			}
		}
	}
	return 0
}

// OptionCount is the number that an option is: 0 where it is off, or the protocol does not
// have it.
func (s Space) OptionCount(name string) int {
	value := s.Option(name)
	for _, o := range optionsOf(s.Protocol) {
		if o.name == name && o.most != 0 {
			if n, wrong := readCount(value, 1, o.most); wrong == nil {
				return n
			}
		}
	}
	return 0
}

// OptionSwitch is whether an option is on that is true or false.
func (s Space) OptionSwitch(name string) bool { return s.Option(name) == "true" }

// takes reports whether an option of the space's protocol can have that value.
func (s Space) takes(name, value string) bool {
	return slices.ContainsFunc(optionsOf(s.Protocol), func(o option) bool { return o.name == name && o.judge(value) == nil })
}

// checkSpace judges protocol and options.
func (l *loader) checkSpace(s setting) {
	refuse := func(wrong, allowed, fix string) {
		l.badSpaces = true
		l.complain(Problem{"spaces." + s.Space.Name, quote(s.Space.String()), s.Origin, wrong, allowed, fix})
	}
	last := len(served()) - 1
	use := "use " + strings.Join(served()[:last], ", ") + " or " + served()[last]
	switch {
	case slices.Contains(served(), s.Space.Protocol):
	default:
		refuse("there is no protocol "+quote(hushed(s.Space.Protocol)), strings.Join(served(), ", "),
			suggest(s.Space.Protocol, served(), use))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Space.Options)) {
		value := s.Space.Options[name]
		options := optionsOf(s.Space.Protocol)
		at := slices.IndexFunc(options, func(o option) bool { return o.name == name })
		if at < 0 {
			known := optionNames(options)
			refuse(fmt.Sprintf("protocol %s has no option %s", s.Space.Protocol, quote(hushed(name))), strings.Join(known, ", "),
				suggest(name, known, "leave it out"))
			continue
		}
		if wrong := options[at].judge(value); wrong != nil {
			text := fmt.Sprintf("option %s cannot be %s", name, quote(redacted(name, value)))
			if wrong.wrong != "" {
				text += ": " + wrong.wrong
			}
			refuse(text, options[at].allowed(), wrong.fix)
		}
	}
	if why := l.keepsNothing(); s.Space.Protocol == durable && why != "" {
		fix := "give the member a name with --name NAME, or a folder with --data DIR"
		if l.config.State == noState {
			fix = "leave state out, or give it a folder with --data DIR in its place"
		}
		refuse("protocol consensus keeps its locks on the disk, and there is no folder to find again with "+why, "", fix)
	}
	if _, given := s.Space.Options[storeOption]; s.Space.Protocol == "claim" && !given {
		refuse("protocol claim writes its claims into a store, and there is no option "+storeOption, "", "give "+storeOption+"=URL, as in "+storeOption+"=postgres://HOST/DATABASE")
	}
}

func optionNames(options []option) []string {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.name
	}
	return names
}
