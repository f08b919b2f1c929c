package session_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
)

// TestConversations plays each testdata/*.txt against the session of a client.
//
//	start [keep] [resume=s9] [direct] [pauses] [addresses=a,b]    first, and once; without pauses addresses are asked again at once
//	hello [at=b]                  the stream that is opened at an address says hello: the latest that is asked, if none is named
//	welcome s1 ttl=9s [at=b] [phase=1s] [cluster=k] [members=a,b] [authority=a] [longer] [cut=why] [lost=#1:broken[:must]]    the answer to that
//	refuse CODE [why] [at=b]      another answer to it
//	fail silent|away [at=b]       there is no answer, or no connection
//	broken [gone|taken]   goodbye   stall   flow    the stream ends; it takes nothing; it takes what waits
//	moved [members=a,b] [authority=a]
//	lock NAME [wait=1s] [hold=3s] [try] [owner=o] [bounded]
//	giveup #1   unlock #1 [awaited]   stopped #1 NAME [token=4:1]   unawait #1   extend #1 5s   amend #1 V   unheld #1 WHY   close   abandon
//	granted #1 token=4:1 [hold=3s] [grace]   queued #1 0   extended #1 5s   amended #1 revision=2 [CODE] [why]   beaten #7 9s [cut=why]
//	refused #1 CODE [why]   released #1 [CODE] [why]   lost #1 WHY [must]
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
	frame    session.Frame
	stalled  bool
	asked    []*session.Contact // and not answered yet
	stream   *session.Contact
	refusal  error // of the answer that was just given
	requests map[uint64]*session.Request
	told     strings.Builder
}

var errSaid = errors.New("refused by the test")

func (c *conversation) play(l *golden.Line) string {
	l.Helper()
	c.told.Reset()
	switch l.Verb {
	case "start":
		c.start(l)
	case "at":
		golden.Advance(l, &c.now, l.Time(), func() (time.Duration, func()) {
			return c.machine.Wake(), func() { c.step(session.Event{Kind: session.Tick}) }
		})
	case "stall", "flow":
		c.stalled = l.Verb == "stall"
		c.send()
	case "hello":
		a := c.contact(l)
		c.step(session.Event{Kind: session.Opening, Contact: a})
		c.step(session.Event{Kind: session.Greet, Contact: a})
		c.tell("hello%s", said(a.Hello().GetHello()))
	case "welcome", "refuse", "fail":
		c.answer(l)
	case "look":
		c.look()
	default:
		c.step(c.event(l))
	}
	for c.machine.Wake() <= c.now {
		c.step(session.Event{Kind: session.Tick})
	}
	return c.told.String()
}

// start makes the machine, and lets it look for a member.
func (c *conversation) start(l *golden.Line) {
	config := session.Config{Keep: l.Flag("keep"), Direct: l.Flag("direct"), Jitter: func(half time.Duration) time.Duration { return -half }}
	if l.Flag("pauses") {
		config.Jitter = func(time.Duration) time.Duration { return 0 }
	}
	if id := l.Value("resume"); id != "" {
		config.Resume, config.LastID = &session.Session{ID: id}, 100
	}
	addresses := l.List("addresses")
	if len(addresses) == 0 {
		addresses = []string{"a"}
	}
	for _, name := range addresses {
		config.Addresses = append(config.Addresses, place(name))
	}
	c.machine = session.New(config)
	c.step(session.Event{Kind: session.Begin})
}

func place(name string) api.Address { return api.Address{Network: "tcp", Place: name + ":4040"} }

// contact is the one that a line names, or the latest.
func (c *conversation) contact(l *golden.Line) *session.Contact {
	l.Helper()
	at := l.Value("at")
	for _, a := range slices.Backward(c.asked) {
		if at == "" || a.Place == place(at) {
			return a
		}
	}
	l.Wrong("%q is not asked", at)
	return nil
}

// tell says what comes of a step.
func (c *conversation) tell(format string, args ...any) {
	fmt.Fprintf(&c.told, format+"\n", args...)
}

// said tells what a hello says of the session.
func said(hello *schema.Hello) (text string) {
	if hello.GetSession() == "" {
		return ""
	}
	for _, id := range hello.GetRequests() {
		text += fmt.Sprintf(" #%d", id)
	}
	return fmt.Sprintf(" %s last=%d%s", hello.GetSession(), hello.GetLast(), text)
}

// answer reads what becomes of a hello.
func (c *conversation) answer(l *golden.Line) {
	l.Helper()
	a := c.contact(l)
	c.refusal = nil
	switch l.Verb {
	case "fail":
		c.refusal = session.ErrSilent
		if !l.Flag("silent") && l.Flag("away") {
			c.refusal = session.Unheard{Err: errors.New("connection refused")}
		}
	case "refuse":
		c.step(session.Event{Kind: session.Answered, Contact: a, Said: []*schema.Event{{Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: problem(l)}}}}})
	default:
		c.step(session.Event{Kind: session.Answered, Contact: a, Phase: l.Duration("phase"), Said: welcome(l)})
	}
	c.asked = slices.DeleteFunc(c.asked, func(b *session.Contact) bool { return a == b })
	if c.refusal != nil {
		c.step(session.Event{Kind: session.Failed, Contact: a, Err: c.refusal})
	}
}

// welcome is a first frame.
func welcome(l *golden.Line) []*schema.Event {
	l.Helper()
	authority, members := roster(l)
	events := []*schema.Event{{Kind: &schema.Event_Welcome{Welcome: &schema.Welcome{
		Session: l.Next(), Secret: "secret", Ttl: int64(l.Duration("ttl")), TtlCut: l.Value("cut"), Cluster: l.Value("cluster"), Authority: authority, Members: members,
		Longer: l.Flag("longer"),
	}}}}
	for _, lost := range l.List("lost") {
		lost, must := strings.CutSuffix(lost, ":must")
		id, why, _ := strings.Cut(strings.TrimPrefix(lost, "#"), ":")
		number, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			l.Wrong("%v", err)
		}
		events = append(events, &schema.Event{Id: number, Kind: &schema.Event_Lost{Lost: &schema.Lost{Why: why, MustRelease: must}}})
	}
	return events
}

// roster reads where clients can go.
func roster(l *golden.Line) (authority string, members []string) {
	l.Helper()
	if authority = l.Value("authority"); authority != "" {
		authority = place(authority).String()
	}
	for _, name := range l.List("members") {
		members = append(members, place(name).String())
	}
	return authority, members
}

// problem reads a refusal: its code, and why.
func problem(l *golden.Line) *schema.Problem {
	l.Helper()
	if !l.More() {
		return nil
	}
	p := &schema.Problem{Code: l.Next(), Detail: errSaid.Error()}
	if l.More() {
		if p.Why = l.Next(); p.Code == api.CodeLimit {
			p.Limit, p.Why = p.Why, ""
		}
	}
	return p
}

// event reads what a caller wants or a member says.
func (c *conversation) event(l *golden.Line) session.Event {
	l.Helper()
	switch l.Verb {
	case "close":
		return session.Event{Kind: session.Close}
	case "abandon":
		return session.Event{Kind: session.Abandon, Err: errSaid}
	case "goodbye", "broken":
		ev := session.Event{Kind: session.Broken, Contact: c.stream}
		switch {
		case l.Flag("gone"):
			ev.Err = api.Fail(api.CodeUnknownSession, "unknown session: the test says so")
		case l.Flag("taken"):
			ev.Err = &api.Failure{Code: api.CodeUnknownSession, Detail: "taken over", Err: holdfast.EndedByAnother}
		case l.Verb == "broken":
			ev.Err = api.Fail(api.CodeUnavailable, "the connection is broken")
		}
		return ev
	case "lock":
		return c.lock(l)
	case "moved":
		authority, members := roster(l)
		return c.heard(&schema.Event{Kind: &schema.Event_Moved{Moved: &schema.Moved{Authority: authority, Members: members}}})
	}
	id := l.Request()
	ev := session.Event{Request: c.requests[id]}
	if c.asks(l, id, &ev) {
		return ev
	}
	return c.heard(says(l, id))
}

func (c *conversation) heard(event *schema.Event) session.Event {
	return session.Event{Kind: session.Heard, Contact: c.stream, Said: []*schema.Event{event}}
}

// asks reads what a caller wants of a request.
func (c *conversation) asks(l *golden.Line, id uint64, ev *session.Event) bool {
	l.Helper()
	switch l.Verb {
	case "giveup":
		ev.Kind = session.GiveUp
	case "unlock":
		ev.Kind, ev.Awaited = session.Unlock, l.Flag("awaited")
	case "stopped":
		ev.Kind, ev.Stopped, ev.Token = session.Unlock, true, l.Token()
		if name := l.Next(); ev.Request.State() == session.Settled {
			ev.Request = &session.Request{ID: id, Want: holdfast.Request{Name: name}}
		}
	case "unawait":
		ev.Kind = session.Unawait
	case "extend":
		ev.Kind, ev.Extension, ev.Span = session.Extend, &session.Extension{}, l.Time()
	case "amend":
		ev.Kind, ev.Value = session.Amend, l.Next()
		ev.Amending = &session.Amending{Caller: ev.Value}
	case "unheld":
		ev.Kind, ev.Err = session.Unheld, holdfast.Loss(strings.Join(l.Words(), " "))
	default:
		return false
	}
	return true
}

// says reads what a member says of an operation.
func says(l *golden.Line, id uint64) *schema.Event {
	l.Helper()
	event := &schema.Event{Id: id}
	switch l.Verb {
	case "granted":
		event.Kind = &schema.Event_Granted{Granted: &schema.Granted{Token: uint64(l.Token()), Hold: int64(l.Duration("hold")), Grace: l.Flag("grace")}}
	case "queued":
		event.Kind = &schema.Event_Queued{Queued: &schema.Queued{Position: int32(l.Count())}}
	case "extended":
		event.Kind = &schema.Event_Extended{Extended: &schema.Extended{Hold: int64(l.Time())}}
	case "amended":
		event.Kind = &schema.Event_Amended{Amended: &schema.Amended{Revision: l.Number("revision"), Problem: problem(l)}}
	case "beaten":
		event.Kind = &schema.Event_Beat{Beat: &schema.Beaten{Ttl: int64(l.Time()), TtlCut: l.Value("cut")}}
	case "refused":
		event.Kind = &schema.Event_Refused{Refused: &schema.Refused{Problem: problem(l)}}
	case "released":
		event.Kind = &schema.Event_Released{Released: &schema.Released{Problem: problem(l)}}
	case "lost":
		must := l.Flag("must")
		event.Kind = &schema.Event_Lost{Lost: &schema.Lost{Why: strings.Join(l.Words(), " "), MustRelease: must}}
	default:
		l.Unknown()
	}
	return event
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
	for !c.stalled && c.machine.Fill(c.now, &c.frame) {
		for _, operation := range c.frame.Message.Operations {
			c.tell("%v send %s", c.now, sent(operation))
		}
	}
}

// sent tells an operation.
func sent(operation *schema.Operation) string {
	named := func(kind string, of interface{ GetName() string }) string {
		return fmt.Sprintf("%s #%d %s", kind, operation.GetId(), golden.Name(of.GetName()))
	}
	switch kind := operation.GetKind().(type) {
	case *schema.Operation_Acquire:
		text := named("acquire", kind.Acquire)
		if wait := kind.Acquire.GetWait(); wait != 0 {
			text += fmt.Sprintf(" wait=%v", time.Duration(wait))
		}
		return text
	case *schema.Operation_Release:
		return named("release", kind.Release)
	case *schema.Operation_Cancel:
		return named("cancel", kind.Cancel)
	case *schema.Operation_Extend:
		return named("extend", kind.Extend) + fmt.Sprintf(" hold=%v", time.Duration(kind.Extend.GetHold()))
	case *schema.Operation_Amend:
		a := kind.Amend
		return named("amend", a) + fmt.Sprintf(" token=%s revision=%d value=%s", golden.Token(holdfast.Token(a.GetToken())), a.GetRevision(), a.GetValue())
	case *schema.Operation_Beat:
		return fmt.Sprintf("beat #%d", operation.GetId())
	}
	return fmt.Sprintf("end #%d", operation.GetId())
}

var effects = [...]string{
	session.Hold: "hold", session.Fail: "fail", session.TimeOut: "time out", session.End: "end", session.Move: "move", session.AnswerExtend: "answer extend",
	session.AnswerAmend: "answer amend",
	session.FailRelease: "fail release", session.Settle: "settle", session.TellQueued: "tell queued", session.Renewed: "renewed", session.CutTTL: "cut",
	session.Late: "late", session.Forget: "forget", session.Finish: "finish", session.Quiet: "quiet", session.Unmatched: "unmatched",
	session.Ask: "ask", session.LetGo: "let go", session.Serve: "serve", session.Refuse: "refuse", session.HangUp: "hang up", session.Begun: "begun",
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
	if e.Detail != nil && e.Contact != nil {
		text += " " + strings.TrimSuffix(e.Contact.Place.String(), ":4040")
	}
	switch e.Kind {
	case session.Ask:
		c.asked = append(c.asked, e.Contact)
	case session.Serve:
		c.stream = e.Contact
		text += " " + e.Session.ID
	case session.Refuse:
		if c.refusal = e.Err; e.Opened {
			text += " and end its session"
		}
	case session.LetGo:
		if e.At > 0 {
			text += fmt.Sprintf(" after %v", e.At)
		}
	case session.Renewed:
		text += until(c.machine.Session().Deadline())
	case session.Move:
		text += until(e.At)
	case session.Late, session.CutTTL:
		text += fmt.Sprintf(" %v", e.At)
	case session.TellQueued:
		text += fmt.Sprintf(" position=%d", e.Position)
	case session.AnswerAmend:
		text += fmt.Sprintf(" value=%v", e.Amending.Caller)
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
