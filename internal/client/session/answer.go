package session

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// onHeard handles the member's messages on the stream.
func (m *Machine) onHeard(said []*schema.Event) {
	for on, i := m.stream, 0; i < len(said) && on != nil && m.stream == on; i++ {
		m.onSaid(said[i])
	}
}

// onSaid handles one event from the member. An unknown kind is from a newer member.
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

// onOwn handles the events that only a request of this client can get.
func (m *Machine) onOwn(r *Request, event *schema.Event) {
	switch kind := event.GetKind().(type) {
	case *schema.Event_Granted:
		m.onGranted(r, kind.Granted)
	case *schema.Event_Queued:
		if position := kind.Queued.GetPosition(); r.state == Requested {
			r.waiting = position >= 0 // otherwise its member is still looking for the authority
			m.out.add(Effect{Kind: TellQueued, Request: r, Position: position})
		}
	case *schema.Event_Lost:
		m.onLost(r, holdfast.Loss(kind.Lost.GetWhy()), kind.Lost.GetMustRelease())
	case *schema.Event_Extended:
		m.onExtended(r, time.Duration(kind.Extended.GetHold()))
	case *schema.Event_Amended:
		m.onAmended(r, kind.Amended)
	}
}

// onGranted makes the lock. A grant whose call no longer waits is undone by the cancel or release under way.
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
	if s := m.session; s.longer {
		s.longer = false
		m.onBeat()
	}
}

// onLost ends a lock, then confirms that it has stopped if the authority waits for that.
func (m *Machine) onLost(r *Request, why holdfast.Loss, mustRelease bool) {
	if why == holdfast.SessionExpired {
		m.lose()
		return
	}
	switch r.state {
	case Requested:
		// Its grant has not come, or not in time, and has ended. The acquire may have been repeated since and be
		// granted again, and then no caller would hold the grant: so the acquire is cancelled, which releases any grant
		// that it has.
		m.out.of(Fail, r, why)
		m.cancel(r)
	case Held:
		m.out.of(End, r, why)
		m.finishChanges(r, why)
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

// reason converts a problem into an error.
func reason(problem *schema.Problem) error { return bare(api.FromProblem("", problem)) }

// isGone reports whether a problem means that the session is unknown.
func isGone(problem *schema.Problem) bool {
	code := problem.GetCode()
	return code == api.CodeUnknownSession || code == api.CodeLost && problem.GetWhy() == string(holdfast.SessionExpired)
}

// onReleased handles the answer to a release or a cancel; its problem is nil if the authority has accepted it.
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

// sendLater repeats a release or a cancel that was refused because of the client's rate limit: otherwise the name would
// stay taken.
func (m *Machine) sendLater(r *Request) {
	kind := sendRelease
	if r.state == Cancelling {
		kind = sendCancel
	}
	r.guard.Ring = func() { m.push(kind, r) }
	m.alarms.Set(&r.guard, m.now+LaterPause)
}

// failRelease returns the reason for a refused release. If a repeated release finds the lock not held, its first copy
// has acted: had the lock been lost, the authority would have reported that first.
func (m *Machine) failRelease(r *Request, problem *schema.Problem) {
	switch {
	case r.loss != "":
		m.out.of(FailRelease, r, r.loss)
	case r.copies == 1 || problem.GetCode() != api.CodeNotHeld:
		m.out.of(FailRelease, r, reason(problem))
	}
}

// unknownAmend returns why an amendment has no answer of its own: its member is of a version without values.
func unknownAmend(problem *schema.Problem) error {
	if problem.GetCode() == api.CodeBadRequest {
		return fmt.Errorf("%w: this member's version has no values of locks; upgrade it", holdfast.ErrUnsupported)
	}
	return reason(problem)
}

// onRefused handles the refusal of the request or other operation with that id.
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
	case r.state == Held && r.amend != nil:
		m.finishAmend(r, unknownAmend(problem))
	default:
		m.onReleased(r, problem)
	}
}
