package edge

import (
	"errors"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Hear turns replies of the member's machine into events. It returns the answer to the hello, if that is among them.
func (o *Outbox) Hear(replies []protocol.Reply) (answer any) {
	if o.state == Over {
		return nil
	}
	for i := range replies {
		reply := &replies[i]
		switch {
		case reply.Result == nil:
			o.onDecision(reply)
		case reply.To.Op == HelloCall:
			answer = reply.Result
		default:
			o.onResult(reply.To.Op&^callBit, reply.Result)
		}
	}
	return answer
}

// onResult handles the outcome for the session, or for its operation id.
func (o *Outbox) onResult(id uint64, result any) {
	switch result := result.(type) {
	case *session.Renewed:
		o.onRenewed(id, result)
	case *session.Ended:
		// The earlier decisions have reported the session's holds.
		o.put(Outgoing{saying: sayReleased, call: CallEnd, id: id, err: result.Err})
		o.Finish(nil)
	case *session.Expired:
		o.Finish(errExpired(result.Err))
	case *session.Dismissed:
		o.Finish(result.Err) // unavailable: the client continues its session elsewhere
	case *session.Superseded:
		o.End(ErrSuperseded)
	case *session.TakenOver:
		o.Finish(errTakenOver(result.ID))
	}
}

// onRenewed reports that the session was renewed, or that it has ended. If it could not be renewed now it reports
// nothing: to the client that is a beat without an answer, and its deadline is unchanged.
func (o *Outbox) onRenewed(id uint64, renewed *session.Renewed) {
	for i := range renewed.Lost {
		o.put(lostGrant(renewed.Lost[i].Port, &renewed.Lost[i].Decision))
	}
	switch {
	case errors.Is(renewed.Err, holdfast.ErrUnavailable):
	case errors.Is(renewed.Err, session.ErrTakenOver):
		o.Finish(errTakenOver(o.session))
	case renewed.Err != nil:
		o.put(Outgoing{saying: sayRefused, call: CallBeat, id: id, err: renewed.Err})
		o.Finish(errExpired(nil))
	default:
		o.put(Outgoing{saying: sayBeat, call: CallBeat, id: id, span: renewed.TTL, wanted: o.wanted, cut: renewed.Cut})
	}
}

// onDecision reports the outcome of a request: as the answer to a call about it, or unsolicited.
func (o *Outbox) onDecision(reply *protocol.Reply) {
	d, call := &reply.Decision, CallOf(reply.To.Op)
	if reply.To.Op&callBit != 0 && d.Request == reply.To.Op {
		return // a number that no stream uses: a request of another edge
	}
	t := Outgoing{id: d.Request, port: reply.Port, call: call}
	switch d.Kind {
	case lock.Granted:
		t.saying, t.token, t.since, t.span = sayGranted, d.Token, d.Since, d.Hold
		if call == CallExtend {
			t.saying = sayExtended
		}
	case lock.Queued:
		if d.Position < 0 {
			return // another member decides, and has not answered yet
		}
		t.saying, t.position = sayQueued, int32(d.Position)
	case lock.Refused:
		t.saying, t.err, t.name, t.revision = call.refusal(), o.shown(reply.Port, d), d.Name, d.Revision
	case lock.Lost, lock.Revoked:
		t = lostGrant(reply.Port, d)
	case lock.Released:
		t.saying = sayReleased
	case lock.Amended:
		t.saying, t.revision = sayAmended, d.Revision
	default:
		return
	}
	o.put(t)
}

// shown returns the reason for a refusal as the client may learn it: who holds a name, and why, is for those that may
// read the name.
func (o *Outbox) shown(port protocol.Port, d *lock.Decision) error {
	if o.permit == nil || !errors.Is(d.Err, holdfast.ErrHeld) || o.permit.Reads(o.config.spaceName(port), d.Name) {
		return d.Err
	}
	return holdfast.ErrHeld
}
