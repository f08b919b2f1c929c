package api

import (
	"encoding/json"
	"fmt"
	"time"
)

// List is a slice that is [] in JSON when nil.
type List[T any] []T

// MarshalJSON never writes null.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// timeLayout always has nine digits of a second, so that times in UTC sort as text.
const timeLayout = "2006-01-02T15:04:05.000000000Z07:00"

// Time is a wall time, for people. The zero Time is no time: "" as text, and omitted from documents if optional.
type Time struct{ time.Time }

// At makes a Time.
func At(t time.Time) Time { return Time{t} }

// AtNanoseconds makes a Time of Unix nanoseconds, as in the schema; 0 is no time.
func AtNanoseconds(n int64) Time {
	if n == 0 {
		return Time{}
	}
	return Time{time.Unix(0, n)}
}

// Nanoseconds returns the time as in the schema: 0 for no time.
func (t Time) Nanoseconds() int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// String returns RFC 3339 in UTC with nine digits of a second.
func (t Time) String() string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

// MarshalText returns String as text.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON returns String as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) { return json.Marshal(t.String()) }

// UnmarshalText accepts RFC 3339 with any number of digits, and "" for no time.
func (t *Time) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*t = Time{}
		return nil
	}
	parsed, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("time %q: want RFC 3339, as in 2026-11-21T18:04:05Z", text)
	}
	parsed = parsed.UTC()
	if year := parsed.Year(); year < 0 || year > 9999 {
		return fmt.Errorf("time %q: its year in UTC is %d; want 0 to 9999", text, year)
	}
	*t = Time{parsed}
	return nil
}

// UnmarshalJSON accepts a string in a form of UnmarshalText.
func (t *Time) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("time %s: want a string", data)
	}
	return t.UnmarshalText([]byte(text))
}

// Duration is a duration in Go's format in JSON.
type Duration time.Duration

// String returns Go's format, such as 1m30s.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns String as text.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText accepts Go's format, and "" for 0.
func (d *Duration) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = 0
		return nil
	}
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("duration %q: want a number with a unit, as in 10s or 1m30s", text)
	}
	*d = Duration(parsed)
	return nil
}
