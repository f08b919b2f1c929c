package bakery_test

import (
	"testing"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

// TestAllThatWaitKnowTheirPlaces checks that of three clients that want a name at about the same time, one holds it and
// the others know their places once no message is in flight. A ticket with a lower number may become known to a leader
// after its own ticket was the first there and has asked for agreement (only seed 2466 shows that).
func TestAllThatWaitKnowTheirPlaces(t *testing.T) {
	waiting := 0
	seeds := rounds(20_000)
	for seed := range seeds {
		s := newSchedule(t, seed, 3, 1, bakery.Config{})
		s.requests = func(*schedule) lock.Request { return lock.Request{} }
		for next := 0; next < len(s.members) || len(s.transit) > 0; {
			if next < len(s.members) && (len(s.transit) == 0 || s.rand.IntN(2) == 0) {
				s.act(s.members[next].clients[0])
				next++
			} else {
				s.deliver()
			}
		}
		for _, p := range s.members {
			c := p.clients[0]
			if c.state != waits {
				continue
			}
			if waiting++; !c.placed {
				t.Errorf("seed %d: client %v waits, and does not know behind how many", seed, c.session)
			}
		}
	}
	if waiting != 2*int(seeds) {
		t.Errorf("%d wait", waiting)
	}
}
