package client

import (
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// TestManyLocksCostOneHeartbeat holds 10,000 locks in one session: each third of the
// ttl sends one beat, and nothing else.
func TestManyLocksCostOneHeartbeat(t *testing.T) {
	const locks = 10_000
	s, v := newStage(t)
	for i := range locks {
		s.hold(v, fmt.Sprint("orders/", i), holdfast.Token(i+1))
	}
	for round := range 4 {
		s.clock.Advance(testBeat)
		beats := v.nextFrame().GetOperations()
		if len(beats) != 1 || beats[0].GetBeat() == nil {
			t.Fatalf("round %d sends %d operations, the first %v; want one beat", round, len(beats), beats[0])
		}
		v.send(beaten(beats[0].GetId(), testTTL))
		// The answer is in when the next lock is: answers are taken in order.
		s.hold(v, fmt.Sprint("more/", round), holdfast.Token(locks+round+1))
	}
}
