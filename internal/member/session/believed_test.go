package session_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestBeliefsInMemoryAreWaitedFor: for any ttls a client asks for, in whichever spaces it locks and whenever the horizon is
// confirmed, others wait for the member for as long as the client may believe in a name in memory: for the lease and what the member
// has pledged beyond it, which sinks only as the session machine asks.
func TestBeliefsInMemoryAreWaitedFor(t *testing.T) {
	var seen memoryClient
	for range 20 { // each has 100 runs, and a fifth of them with -short
		rapid.Check(t, func(rt *rapid.T) {
			c := newMemoryClient(t)
			c.play(rt)
			seen.add(c)
		})
	}
	t.Logf("%d grants in memory, %d of them had waited, %d long promises without the horizon", seen.granted, seen.waited, seen.unbound)
	if seen.granted < 10 || seen.waited < 10 || seen.unbound < 10 {
		t.Error("that is too few to say anything")
	}
}

// TestBeliefsInMemoryNeedTheRules: without the rule, or where the lesser promise is all that counts, some client believes for longer.
func TestBeliefsInMemoryNeedTheRules(t *testing.T) {
	defer mutation.Switch("")
	for _, rule := range []string{"what is held in memory is within what others wait for", "less is wanted, less is waited for"} {
		mutation.Switch(rule)
		found := rapid.Custom(func(rt *rapid.T) bool {
			c := newMemoryClient(t)
			c.quiet = true
			c.play(rt)
			return c.exceeds
		})
		is := false
		for seed := 1; seed < 300 && !is; seed++ {
			is = found.Example(seed)
		}
		if !is {
			t.Errorf("without %q no client believes for longer than others wait", rule)
		}
	}
}

// TestLesserPromises: a client is promised less than before, and less again. When the longest promise has passed the second one counts.
func TestLesserPromises(t *testing.T) {
	c := newMemoryClient(t)
	c.opened = c.open(1, session.Stream, 20*time.Second)
	c.lock(1, shelfPort, c.opened.ID, 1, "a")
	c.order(order{verb: "horizon", span: c.below.need.Want})
	until := protocol.Time(0)
	for _, step := range []struct{ at, ttl time.Duration }{{21 * time.Second, 12 * time.Second}, {23 * time.Second, 4 * time.Second}} {
		c.at(step.at)
		c.order(order{verb: "lease", span: 3 * time.Second})
		r := answered[*session.Renewed](c.machine, c.renew(c.opened, step.ttl))
		if r == nil || r.TTL != step.ttl {
			t.Fatalf("at %v it is renewed with %+v", step.at, r)
		}
		until = max(until, c.now+stretched(r.TTL))
	}
	if waits := c.below.lease.Carried + c.below.pledged; c.shelf.held(c.opened.ID) != 1 || until > waits {
		t.Errorf("%d held, believed until %v, waited for until %v", c.shelf.held(c.opened.ID), until, waits)
	}
	c.at(34 * time.Second)
	for range 2 {
		c.order(order{verb: "lease", span: 3 * time.Second})
		c.renew(c.opened, 4*time.Second)
		c.at(c.now + 4*time.Second)
	}
	if c.below.pledged > 3*time.Second {
		t.Errorf("when it has passed, others wait for %v", c.below.pledged)
	}
}

// memoryClient is the client of a session in spaces of both sorts.
type memoryClient struct {
	*machine
	opened                   *session.Opened
	until                    protocol.Time            // when its belief ends, by the member's clock
	frozen                   protocol.Time            // until when it may believe in what it has lost and has not heard of
	holds                    map[uint64]string        // in memory
	pending                  map[uint64]protocol.Time // in memory, and not answered
	renewals                 []renewal
	granted, waited, unbound int
	quiet, exceeds           bool
}

func newMemoryClient(t *testing.T) *memoryClient {
	c := &memoryClient{machine: newLasting(t, 7), holds: map[uint64]string{}, pending: map[uint64]protocol.Time{}}
	c.order(order{verb: "lease", span: 3 * time.Second})
	return c
}

func (c *memoryClient) add(other *memoryClient) {
	c.granted, c.waited, c.unbound = c.granted+other.granted, c.waited+other.waited, c.unbound+other.unbound
}

func (c *memoryClient) play(rt *rapid.T) {
	ttl := rapid.Custom(func(rt *rapid.T) time.Duration {
		return time.Duration(rapid.IntRange(1, 200).Draw(rt, "ttl")) * 100 * time.Millisecond
	})
	ms := func(most int) time.Duration {
		return time.Duration(rapid.IntRange(1, most).Draw(rt, "ms")) * time.Millisecond
	}
	opening := c.call(1, protocol.Below, &session.Open{Kind: session.Stream, TTL: ttl.Draw(rt, "open"), Identity: "i"})
	c.opened = answered[*session.Opened](c.machine, opening)
	if c.opened == nil {
		rt.Skip("what the lease does not cover waits for the horizon")
	}
	c.believe(c.now, c.opened.TTL)
	rt.Repeat(map[string]func(*rapid.T){
		"wait": func(rt *rapid.T) { c.at(c.now + ms(900)); c.hear() },
		"poll": func(rt *rapid.T) {
			span := 2*time.Second + ms(1000)
			c.order(order{verb: "lease", span: max(span, c.below.lease.Carried-c.now)})
			c.hear()
		},
		"renew": func(rt *rapid.T) { c.renewAfter(ms(300), ttl.Draw(rt, "ttl")) },
		"horizon": func(rt *rapid.T) {
			want := c.below.need.Want
			if want <= c.below.horizon.Confirmed {
				rt.Skip("it is confirmed")
			}
			c.order(order{verb: "horizon", span: want * time.Duration(rapid.IntRange(0, 4).Draw(rt, "quarters")) / 4})
			c.hear()
		},
		"lock in memory": func(rt *rapid.T) {
			c.calls++
			c.pending[c.calls] = c.now
			c.lock(1, shelfPort, c.opened.ID, c.calls, rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "name"))
			c.hear()
		},
		"lock in a vault": func(rt *rapid.T) {
			c.calls++
			c.lock(1, vaultPort, c.opened.ID, c.calls, "v")
			c.hear()
		},
		"release": func(rt *rapid.T) {
			for id, name := range c.holds {
				delete(c.holds, id) // it believes no longer
				c.call(1, shelfPort, &protocol.Release{Session: c.opened.ID, Name: name, Request: id})
				break
			}
			c.hear()
		},
		"lose": func(rt *rapid.T) {
			c.step(protocol.Event{Kind: protocol.Receive, From: 9, Port: shelfPort, Fact: order{verb: "lose", name: "a"}})
			c.hear()
		},
		"": c.check,
	})
}

// check looks whether its belief is waited for.
func (c *memoryClient) check(rt *rapid.T) {
	believed := c.frozen
	if len(c.holds) > 0 {
		believed = max(believed, c.until)
	}
	waits := c.below.lease.Carried + c.below.pledged
	if believed <= c.now || believed <= waits+time.Microsecond {
		return
	}
	if c.exceeds = true; !c.quiet {
		rt.Fatalf("believed until %v, waited for until %v: lease %v, pledged %v", believed, waits, c.below.lease.Carried, c.below.pledged)
	}
}

// renewAfter sends a beat that took so long to come.
func (c *memoryClient) renewAfter(way, ttl time.Duration) {
	arrived := max(c.now-way, time.Second)
	call := c.call(1, protocol.Below, &session.Renew{ID: c.opened.ID, Proven: true, TTL: ttl, Arrived: arrived})
	c.renewals = append(c.renewals, renewal{call, arrived})
	c.hear()
}

// believe takes an answer. The client's clock is the slower one.
func (c *memoryClient) believe(sent protocol.Time, ttl time.Duration) {
	if c.until != 0 && c.now >= c.until {
		return // it is over, for its client
	}
	c.until = max(c.until, sent+stretched(ttl))
	if sent+stretched(ttl) > c.below.lease.Carried+c.below.pledged+time.Microsecond {
		c.unbound++
	}
}

// hear takes what the session machine says, in its order.
func (c *memoryClient) hear() {
	replies := c.replies
	c.replies = nil
	for _, reply := range replies {
		if r, is := reply.Result.(*session.Renewed); is && r.Err == nil {
			for _, renewal := range c.renewals {
				if renewal.call == reply.To {
					c.believe(renewal.arrived, r.TTL)
				}
			}
		}
		c.decidedOne(&reply)
	}
}

func (c *memoryClient) decidedOne(reply *protocol.Reply) {
	d := &reply.Decision
	if reply.Port != shelfPort || d.Kind == 0 {
		return
	}
	switch d.Kind {
	case lock.Granted:
		if c.now < c.until {
			c.holds[d.Request] = d.Name
			c.granted++
			if c.pending[d.Request] < c.now {
				c.waited++
			}
		}
	case lock.Lost, lock.Revoked:
		if _, held := c.holds[d.Request]; held && d.Loss != holdfast.SessionExpired {
			c.frozen = max(c.frozen, c.until)
		}
		delete(c.holds, d.Request)
	}
}
