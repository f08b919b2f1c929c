package lock

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// TestHeldSinceWhen checks that a HeldError has the time since which the holder holds, also if that is now, and none if
// it is unknown.
func TestHeldSinceWhen(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 5, 0, time.UTC)
	for age, want := range map[time.Duration]time.Time{0: now, 2 * time.Second: now.Add(-2 * time.Second), UnknownAge: {}} {
		by := &HeldBy{Holder: SessionID{Member: 1, Number: 1}, Age: age}
		var held *holdfast.HeldError
		if !errors.As(by.ErrorFor("m1", now), &held) || !held.Since.Equal(want) {
			t.Errorf("age %v: held since %v, want %v", age, held.Since, want)
		}
	}
}
