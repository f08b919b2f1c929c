package grantor_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/option"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// pair is two members that only talk to each other; 1 is the elder, and the grantor at first.
type pair struct {
	t        *testing.T
	now      protocol.Time
	machines [2]protocol.Machine
	out      protocol.Effects
	transit  []flight
	last     map[lock.SessionID]lock.Kind // the last decision for each session
	order    []lock.SessionID             // sessions in the order of their grants
	tables   []grantor.TransferTable
	answers  []any
	sent     int            // number of messages
	token    holdfast.Token // of the last grant
	refused  error          // last
}

type flight struct {
	from, to protocol.ID
	message  protocol.Message
}

// TestTransferOfManyLocks checks that the table of 100,000 locks moves to another member, in bounded parts. A holder
// continues, a waiter is granted in the order of arrival, and a suspension that waits for all holds still waits.
func TestTransferOfManyLocks(t *testing.T) {
	const locks, chunk, queued = 100_000, 512, 200
	p := newPair(t, option.Values{"chunk": fmt.Sprint(chunk)})
	p.holdMany(locks)
	p.queueMany(queued)
	suspension := lock.SessionID{Member: 2, Number: 900_000}
	p.call(2, &lock.Request{Session: suspension, ID: 1, Name: lock.SpaceLock, WaitEnd: lock.Never})
	late := lock.SessionID{Member: 1, Number: 900_001}
	p.call(1, &lock.Request{Session: late, ID: 1, Name: "late", WaitEnd: lock.Never})

	began := time.Now()
	p.call(2, &protocol.Transfer{To: 2})
	t.Logf("%d locks and %d waits in %d parts: %v", locks, queued, len(p.tables), time.Since(began))
	p.checkParts(locks, chunk, queued)
	p.checkTransferred()
	p.checkQueue(queued)

	if p.last[suspension] != lock.Queued || p.last[late] != lock.Queued {
		t.Fatalf("with locks held, the suspension is %v and what waits behind it %v", p.last[suspension], p.last[late])
	}
	p.releaseMany(locks)
	if p.last[suspension] != lock.Granted || p.last[late] != lock.Queued {
		t.Fatalf("with all released, the suspension is %v and what waits behind it %v", p.last[suspension], p.last[late])
	}
	p.call(2, &protocol.Release{Session: suspension, Request: 1, Name: lock.SpaceLock})
	if p.last[late] != lock.Granted {
		t.Fatalf("after the suspension what waited behind it is %v", p.last[late])
	}
}

func newPair(t *testing.T, o option.Values) *pair {
	t.Helper()
	p := &pair{t: t, last: map[lock.SessionID]lock.Kind{}}
	for i := range p.machines {
		p.machines[i] = protocoltest.NewMachine(t, grantor.Descriptor(), o, protocol.Setup{Self: protocol.ID(i + 1)})
	}
	p.raiseView()
	return p
}

// raiseView raises the first view, of both members.
func (p *pair) raiseView() {
	members := []protocol.Member{{ID: 1, Name: "a", Since: 1}, {ID: 2, Name: "b", Since: 1}}
	for i := range p.machines {
		p.step(protocol.ID(i+1), protocol.Event{Kind: protocol.Raised, Fact: &protocol.View{
			Number: 1, Epoch: protocol.Epoch{Counter: 4, Candidate: 1}, Coordinator: 1, Installed: true, Open: true, Members: members,
			Lease: &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
		}})
	}
}

// holder is the session that holds lock n; those of both members alternate.
func holder(n int) lock.SessionID {
	return lock.SessionID{Member: uint64(n%2 + 1), Number: uint64(n/100 + 1)}
}

// waiter is the session that waits in place n for lock 0.
func waiter(n int) lock.SessionID {
	return lock.SessionID{Member: uint64(n%2 + 1), Number: uint64(500_000 + n)}
}

func name(n int) string { return fmt.Sprintf("lock/%d", n) }

func (p *pair) holdMany(locks int) {
	for n := range locks {
		s := holder(n)
		p.call(protocol.ID(s.Member), &lock.Request{Session: s, ID: uint64(n + 1), Name: name(n), WaitEnd: lock.Never})
	}
	if len(p.order) != locks {
		p.t.Fatalf("%d of %d locks were granted", len(p.order), locks)
	}
	p.order = nil
}

func (p *pair) queueMany(queued int) {
	for n := range queued {
		s := waiter(n)
		p.call(protocol.ID(s.Member), &lock.Request{Session: s, ID: 1, Name: name(0), WaitEnd: lock.Never})
		if p.last[s] != lock.Queued {
			p.t.Fatalf("waiter %d is %v", n, p.last[s])
		}
	}
}

// checkParts checks that no part exceeds its size, and that together they are the table.
func (p *pair) checkParts(locks, chunk, queued int) {
	p.t.Helper()
	entries := 0
	for i, part := range p.tables {
		if n := len(part.Handover.Entries) + len(part.Handover.Unacked); n > chunk || part.Chunk != uint32(i) || part.Last != (i == len(p.tables)-1) {
			p.t.Fatalf("part %d is %v: at most %d are allowed", i, part, chunk)
		}
		entries += len(part.Handover.Entries)
	}
	if want := locks + queued + 2; entries != want {
		p.t.Fatalf("%d entries were handed over, want %d", entries, want)
	}
}

func (p *pair) checkTransferred() {
	p.t.Helper()
	if len(p.answers) != 1 {
		p.t.Fatalf("%d answers to the operator", len(p.answers))
	}
	answer, is := p.answers[0].(*protocol.Transferred)
	if !is || answer.Err != nil || !slices.Equal(answer.Authority, []protocol.ID{2}) {
		p.t.Fatalf("the operator is answered %+v", p.answers[0])
	}
}

// checkQueue releases lock 0 as often as a client has it.
func (p *pair) checkQueue(queued int) {
	p.t.Helper()
	p.release(holder(0), 1, 0)
	var want []lock.SessionID
	for n := range queued {
		want = append(want, waiter(n))
		if !slices.Equal(p.order, want) {
			p.t.Fatalf("after %d releases the last one granted is %v, want %v", n+1, p.order[len(p.order)-1:], want[n])
		}
		p.release(waiter(n), 1, 0)
	}
}

func (p *pair) release(s lock.SessionID, request uint64, n int) {
	p.call(protocol.ID(s.Member), &protocol.Release{Session: s, Request: request, Name: name(n)})
}

// releaseMany releases the locks of holdMany, except lock 0.
func (p *pair) releaseMany(locks int) {
	for n := 1; n < locks; n++ {
		p.release(holder(n), uint64(n+1), n)
	}
}

// call makes a call to a member, with all its consequences.
func (p *pair) call(at protocol.ID, fact any) {
	p.step(at, protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: fact})
	p.settle()
}

// settle delivers all messages, with their consequences.
func (p *pair) settle() {
	for len(p.transit) > 0 {
		f := p.transit[0]
		p.transit = p.transit[1:]
		p.step(f.to, protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.message})
	}
}

func (p *pair) step(at protocol.ID, ev protocol.Event) {
	m := p.machines[at-1]
	m.Step(p.now, ev, &p.out)
	for _, send := range p.out.Sends {
		if part, is := send.Message.(grantor.TransferTable); is {
			p.tables = append(p.tables, part)
		}
		p.transit = append(p.transit, flight{at, send.To, send.Message})
		p.sent++
	}
	for _, reply := range p.out.Replies {
		d := reply.Decision
		switch {
		case d.Kind == 0:
			p.answers = append(p.answers, reply.Result)
			continue
		case d.Kind == lock.Granted:
			p.order = append(p.order, d.Session)
			p.token = d.Token
		case d.Kind == lock.Refused:
			p.refused = d.Err
		}
		p.last[d.Session] = d.Kind
	}
	p.out.Reset()
}

// TestRecipientsWithoutALease checks that a recipient without a lease takes no table, and asks again: no member
// confirms what it would report to their clients.
func TestRecipientsWithoutALease(t *testing.T) {
	m, out := seeking(t)
	now := view(1, 4)
	now.Lease.Member = 0
	m.Step(0, protocol.Event{Kind: protocol.Raised, Fact: now}, out)
	out.Reset()
	receive := func(fact protocol.Message) {
		m.Step(0, protocol.Event{Kind: protocol.Receive, From: 1, Fact: fact}, out)
	}
	serves := func() bool {
		_, decides := m.(*grantor.Machine).Reign()
		return decides
	}
	version := authority.Version{Epoch: 4, Number: 2}
	receive(grantor.Info{
		Number: 1, Grantor: grantor.Place{ID: 2, Since: 1}, Version: version,
		Beginning: grantor.Inheriting, Previous: grantor.Place{ID: 1, Since: 1}, Reign: 4,
	})
	table := grantor.TransferTable{Version: version, Last: true, Handover: authority.Handover{Reign: 4, Count: 1}}
	receive(table)
	if serves() {
		t.Error("it serves without a lease")
	}
	out.Reset()
	now.Lease.Member = protocol.Never
	m.Step(m.Wake(), protocol.Event{Kind: protocol.Tick}, out)
	if len(out.Sends) != 1 || out.Sends[0].Message != (protocol.Message)(grantor.TransferRequest{Version: version}) {
		t.Errorf("sent %v, want a request for the table", out.Sends)
	}
	receive(table)
	if !serves() {
		t.Error("it does not serve with the table and a lease")
	}
}
