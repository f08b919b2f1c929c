package session_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// TestConversations plays each testdata/*.txt against the session of a client.
//
//	start [keep] [resume=s9]      first, and once
//	hello                         what a hello says now
//	welcome s1 ttl=9s [phase=1s]  the answer to the latest hello
//	broken   goodbye   gone   taken   nowhere    what becomes of the stream and the session
//	stall    flow                 the stream takes nothing; it takes what waits
//	lock NAME [wait=1s] [hold=3s] [try] [owner=o] [bounded]
//	giveup #1   unlock #1 [awaited]   stopped #1 NAME [token=4:1]   unawait #1   extend #1 5s   unheld #1 WHY   close   abandon
//	granted #1 token=4:1 [hold=3s] [grace]   queued #1 0   extended #1 5s   beaten #7 9s [cut=why]
//	refused #1 [gone|much|unheld]   released #1 [refused|gone|much|unheld]   lost #1 WHY [must] [before]
//	at 3s                         time passes
//	look                          what is believed, and what is not settled
func TestConversations(t *testing.T) {
	golden.Play(t, func(*testing.T) func(*golden.Line) string {
		return (&conversation{requests: map[uint64]*session.Request{}}).play
	})
}

type conversation struct {
	machine  *session.Machine
	now      time.Duration
	out      session.Effects
	stalled  bool
	hello    session.Hello
	sent     time.Duration // the hello
	requests map[uint64]*session.Request
	told     strings.Builder
}

var errSaid = errors.New("refused by the test")

func (c *conversation) play(l *golden.Line) string {
	l.Helper()
	c.told.Reset()
	switch l.Verb {
	case "start":
		config := session.Config{Keep: l.Flag("keep")}
		if id := l.Value("resume"); id != "" {
			config.Resume, config.LastID = &session.Session{ID: id}, 100
		}
		c.machine = session.New(config)
	case "at":
		golden.Advance(l, &c.now, l.Time(), func() (time.Duration, func()) {
			return c.machine.Wake(), func() { c.step(session.Event{Kind: session.Tick}) }
		})
	case "stall", "flow":
		c.stalled = l.Verb == "stall"
		c.send()
	case "hello":
		c.step(session.Event{Kind: session.Tick})
		c.hello, c.sent = c.machine.Hello(), c.now
		c.tell("hello%s", c.lists())
	case "look":
		c.look()
	default:
		c.step(c.event(l))
	}
	return c.told.String()
}

func (c *conversation) tell(format string, args ...any) {
	fmt.Fprintf(&c.told, format+"\n", args...)
}

// lists tells what the hello says of the session.
func (c *conversation) lists() (text string) {
	if c.hello.Session == nil {
		return ""
	}
	for _, r := range c.hello.Requests {
		text += fmt.Sprintf(" #%d", r.ID)
	}
	return fmt.Sprintf(" %s last=%d%s", c.hello.Session.ID, c.hello.Last, text)
}

// event reads what a caller wants or a member says.
func (c *conversation) event(l *golden.Line) session.Event {
	l.Helper()
	streams := map[string]session.EventKind{
		"broken": session.Broken, "goodbye": session.Goodbye, "gone": session.SessionLost, "taken": session.TakenOver,
		"nowhere": session.NoSession, "close": session.Close, "abandon": session.Abandon,
	}
	if kind, ok := streams[l.Verb]; ok {
		return session.Event{Kind: kind, Err: errSaid}
	}
	switch l.Verb {
	case "lock":
		return c.lock(l)
	case "welcome":
		s := c.machine.Session()
		if id := l.Next(); s == nil {
			s = &session.Session{ID: id, Opened: true}
		}
		return session.Event{Kind: session.Welcome, Session: s, Sent: c.sent, Span: l.Duration("ttl"), Phase: l.Duration("phase"), Listed: c.hello.Requests}
	}
	ev := session.Event{ID: l.Request(), Token: l.Token()}
	ev.Request = c.requests[ev.ID]
	if c.asks(l, &ev) {
		return ev
	}
	c.says(l, &ev)
	return ev
}

// asks reads what a caller wants of a request.
func (c *conversation) asks(l *golden.Line, ev *session.Event) bool {
	l.Helper()
	switch l.Verb {
	case "giveup":
		ev.Kind = session.GiveUp
	case "unlock":
		ev.Kind, ev.Awaited = session.Unlock, l.Flag("awaited")
	case "stopped":
		ev.Kind, ev.Stopped = session.Unlock, true
		if name := l.Next(); ev.Request.State() == session.Settled {
			ev.Request = &session.Request{ID: ev.ID, Want: holdfast.Request{Name: name}}
		}
	case "unawait":
		ev.Kind = session.Unawait
	case "extend":
		ev.Kind, ev.Extension, ev.Span = session.Extend, &session.Extension{}, l.Time()
	case "unheld":
		ev.Kind, ev.Err = session.Unheld, holdfast.Loss(strings.Join(l.Words(), " "))
	default:
		return false
	}
	return true
}

// says reads what a member says.
func (c *conversation) says(l *golden.Line, ev *session.Event) {
	l.Helper()
	for word, verdict := range map[string]session.Verdict{"refused": session.Other, "gone": session.Gone, "much": session.TooMuch, "unheld": session.NotHeld} {
		if l.Flag(word) || l.Verb == "refused" && word == "refused" {
			ev.Verdict, ev.Err = max(ev.Verdict, verdict), errSaid
		}
	}
	switch l.Verb {
	case "granted":
		ev.Kind, ev.Span, ev.Grace = session.Granted, l.Duration("hold"), l.Flag("grace")
	case "queued":
		ev.Kind, ev.Position = session.Queued, int(l.Count())
	case "extended":
		ev.Kind, ev.Span = session.Extended, l.Time()
	case "beaten":
		ev.Kind, ev.Span, ev.Cut = session.Beaten, l.Time(), l.Value("cut")
	case "refused":
		ev.Kind = session.Refused
	case "released":
		ev.Kind = session.Released
	case "lost":
		ev.Kind, ev.MustRelease = session.Lost, l.Flag("must")
		if l.Flag("before") {
			ev.Kind = session.LostBefore
		}
		ev.Why = holdfast.Loss(strings.Join(l.Words(), " "))
	default:
		l.Unknown()
	}
}

// lock reads a call.
func (c *conversation) lock(l *golden.Line) session.Event {
	l.Helper()
	r := &session.Request{Want: holdfast.Request{Name: l.Next()}, WaitEnd: clock.Never, Bounded: l.Flag("bounded")}
	r.Want.Owner, r.Want.Hold, r.Want.Try, r.Want.Wait = l.Value("owner"), l.Duration("hold"), l.Flag("try"), l.Duration("wait")
	switch {
	case r.Want.Wait > 0:
		r.WaitEnd = c.now + r.Want.Wait
	case r.Want.Try:
		r.WaitEnd = c.now + 5*time.Second
	}
	return session.Event{Kind: session.Lock, Request: r}
}

// step takes an event, and tells what comes of it.
func (c *conversation) step(ev session.Event) {
	c.machine.Step(c.now, &ev, &c.out)
	if ev.Kind == session.Lock {
		c.requests[ev.Request.ID] = ev.Request
	}
	for i := range c.out.List {
		c.effect(&c.out.List[i])
	}
	c.out.Reset()
	c.send()
}

// send takes what there is to send.
func (c *conversation) send() {
	for !c.stalled {
		op, more := c.machine.Next(c.now)
		if !more {
			return
		}
		kind := [...]string{session.SendAcquire: "acquire", session.SendRelease: "release", session.SendCancel: "cancel", session.SendExtend: "extend", session.SendBeat: "beat", session.SendEnd: "end"}[op.Kind]
		text := fmt.Sprintf("send %s #%d", kind, op.ID)
		if op.Request != nil {
			text += " " + golden.Name(op.Request.Want.Name)
		}
		if op.Wait != 0 {
			text += fmt.Sprintf(" wait=%v", op.Wait)
		}
		if op.Hold != 0 {
			text += fmt.Sprintf(" hold=%v", op.Hold)
		}
		c.tell("%v %s", c.now, text)
	}
}

var effects = [...]string{
	session.Hold: "hold", session.Fail: "fail", session.TimeOut: "time out", session.End: "end", session.Move: "move", session.AnswerExtend: "answer extend",
	session.FailRelease: "fail release", session.Settle: "settle", session.TellQueued: "tell queued", session.Renewed: "renewed", session.CutTTL: "cut",
	session.Late: "late", session.Forget: "forget", session.Finish: "finish", session.Quiet: "quiet", session.Unmatched: "unmatched",
}

// effect tells one thing to do.
func (c *conversation) effect(e *session.Effect) {
	text := effects[e.Kind]
	if r := e.Request; r != nil {
		text += fmt.Sprintf(" #%d", r.ID)
		if e.Kind == session.Hold {
			text += " token=" + golden.Token(r.Token()) + until(r.HoldEnd())
		}
	}
	switch e.Kind {
	case session.Renewed:
		text += until(c.machine.Session().Deadline())
	case session.Move:
		text += until(e.At)
	case session.Late, session.CutTTL:
		text += fmt.Sprintf(" %v", e.At)
	case session.TellQueued:
		text += fmt.Sprintf(" position=%d", e.Position)
	case session.Forget:
		text += " " + e.Session.ID
		if e.Lost {
			text += " lost"
		}
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	c.tell("%v %s", c.now, text)
}

func until(at time.Duration) string {
	if at == holdfast.Forever {
		return ""
	}
	return fmt.Sprintf(" until %v", at)
}

// look tells what is believed, and what is not settled.
func (c *conversation) look() {
	if s := c.machine.Session(); s == nil {
		c.tell("no session")
	} else if s.Look(c.now); s.Alive(c.now) {
		c.tell("session %s%s", s.ID, until(s.Deadline()))
	} else {
		c.tell("session %s over", s.ID)
	}
	for _, r := range c.machine.Requests() {
		state := [...]string{session.Requested: "requested", session.Held: "held", session.Ended: "ended", session.Releasing: "releasing", session.Cancelling: "cancelling"}[r.State()]
		if r.State() == session.Held {
			state += until(r.HoldEnd())
		}
		c.tell("#%d %s %s", r.ID, golden.Name(r.Want.Name), state)
	}
}
