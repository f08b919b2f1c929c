package lock

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLockOnAnotherClock(t *testing.T) {
	original := Lock{
		Name: "a", Token: 9,
		Holders: []Grant{{Token: 9, Since: time.Second, Until: Never}},
		Waiters: []Wait{{Request: 7, Since: 2 * time.Second, Until: 8 * time.Second, For: []uint64{3}}},
		History: []Grant{{Token: 8, Since: 0, Until: time.Second}},
	}
	sent, received := 10*time.Second, time.Hour
	relative := original.After(-sent)
	if got := relative.Waiters[0]; got.Since != -8*time.Second || got.Until != -2*time.Second {
		t.Errorf("it is moved to %v", got)
	}
	want := Lock{
		Name: "a", Token: 9,
		Holders: []Grant{{Token: 9, Since: received - 9*time.Second, Until: Never}},
		Waiters: []Wait{{Request: 7, Since: received - 8*time.Second, Until: received - 2*time.Second, For: []uint64{3}}},
		History: []Grant{{Token: 8, Since: received - 10*time.Second, Until: received - 9*time.Second}},
	}
	if diff := cmp.Diff(want, relative.After(received)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if original.Holders[0].Since != time.Second || original.Waiters[0].Since != 2*time.Second || original.History[0].Until != time.Second {
		t.Errorf("the lock that was copied has changed: %+v", original)
	}
}

// TestParts checks that the parts of a lock have its holders and its waiters, each once and in order, and that no part
// exceeds its size.
func TestParts(t *testing.T) {
	for holders := range 4 {
		for waiters := range 4 {
			all := Lock{Name: "a", Token: 9, History: []Grant{{Token: 1}}}
			var want string
			for i := range holders {
				all.Holders = append(all.Holders, Grant{Token: 10})
				all.Holders[i].Units = i
				want += fmt.Sprintf("h%d ", i)
			}
			for i := range waiters {
				all.Waiters = append(all.Waiters, Wait{Request: uint64(i)})
				want += fmt.Sprintf("w%d ", i)
			}
			for room := 1; room < 8; room++ {
				got, parts := "", 0
				for skip, more := 0, 1; more != 0; skip = more {
					var part Lock
					part, more = all.Part(skip, room)
					if n := len(part.Holders) + len(part.Waiters); n > room || more != 0 && n != room || part.Name != "a" || part.Token != 9 {
						t.Fatalf("%d holders and %d waiters from %d on, room for %d: %+v, more %d", holders, waiters, skip, room, part, more)
					}
					if (len(part.History) == 1) != (skip == 0) {
						t.Errorf("from %d on: what has ended is %v", skip, part.History)
					}
					for _, g := range part.Holders {
						got += fmt.Sprintf("h%d ", g.Units)
					}
					for _, w := range part.Waiters {
						got += fmt.Sprintf("w%d ", w.Request)
					}
					parts++
				}
				if got != want || parts != max(1, (holders+waiters+room-1)/room) {
					t.Errorf("%d holders and %d waiters with room for %d: %q in %d parts", holders, waiters, room, got, parts)
				}
			}
		}
	}
}
