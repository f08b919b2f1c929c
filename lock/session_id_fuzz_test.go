package lock_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
)

// FuzzParseSessionID checks that each session has one text, and each text one session.
func FuzzParseSessionID(f *testing.F) {
	for _, seed := range []string{"", "-", "0-0", "7-1", "07-1", "A-1", "3w5e11264sgsf-3w5e11264sgsf", "3w5e11264sgsg-0", "1-2-3", "+1-1", "1_0-1"} {
		f.Add(seed, uint64(1), uint64(1<<63))
	}
	f.Fuzz(func(t *testing.T, text string, member, number uint64) {
		if id, ok := lock.ParseSessionID(text); ok && id.String() != text || !ok && id != (lock.SessionID{}) && id.String() == text {
			t.Errorf("%q is read as %v (%t)", text, id, ok)
		}
		id := lock.SessionID{Member: member, Number: number}
		if again, ok := lock.ParseSessionID(id.String()); !ok || again != id {
			t.Errorf("%+v is written %q and read as %+v", id, id, again)
		}
	})
}
