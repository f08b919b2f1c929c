package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/storage"
)

// drainLease is the lease of the cluster in which a member is drained.
const drainLease = 3 * time.Second

// TestDrainKeepsHolders: a client that holds something through a member which is drained
// keeps it for as long as it likes, whether that member coordinates or not, however late
// its heartbeats are, and regardless of what becomes of the coordinator meanwhile.
// Heartbeats go every quarter of the ttl, so an answer may take as long as three quarters
// of it. By the lease alone the shortest ttl is two thirds of that, as far as polls and
// the role of the one who polls have to be deducted.
func TestDrainKeepsHolders(t *testing.T) {
	for _, test := range []struct {
		name        string
		coordinator bool // it is drained
		crash       bool // another coordinator follows
		ttl         time.Duration
		trip        time.Duration // of a heartbeat and its answer together
	}{
		{"a member", false, false, drainLease, 0},
		{"the coordinator", true, false, drainLease, 0},
		{"a member, late heartbeats", false, false, drainLease, 1400 * time.Millisecond},
		{"the coordinator, late heartbeats", true, false, drainLease, 1400 * time.Millisecond},
		{"a member, a long ttl", false, false, 9 * time.Second, 6700 * time.Millisecond},
		{"the coordinator, a long ttl", true, false, 9 * time.Second, 6700 * time.Millisecond},
		{"a member whose coordinator crashes", false, true, drainLease, 0},
		{"a member whose coordinator crashes, a long ttl", false, true, 9 * time.Second, 6700 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newSimCluster(t, 3, coordinated)
			w.run(10 * time.Second)
			drained, other := w.choose(test.coordinator)
			holder := w.open(drained, test.ttl, test.trip)
			holder.acquire("x")
			waiter := w.open(other, 9*time.Second, 0)
			waiter.acquire("x")
			w.run(5 * time.Second)
			if !holder.granted || waiter.granted {
				t.Fatalf("granted: %v, and to the waiter %v", holder.granted, waiter.granted)
			}
			ended := false
			w.call(drained, &session.Drain{}, func(any) { ended = true })
			if test.crash {
				w.run(5 * drainLease)
				w.members[w.coordinator()].dead = true
			}
			w.run(40 * drainLease)
			if ended || waiter.granted {
				t.Fatalf("while it is held the drain has ended: %v, and the waiter is granted: %v", ended, waiter.granted)
			}
			w.call(drained, &session.Open{Kind: session.Stream}, func(result any) {
				if err := result.(*session.Opened).Err; !errors.Is(err, holdfast.ErrUnavailable) {
					t.Errorf("a new session: %v", err)
				}
			})
			holder.release("x")
			left := false
			w.run(5 * time.Second)
			w.call(drained, &membership.Leave{}, func(any) { left = true })
			w.run(10 * time.Second)
			if !ended || !left || !waiter.granted {
				t.Errorf("in the end it is drained: %v, has left: %v, and the waiter is granted: %v", ended, left, waiter.granted)
			}
		})
	}
}

// simCluster is a few members, a network and clients, in simulated time by one clock.
type simCluster struct {
	t       *testing.T
	now     protocol.Time
	members []*simMember
	space   func(self protocol.ID) (protocol.Machine, error)
	lasting bool // members have a second space, at vaultPort, which outlasts them
	due     []due
	serial  uint64
}

// due is what happens at a time, in the order in which it was asked for.
type due struct {
	at protocol.Time
	do func()
}

// simMember is a member of the cluster. What it answers goes to the caller, and what it
// says unasked to the client of the sink.
type simMember struct {
	id      protocol.ID
	address string
	machine *session.Machine
	view    *protocol.View
	dead    bool
	born    protocol.Time // when its clock began
	number  int
	written []byte // its cell
	pending map[protocol.CallID]func(result any)
	clients map[uint64]*simClient
}

// How long messages and writes take.
const (
	messageTime = 5 * time.Millisecond
	writeTime   = 3 * time.Millisecond
)

// coordinated is a space of protocol central.
func coordinated(self protocol.ID) (protocol.Machine, error) {
	return central.New(central.Config{Self: self})
}

func newSimCluster(t *testing.T, size int, space func(self protocol.ID) (protocol.Machine, error)) *simCluster {
	return newSimClusterOf(t, size, &simCluster{space: space})
}

// newSimClusterOf starts the members of a cluster.
func newSimClusterOf(t *testing.T, size int, w *simCluster) *simCluster {
	w.t = t
	for i := range size {
		w.members = append(w.members, &simMember{number: i, address: address(i)})
	}
	for _, m := range w.members {
		w.begin(m)
	}
	return w
}

func address(number int) string { return fmt.Sprintf("%c:1", 'a'+number) }

// begin starts a member, for the first time or again with the cell that it has written.
func (w *simCluster) begin(m *simMember) {
	w.t.Helper()
	var addresses []string
	for i := range w.members {
		addresses = append(addresses, address(i))
	}
	var cell membership.Cell
	var err error
	if m.written != nil {
		if cell, err = membership.DecodeCell(m.written); err != nil {
			w.t.Fatal(err)
		}
	}
	random := rand.New(rand.NewPCG(uint64(m.number), 7+cell.Incarnation))
	below, err := membership.New(membership.Config{
		Name: m.address[:1], Address: m.address, Founders: addresses, Founder: true, Kept: true, Cell: cell, Serves: true, Spaces: w.spaces(),
		Lease: drainLease, Wall: (membership.Origin+1000)*time.Second + w.now, Rand: random,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	self := below.Cell()
	space, err := w.space(self.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	c := session.Config{Member: self.ID, Incarnation: self.Incarnation, Rand: random, Spaces: w.spaces(), Lease: drainLease, TTL: drainLease}
	spaces := []protocol.Machine{space}
	if w.lasting {
		c.Lasting = []protocol.Port{vaultPort}
		vault := newVault(w.t)
		vault.confirms = true
		spaces = append(spaces, vault)
	}
	m.machine, err = session.New(c, protocol.Stack(below, spaces...))
	if err != nil {
		w.t.Fatal(err)
	}
	m.id, m.born, m.view, m.dead = self.ID, w.now, nil, false
	m.pending, m.clients = map[protocol.CallID]func(any){}, map[uint64]*simClient{}
	w.step(m, protocol.Event{Kind: protocol.Start})
}

// spaces is how many a member has.
func (w *simCluster) spaces() int {
	if w.lasting {
		return 2
	}
	return 1
}

// run lets time pass.
func (w *simCluster) run(d time.Duration) {
	for end := w.now + d; ; {
		at, do := end, func() {}
		for _, m := range w.members {
			if wake := m.machine.Wake(); !m.dead && wake < at-m.born {
				at, do = max(m.born+wake, w.now), func() { w.step(m, protocol.Event{Kind: protocol.Tick}) }
			}
		}
		next := -1
		for i := range w.due {
			if w.due[i].at < at || w.due[i].at == at && at < end && next < 0 {
				at, next = w.due[i].at, i
			}
		}
		if next >= 0 {
			do = w.due[next].do
			w.due = append(w.due[:next], w.due[next+1:]...)
		}
		w.now = at
		if at >= end {
			return
		}
		do()
	}
}

func (w *simCluster) after(d time.Duration, do func()) { w.due = append(w.due, due{w.now + d, do}) }

// step steps a member and carries what it sends and says.
func (w *simCluster) step(m *simMember, ev protocol.Event) {
	if m.dead {
		return
	}
	var out protocol.Effects
	life := m.machine
	m.machine.Step(w.now-m.born, ev, &out)
	for _, raised := range out.Raises {
		if view, is := raised.(*protocol.View); is {
			m.view = view
		}
	}
	for _, envelope := range out.Sends {
		if save, is := envelope.Message.(storage.Save); is {
			w.after(writeTime, func() {
				if m.dead || m.machine != life {
					return // it has crashed before that
				}
				m.written = save.Data
				w.step(m, protocol.Event{Kind: protocol.Receive, From: protocol.Storage, Fact: storage.Saved{ID: save.ID}})
			})
			continue
		}
		for _, to := range w.members {
			if to.id == envelope.To || envelope.To == protocol.AnyMember && to.address == envelope.Address {
				w.after(messageTime, func() {
					w.step(to, protocol.Event{Kind: protocol.Receive, From: m.id, Port: envelope.Port, Fact: envelope.Message})
				})
			}
		}
	}
	for _, reply := range out.Replies {
		if then := m.pending[reply.To]; then != nil && reply.Result != nil {
			delete(m.pending, reply.To)
			then(reply.Result)
		} else if c := m.clients[reply.To.Sink]; c != nil {
			c.hear(reply)
		}
	}
}

// call asks a member something, at a sink of no client.
func (w *simCluster) call(m *simMember, fact any, then func(result any)) {
	w.callAt(m, 0, fact, then)
}

func (w *simCluster) callAt(m *simMember, sink uint64, fact any, then func(result any)) {
	w.serial++
	if sink == 0 {
		sink = 1<<32 + w.serial
	}
	call := protocol.CallID{Sink: sink, Op: 1<<32 + w.serial}
	m.pending[call] = then
	w.step(m, protocol.Event{Kind: protocol.Call, Call: call, Fact: fact})
}

// coordinator returns the coordinator on which the living members agree.
func (w *simCluster) coordinator() int {
	w.t.Helper()
	found := -1
	for i, m := range w.members {
		for _, other := range w.members {
			if !other.dead && (other.view == nil || other.view.Coordinator != m.id) {
				break
			}
			if other == w.members[len(w.members)-1] {
				found = i
			}
		}
	}
	if found < 0 {
		w.t.Fatal("no member coordinates all")
	}
	return found
}

// choose returns a member, the coordinator or not, and another.
func (w *simCluster) choose(coordinator bool) (chosen, other *simMember) {
	i, n := w.coordinator(), len(w.members)
	if !coordinator {
		i++
	}
	return w.members[i%n], w.members[(i+1)%n]
}

// simClient is a client: its heartbeats go every quarter of the ttl, and each takes half
// of the trip before the member has it, and the answer the other half.
type simClient struct {
	cluster  *simCluster
	member   *simMember
	sink     uint64
	id       lock.SessionID
	ttl      time.Duration // wanted
	trip     time.Duration
	answered time.Duration // the latest ttl
	newest   protocol.Time // when the latest heartbeat that was acknowledged was sent
	deadline protocol.Time
	granted  bool
	gone     bool // it holds nothing any more, and may be sent away
}

func (w *simCluster) open(m *simMember, ttl, trip time.Duration) *simClient {
	w.t.Helper()
	w.serial++
	c := &simClient{cluster: w, member: m, sink: w.serial, ttl: ttl, trip: trip, newest: w.now}
	m.clients[c.sink] = c
	w.callAt(m, c.sink, &session.Open{Kind: session.Stream, TTL: ttl}, func(result any) {
		opened := result.(*session.Opened)
		if opened.Err != nil {
			w.t.Fatal(opened.Err)
		}
		c.id, c.answered, c.deadline = opened.ID, opened.TTL, c.newest+opened.TTL
		c.beat()
	})
	w.run(time.Second)
	if c.answered == 0 {
		w.t.Fatal("the session is not opened")
	}
	return c
}

// beat sends a heartbeat, and the next one a quarter of the ttl later.
func (c *simClient) beat() {
	if c.gone {
		return
	}
	w, sent := c.cluster, c.cluster.now
	if sent >= c.deadline {
		w.t.Fatalf("at %v: lost at %v; the latest ttl was %v", sent, c.deadline, c.answered)
	}
	w.after(c.trip/2, func() {
		if c.gone {
			return
		}
		renew := &session.Renew{ID: c.id, Proven: true, TTL: c.ttl, Arrived: w.now - c.member.born}
		w.callAt(c.member, c.sink, renew, func(result any) {
			w.after(c.trip/2, func() { c.renewed(sent, result.(*session.Renewed)) })
		})
	})
	w.after(c.answered/4, c.beat)
}

// renewed takes the answer to the heartbeat that was sent at the time sent.
func (c *simClient) renewed(sent protocol.Time, renewed *session.Renewed) {
	t, now := c.cluster.t, c.cluster.now
	switch {
	case c.gone || sent < c.newest || errors.Is(renewed.Err, holdfast.ErrUnavailable):
		return // an unavailable one is not sent
	case renewed.Err != nil:
		t.Fatalf("at %v: the heartbeat of %v is refused: %v", now, sent, renewed.Err)
	case now >= c.deadline:
		t.Fatalf("at %v: the answer to the heartbeat of %v comes after the deadline, %v", now, sent, c.deadline)
	}
	c.newest, c.answered, c.deadline = sent, renewed.TTL, sent+renewed.TTL
}

// request is the id of the one request that a client makes.
const request = 1

func (c *simClient) acquire(name string) { c.acquireAt(1, name) }

func (c *simClient) acquireAt(port protocol.Port, name string) {
	c.stepAt(port, &lock.Request{Session: c.id, ID: request, Name: name, Arrived: c.cluster.now - c.member.born, WaitEnd: lock.Never})
}

// release gives up what it holds, and may be sent away for it.
func (c *simClient) release(name string) {
	if now := c.cluster.now; now >= c.deadline {
		c.cluster.t.Fatalf("at %v: lost at %v", now, c.deadline)
	}
	c.gone = true
	c.step(&protocol.Release{Session: c.id, Name: name, Request: request})
}

func (c *simClient) step(fact any) { c.stepAt(1, fact) }

func (c *simClient) stepAt(port protocol.Port, fact any) {
	call := protocol.CallID{Sink: c.sink, Op: request}
	c.cluster.step(c.member, protocol.Event{Kind: protocol.Call, Port: port, Call: call, Fact: fact})
}

// hear takes what the member says unasked, and what becomes of the request.
func (c *simClient) hear(reply protocol.Reply) {
	said := fmt.Sprintf("%v %T", reply.Decision.Kind, reply.Result)
	switch _, expired := reply.Result.(*session.Expired); {
	case c.gone:
	case expired:
		c.cluster.t.Fatalf("at %v: sent away: %s", c.cluster.now, said)
	case reply.Decision.Kind == lock.Granted:
		c.granted = true
	case reply.Result == nil && reply.Decision.Kind != lock.Queued:
		c.cluster.t.Fatalf("at %v: got %s: %v", c.cluster.now, said, reply.Decision)
	}
}
