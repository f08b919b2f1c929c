package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Time limits for one address to answer a hello.
const (
	minAttempt = time.Second
	maxAttempt = 5 * time.Second
	// FreshAttempt is the time limit for one address to open a session.
	FreshAttempt = 30 * time.Second
)

// CloseLimit is how long to wait for the end of a session.
const CloseLimit = time.Second

// Contact is a connection attempt to one address, and then its stream.
type Contact struct {
	Place  api.Address
	Caller any // the driver's own data

	hello  hello
	greets bool          // the hello is sent
	asked  *Session      // named in the hello; nil: it opens one
	listed []*Request    // unsettled requests in the hello, in the order of their ids
	sent   time.Duration // when the hello was sent
	over   bool          // no longer wanted, even if it is welcomed
	silent bool          // it has not answered in time
	limit  clock.Alarm
	detail Detail
}

// about returns the detail of an effect about the contact alone.
func (a *Contact) about() *Detail {
	a.detail.Contact = a
	return &a.detail
}

// hello is the memory of a hello.
type hello struct {
	operation schema.Operation
	kind      schema.Operation_Hello
	body      schema.Hello
}

// Hello returns the message to send, after a Greet.
func (a *Contact) Hello() *schema.Operation { return &a.hello.operation }

// Over reports whether the contact is no longer wanted.
func (a *Contact) Over() bool { return a.over }

// Silent reports whether the contact has not answered in time.
func (a *Contact) Silent() bool { return a.silent }

// opens reports whether a member may still open a session for it.
func (a *Contact) opens() bool { return a.greets && a.asked == nil }

// Reasons why a contact is not served.
var (
	ErrSilent    = errors.New("no answer")
	errEnded     = errors.New("the session has ended meanwhile")
	errLate      = errors.New("another address has answered before")
	errElsewhere = errors.New("the authority is at another address")
	errStranger  = errors.New("it belongs to another cluster")
)

// Unheard is an error that does not come from a member, but from the network or another program.
type Unheard struct{ Err error }

func (e Unheard) Error() string { return e.Err.Error() }

// IsHeard reports whether an error comes from a member.
func IsHeard(err error) bool {
	_, network := errors.AsType[Unheard](err)
	return !network && !errors.Is(err, ErrSilent)
}

// IsOverload reports whether an overloaded member has refused: another one may serve, or the same one a moment later.
func IsOverload(err error) bool {
	limit, is := errors.AsType[*holdfast.LimitError](err)
	return is && limit.Limit == "overload"
}

// isTakenOver reports whether a member answers that another client has taken the session over.
func isTakenOver(err error) bool {
	return api.Code(err) == api.CodeUnknownSession && holdfast.Why(err) == holdfast.EndedByAnother
}

// bare removes the operation from an error: the caller's is another one.
func bare(err error) error {
	if opErr, is := errors.AsType[*holdfast.Error](err); is {
		return opErr.Err
	}
	return err
}

// limitContact limits a contact's silence so that time is left for another address before the session ends. But the
// others are tried in parallel, so an answer has at least a second: a member that resumes a session of a durable space
// may ask distant members. Without a session there is no deadline: an attempt that a busy member will get to is not
// abandoned and repeated, which would cost it more than serving it.
func (m *Machine) limitContact(a *Contact) {
	limit := FreshAttempt
	if m.session != nil && m.session.TTL > 0 {
		limit = min(max(m.session.TTL/4, minAttempt), maxAttempt)
	}
	a.limit.Ring = func() {
		a.silent = true
		m.out.add(Effect{Kind: LetGo, Detail: a.about()})
	}
	m.alarms.Set(&a.limit, m.now+limit)
}

// greet makes the hello for the present session if it is alive, otherwise for a new one.
func (m *Machine) greet(a *Contact) {
	m.tick() // the session may have ended
	a.greets = true
	a.hello.operation.Kind, a.hello.kind.Hello = &a.hello.kind, &a.hello.body
	h := &a.hello.body
	h.Ttl, h.Client, h.Number = int64(m.config.TTL), m.config.Name, m.config.Number
	if s := m.session; s != nil {
		h.Session, h.Secret, h.Generation = s.ID, s.Secret, s.Generation
		if s.Opened {
			h.Last = m.lastID
		}
		a.listed = m.all()
		h.Requests = make([]uint64, 0, len(a.listed))
		for _, r := range a.listed {
			h.Requests = append(h.Requests, r.ID)
		}
	}
	a.asked, a.sent = m.session, m.now
}

// onAnswered handles the answer to a hello.
func (m *Machine) onAnswered(a *Contact, ev *Event) {
	m.alarms.Stop(&a.limit)
	if err := m.take(a, ev); err != nil {
		unwanted := errors.Is(err, errElsewhere) || errors.Is(err, errStranger) || errors.Is(err, errLate)
		m.out.add(Effect{Kind: Refuse, Err: err, Opened: unwanted && a.asked == nil, Detail: a.about()})
	}
}

// take handles the first frame of a stream. The error says why it is not served.
func (m *Machine) take(a *Contact, ev *Event) error {
	if len(ev.Said) == 0 {
		return errors.New("the first frame is empty")
	}
	first, rest := ev.Said[0], ev.Said[1:]
	if welcome := first.GetWelcome(); welcome != nil {
		m.endLost(a, rest)
		if err := m.onWelcome(a, welcome, ev.Phase); err != nil {
			return err
		}
		m.onHeard(rest)
		return nil
	}
	refused := first.GetRefused()
	if refused == nil || first.GetId() != 0 {
		return errors.New("the first event is neither welcome nor refused")
	}
	if err := api.FromProblem("open", refused.GetProblem()); err != nil {
		return err
	}
	return api.Fail(api.CodeInternal, "refused without a reason")
}

// endLost ends the locks whose loss comes with a welcome, before the welcome renews the session: so no caller believes
// in them an instant longer than without it.
func (m *Machine) endLost(a *Contact, events []*schema.Event) {
	if a.over || m.session != a.asked {
		return
	}
	for _, event := range events {
		if lost := event.GetLost(); lost != nil {
			if r := m.requests[event.GetId()]; r != nil && r.state == Held {
				m.out.of(End, r, holdfast.Loss(lost.GetWhy()))
			}
		}
	}
}

// checkWelcome returns why a welcome is rejected.
func (m *Machine) checkWelcome(a *Contact, w *schema.Welcome) error {
	s := a.asked
	switch {
	case a.over, m.session != s:
		return errLate
	case s == nil && (w.GetSession() == "" || w.GetSecret() == ""):
		return errors.New("welcome names no session or no secret")
	case s != nil && w.GetSession() != s.ID:
		return fmt.Errorf("welcome to session %q, which is not ours", w.GetSession())
	case w.GetTtl() <= 0:
		return fmt.Errorf("welcome with a ttl of %v", time.Duration(w.GetTtl()))
	case s == nil && m.cluster.strange(m.config.Addresses, a.Place, w.GetCluster()):
		return errStranger
	}
	return nil
}

// onWelcome opens or renews the session. An earlier stream is over.
func (m *Machine) onWelcome(a *Contact, w *schema.Welcome, phase time.Duration) error {
	if err := m.checkWelcome(a, w); err != nil {
		return err
	}
	s, k := a.asked, &m.cluster
	if k.id == "" || slices.Contains(m.config.Addresses, a.Place) {
		k.id = w.GetCluster()
	}
	k.learn(m.config.Addresses, w.GetAuthority(), w.GetMembers())
	if s == nil && m.config.Direct && !k.redirected && k.authority != "" && k.authority != a.Place.String() {
		k.redirected = true
		return errElsewhere
	}
	if s == nil {
		s = &Session{ID: w.GetSession(), Secret: w.GetSecret(), Opened: true, longer: w.GetLonger()}
	} else {
		m.answers.note(m.now - a.sent)
	}
	m.hangUp() // one that was doubted
	m.letGoOthers(a)
	m.session, m.stream, m.phase, k.last, k.sentAway = s, a, phase, a.Place, false
	s.Member, s.at, s.unknown, s.Cut, s.Generation = w.GetMember(), a.Place, nil, w.GetTtlCut(), w.GetGeneration()
	m.out.add(Effect{Kind: Serve, Detail: &Detail{Contact: a, Session: s, Welcome: w}})
	listed := a.listed
	a.listed = nil
	if !m.acknowledged(a.sent, time.Duration(w.GetTtl())) {
		return errEnded
	}
	m.cancelRefused(listed)
	m.refill()
	m.alarms.Set(&m.beat, m.nextBeat(a.sent, s.TTL))
	m.begin(nil)
	m.seek()
	return nil
}

// begin reports, once, that the first hello was answered.
func (m *Machine) begin(err error) {
	if !m.begun {
		m.begun = true
		m.out.add(Effect{Kind: Begun, Err: err})
	}
}

// onFailed handles a failed contact. A session that its own member does not know any more is lost; another member's
// word on it is not believed before its deadline, unless all agree. A member that reports a takeover has the session,
// and is believed. A permanent error ends the calls that wait for a session.
func (m *Machine) onFailed(a *Contact, err error) {
	m.alarms.Stop(&a.limit)
	a.listed = nil
	q := &m.search
	if !q.leave(a) {
		return // it was served, or dropped
	}
	round := q.rounds
	if IsHeard(err) {
		overload := IsOverload(err)
		if overload {
			q.pause = maxPause // avoids adding to the overload
		}
		if a.greets && m.session == a.asked {
			m.onRefusal(a, err, overload)
		}
	}
	if q.rounds == round {
		m.onAsked(m.finished || a.greets && m.session != a.asked || errors.Is(err, errElsewhere))
	}
}

// onRefusal handles a member's reason for refusing a hello.
func (m *Machine) onRefusal(a *Contact, err error, overload bool) {
	s, code := a.asked, api.Code(err)
	m.cluster.sentAway = m.cluster.sentAway || code == api.CodeUnavailable || overload
	if s != nil && isTakenOver(err) {
		m.onTakenOver(err)
	} else if s != nil && code == api.CodeUnknownSession {
		if s.unknown == nil {
			s.unknown = map[api.Address]bool{}
		}
		s.unknown[a.Place] = true
		if a.Place != s.at && len(s.unknown) < len(m.known()) {
			return
		}
		m.lose()
	}
	if code == api.CodeUnavailable || code == api.CodeInternal || overload {
		return
	}
	if !m.begun {
		m.begin(err)
	} else if s == nil {
		m.failAll(bare(err))
	}
}

// failAll ends the waiting calls, because no session is possible.
func (m *Machine) failAll(why error) {
	for _, r := range m.all() {
		if r.state == Requested {
			m.out.of(Fail, r, why)
			m.settle(r)
		}
	}
}

// onBroken handles the end of the stream. If its status says that the session has ended, it comes from the session's
// own member: waiting for the deadline would only delay the waiting calls. A stream that closes without error after the
// end of the session was sent acknowledges it.
func (m *Machine) onBroken(a *Contact, err error) {
	if m.stream != a {
		return
	}
	served := m.search.phase == resting
	m.detach()
	switch {
	case err == nil && m.endID != 0 && m.session != nil:
		m.onEnded()
	case !IsHeard(err), api.Code(err) != api.CodeUnknownSession:
	case isTakenOver(err):
		m.onTakenOver(err)
	default:
		m.cluster.sentAway = true
		m.lose()
	}
	if served && m.search.phase == resting {
		m.rest()
	}
}
