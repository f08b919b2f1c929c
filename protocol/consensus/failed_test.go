package consensus

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestWhoAsksAFailedMember checks that a client's request at a member whose journal has failed is not refused, because
// others may grant it: the client asks them as soon as this member ends. Requests of users in the member's own process
// are refused, and so are those whose wait is over.
func TestWhoAsksAFailedMember(t *testing.T) {
	o := layOnce(t)
	own := lock.SessionID{Member: uint64(o.a.id), Number: 3}
	o.call(o.a, 1, &protocol.Enroll{Session: own, TTL: time.Hour, Own: true})
	o.call(o.a, 1, &protocol.Enroll{Session: client7, TTL: time.Hour})
	o.take(o.a, client7, 1, "had")
	o.a.refuses = errors.New("no space left on device")
	o.call(o.b, 1, &protocol.Enroll{Session: client8, TTL: time.Hour})
	o.take(o.b, client8, 1, "others") // something to write down
	if o.a.machine.failed == nil {
		t.Fatal("the journal of a has not failed")
	}
	if d := o.only(o.a, o.lock(o.a, own, 1, "own"), lock.Refused); !errors.Is(d.Err, holdfast.ErrUnavailable) {
		t.Errorf("who uses its process is refused with %v", d.Err)
	}
	if got := o.decisionsOn(o.a, o.lock(o.a, client7, 2, "mine")); len(got) != 0 {
		t.Errorf("its client hears %+v", got)
	}
	o.call(o.b, 1, &protocol.Adopt{Session: client7, Requests: []uint64{1, 2}, Last: 2})
	o.pass(time.Second)
	o.call(o.b, 1, &protocol.Beat{Session: client7})
	o.pass(time.Second)
	o.take(o.b, client7, 2, "mine")

	limited := o.lock(o.a, client7, 3, "limited")
	limited.WaitEnd = o.now - o.a.start + 5*time.Second
	if got := o.decisionsOn(o.a, limited); len(got) != 0 {
		t.Errorf("a client that waits for 5 s hears %+v at once", got)
	}
	from := len(*o.replies)
	o.pass(10 * time.Second)
	if got := (*o.replies)[from:]; len(got) != 1 || got[0].Decision.Request != 3 || !errors.Is(got[0].Decision.Err, holdfast.ErrUnavailable) {
		t.Errorf("a client that has waited for 5 s hears %+v", got)
	}
}
