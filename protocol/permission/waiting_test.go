package permission

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// pair is two members, 1 and 2, on one clock. Their messages arrive when they are delivered; their reports to clients
// are listed.
type pair struct {
	t       *testing.T
	now     protocol.Time
	members map[protocol.ID]*Machine
	wire    []parcel
	replies []string
	ops     uint64
}

type parcel struct {
	from, to protocol.ID
	message  protocol.Message
}

func newPair(t *testing.T, c Config) *pair {
	t.Helper()
	p := &pair{t: t, now: time.Hour, members: map[protocol.ID]*Machine{}}
	for id := protocol.ID(1); id <= 2; id++ {
		c.Self = id
		m, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		p.members[id] = m
	}
	p.view(1, true, 1, 2)
	p.deliver()
	return p
}

// view raises a view of these members at each of them.
func (p *pair) view(number uint64, open bool, ids ...protocol.ID) {
	for _, id := range ids {
		v := &protocol.View{
			Number: number, Epoch: protocol.Epoch{Counter: 5, Candidate: 1}, Coordinator: ids[0], Installed: true, Open: open,
			GrantFrom: protocol.Never, Lease: &protocol.Lease{Member: protocol.Never, Tenure: protocol.Tenure{Incarnation: 1}},
		}
		for _, member := range ids {
			v.Members = append(v.Members, protocol.Member{ID: member, Name: string('a' + rune(member) - 1), Tenure: protocol.Tenure{Incarnation: 1}, Since: 1})
		}
		p.step(id, protocol.Event{Kind: protocol.Raised, Fact: v})
	}
}

func (p *pair) step(id protocol.ID, ev protocol.Event) {
	var out protocol.Effects
	p.members[id].Step(p.now, ev, &out)
	for _, sent := range out.Sends {
		p.wire = append(p.wire, parcel{id, sent.To, sent.Message})
	}
	for _, reply := range out.Replies {
		d := reply.Decision
		text := fmt.Sprintf("%d/%d %v", d.Session.Member, d.Request, d.Kind)
		switch d.Kind {
		case lock.Queued:
			text += fmt.Sprintf(" %d", d.Position)
		case lock.Refused:
			text += ": " + d.Err.Error()
		}
		p.replies = append(p.replies, text)
	}
}

func (p *pair) deliver() {
	for len(p.wire) > 0 {
		next := p.wire[0]
		p.wire = p.wire[1:]
		if p.members[next.to] != nil {
			p.step(next.to, protocol.Event{Kind: protocol.Receive, From: next.from, Fact: next.message})
		}
	}
}

// pass lets time pass, and delivers at once.
func (p *pair) pass(d time.Duration) {
	for end := p.now + d; ; {
		at := end
		for _, id := range []protocol.ID{1, 2} {
			if m := p.members[id]; m != nil {
				at = min(at, max(p.now, m.Wake()))
			}
		}
		if p.now = at; at == end {
			return
		}
		for _, id := range []protocol.ID{1, 2} {
			if m := p.members[id]; m != nil && m.Wake() <= p.now {
				p.step(id, protocol.Event{Kind: protocol.Tick})
			}
		}
		p.deliver()
	}
}

func (p *pair) call(id protocol.ID, fact any) {
	p.ops++
	p.step(id, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: uint64(id), Op: p.ops}, Fact: fact})
}

func (p *pair) acquire(id protocol.ID, request uint64, change func(*lock.Request)) {
	r := &lock.Request{Session: lock.SessionID{Member: uint64(id), Number: 1}, ID: request, Name: "a", WaitEnd: protocol.Never, Arrived: p.now}
	if change != nil {
		change(r)
	}
	p.call(id, r)
}

func (p *pair) release(id protocol.ID, request uint64) {
	p.call(id, &protocol.Release{Session: lock.SessionID{Member: uint64(id), Number: 1}, Name: "a", Request: request})
}

// wants compares the reports to clients with the expected ones.
func (p *pair) wants(want ...string) {
	p.t.Helper()
	if !slices.Equal(p.replies, want) {
		p.t.Errorf("replied %q, want %q", p.replies, want)
	}
	p.replies = nil
}

// TestWaitersAreNotified checks that a waiter is notified at once if it is behind others of its member, and after the
// timeout of an answer if a peer lets it wait; once, and only if it is not granted before.
func TestWaitersAreNotified(t *testing.T) {
	p := newPair(t, Config{})
	p.acquire(1, 1, nil)
	p.deliver()
	p.wants("1/1 queued -1", "1/1 granted")
	p.acquire(1, 2, nil)
	p.acquire(1, 3, nil)
	p.wants("1/2 queued 0", "1/3 queued 1")
	p.acquire(2, 1, nil)
	p.deliver()
	p.wants("2/1 queued -1")
	p.pass(249 * time.Millisecond)
	p.wants()
	p.pass(10 * time.Second)
	p.wants("2/1 queued 0")
	p.release(1, 1)
	p.deliver()
	p.wants("1/1 released", "1/2 granted")
}

// TestWaitersAreNotifiedByADefer checks that a waiter is notified when a peer with defer says so.
func TestWaitersAreNotifiedByADefer(t *testing.T) {
	p := newPair(t, Config{Options: Options{Defer: true}})
	p.acquire(1, 1, nil)
	p.deliver()
	p.acquire(2, 1, nil)
	p.replies = nil
	p.deliver()
	p.wants("2/1 queued 0")
	slots := func(r *lock.Request) { r.Name, r.Mode, r.Units, r.Capacity = "b", holdfast.ModeSlots, 2, 3 }
	p.acquire(1, 2, slots)
	p.deliver()
	p.acquire(2, 2, slots)
	p.replies = nil
	p.deliver()
	p.wants("2/2 queued 0")
	p.pass(10 * time.Second)
	p.wants()
}

// TestTryWaitsForTheLost checks that a request that does not wait for holders waits, as for an authority, while a
// member that has left may hold anything and no member can name the client.
func TestTryWaitsForTheLost(t *testing.T) {
	for _, opens := range []bool{true, false} {
		p := newPair(t, Config{})
		p.acquire(2, 1, nil) // so it is known to use names
		p.deliver()
		p.replies = nil
		delete(p.members, 2)
		p.view(2, false, 1)
		p.acquire(1, 1, func(r *lock.Request) { r.Try, r.WaitEnd = true, p.now+5*time.Second })
		p.pass(4 * time.Second)
		p.wants("1/1 queued 0")
		if opens {
			p.view(2, true, 1)
			p.wants("1/1 granted")
			continue
		}
		p.pass(2 * time.Second)
		p.wants("1/1 refused: " + holdfast.ErrUnavailable.Error() + ": b was lost, and what was promised there has not run out yet")
	}
}

// TestOneAnswerToSeveral checks that several requests of a member are answered at once when those before them have
// ended, also if the one named in the answer has been given up: no request waits until it would ask again.
func TestOneAnswerToSeveral(t *testing.T) {
	for _, mode := range []holdfast.Mode{holdfast.ModeShared, holdfast.ModeSlots} {
		p := newPair(t, Config{})
		p.acquire(1, 1, nil)
		p.deliver()
		for request := uint64(1); request <= 3; request++ {
			p.acquire(2, request, func(r *lock.Request) {
				if r.Mode = mode; mode == holdfast.ModeSlots {
					r.Units, r.Capacity = 1, 5
				}
			})
		}
		p.deliver()
		p.call(2, &protocol.Cancel{Session: lock.SessionID{Member: 2, Number: 1}, Name: "a", Request: 3})
		p.replies = nil
		p.release(1, 1)
		p.deliver()
		p.wants("1/1 released", "2/1 granted", "2/2 granted")
	}
}

// TestTryIsRefusedByAHolder checks that a try is refused at once, with the holder.
func TestTryIsRefusedByAHolder(t *testing.T) {
	p := newPair(t, Config{})
	p.acquire(1, 1, func(r *lock.Request) { r.Owner = "job-7" })
	p.deliver()
	p.replies = nil
	p.acquire(2, 1, func(r *lock.Request) { r.Try, r.WaitEnd = true, p.now+5*time.Second })
	p.deliver()
	held := &holdfast.HeldError{Owner: "job-7"}
	p.wants("2/1 queued -1", "2/1 refused: "+held.Error())
	if !errors.Is(held, holdfast.ErrHeld) {
		t.Error("the refusal is no ErrHeld")
	}
}
