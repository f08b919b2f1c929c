package consensus

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// serveEverywhere makes all members serve a session, like one whose client has no stream.
func (o *once) serveEverywhere(id lock.SessionID) {
	o.Helper()
	o.call(o.a, 1, &protocol.Enroll{Session: id, TTL: time.Hour})
	o.take(o.a, id, 1, "serves")
	for _, m := range o.members[1:] {
		o.call(m, 1, &protocol.Adopt{Session: id})
		o.pass(time.Second)
		o.call(m, 1, &protocol.Beat{Session: id})
		o.pass(time.Second)
	}
	o.only(o.a, &protocol.Release{Session: id, Request: 1, Name: "serves"}, lock.Released)
}

func (o *once) request(m *member, number uint64, name, what string) *lock.Request {
	q := o.lock(m, client7, number, name)
	q.Once, q.Content = what, 1
	return q
}

// TestARequestThroughAnotherMember checks that requests with the same id through two members are one hold, and that the
// first member does not end it when it notices that its client has gone.
func TestARequestThroughAnotherMember(t *testing.T) {
	o := layOnce(t)
	o.serveEverywhere(client7)
	granted := o.only(o.a, o.request(o.a, 10, "x", "w"), lock.Granted)
	if again := o.only(o.c, o.request(o.c, 20, "x", "w"), lock.Granted); again.Token != granted.Token {
		t.Fatalf("granted under %d, and through another member under %d", granted.Token, again.Token)
	}
	o.only(o.a, &protocol.Cancel{Session: client7, Request: 10, Name: "x"}, lock.Released)
	for _, m := range o.members {
		if l := m.machine.parts[0].shard.Replica().Table().Show("x"); len(l.Holders) != 1 || l.Holders[0].Token != granted.Token {
			t.Errorf("%s has holders %+v; want token %d alone", m.name(), l.Holders, granted.Token)
		}
	}
	for _, d := range o.decisionsOn(o.b, &protocol.Release{Session: client7, Token: granted.Token, Name: "x"}) { // c hears of it, too
		if d.Kind != lock.Released || d.Token != granted.Token || d.Request != 20 {
			t.Errorf("released: %+v", d)
		}
	}
	if d := o.decisionsOn(o.b, o.request(o.b, 30, "x", "w")); len(d) != 1 || d[0].Kind != lock.Released || d[0].Token != granted.Token {
		t.Errorf("asked for when it was released: %+v", d)
	}
	other := o.request(o.b, 40, "x", "w")
	other.Content = 2
	if d := o.only(o.b, other, lock.Refused); !errors.Is(d.Err, holdfast.ErrConflict) {
		t.Errorf("with another content: %v", d.Err)
	}
}

// try is one connection of a client to a member for a request.
type try struct {
	of     *requester
	member *member
	number uint64
	broken bool // its client has abandoned it; the member has yet to notice
}

// requester is a client that wants one lock.
type requester struct {
	name, what string
	tries      []*try
	token      holdfast.Token // 0 until its grant arrived
	gives      bool           // it has finally given up, or has released it
}

// requesters is the clients of one session, in a random order.
type requesters struct {
	*once
	seed    uint64
	rand    *rand.Rand
	clients []*requester
	tries   map[uint64]*try // by number
	after   map[time.Duration][]func()
	counts
}

// counts are counts of events.
type counts struct{ granted, again, given, overtaken int }

func (c *requesters) wrong(format string, values ...any) {
	c.Helper()
	c.Fatalf("seed %d: "+format, append([]any{c.seed}, values...)...)
}

// hears takes the answer to a client over a connection that it still reads.
func (c *requesters) hears(m *member, reply *protocol.Reply) {
	d, y := reply.Decision, c.tries[reply.Decision.Request]
	if reply.Result != nil || y == nil || y.member != m || y.broken || y.of.gives {
		return
	}
	switch w := y.of; {
	case d.Kind == lock.Granted && w.token == 0:
		w.token = d.Token
		c.granted++
	case d.Kind == lock.Granted && w.token == d.Token:
		c.again++
	case d.Kind != lock.Queued:
		c.wrong("%s, which has token %d, hears %+v, and its client still wants it", w.what, w.token, d)
	}
}

// passes lets time pass, and performs what is due.
func (c *requesters) passes(d time.Duration) {
	for end := c.now + d; c.now < end; {
		next := end
		for at := range c.after {
			next = min(next, max(at, c.now))
		}
		c.pass(next - c.now)
		for _, at := range slices.Sorted(maps.Keys(c.after)) {
			if at > c.now {
				break
			}
			all := c.after[at]
			delete(c.after, at)
			for _, do := range all {
				do()
			}
		}
	}
}

// submit makes a client ask through a member, usually after it has abandoned earlier ones.
func (c *requesters) submit(w *requester) {
	for _, y := range w.tries {
		if c.rand.IntN(8) > 0 {
			c.breaks(y)
		}
	}
	y := &try{of: w, member: c.members[c.rand.IntN(3)], number: 100 + uint64(len(c.tries))}
	w.tries = append(w.tries, y)
	c.tries[y.number] = y
	c.call(y.member, 1, c.request(y.member, y.number, w.name, w.what))
}

// breaks makes a client abandon a member, which notices later.
func (c *requesters) breaks(y *try) {
	if y.broken {
		return
	}
	y.broken = true
	at := c.now + time.Duration(c.rand.Int64N(int64(300*time.Millisecond)))
	c.after[at] = append(c.after[at], func() {
		if y.of.token != 0 && !y.of.gives {
			c.overtaken++
		}
		c.call(y.member, 1, &protocol.Cancel{Session: client7, Name: y.of.name, Request: y.number})
	})
}

// ends makes a client release its lock, or finally give up its request.
func (c *requesters) ends(w *requester) {
	w.gives = true
	if w.token == 0 {
		c.given++
	} else {
		c.call(c.members[c.rand.IntN(3)], 2, &protocol.Release{Session: client7, Name: w.name, Token: w.token})
	}
	for _, y := range w.tries {
		c.breaks(y)
	}
}

// acts performs random acts of clients, and faults of links.
func (c *requesters) acts() {
	if c.rand.IntN(3) == 0 {
		c.clients = append(c.clients, &requester{name: fmt.Sprint("n", c.rand.IntN(2)), what: fmt.Sprint("w", len(c.clients))})
	}
	for _, w := range c.clients {
		switch n := c.rand.IntN(9); {
		case w.gives:
		case w.token == 0 && n < 2:
			c.submit(w)
		case w.token != 0 && n < 2, w.token == 0 && n == 2 && c.rand.IntN(2) == 0:
			c.ends(w)
		}
	}
	from, to := c.members[c.rand.IntN(3)].id, c.members[c.rand.IntN(3)].id
	c.cut[[2]protocol.ID{from, to}] = c.rand.IntN(4) == 0
	c.passes(time.Duration(c.rand.Int64N(int64(60 * time.Millisecond))))
}

// check checks that no name has two holders, and that clients that believe hold, by the copies that do not lag.
func (c *requesters) check() {
	c.Helper()
	var latest time.Duration
	for _, m := range c.members {
		latest = max(latest, m.machine.parts[0].shard.Replica().Now())
	}
	for _, w := range c.clients {
		holds := false
		for _, m := range c.members {
			copied := m.machine.parts[0].shard.Replica()
			l := copied.Table().Show(w.name)
			holds = holds || copied.Now() == latest && slices.ContainsFunc(l.Holders, func(g lock.Grant) bool { return g.Token == w.token })
			if len(l.Holders) > 1 {
				c.wrong("%s has holders %+v at %s", w.name, l.Holders, m.name())
			}
		}
		if w.token != 0 && !w.gives && !holds {
			c.wrong("%s believes in %s under %d, which no table has", w.what, w.name, w.token)
		}
	}
}

// nothingLeft checks that unwanted names are free, and that the members have forgotten their requests.
func (c *requesters) nothingLeft() {
	c.Helper()
	for _, m := range c.members {
		copied := m.machine.parts[0].shard.Replica()
		if holds, waits := copied.Table().Holds(), copied.Table().Waiters(); holds+waits > 0 {
			c.wrong("no client wants anything any more, and at %s %d hold and %d wait", m.name(), holds, waits)
		}
		if of := m.machine.clientOf(client7); len(of.requests)+len(of.giving)+len(of.ending) > 0 {
			c.wrong("%s keeps %d requests, %d releases and %d cancels", m.name(), len(of.requests), len(of.giving), len(of.ending))
		}
	}
}

// TestRequestsInAnyOrder checks clients that ask through one member after the other, get a grant or give up, while
// members notice late and messages are lost: a client whose grant has arrived holds until it releases; unwanted names
// are free; and no name has two holders.
func TestRequestsInAnyOrder(t *testing.T) {
	var all counts
	seeds := rounds(150, 5)
	for seed := range seeds {
		c := &requesters{once: layOnce(t), seed: seed, rand: rand.New(rand.NewPCG(seed, 9)), tries: map[uint64]*try{}, after: map[time.Duration][]func(){}}
		c.serveEverywhere(client7)
		c.world.onReply = c.hears
		for range 60 {
			c.acts()
			c.check()
		}
		clear(c.cut)
		c.passes(2 * time.Second)
		c.check()
		for _, w := range c.clients {
			if !w.gives {
				c.ends(w)
			}
		}
		c.passes(5 * time.Second)
		c.nothingLeft()
		all = counts{all.granted + c.granted, all.again + c.again, all.given + c.given, all.overtaken + c.overtaken}
	}
	share := int(150 / seeds)
	if all.granted < 500/share || all.again < 50/share || all.given < 500/share || all.overtaken < 100/share {
		t.Errorf("%d wishes were granted, and reported %d times more; %d were given up; %d times a member gave up what another one had granted",
			all.granted, all.again, all.given, all.overtaken)
	}
}
