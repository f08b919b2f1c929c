package edge

import (
	"cmp"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
)

// greeting is a hello that is not answered yet.
type greeting struct {
	hello   *schema.Hello
	resume  *session.Resume // nil for a new session
	welcome Outgoing
	wants   EffectKind // the pending effect
}

// want sets the greeting's next effect.
func (m *Machine) want(e Effect) { m.out.Do, m.greeting.wants = e, e.Kind }

// refuseHello refuses the hello, which ends the stream.
func (m *Machine) refuseHello(err error) { m.out.Do = Effect{Kind: Refuse, Err: err} }

// onHello handles the first operation.
func (m *Machine) onHello(first *schema.Operation) {
	hello, is := first.GetKind().(*schema.Operation_Hello)
	if !is {
		m.refuseHello(api.Fail(api.CodeBadRequest, "the first operation of a stream must be hello"))
		return
	}
	h := hello.Hello
	err := cmp.Or(checkID(first.GetId()), CheckTTL(time.Duration(h.GetTtl())), api.BadRequest(holdfast.CheckText("client", h.GetClient())))
	if err != nil {
		m.refuseHello(err)
		return
	}
	m.wanted = time.Duration(h.GetTtl())
	m.greeting = &greeting{hello: h, welcome: Outgoing{saying: sayWelcome, call: CallHello, id: first.GetId()}}
	if resumes(h) {
		m.want(Effect{Kind: Admit, Returns: 1}) // a client that resumes keeps its session
	} else if err := m.mayBegin(); err != nil {
		m.refuseHello(err)
	} else {
		m.want(Effect{Kind: Admit, Requests: 1})
	}
}

// mayBegin returns why the caller may open no session.
func (m *Machine) mayBegin() error {
	if m.caller.Permit == nil {
		return nil
	}
	return m.caller.Permit.Begin()
}

func resumes(h *schema.Hello) bool { return h.GetSession() != "" || h.GetSecret() != "" }

// onAnswer handles the driver's answer to the greeting's effect.
func (m *Machine) onAnswer(g *greeting, answer any) {
	switch {
	case g.wants == Admit:
		admission := answer.(*Admission)
		m.sink, m.client, g.welcome.roster = admission.Sink, cmp.Or(m.caller.Name, g.hello.GetClient()), admission.Roster
		if resumes(g.hello) {
			m.check(g)
		} else {
			m.open(g.hello)
		}
	case g.wants == Check:
		m.occupy(g, answer.(*session.Renewed))
	case g.wants == Occupy && g.resume == nil:
		m.welcome(g)
	case g.wants == Occupy:
		m.want(Effect{Kind: Ask, Fact: g.resume})
	case g.resume == nil:
		m.onOpened(g, answer.(*session.Opened))
	default:
		m.onResumed(g, answer.(*session.Renewed))
	}
}

// open requests a new session.
func (m *Machine) open(h *schema.Hello) {
	if m.overload != nil {
		m.refuseHello(m.overload)
		return
	}
	m.want(Effect{Kind: Ask, Fact: &session.Open{
		Kind: session.Stream, TTL: m.wanted, Client: m.client, Identity: m.caller.Identity, Number: h.GetNumber(), Owner: m.caller.Owner,
	}})
}

// check asks whether the client may continue a session.
func (m *Machine) check(g *greeting) {
	h := g.hello
	id, known := lock.ParseSessionID(h.GetSession())
	secret, proven := ParseSecret(h.GetSecret())
	switch {
	case !known || !proven:
		m.refuseHello(api.Fail(api.CodeBadRequest, "session and secret: want both, as the welcome that opened it told them"))
		return
	case h.GetGeneration() > MaxID:
		m.refuseHello(api.Fail(api.CodeBadRequest, fmt.Sprintf("generation %d: want 0 to %d", h.GetGeneration(), uint64(MaxID))))
		return
	}
	g.resume = &session.Resume{
		ID: id, Secret: secret, Identity: m.caller.Identity, TTL: m.wanted, Requests: h.GetRequests(), Last: min(h.GetLast(), MaxID),
		Number: h.GetNumber(), Generation: h.GetGeneration(), Owner: m.caller.Owner,
	}
	m.want(Effect{Kind: Check, Fact: &session.Check{
		ID: id, Secret: secret, Identity: m.caller.Identity, Number: h.GetNumber(), Generation: h.GetGeneration(), Owner: m.caller.Owner,
	}})
}

// occupy ends the earlier stream of a session, which may belong to the client that loses it to a takeover. Only a
// client that authenticates for the session can end a stream of it, and not one that has lost it to a takeover.
func (m *Machine) occupy(g *greeting, checked *session.Renewed) {
	if checked.Err != nil {
		m.refuseHello(NotYours(g.resume.ID, checked.Err))
		return
	}
	m.session = g.resume.ID
	why := ErrSuperseded
	if checked.Takes {
		why = errTakenOver(m.session)
	}
	m.want(Effect{Kind: Occupy, Session: m.session, Err: why})
}

// onOpened handles a new session.
func (m *Machine) onOpened(g *greeting, opened *session.Opened) {
	if opened.Err != nil {
		m.refuseHello(opened.Err)
		return
	}
	m.session = opened.ID
	g.welcome.welcomed = &welcomed{session: opened.ID, secret: FormatSecret(opened.Secret), generation: opened.Generation, longer: opened.Longer}
	g.welcome.span, g.welcome.cut = opened.TTL, opened.Cut
	m.want(Effect{Kind: Occupy, Session: m.session, Err: ErrSuperseded})
}

// onResumed handles a resumed session.
func (m *Machine) onResumed(g *greeting, renewed *session.Renewed) {
	if renewed.Err != nil {
		m.refuseHello(NotYours(m.session, renewed.Err))
		return
	}
	for i := range renewed.Lost {
		m.out.Says = append(m.out.Says, lostGrant(renewed.Lost[i].Port, &renewed.Lost[i].Decision))
	}
	m.before = g.hello.GetLast()
	for _, id := range g.hello.GetRequests() {
		m.before = max(m.before, id)
	}
	g.welcome.welcomed = &welcomed{session: m.session, generation: renewed.Generation}
	g.welcome.span, g.welcome.cut = renewed.TTL, renewed.Cut
	m.welcome(g)
}

// welcome greets the client.
func (m *Machine) welcome(g *greeting) {
	m.out.welcome, m.out.wanted = &g.welcome, m.wanted
	m.want(Effect{Kind: Welcome})
	m.greeting, m.greeted = nil, true
}
