package permission

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// crowd is a cluster whose clients make all possible calls, in an order drawn from a seed, over a network that loses,
// duplicates and reorders messages, under changing views and tenures.
type crowd struct {
	t         testing.TB
	rand      *rand.Rand
	now       protocol.Time
	members   []*one
	transit   []crossing
	number    uint64
	epoch     uint64
	above     uint64 // the coordinator has asked for an epoch above this one
	healed    bool
	lost      int
	ids       uint64
	requested []wantedLock
}

type one struct {
	machine *Machine
	lease   *protocol.Lease
	since   uint64
	out     protocol.Effects
}

type crossing struct {
	from, to protocol.ID
	message  protocol.Message
}

// wantedLock is a request that was made, whether or not it has ended.
type wantedLock struct {
	session lock.SessionID
	id      uint64
	name    string
}

func newCrowd(t testing.TB, seed uint64, n int, config Config) *crowd {
	c := &crowd{t: t, rand: rand.New(rand.NewPCG(seed, 13)), epoch: 4}
	for i := range n {
		config.Self = protocol.ID(i + 1)
		machine, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		lease := &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never}
		c.members = append(c.members, &one{machine: machine, lease: lease, since: 1})
	}
	c.view()
	return c
}

// view raises the next view, of all members.
func (c *crowd) view() {
	c.number++
	var members []protocol.Member
	for i, o := range c.members {
		members = append(members, protocol.Member{ID: protocol.ID(i + 1), Name: fmt.Sprint(i), Tenure: o.lease.Tenure, Since: o.since})
	}
	for _, o := range c.members {
		c.step(o, protocol.Event{Kind: protocol.Raised, Fact: &protocol.View{
			Number: c.number, Epoch: protocol.Epoch{Counter: c.epoch, Candidate: 1}, Coordinator: 1,
			Installed: true, Open: true, Members: members, Lease: o.lease,
		}})
	}
}

func (c *crowd) step(o *one, ev protocol.Event) {
	o.machine.Step(c.now, ev, &o.out)
	for _, send := range o.out.Sends {
		copies := 1
		if !c.healed {
			copies = []int{0, 1, 1, 1, 1, 1, 1, 2}[c.rand.IntN(8)]
		}
		if copies == 0 {
			c.lost++
		}
		for range copies {
			c.transit = append(c.transit, crossing{o.machine.self, send.To, send.Message})
		}
	}
	for _, fact := range o.out.Raises {
		if need, ok := fact.(*protocol.NeedEpoch); ok {
			c.above = max(c.above, need.Above)
		}
	}
	o.out.Reset()
}

// elect begins the epoch that the coordinator has asked for.
func (c *crowd) elect() {
	if c.epoch <= c.above {
		c.epoch = c.above + 1
		c.view()
	}
}

func (c *crowd) deliver() {
	i := c.rand.IntN(len(c.transit))
	f := c.transit[i]
	c.transit = slices.Delete(c.transit, i, i+1)
	c.step(c.members[f.to-1], protocol.Event{Kind: protocol.Receive, From: f.from, Fact: f.message})
}

// pass lets time pass.
func (c *crowd) pass(d time.Duration) {
	c.now += d
	for _, o := range c.members {
		if o.machine.Wake() <= c.now {
			c.step(o, protocol.Event{Kind: protocol.Tick})
		}
	}
}

func (c *crowd) call(session lock.SessionID, fact any) {
	c.step(c.members[session.Member-1], protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}, Fact: fact})
}

// want makes a random request, of any kind that the space takes.
func (c *crowd) want(capacity int) {
	c.ids++
	q := &lock.Request{
		Session: lock.SessionID{Member: uint64(1 + c.rand.IntN(len(c.members))), Number: uint64(1 + c.rand.IntN(2))},
		ID:      c.ids, Name: fmt.Sprint("n", c.rand.IntN(4)), Arrived: c.now, WaitEnd: lock.Never,
	}
	switch c.rand.IntN(4) {
	case 0:
		q.Try, q.WaitEnd = true, c.now
	case 1:
		q.WaitEnd = c.now + time.Duration(c.rand.Int64N(int64(2*time.Second)))
	}
	if c.rand.IntN(4) == 0 {
		q.Hold = time.Duration(1 + c.rand.Int64N(int64(time.Second)))
	}
	switch mode := c.rand.IntN(3); {
	case capacity != 0:
		q.Mode, q.Units, q.Capacity = holdfast.ModeSlots, 1, capacity
	case mode == 0:
		q.Mode, q.Units, q.Capacity = holdfast.ModeSlots, 1+c.rand.IntN(3), 3+c.rand.IntN(2)
	case mode == 1:
		q.Mode = holdfast.ModeShared
	}
	c.requested = append(c.requested, wantedLock{q.Session, q.ID, q.Name})
	c.call(q.Session, q)
}

// act performs one random event.
func (c *crowd) act(capacity int) {
	c.elect()
	switch n := c.rand.IntN(100); {
	case n < 50 && len(c.transit) > 0:
		c.deliver()
	case n < 65:
		c.want(capacity)
	case n < 85 && len(c.requested) > 0:
		i := c.rand.IntN(len(c.requested))
		w := c.requested[i]
		c.requested = slices.Delete(c.requested, i, i+1)
		if c.rand.IntN(3) == 0 {
			c.call(w.session, &protocol.Cancel{Session: w.session, Request: w.id, Name: w.name})
		} else {
			c.call(w.session, &protocol.Release{Session: w.session, Request: w.id, Name: w.name})
		}
	case n < 96:
		c.pass(time.Duration(c.rand.Int64N(int64(200 * time.Millisecond))))
	case n < 98:
		c.epoch += uint64(c.rand.IntN(2))
		c.view()
	case n < 99:
		o := c.members[c.rand.IntN(len(c.members))]
		o.lease.Tenure.Lapses++
		o.since = c.number + 1
		c.step(o, protocol.Event{Kind: protocol.Raised, Fact: &protocol.Lapsed{Tenure: o.lease.Tenure}})
		c.view()
	default:
		member := uint64(1 + c.rand.IntN(len(c.members)))
		session := lock.SessionID{Member: member, Number: uint64(1 + c.rand.IntN(2))}
		c.call(session, &protocol.Show{Name: "n1"})
	}
}

// end ends all sessions over a good network, and waits until nothing is left to do.
func (c *crowd) end() {
	c.healed = true
	for i := range c.members {
		for number := range uint64(2) {
			session := lock.SessionID{Member: uint64(i + 1), Number: number + 1}
			c.call(session, &protocol.EndSession{Session: session})
		}
	}
	for range 1000 {
		for len(c.transit) > 0 {
			c.deliver()
			c.elect()
		}
		c.elect()
		next := protocol.Never
		for _, o := range c.members {
			next = min(next, o.machine.Wake())
		}
		if next == protocol.Never {
			return
		}
		c.pass(max(next-c.now, 0))
	}
	c.t.Errorf("the machines never rest")
}

// TestUnwantedNamesCostNothing checks that when all clients have gone, nothing is left except, with retain, the kept
// permissions.
func TestUnwantedNamesCostNothing(t *testing.T) {
	for _, config := range []Options{{}, {Defer: true}, {Retain: true}, {Capacity: 2}, {Capacity: 2, Defer: true}} {
		lost, busy, kept := 0, 0, 0
		for seed := range uint64(60) {
			c := newCrowd(t, seed, 3, Config{Options: config})
			for range 400 {
				c.act(config.Capacity)
				for _, o := range c.members {
					busy = max(busy, len(o.machine.names))
				}
			}
			c.end()
			for _, o := range c.members {
				m := o.machine
				kept += m.recent.count
				for text, nm := range m.names {
					if len(nm.own)+len(nm.debts) > 0 || len(nm.kept) == 0 || !nm.links.in {
						t.Errorf("%+v, seed %d: member %d keeps %q: %+v", config, seed, m.self, text, nm)
					}
				}
				left := []int{
					len(m.names) - m.recent.count, len(m.active), len(m.unstamped), len(m.standing.Early()), len(m.touched), len(m.again),
				}
				if slices.Max(left) > 0 || !m.clients.Empty() || !m.survey.Empty() {
					t.Errorf("%+v, seed %d: member %d has left %v", config, seed, m.self, left)
				}
			}
			lost += c.lost
		}
		if lost == 0 || busy == 0 || (kept > 0) != config.Retain {
			t.Errorf("%+v: %d messages were lost, %d names were in use, %d kept", config, lost, busy, kept)
		}
	}
}

// ready makes member 1 of two, which knows the other's clock, and the tag of the other's messages.
func ready(t *testing.T, config Config) (*crowd, *Machine, local.Tag) {
	t.Helper()
	c := newCrowd(t, 1, 2, config)
	c.healed = true
	c.transit = nil
	m := c.members[0].machine
	tag := local.Tag{View: 1, Epoch: m.standing.View.Epoch}
	c.step(c.members[0], protocol.Event{Kind: protocol.Receive, From: 2, Fact: ClockAnswer{Tag: tag, Clock: 4 << 32, Slot: 2}})
	if !m.ready() {
		t.Fatal("the member is not ready")
	}
	return c, m, tag
}

// enter asks member 1 for a name and lets member 2 reply if it is asked. It reports whether it was.
func (c *crowd) enter(tag local.Tag, name string) (sent bool) {
	c.t.Helper()
	c.transit = nil
	c.ids++
	session := lock.SessionID{Member: 1, Number: 1}
	c.call(session, &lock.Request{Session: session, ID: c.ids, Name: name, WaitEnd: lock.Never})
	for _, f := range c.transit {
		request := f.message.(Request)
		c.step(c.members[0], protocol.Event{Kind: protocol.Receive, From: 2, Fact: Reply{Tag: tag, Number: request.Number}})
		sent = true
	}
	if m := c.members[0].machine; (peers{}).Dealings(m).Holds != 1 {
		c.t.Fatalf("%q is not held", name)
	}
	return sent
}

func (c *crowd) leave(name string) {
	session := lock.SessionID{Member: 1, Number: 1}
	c.call(session, &protocol.Release{Session: session, Request: c.ids, Name: name})
}

// TestDebtsAreBounded checks that of one peer's requests for one name the newest 64 are remembered, and that the reply
// to them has their number.
func TestDebtsAreBounded(t *testing.T) {
	c, m, tag := ready(t, Config{})
	c.enter(tag, "X")
	for i := range uint64(maxDebts + 36) {
		request := Request{Tag: tag, Number: i + 1, Clock: 4<<32 + 50 + i, Name: "X"}
		c.step(c.members[0], protocol.Event{Kind: protocol.Receive, From: 2, Fact: request})
	}
	debts := m.names["X"].debts
	if len(debts) != maxDebts || debts[0].number != 37 || debts[maxDebts-1].number != 100 {
		t.Fatalf("%d debts, numbers %d to %d", len(debts), debts[0].number, debts[len(debts)-1].number)
	}
	c.transit = nil
	c.leave("X")
	if len(c.transit) != 1 {
		t.Fatalf("sent %v", c.transit)
	}
	if reply, is := c.transit[0].message.(Reply); !is || reply.Number != 100 || reply.Count != maxDebts || len(m.names) != 0 {
		t.Errorf("sent %v, and %d names are left", c.transit, len(m.names))
	}
}

// TestRetainedNamesAreBounded checks that the 1024 last used names are remembered.
func TestRetainedNamesAreBounded(t *testing.T) {
	c, m, tag := ready(t, Config{Options: Options{Retain: true}})
	for i := range maxRetained {
		name := fmt.Sprint("n", i)
		if !c.enter(tag, name) {
			t.Fatalf("%q is entered unasked", name)
		}
		c.leave(name)
	}
	if c.enter(tag, "n0") {
		t.Error("n0 is asked for again at the bound")
	}
	c.leave("n0")
	c.enter(tag, "one more")
	c.leave("one more")
	if m.recent.count != maxRetained || len(m.names) != maxRetained {
		t.Errorf("%d names are remembered, and %d kept", m.recent.count, len(m.names))
	}
	for name, want := range map[string]bool{"n1": true, "one more": false, "n0": false} {
		if sent := c.enter(tag, name); sent != want {
			t.Errorf("%q is asked for: %t, want %t", name, sent, want)
		}
		c.leave(name)
	}
}
