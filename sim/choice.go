package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// due is the name of the choice of an act's time. In a script an actor's act happens only if the script gives its time.
const due = "at"

// Choice is one choice of a run: the actor, the act, the thing chosen and its value.
type Choice struct {
	site
	Value Value
}

// Key is the name of the choice as in a script: "client1.0 call#3 hold", "crash#2 at". If one name is chosen more than
// once in an act, the second and later choices are numbered.
func (c *Choice) Key() string {
	key := c.scope.String() + " " + c.name
	if c.nth > 1 {
		key += "#" + strconv.Itoa(c.nth)
	}
	return key
}

// Who is the actor: a process, a user, a direction of a link, or "" for a fault.
func (c *Choice) Who() string { return c.who }

// What is the kind of the act.
func (c *Choice) What() string { return c.what }

// Act is the number of the act among those of its kind; 0 if the act happens once.
func (c *Choice) Act() int { return c.act }

// Name is the thing chosen.
func (c *Choice) Name() string { return c.name }

// Sets returns the choice with another duration, and reports whether it is a choice of a duration.
func (c *Choice) Sets(d time.Duration) (Choice, bool) {
	other := *c
	other.Value = lengthValue(d)
	return other, c.Value.sort == lengthSort
}

// String is the choice as a line of a script.
func (c *Choice) String() string { return c.Key() + " " + c.Value.String() }

func (s scope) String() string {
	text := s.what
	if s.act > 0 {
		text += "#" + strconv.Itoa(s.act)
	}
	if s.who != "" {
		text = s.who + " " + text
	}
	return text
}

// parseChoice reads a line of a script. The error describes a valid line.
func parseChoice(line string) (c Choice, err error) {
	fields := strings.Fields(line)
	if len(fields) < 3 || len(fields) > 4 {
		return c, fmt.Errorf("%q has %d words; a choice is [who] what[#act] choice[#n] value, as in %q and %q", line, len(fields), "client0.0 call#2 hold 3s", "crash#1 at 12s")
	}
	if len(fields) == 4 {
		c.who, fields = fields[0], fields[1:]
	}
	if c.what, c.act, err = numbered(fields[0], 0); err != nil {
		return c, err
	}
	if c.name, c.nth, err = numbered(fields[1], 1); err != nil {
		return c, err
	}
	c.Value = parseValue(fields[2])
	return c, nil
}

// numbered splits a word from the number after its #.
func numbered(field string, without int) (string, int, error) {
	name, digits, has := strings.Cut(field, "#")
	if !has {
		return field, without, nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || name == "" || strconv.Itoa(n) != digits {
		return "", 0, fmt.Errorf("%q is not a name with its number; what comes behind # counts from 1, as in call#3", field)
	}
	return name, n, nil
}

type sort uint8

const (
	keywordSort sort = iota
	flagSort
	lengthSort
	numberSort
	bitsSort
)

// Value is the value of a choice: yes or no, a duration, a number, bits, or a word.
type Value struct {
	sort   sort
	number int64
	text   string
}

func flagValue(yes bool) Value {
	if yes {
		return Value{flagSort, 1, "yes"}
	}
	return Value{flagSort, 0, "no"}
}
func lengthValue(d time.Duration) Value { return Value{lengthSort, int64(d), d.String()} }
func numberValue(n int64) Value         { return Value{numberSort, n, strconv.FormatInt(n, 10)} }
func bitsValue(x uint64) Value          { return Value{bitsSort, int64(x), "0x" + strconv.FormatUint(x, 16)} }
func keywordValue(text string) Value    { return parseValue(text) }

// Duration returns the duration, and whether the value is one.
func (v Value) Duration() (time.Duration, bool) { return time.Duration(v.number), v.sort == lengthSort }

// String is the value as in a script.
func (v Value) String() string { return v.text }

// parseValue infers the type of a value from its text.
func parseValue(text string) Value {
	switch text {
	case "yes":
		return flagValue(true)
	case "no":
		return flagValue(false)
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return Value{numberSort, n, text}
	}
	if digits, is := strings.CutPrefix(text, "0x"); is {
		if x, err := strconv.ParseUint(digits, 16, 64); err == nil {
			return Value{bitsSort, int64(x), text}
		}
	}
	if d, err := time.ParseDuration(text); err == nil {
		return Value{lengthSort, int64(d), text}
	}
	return Value{keywordSort, 0, text}
}

// Of returns the choice for another actor.
func (c *Choice) Of(who string) Choice {
	other := *c
	other.who = who
	return other
}

// In returns the choice for another act of the same actor.
func (c *Choice) In(act int) Choice {
	other := *c
	other.act = act
	return other
}

// Rename returns the choice with processes, users and names renamed as names maps them.
func (c *Choice) Rename(names map[string]string) Choice {
	other := *c
	other.who, other.name = renamed(c.who, names), renamed(c.name, names)
	if c.Value.sort == keywordSort {
		other.Value = parseValue(renamed(c.Value.text, names))
	}
	return other
}

// Less returns a choice of an order without one of the names in it.
func (c *Choice) Less(name string) Choice {
	other := *c
	if names := strings.Split(c.Value.text, ","); c.Value.sort == keywordSort && len(names) > 1 {
		other.Value = parseValue(strings.Join(slices.DeleteFunc(names, func(n string) bool { return n == name }), ","))
	}
	return other
}

// renamed renames the parts of a text between the marks that join names.
func renamed(text string, names map[string]string) string {
	var b strings.Builder
	start := 0
	flush := func(end int) {
		if to, has := names[text[start:end]]; has {
			b.WriteString(to)
		} else {
			b.WriteString(text[start:end])
		}
	}
	for i, r := range text {
		if strings.ContainsRune("→.,/", r) {
			flush(i)
			b.WriteRune(r)
			start = i + len(string(r))
		}
	}
	flush(len(text))
	return b.String()
}
