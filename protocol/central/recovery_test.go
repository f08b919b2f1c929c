package central_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// recovery is a pair of members: the second holds many locks, the first becomes their coordinator.
type recovery struct {
	members  [2]*central.Machine
	leases   [2]protocol.Lease
	out      protocol.Effects
	messages int
	granted  int
}

func newRecovery(tb testing.TB) *recovery {
	tb.Helper()
	r := &recovery{}
	for i := range r.members {
		m, err := central.New(central.Config{Self: protocol.ID(i + 1)})
		if err != nil {
			tb.Fatal(err)
		}
		r.members[i] = m
		r.leases[i] = protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}
	}
	return r
}

// step steps a member, and then each member with a new message, until there is none.
func (r *recovery) step(member int, ev protocol.Event) {
	r.members[member].Step(time.Second, ev, &r.out)
	for len(r.out.Sends) > 0 {
		sends := append([]protocol.Envelope(nil), r.out.Sends...)
		r.count()
		r.out.Reset()
		for _, send := range sends {
			r.messages++
			to := int(send.To) - 1
			r.members[to].Step(time.Second, protocol.Event{Kind: protocol.Receive, From: protocol.ID(2 - to), Fact: send.Message}, &r.out)
		}
	}
	r.count()
	r.out.Reset()
}

func (r *recovery) count() {
	for i := range r.out.Replies {
		if r.out.Replies[i].Decision.Kind == lock.Granted {
			r.granted++
		}
	}
}

func (r *recovery) view(epoch uint64, order ...protocol.ID) {
	for _, id := range order {
		view := &protocol.View{
			Number: epoch, Epoch: protocol.Epoch{Counter: epoch, Candidate: order[0]}, Coordinator: order[0],
			Installed: true, Lease: &r.leases[id-1],
		}
		for _, member := range order {
			view.Members = append(view.Members, protocol.Member{ID: member})
		}
		r.step(int(id)-1, protocol.Event{Kind: protocol.Raised, Fact: view})
	}
}

func (r *recovery) lockMany(locks int) {
	for i := range locks {
		request := &lock.Request{Session: lock.SessionID{Member: 2, Number: 1}, ID: uint64(i + 1), Name: fmt.Sprintf("orders/%d", i), WaitEnd: lock.Never}
		r.step(1, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: uint64(i + 1)}, Fact: request})
	}
}

// TestManyLocksAreReported checks that 100,000 held locks move to the next coordinator in bounded chunks, and all
// arrive.
func TestManyLocksAreReported(t *testing.T) {
	const locks = 100_000
	r := newRecovery(t)
	r.view(4, 2, 1)
	r.lockMany(locks)
	if r.granted != locks {
		t.Fatalf("%d of %d are granted", r.granted, locks)
	}
	r.messages = 0
	begun := time.Now()
	r.view(5, 1, 2)
	t.Logf("%d held locks are known to the next coordinator after %d messages and %v of work", locks, r.messages, time.Since(begun))
	if want := 2 * (locks/512 + 1); r.messages != want {
		t.Errorf("it took %d messages; want %d: a request and an answer for each chunk", r.messages, want)
	}
	r.members[0].Step(time.Second, protocol.Event{Kind: protocol.Call, Fact: &protocol.Inspect{}}, &r.out)
	condition := r.out.Replies[0].Result.(*protocol.Condition)
	if condition.Locks != locks || condition.State != protocol.Ready {
		t.Errorf("the next coordinator is %v with %d locks; want %d", condition.State, condition.Locks, locks)
	}
}
