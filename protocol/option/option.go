package option

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Values are options as they are written, by name.
type Values map[string]string

// String is the values as a command line has them: "hold_on=1m,placement=10s".
func (v Values) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		all = append(all, name+"="+v[name])
	}
	return strings.Join(all, ",")
}

// Option is one thing that can be configured.
type Option struct {
	Name    string
	Value   Value             // where it is kept, and what it may be
	Default string            // what holds where it is left out: a value, or a sentence where the protocol finds it
	Help    string            // one sentence
	Local   bool              // each member may have its own; the others need not know it
	Tuning  bool              // for tests and the simulator; configuration has no such option
	Refused map[string]Reason // values that other protocols allow, and why this one does not
}

// Reason is the reason why a value is refused, and the fix.
type Reason struct{ Wrong, Fix string }

// Value is an option's storage and allowed values. See [Switch], [Choice], [Count], [Duration] and [Text].
type Value interface {
	// Set parses a text; strict refuses values out of range. A reason whose Wrong is empty means that the text is not
	// of this kind.
	Set(text string, strict bool) *Reason
	// Text returns the value as text; "" if it is zero, and no word has that number.
	Text() string
	// Number returns a number or a duration; for a switch 1 if on and 0 if off.
	Number() int64
	// Allowed describes the allowed values.
	Allowed() []string
	// Spellings are those among Allowed that can be misspelled.
	Spellings() []string
}

// List are the options of one struct, in the order of the documentation.
type List []Option

// Refusal is an option, or a value of one, that is not allowed. It is an error.
type Refusal struct {
	Option  string
	Value   string
	Unknown bool     // there is no such option
	Wrong   string   // why; "" where Allowed says it
	Allowed string   // what would be accepted
	Fix     string   // what to do about it
	Words   []string // what may have been meant
}

func (r *Refusal) Error() string {
	if r.Unknown {
		return fmt.Sprintf("option %q is not known; allowed: %s; %s", r.Option, r.Allowed, r.Fix)
	}
	text := fmt.Sprintf("option %s cannot be %q", r.Option, r.Value)
	if r.Wrong != "" {
		text += ": " + r.Wrong
	}
	return text + "; allowed: " + r.Allowed + "; " + r.Fix
}

// Parse sets the options that are given. It checks no range: [List.Check] does. The error is a *Refusal.
func (l List) Parse(given Values) error { return l.parse(given, false) }

// Check sets the options that are given, and checks each of them. The error is a *Refusal: of the first
// in the order of the alphabet.
func (l List) Check(given Values) error { return l.parse(given, true) }

func (l List) parse(given Values, strict bool) error {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if refusal := l.Set(name, given[name], strict); refusal != nil {
			return refusal
		}
	}
	return nil
}

// Set sets one option. Strict refuses values out of range, and options for tuning.
func (l List) Set(name, text string, strict bool) *Refusal {
	o := l.Find(name)
	if o == nil || strict && o.Tuning {
		names := l.Names()
		return &Refusal{Option: name, Value: text, Unknown: true, Allowed: strings.Join(names, ", "), Fix: "leave it out", Words: names}
	}
	reason := o.Value.Set(text, strict)
	if reason == nil {
		return nil
	}
	if refused, known := o.Refused[text]; known && reason.Wrong == "" {
		reason = &refused
	}
	refusal := &Refusal{Option: name, Value: text, Wrong: reason.Wrong, Fix: reason.Fix, Allowed: o.Allowed()}
	if reason.Wrong == "" {
		refusal.Words = o.Value.Spellings()
	}
	if refusal.Fix == "" {
		refusal.Fix = "leave it out for " + o.Default
	}
	return refusal
}

// Find returns the option of that name, or nil.
func (l List) Find(name string) *Option {
	i := slices.IndexFunc(l, func(o Option) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &l[i]
}

// Number returns the value of an option that is a number or a duration, 1 if it is a switch and on, and 0 if there is
// no such option.
func (l List) Number(name string) int64 {
	if o := l.Find(name); o != nil {
		return o.Value.Number()
	}
	return 0
}

// Names lists the options that configuration has.
func (l List) Names() (names []string) {
	for _, o := range l {
		if !o.Tuning {
			names = append(names, o.Name)
		}
	}
	return names
}

// Given returns the options that differ from their defaults.
func (l List) Given() Values {
	given := Values{}
	for _, o := range l {
		if text := o.Value.Text(); text != "" && text != o.Default {
			given[o.Name] = text
		}
	}
	return given
}

// Agreed returns the options that differ from their defaults, and must be the same at all members.
func (l List) Agreed() (agreed []Option) {
	for _, o := range l {
		if text := o.Value.Text(); text != "" && text != o.Default && !o.Local && !o.Tuning {
			agreed = append(agreed, o)
		}
	}
	return agreed
}

// Effective returns all configurable options with their values or defaults.
func (l List) Effective() Values {
	all := Values{}
	for _, o := range l {
		if !o.Tuning {
			all[o.Name] = o.Text()
		}
	}
	return all
}

// Text is the option as it is written: its value, or its default.
func (o *Option) Text() string {
	if text := o.Value.Text(); text != "" {
		return text
	}
	return o.Default
}

// Allowed describes the option's allowed values.
func (o *Option) Allowed() string { return strings.Join(o.Value.Allowed(), ", ") }

// Alone reports whether the option's name alone means true.
func (o *Option) Alone() bool {
	s, is := o.Value.(Switch)
	return is && s.Words == [2]string{}
}
