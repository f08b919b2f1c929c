package main

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// FuzzSlots: U/N is two numbers, and an error repeats what it was. A duration that is
// shortened for people is the same duration.
func FuzzSlots(f *testing.F) {
	for _, seed := range []string{"", "/", "2/5", "2/5/7", "-1/0", "+2/05", "9223372036854775807/1", "9223372036854775808/1", "a/b", "2 / 5"} {
		f.Add(seed, int64(time.Minute))
	}
	f.Fuzz(func(t *testing.T, text string, span int64) {
		units, capacity, err := parseSlots(text)
		switch {
		case err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", text)):
			t.Errorf("%q: %v", text, err)
		case err == nil:
			if u, c, err := parseSlots(fmt.Sprintf("%d/%d", units, capacity)); err != nil || u != units || c != capacity {
				t.Errorf("%q is %d of %d, then %d of %d (%v)", text, units, capacity, u, c, err)
			}
		}
		if d, err := time.ParseDuration(short(time.Duration(span))); err != nil || d != time.Duration(span) {
			t.Errorf("%v is shown as %q", time.Duration(span), short(time.Duration(span)))
		}
	})
}
