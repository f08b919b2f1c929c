package edge_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

func sessionOf(name string) (id lock.SessionID) {
	id.Member = 7
	fmt.Sscanf(name, "s%d", &id.Number)
	return id
}

func cutOf(l *golden.Line) session.Cut {
	if l.Flag("cut") {
		return session.CutByLimit
	}
	return session.Uncut
}

func lostOf(l *golden.Line) (lost []session.Lost) {
	for _, id := range l.List("lost") {
		lost = append(lost, session.Lost{Port: 1, Decision: lock.Decision{Kind: lock.Lost, Request: l.ToNumber(id), Loss: holdfast.Broken}})
	}
	return lost
}

// operations reads a frame.
func operations(l *golden.Line) (all []*schema.Operation) {
	l.Helper()
	rest := l.Rest()
	for len(rest) > 0 {
		n := slices.Index(rest, "/")
		if n < 0 {
			n = len(rest)
		}
		one := golden.Read(l, strings.Join(rest[:n], " "))
		all = append(all, operation(one))
		one.Done()
		rest = rest[min(n+1, len(rest)):]
	}
	return all
}

// operation reads one operation.
func operation(l *golden.Line) *schema.Operation {
	l.Helper()
	op := &schema.Operation{Id: l.Number("id")}
	if l.Verb == "hello" {
		op.Kind = &schema.Operation_Hello{Hello: hello(l)}
		return op
	}
	op.Id = l.Request()
	space, token := l.Value("space"), uint64(l.Token())
	switch l.Verb {
	case "acquire":
		op.Kind = &schema.Operation_Acquire{Acquire: &schema.Acquire{
			Space: space, Try: l.Flag("try"), Wait: int64(l.Duration("wait")), Hold: int64(l.Duration("hold")),
			Mode: schema.Mode(l.Number("mode")), Require: schema.Class(l.Number("require")),
		}}
		op.GetAcquire().Name = nameOf(l)
	case "release":
		op.Kind = &schema.Operation_Release{Release: &schema.Release{Space: space, Token: token, Lazy: l.Flag("lazy"), Name: nameOf(l)}}
	case "cancel":
		op.Kind = &schema.Operation_Cancel{Cancel: &schema.Cancel{Space: space, Name: nameOf(l)}}
	case "extend":
		op.Kind = &schema.Operation_Extend{Extend: &schema.Extend{Space: space, Token: token, Name: nameOf(l), Hold: int64(l.Time())}}
	case "amend":
		op.Kind = &schema.Operation_Amend{Amend: &schema.Amend{Space: space, Token: token, Revision: l.Number("revision"), Value: l.Value("value"), Name: nameOf(l)}}
	case "beat":
		op.Kind = &schema.Operation_Beat{Beat: &schema.Beat{}}
		if l.More() {
			op.GetBeat().Ttl = int64(l.Time())
		}
	case "end":
		op.Kind = &schema.Operation_End{End: &schema.End{}}
	case "none":
	default:
		l.Unknown()
	}
	return op
}

// nameOf reads a name; - is none.
func nameOf(l *golden.Line) string { return strings.Trim(l.Next(), "-") }

func hello(l *golden.Line) *schema.Hello {
	l.Helper()
	h := &schema.Hello{Ttl: int64(l.Duration("ttl")), Client: l.Value("client"), Number: l.Number("number"), Generation: l.Number("gen"), Last: l.Number("last")}
	if id := l.Value("resume"); id != "" {
		h.Session, h.Secret = sessionOf(id).String(), edge.FormatSecret(session.Secret{1})
	}
	if secret := l.Value("secret"); secret != "" {
		h.Secret = secret
	}
	for _, id := range l.List("open") {
		h.Requests = append(h.Requests, l.ToNumber(id))
	}
	return h
}

// outbound plays a line that is an input of the outbound half.
func (c *conversation) outbound(l *golden.Line, wrong error) {
	l.Helper()
	id, call := uint64(0), protocol.CallID{Sink: 3}
	if l.More() && l.Verb != "expired" && l.Verb != "moved" {
		id = l.Request()
	}
	var result any
	switch l.Verb {
	case "beaten":
		r := &session.Renewed{Cut: cutOf(l), Lost: lostOf(l), Err: wrong}
		if l.More() {
			r.TTL = l.Time()
		}
		call.Op, result = 1<<63|id, r
	case "ended":
		call.Op, result = 1<<63|id, &session.Ended{Err: wrong}
	case "expired":
		r := &session.Expired{ID: sessionOf("s1")}
		if why := strings.Join(l.Words(), " "); why != "" {
			r.Err = holdfast.Loss(why)
		}
		result = r
	case "dismissed":
		result = &session.Dismissed{ID: sessionOf("s1"), Err: &holdfast.UnavailableError{Why: "it leaves"}}
	case "superseded":
		result = &session.Superseded{ID: sessionOf("s1")}
	case "takenover":
		result = &session.TakenOver{ID: sessionOf("s1")}
	case "moved":
		c.box.Move(&edge.Roster{Authority: l.Next()})
		return
	case "closed":
		c.box.Finish(nil)
		return
	case "broken":
		c.box.End(errTest)
		return
	default:
		c.decided(l, id)
		return
	}
	c.box.Hear([]protocol.Reply{{To: call, Result: result}})
}

// decided plays a decision about a request.
func (c *conversation) decided(l *golden.Line, id uint64) {
	l.Helper()
	d := lock.Decision{Request: id, Token: l.Token(), Hold: l.Duration("hold"), Since: time.Second}
	op := id
	switch of := l.Value("of"); of {
	case "":
	case "another":
		op, d.Request = 1<<63|id, 1<<63|id
	default:
		op = edge.NumberOf(map[string]edge.Call{"release": edge.CallRelease, "cancel": edge.CallCancel, "extend": edge.CallExtend, "amend": edge.CallAmend}[of], 1)
	}
	switch l.Verb {
	case "granted":
		d.Kind = lock.Granted
	case "queued":
		if d.Kind = lock.Queued; l.Flag("unheard") {
			d.Position = -1
		} else {
			d.Position = int(l.Count())
		}
	case "refused":
		d.Kind, d.Name, d.Err = lock.Refused, l.Next(), holdfast.ErrNotHeld
		d.Revision = l.Number("revision")
	case "amended":
		d.Kind, d.Revision = lock.Amended, l.Number("revision")
	case "released":
		d.Kind = lock.Released
	case "lost", "revoked":
		if d.Kind = lock.Lost; l.Verb == "revoked" {
			d.Kind = lock.Revoked
		}
		d.Loss = holdfast.Loss(strings.Join(l.Words(), " "))
	default:
		l.Unknown()
	}
	c.box.Hear([]protocol.Reply{{To: protocol.CallID{Sink: 3, Op: op}, Port: 1, Decision: d}})
}

// effect tells what the greeting wants next.
func (c *conversation) effect(do *edge.Effect) {
	switch do.Kind {
	case edge.Admit:
		c.tell("admit requests=%d returns=%d", do.Requests, do.Returns)
	case edge.Check:
		check := do.Fact.(*session.Check)
		c.tell("check s%d number=%d gen=%d identity=%q", check.ID.Number, check.Number, check.Generation, check.Identity)
	case edge.Occupy:
		c.tell("occupy s%d, which ends the stream before: %v", do.Session.Number, do.Err)
	case edge.Ask:
		switch fact := do.Fact.(type) {
		case *session.Open:
			c.tell("ask open ttl=%v client=%q identity=%q number=%d", fact.TTL, fact.Client, fact.Identity, fact.Number)
		case *session.Resume:
			c.tell("ask resume s%d ttl=%v open=%v last=%d number=%d gen=%d", fact.ID.Number, fact.TTL, fact.Requests, fact.Last, fact.Number, fact.Generation)
		}
	case edge.Refuse:
		c.box.Refuse(do.Err)
	}
}

// call tells what the member is asked.
func (c *conversation) call(ev *protocol.Event) {
	text := ""
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		text = fmt.Sprintf("acquire #%d %s arrived=%v until=%s client=%q", fact.ID, fact.Name, fact.Arrived, protocol.FormatTime(fact.WaitEnd), fact.Client)
	case *protocol.Release:
		text = fmt.Sprintf("release #%d %s token=%s awaited=%v", fact.Request, fact.Name, golden.Token(fact.Token), fact.Awaited)
	case *protocol.Cancel:
		text = fmt.Sprintf("cancel #%d %s", fact.Request, fact.Name)
	case *protocol.Extend:
		text = fmt.Sprintf("extend #%d %s token=%s %v", fact.Request, fact.Name, golden.Token(fact.Token), fact.Hold)
	case *protocol.Amend:
		text = fmt.Sprintf("amend #%d %s token=%s revision=%d value=%s", fact.Request, fact.Name, golden.Token(fact.Token), fact.Revision, fact.Value)
	case *session.Renew:
		text = fmt.Sprintf("renew s%d ttl=%v arrived=%v", fact.ID.Number, fact.TTL, fact.Arrived)
	case *session.End:
		text = fmt.Sprintf("end s%d", fact.ID.Number)
	}
	c.tell("call %x at port %d: %s", ev.Call.Op, ev.Port, text)
}

// send sends what there is, frame by frame, and tells when the stream is over.
func (c *conversation) send() {
	for frame := new(edge.Frame); !c.stalled; {
		batch := c.box.Take(nil)
		if len(batch) == 0 {
			break
		}
		for rest := batch; len(rest) > 0; frame.Empty() {
			n := frame.Fill(rest, c.config, time.Unix(0, 0))
			c.told(frame.Message.GetEvents())
			c.box.Sent(rest[:n])
			rest = rest[n:]
		}
	}
	if state, result := c.box.State(); state == edge.Over && !c.over {
		c.over = true
		c.tell("over: %v", result)
	}
}

// told tells a frame.
func (c *conversation) told(events []*schema.Event) {
	if len(events) > 8 {
		c.tell("send %d events", len(events))
		return
	}
	how := "send"
	for _, e := range events {
		c.tell("%s %s", how, told(e))
		how = "  with"
	}
}

func told(e *schema.Event) string {
	problem := func(p *schema.Problem) string {
		if p == nil {
			return ""
		}
		where := ""
		if p.GetName() != "" || p.GetSpace() != "" {
			where = fmt.Sprintf(" [%s/%s]", p.GetSpace(), p.GetName())
		}
		return fmt.Sprintf("%s %s: %s", where, p.GetCode(), p.GetDetail())
	}
	text := ""
	switch kind := e.GetKind().(type) {
	case *schema.Event_Welcome:
		w := kind.Welcome
		text = fmt.Sprintf("welcome %s secret=%.4s ttl=%v gen=%d of %s in %s, authority=%s members=%v durable=%v cut=%q",
			w.GetSession(), w.GetSecret(), time.Duration(w.GetTtl()), w.GetGeneration(), w.GetMember(), w.GetCluster(), w.GetAuthority(), w.GetMembers(), w.GetDurable(), w.GetTtlCut())
		if w.GetLonger() {
			text += " longer"
		}
	case *schema.Event_Granted:
		text = fmt.Sprintf("granted token=%s since=%v hold=%v grace=%v", golden.Token(holdfast.Token(kind.Granted.GetToken())), time.Duration(kind.Granted.GetSince()), time.Duration(kind.Granted.GetHold()), kind.Granted.GetGrace())
	case *schema.Event_Queued:
		text = fmt.Sprintf("queued %d", kind.Queued.GetPosition())
	case *schema.Event_Refused:
		text = "refused" + problem(kind.Refused.GetProblem())
	case *schema.Event_Released:
		text = "released" + problem(kind.Released.GetProblem())
	case *schema.Event_Lost:
		text = fmt.Sprintf("lost: %s must release=%v", kind.Lost.GetWhy(), kind.Lost.GetMustRelease())
	case *schema.Event_Extended:
		text = fmt.Sprintf("extended %v", time.Duration(kind.Extended.GetHold()))
	case *schema.Event_Amended:
		text = fmt.Sprintf("amended revision=%d", kind.Amended.GetRevision()) + problem(kind.Amended.GetProblem())
	case *schema.Event_Moved:
		text = "moved to " + kind.Moved.GetAuthority()
	case *schema.Event_Beat:
		text = fmt.Sprintf("beaten %v cut=%q", time.Duration(kind.Beat.GetTtl()), kind.Beat.GetTtlCut())
	}
	return fmt.Sprintf("#%d %s", e.GetId(), text)
}
