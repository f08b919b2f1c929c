package session

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// onHeard takes what the member says on the stream.
func (m *Machine) onHeard(said []*schema.Event) {
	for on, i := m.stream, 0; i < len(said) && on != nil && m.stream == on; i++ {
		m.onSaid(said[i])
	}
}

// onSaid takes one event of the member. An unknown kind is of a newer member.
func (m *Machine) onSaid(event *schema.Event) {
	id := event.GetId()
	r := m.requests[id]
	switch kind := event.GetKind().(type) {
	case *schema.Event_Moved:
		m.cluster.learn(m.config.Addresses, kind.Moved.GetAuthority(), kind.Moved.GetMembers())
	case *schema.Event_Beat:
		m.onBeaten(id, kind.Beat)
	case *schema.Event_Refused:
		problem := kind.Refused.GetProblem()
		if problem == nil {
			problem = &schema.Problem{Code: api.CodeInternal, Detail: "refused without a reason"}
		}
		m.onRefused(r, id, problem)
	case *schema.Event_Released:
		if id != 0 && id == m.endID {
			m.onEnded()
		} else if r != nil {
			m.onReleased(r, kind.Released.GetProblem())
		}
	default:
		if r != nil {
			m.onOwn(r, event)
		}
	}
}

// onOwn takes the events that only a request of this client can get.
func (m *Machine) onOwn(r *Request, event *schema.Event) {
	switch kind := event.GetKind().(type) {
	case *schema.Event_Granted:
		m.onGranted(r, kind.Granted)
	case *schema.Event_Queued:
		if position := kind.Queued.GetPosition(); r.state == Requested {
			r.waiting = position >= 0 // before that its member looks for the authority
			m.out.add(Effect{Kind: TellQueued, Request: r, Position: position})
		}
	case *schema.Event_Lost:
		m.onLost(r, holdfast.Loss(kind.Lost.GetWhy()), kind.Lost.GetMustRelease())
	case *schema.Event_Extended:
		m.onExtended(r, time.Duration(kind.Extended.GetHold()))
	}
}

// onGranted makes the lock. A grant that the call no longer waits for is undone by
// the cancel or the release that is under way.
func (m *Machine) onGranted(r *Request, granted *schema.Granted) {
	if r.state != Requested || r.unsent {
		return
	}
	holdEnd, token := holdfast.Forever, holdfast.Token(granted.GetToken())
	if hold := time.Duration(granted.GetHold()); hold > 0 {
		holdEnd = After(r.sent, hold)
	}
	if r.bound.token == token {
		holdEnd = min(holdEnd, r.bound.end)
	}
	if r.limit.token == token {
		holdEnd = min(holdEnd, After(r.sent, r.limit.hold))
	} else {
		r.limit = limit{}
	}
	m.alarms.Stop(&r.guard)
	r.state, r.waiting, r.holdEnd, r.grace, r.token = Held, false, holdEnd, granted.GetGrace(), token
	if holdEnd != holdfast.Forever {
		m.armHoldEnd(r)
	}
	m.out.of(Hold, r, nil)
}

// onLost ends a lock, then says that it has stopped if the authority waits for that.
func (m *Machine) onLost(r *Request, why holdfast.Loss, mustRelease bool) {
	if why == holdfast.SessionExpired {
		m.lose()
		return
	}
	switch r.state {
	case Requested:
		// Its grant has not come, or not in time, and has ended. The acquire may have been
		// sent again since and be granted anew, and then no caller would hold the grant:
		// so the acquire is cancelled, which releases any grant that it has.
		m.out.of(Fail, r, why)
		m.cancel(r)
	case Held:
		m.out.of(End, r, why)
		m.finishExtend(r, why)
		if !mustRelease {
			m.settle(r)
			return
		}
		m.concede(r)
	case Ended:
		if !mustRelease {
			m.settle(r)
		}
	case Releasing:
		r.loss = why // its answer is still to come
	}
}

// reason is the error that a problem tells.
func reason(problem *schema.Problem) error { return bare(api.FromProblem("", problem)) }

// isGone reports whether a problem says that the session is not known any more.
func isGone(problem *schema.Problem) bool {
	code := problem.GetCode()
	return code == api.CodeUnknownSession || code == api.CodeLost && problem.GetWhy() == string(holdfast.SessionExpired)
}

// onReleased takes the answer to a release or to a cancel; its problem is nil where the authority has taken it.
func (m *Machine) onReleased(r *Request, problem *schema.Problem) {
	switch {
	case isGone(problem):
		m.lose()
	case problem.GetCode() == api.CodeLimit && (r.state == Releasing || r.state == Cancelling):
		m.sendLater(r)
	case r.state == Releasing:
		r.refused = problem != nil
		if problem != nil && !r.quiet {
			m.failRelease(r, problem)
		}
		m.settle(r)
	case r.state == Cancelling:
		m.settle(r)
	}
}

// sendLater sends a release or a cancel again that was refused because this client has asked
// for too much at once: what it gives back would stay taken otherwise.
func (m *Machine) sendLater(r *Request) {
	kind := sendRelease
	if r.state == Cancelling {
		kind = sendCancel
	}
	r.guard.Ring = func() { m.push(kind, r) }
	m.alarms.Set(&r.guard, m.now+LaterPause)
}

// failRelease returns the reason why a release was refused. That a release which was sent
// twice is of something not held means that its first copy has acted: had the lock
// been lost, the authority would have reported that before.
func (m *Machine) failRelease(r *Request, problem *schema.Problem) {
	switch {
	case r.loss != "":
		m.out.of(FailRelease, r, r.loss)
	case r.copies == 1 || problem.GetCode() != api.CodeNotHeld:
		m.out.of(FailRelease, r, reason(problem))
	}
}

// onRefused takes a refusal of the request or other operation that the id names.
func (m *Machine) onRefused(r *Request, id uint64, problem *schema.Problem) {
	switch {
	case isGone(problem):
		m.lose()
	case id != 0 && id == m.endID:
		m.onEnded()
	case r == nil:
		m.out.add(Effect{Kind: Unmatched, Err: reason(problem), Detail: &Detail{ID: id}})
	case r.state == Requested:
		r.refused = true
		m.out.of(Fail, r, reason(problem))
		m.settle(r)
	case r.behind:
		m.onExtendRefused(r, reason(problem))
	default:
		m.onReleased(r, problem)
	}
}
