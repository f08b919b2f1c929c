package consensus

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// serveEverywhere has a session be served by all members, as one is whose client has no stream.
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

func (o *once) wish(m *member, number uint64, name, what string) *lock.Request {
	q := o.lock(m, client7, number, name)
	q.Once, q.Content = what, 1
	return q
}

// TestAWishThroughAnotherMember: what a client has asked for through one member, and asks for through another one with the same
// id, is one hold; what the first one gives up when it notices that its client has gone does not end it.
func TestAWishThroughAnotherMember(t *testing.T) {
	o := layOnce(t)
	o.serveEverywhere(client7)
	granted := o.only(o.a, o.wish(o.a, 10, "x", "w"), lock.Granted)
	if again := o.only(o.c, o.wish(o.c, 20, "x", "w"), lock.Granted); again.Token != granted.Token {
		t.Fatalf("granted under %d, and through another member under %d", granted.Token, again.Token)
	}
	o.only(o.a, &protocol.Cancel{Session: client7, Request: 10, Name: "x"}, lock.Released)
	for _, m := range o.members {
		if l := m.machine.parts[0].shard.Replica().Table().Show("x"); len(l.Holders) != 1 || l.Holders[0].Token != granted.Token {
			t.Errorf("%s has holders %+v; want token %d alone", m.name(), l.Holders, granted.Token)
		}
	}
	for _, d := range o.asks(o.b, &protocol.Release{Session: client7, Token: granted.Token, Name: "x"}) { // c is told, too
		if d.Kind != lock.Released || d.Token != granted.Token || d.Request != 20 {
			t.Errorf("released: %+v", d)
		}
	}
	if d := o.asks(o.b, o.wish(o.b, 30, "x", "w")); len(d) != 1 || d[0].Kind != lock.Released || d[0].Token != granted.Token {
		t.Errorf("asked for when it was released: %+v", d)
	}
	other := o.wish(o.b, 40, "x", "w")
	other.Content = 2
	if d := o.only(o.b, other, lock.Refused); !errors.Is(d.Err, holdfast.ErrConflict) {
		t.Errorf("with another content: %v", d.Err)
	}
}

// try is one connection of a client to a member, by which it asks for a wish.
type try struct {
	member *member
	number uint64
	broken bool // its client has turned away; the member has yet to notice
}

// wisher is a client that wants something once.
type wisher struct {
	name, what string
	tries      []*try
	token      holdfast.Token // 0 until it was told
	gives      bool           // it has turned away for good, or has released it
}

// TestWishesInAnyOrder: clients ask for what they want through one member after the other, are granted it or turn away, and
// members notice that late, while messages are lost. Whoever was told that it holds does until it releases; what nobody wants
// any more is free; and no name has two holders.
func TestWishesInAnyOrder(t *testing.T) {
	granted, twice, given, overtaken := 0, 0, 0, 0
	for seed := range uint64(150) {
		rand := rand.New(rand.NewPCG(seed, 9))
		o := layOnce(t)
		o.serveEverywhere(client7)
		var wishers []*wisher
		number := uint64(100)
		byNumber := map[uint64]*wisher{}
		ofNumber := map[uint64]*try{}
		o.world.told = func(m *member, reply *protocol.Reply) {
			d := reply.Decision
			w, c := byNumber[d.Request], ofNumber[d.Request]
			if reply.Result != nil || w == nil || c.member != m || c.broken || w.gives || d.Session != client7 {
				return
			}
			switch d.Kind {
			case lock.Granted:
				if w.token != 0 && w.token != d.Token {
					t.Errorf("seed %d: %s is granted %s under %d and %d", seed, w.what, w.name, w.token, d.Token)
				}
				if w.token == 0 {
					granted++
				} else {
					twice++
				}
				w.token = d.Token
			case lock.Refused, lock.Lost, lock.Released:
				t.Errorf("seed %d: %s is told %+v though its client still wants it", seed, w.what, d)
			}
		}
		after := map[time.Duration][]func(){}
		later := func(most time.Duration, do func()) {
			at := o.now + time.Duration(rand.Int64N(int64(most)))
			after[at] = append(after[at], do)
		}
		pass := func(d time.Duration) {
			for end := o.now + d; o.now < end; {
				next := end
				for at := range after {
					next = min(next, max(at, o.now))
				}
				o.pass(next - o.now)
				for at, all := range after {
					if at <= o.now {
						delete(after, at)
						for _, do := range all {
							do()
						}
					}
				}
			}
		}
		breaks := func(w *wisher, c *try) {
			if c.broken {
				return
			}
			c.broken = true
			later(300*time.Millisecond, func() {
				if w.token != 0 && !w.gives {
					overtaken++
				}
				o.call(c.member, 1, &protocol.Cancel{Session: client7, Name: w.name, Request: c.number})
			})
		}
		check := func() {
			var latest time.Duration // what a copy has that is behind is no news
			for _, m := range o.members {
				latest = max(latest, m.machine.parts[0].shard.Replica().Now())
			}
			for _, w := range wishers {
				holds := false
				for _, m := range o.members {
					copied := m.machine.parts[0].shard.Replica()
					l := copied.Table().Show(w.name)
					holds = holds || copied.Now() == latest && slices.ContainsFunc(l.Holders, func(g lock.Grant) bool { return g.Token == w.token })
					if len(l.Holders) > 1 {
						t.Fatalf("seed %d: %s has holders %+v at %s", seed, w.name, l.Holders, m.name())
					}
				}
				if w.token != 0 && !w.gives && !holds {
					t.Fatalf("seed %d: %s believes in %s under %d, which nobody knows of", seed, w.what, w.name, w.token)
				}
			}
		}
		for round := range 60 {
			if rand.IntN(3) == 0 {
				wishers = append(wishers, &wisher{name: fmt.Sprint("n", rand.IntN(2)), what: fmt.Sprint("w", round)})
			}
			for _, w := range wishers {
				switch rand.IntN(6) {
				case 0: // it asks, through another member as a rule
					if w.token == 0 && !w.gives {
						for _, c := range w.tries {
							if rand.IntN(8) > 0 {
								breaks(w, c)
							}
						}
						number++
						c := &try{member: o.members[rand.IntN(3)], number: number}
						w.tries = append(w.tries, c)
						byNumber[number], ofNumber[number] = w, c
						o.call(c.member, 1, o.wish(c.member, number, w.name, w.what))
					}
				case 1: // it has what it wants, and gives it back
					if w.token != 0 && !w.gives {
						w.gives = true
						o.call(o.members[rand.IntN(3)], 2, &protocol.Release{Session: client7, Name: w.name, Token: w.token})
						for _, c := range w.tries {
							breaks(w, c)
						}
					}
				case 2: // it turns away for good
					if w.token == 0 && rand.IntN(3) == 0 {
						w.gives = true
						given++
						for _, c := range w.tries {
							breaks(w, c)
						}
					}
				}
			}
			from, to := o.members[rand.IntN(3)].id, o.members[rand.IntN(3)].id
			o.cut[[2]protocol.ID{from, to}] = rand.IntN(4) == 0
			pass(time.Duration(rand.Int64N(int64(60 * time.Millisecond))))
			check()
		}
		clear(o.cut)
		pass(2 * time.Second)
		for range 20 { // one after the other gets what it wants, or gives up
			for _, w := range wishers {
				if w.gives {
					continue
				}
				w.gives = true
				if w.token != 0 {
					o.call(o.b, 2, &protocol.Release{Session: client7, Name: w.name, Token: w.token})
				}
				for _, c := range w.tries {
					breaks(w, c)
				}
			}
			pass(time.Second)
		}
		for _, m := range o.members {
			copied := m.machine.parts[0].shard.Replica()
			if holds, waits := copied.Table().Holds(), copied.Table().Waiters(); holds+waits > 0 {
				t.Errorf("seed %d: nobody wants anything any more, and at %s %d hold and %d wait", seed, m.name(), holds, waits)
			}
			if c := m.machine.clientOf(client7); len(c.requests)+len(c.giving)+len(c.ending) > 0 {
				t.Errorf("seed %d: %s keeps %d requests, %d releases and %d cancels", seed, m.name(), len(c.requests), len(c.giving), len(c.ending))
			}
		}
		if t.Failed() {
			return
		}
	}
	if granted < 100 || twice < 20 || given < 100 || overtaken < 100 {
		t.Errorf("%d wishes were granted, %d times once more, %d given up; %d cancels came when another member had told of the grant", granted, twice, given, overtaken)
	}
}
