package central_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// client is a separate process that locks and unlocks through its member.
type client struct {
	at       *citizen
	local    bool // part of the member's process: its session outlives a lapse
	rate     float64
	session  lock.SessionID
	last     uint64
	requests map[uint64]*request
	life     int
}

// request is one request from its client's point of view.
type request struct {
	client  *client
	request lock.Request
	sent    time.Duration // true time
	decided bool
	gone    bool    // cancelled, or its session has ended
	belief  *belief // nil while it does not hold
}

// belief is a client's belief in its grant.
type belief struct {
	request *request
	token   holdfast.Token
	until   time.Duration // true time; Never without a limit
}

func newClient(c *citizen, local bool) *client {
	cl := &client{at: c, local: local, rate: 1 + 0.05*c.w.rand.Float64()}
	cl.open()
	cl.act()
	return cl
}

func (cl *client) open() {
	cl.session, cl.requests, cl.life = cl.at.opened(), map[uint64]*request{}, cl.at.life
}

// act makes random calls from time to time.
func (cl *client) act() {
	w := cl.at.w
	w.after(time.Duration(w.rand.Int64N(int64(4*time.Second))), func() {
		if !cl.at.down {
			if w.checks.draining {
				return
			}
			cl.request()
		}
		cl.act()
	})
}

func (cl *client) call(fact any) {
	cl.last++
	cl.at.step(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: cl.last}, Fact: fact})
}

var names = []string{"W", "X", "Y", "Z"}

func (cl *client) request() {
	w := cl.at.w
	if w.rand.IntN(40) == 0 {
		cl.end("")
		cl.open()
		return
	}
	cl.last++
	now := cl.at.clock(w.now)
	q := lock.Request{Session: cl.session, ID: cl.last, Name: names[w.rand.IntN(len(names))], Arrived: now, WaitEnd: lock.Never}
	switch w.rand.IntN(8) {
	case 0:
		q.Mode = holdfast.ModeShared
	case 1:
		q.Try, q.WaitEnd = true, now
	case 2:
		q.WaitEnd = now + time.Duration(w.rand.Int64N(int64(3*time.Second)))
	case 3:
		q.Hold = time.Duration(1 + w.rand.Int64N(int64(2*time.Second)))
	case 4:
		q.Owner = "owner"
	}
	one := &request{client: cl, request: q, sent: w.now}
	cl.requests[q.ID] = one
	first := q
	cl.call(&first)
	if w.rand.IntN(10) == 0 {
		w.after(time.Duration(w.rand.Int64N(int64(2*time.Second))), func() { cl.cancel(one) })
	}
	if w.rand.IntN(10) == 0 { // a client that repeats itself gets the same answer
		w.after(time.Duration(w.rand.Int64N(int64(time.Second))), func() {
			if cl.requests[q.ID] == one && !one.gone {
				again := q
				cl.call(&again)
			}
		})
	}
}

func (cl *client) cancel(one *request) {
	if cl.requests[one.request.ID] != one || one.gone || cl.at.down {
		return
	}
	cl.at.w.checks.ended(one)
	one.gone = true
	delete(cl.requests, one.request.ID)
	cl.call(&protocol.Cancel{Session: cl.session, Name: one.request.Name, Request: one.request.ID})
}

func (cl *client) unlock(one *request) {
	if one.belief == nil || one.gone || cl.at.down {
		return
	}
	token := one.belief.token
	cl.at.w.checks.ended(one)
	one.gone = true
	cl.call(&protocol.Release{Session: cl.session, Name: one.request.Name, Token: token, Request: one.request.ID})
}

// end ends the session: its client has stopped, or had to.
func (cl *client) end(why holdfast.Loss) {
	for _, one := range cl.requests {
		cl.at.w.checks.ended(one)
		one.gone = true
	}
	cl.call(&protocol.EndSession{Session: cl.session, Why: why})
	cl.requests = map[uint64]*request{}
}

// onDecision takes a decision.
func (cl *client) onDecision(reply protocol.Reply) {
	d, w := reply.Decision, cl.at.w
	one := cl.requests[d.Request]
	if one == nil || one.request.Name != d.Name {
		if d.Kind == lock.Granted {
			w.checks.fail("P6: %v #%d is granted %q, and is over", d.Session, d.Request, d.Name)
		}
		return
	}
	switch d.Kind {
	case lock.Granted:
		cl.granted(one, &d)
	case lock.Refused:
		if one.gone {
			return // a release that came after the loss
		}
		if errors.Is(d.Err, holdfast.ErrNotHeld) || one.decided {
			w.checks.fail("P6: %v #%d is refused %q after it was granted: %v", d.Session, d.Request, d.Name, d.Err)
		}
		one.decided, one.gone = true, true
		delete(cl.requests, d.Request)
	case lock.Lost:
		w.checks.lost(one, d.Loss)
		w.checks.ended(one)
		one.gone = true
		delete(cl.requests, d.Request)
	case lock.Revoked:
		w.checks.ended(one)
		if !one.gone {
			one.gone = true
			cl.call(&protocol.Release{Session: cl.session, Name: d.Name, Token: d.Token, Request: d.Request})
		}
	case lock.Released:
		if one.gone {
			delete(cl.requests, d.Request)
		}
	}
}

func (cl *client) granted(one *request, d *lock.Decision) {
	w := cl.at.w
	if one.gone {
		w.checks.fail("P6: %v #%d is granted %q after it had given up", d.Session, d.Request, d.Name)
		return
	}
	if one.belief != nil {
		if one.belief.token != d.Token {
			w.checks.fail("P6: %v #%d holds %q under two tokens", d.Session, d.Request, d.Name)
		}
		return
	}
	one.decided = true
	one.belief = &belief{request: one, token: d.Token, until: protocol.Never}
	if d.Hold > 0 {
		one.belief.until = one.sent + time.Duration(float64(d.Hold)/cl.rate)
	}
	w.checks.begun(one.belief)
	use := time.Duration(w.rand.Int64N(int64(500 * time.Millisecond)))
	if w.rand.IntN(6) == 0 {
		use *= 10
	}
	w.after(use, func() { cl.unlock(one) })
	if w.rand.IntN(20) == 0 {
		stranger := lock.SessionID{Member: uint64(cl.at.id), Number: 99}
		cl.call(&protocol.Release{Session: stranger, Name: d.Name, Token: d.Token})
	}
}

func (b *belief) String() string {
	return fmt.Sprintf("%v #%d with token %d:%d", b.request.request.Session, b.request.request.ID, b.token>>32, uint32(b.token))
}
