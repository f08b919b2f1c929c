package holdfast

import (
	"fmt"
	"strings"
)

// Mode defines which grants can coexist: exclusive with none, shared with shared, slots with slots of the same capacity
// while units remain.
type Mode uint8

// The modes. The zero Mode is Exclusive.
const (
	ModeExclusive Mode = iota
	ModeShared
	ModeSlots
)

var modeNames = [...]string{"exclusive", "shared", "slots"}

// String returns the mode's name, the same in every format.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// MarshalText encodes the mode by name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText decodes the output of MarshalText; "" is exclusive.
func (m *Mode) UnmarshalText(text []byte) error {
	parsed, err := ParseMode(string(text))
	if err != nil {
		return err
	}
	*m = parsed
	return nil
}

// ParseMode parses a mode's name; "" is exclusive.
func ParseMode(s string) (Mode, error) {
	if s == "" {
		return ModeExclusive, nil
	}
	for i, name := range modeNames {
		if s == name {
			return Mode(i), nil
		}
	}
	return 0, fmt.Errorf("mode %q: want exclusive, shared or slots", strings.Clone(s))
}

// Class is the safety class of a lockspace: the promises it keeps, and when.
type Class uint8

// The classes, weakest first. The zero Class is Advisory, the minimum, which every lockspace meets.
const (
	// Advisory: exclusion, tokens and the report of each loss hold while clock skew,
	// pauses and slow writes stay under the configured bounds.
	Advisory Class = iota
	// Available: every side of a partition keeps granting; double grants are found and reported when the sides merge.
	Available
	// Fenced: all promises in full.
	Fenced
)

var classNames = [...]string{"advisory", "available", "fenced"}

// String returns the class's name, the same in every format.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// MarshalText encodes the class by name.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText decodes the output of MarshalText; "" is advisory.
func (c *Class) UnmarshalText(text []byte) error {
	parsed, err := ParseClass(string(text))
	if err != nil {
		return err
	}
	*c = parsed
	return nil
}

// ParseClass parses a class's name; "" is advisory, which every lockspace meets.
func ParseClass(s string) (Class, error) {
	if s == "" {
		return Advisory, nil
	}
	for i, name := range classNames {
		if s == name {
			return Class(i), nil
		}
	}
	return 0, fmt.Errorf("class %q: want fenced, available or advisory", s)
}
