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

// Reason is why a value is not allowed, and what to do about it.
type Reason struct{ Wrong, Fix string }

// Value is where an option is kept, and what it may be. See [Switch], [Choice], [Count], [Duration] and [Text].
type Value interface {
	// Set reads a text; strict refuses what is out of range. A reason whose Wrong is empty says that the text is no value
	// of this kind.
	Set(text string, strict bool) *Reason
	// Text is the value as it is written; "" where it is zero, and no word stands for that.
	Text() string
	// Number is the value where that is a number or a length of time; 1 and 0 where it is on or off.
	Number() int64
	// Allowed lists what it may be.
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

// Set sets one option. Strict refuses what is out of range, and options for tuning.
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

// Number is the value of an option where that is a number or a length of time, 1 where it is on, and 0 where there is no
// such option.
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

// Effective returns all options that configuration has: what is set, or else the default.
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

// Allowed says what the option may be.
func (o *Option) Allowed() string { return strings.Join(o.Value.Allowed(), ", ") }

// Alone reports whether the option's name alone stands for true.
func (o *Option) Alone() bool {
	s, is := o.Value.(Switch)
	return is && s.Words == [2]string{}
}
