package session

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// stage is the progress of this member in ending its service.
type stage uint8

const (
	serving  stage = iota
	draining       // it accepts no new requests
	leaving        // and has revoked all grants
)

// closing is the orderly end of this member's service. A client's session ends as soon as it has no holds: then it need
// not be waited for, and its client continues elsewhere. A session with holds in lasting spaces alone moves with its
// client.
type closing struct {
	stage     stage
	leavers   []protocol.CallID           // calls that wait until the member has left
	drained   []protocol.CallID           // calls that wait until no hold is left
	immediate bool                        // it leaves regardless of holds
	pending   bool                        // a space's authority is being handed over
	passed    bool                        // the membership has its order
	until     protocol.Time               // deadline for the handover
	parting   partings                    // sessions with holds in lasting spaces alone
	holders   map[lock.SessionID]struct{} // sessions with holds
	stirred   []lock.SessionID            // those of them that may hold less than before
}

// refusal returns why new requests are refused; nil if they are not.
func (c *closing) refusal() error {
	switch c.stage {
	case draining:
		return errDraining
	case leaving:
		return errLeaving
	}
	return nil
}

// stir records that a session may hold less than before, once for many decisions about it.
func (c *closing) stir(id lock.SessionID) {
	if n := len(c.stirred); n > 0 && c.stirred[n-1] == id {
		return
	}
	if _, holds := c.holders[id]; holds {
		c.stirred = append(c.stirred, id)
	}
}

// tooLate refuses a request that arrives after new ones are no longer accepted, and reports whether it did. A request
// over its session's own stream gets no answer when the session is about to end: its client repeats it elsewhere. A
// copy of a request that the session has already is not too late: its client could take the refusal for the answer to a
// later message.
func (m *Machine) tooLate(now protocol.Time, p *presence, ev *protocol.Event, r *lock.Request, out *protocol.Effects) bool {
	if m.closing.stage == serving {
		return false
	}
	if (m.closing.stage == leaving || p.parting) && p.kind == Stream && ev.Call.Sink == p.sink {
		return true
	}
	if slices.ContainsFunc(m.requestsOf(now, p, ev.Port, out), func(of protocol.RequestOf) bool { return of.ID == r.ID && of.Name == r.Name }) {
		return false
	}
	m.refuse(ev.Call, r.Session, r.ID, r.Name, m.closing.refusal(), out)
	return true
}

// onDrain stops new requests, and ends sessions without holds. Holds stay.
func (m *Machine) onDrain(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.closing.drained = append(m.closing.drained, call)
	m.close(now, draining, out)
}

// onLeave revokes all grants. The membership gets the order to leave when all clients have stopped, or can no longer
// believe in any hold; and when others have taken over this member's authority.
func (m *Machine) onLeave(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.closing.leavers = append(m.closing.leavers, call)
	m.close(now, leaving, out)
}

// onLeaveNow leaves regardless of holds. Callers of an earlier Leave need not wait any longer either.
func (m *Machine) onLeaveNow(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.onLeave(now, call, out)
	m.closing.immediate = true
	m.concludeClosing(now, out)
}

// close advances to a stage, if it was not reached before.
func (m *Machine) close(now protocol.Time, next stage, out *protocol.Effects) {
	if m.closing.stage >= next {
		return
	}
	m.closing.stage = next
	m.closing.holders = map[lock.SessionID]struct{}{}
	m.closing.until, m.closing.parting.until = now+m.config.Lease/2, now+m.config.Lease/4
	m.answerParked(now, out)
	m.forgetKept(now, out)
	for _, id := range slices.SortedFunc(maps.Keys(m.sessions), compareIDs) {
		p := m.sessions[id]
		switch {
		case p == nil:
		case p.parting:
		case !m.holds(now, p, out):
			m.sendAway(now, p, out)
		default:
			m.closing.holders[id] = struct{}{}
			if next == leaving {
				m.revokeAll(now, p, out)
			}
		}
	}
	m.stepDown(now, out)
}

// stepDown makes every space hand over its authority, and reports whether that is done everywhere.
func (m *Machine) stepDown(now protocol.Time, out *protocol.Effects) (done bool) {
	done = true
	for port := 1; port <= m.config.Spaces; port++ {
		answer, is := m.inquire(now, protocol.Port(port), &protocol.StepDown{}, out).(*protocol.SteppedDown)
		done = done && !(is && answer.Pending)
	}
	return done
}

// mayGo reports whether the membership may get the order to leave, as far as the spaces are concerned: this member's
// authority has been handed over, so no member needs to recover it, or that has taken too long. Without the handover
// the leave is as safe, but takes longer.
func (c *closing) mayGo(now protocol.Time, done func() bool) bool {
	c.pending = !c.passed && now < c.until && !done()
	return !c.pending
}

// wake returns the deadline for the handover; Never if there is none.
func (c *closing) wake() protocol.Time {
	if !c.pending {
		return c.parting.next()
	}
	return min(c.until, c.parting.next())
}

// sendAway ends a session without holds, and lets one that continues elsewhere wait to be dismissed. A session of this
// process stays, because it cannot move; but its waiting requests end.
func (m *Machine) sendAway(now protocol.Time, p *presence, out *protocol.Effects) {
	switch {
	case p.kind == Local:
		m.revokeAll(now, p, out)
	case m.goesOn(p):
		m.dismissLater(now, p, out)
	default:
		m.endAway(now, p, m.closing.refusal(), out)
	}
}

// revokeAll asks a session to stop using all its holds, and cancels its waiting requests.
func (m *Machine) revokeAll(now protocol.Time, p *presence, out *protocol.Effects) {
	p.away = m.closing.refusal()
	for port := 1; port <= m.config.Spaces; port++ {
		if m.config.lasts(protocol.Port(port)) {
			continue // its holds there outlast this member
		}
		revoke := &protocol.Revoke{Session: p.id, Why: holdfast.MemberLost}
		m.pass(now, &protocol.Event{Kind: protocol.Call, Port: protocol.Port(port), Fact: revoke}, out)
	}
}

// concludeClosing ends or dismisses sessions without holds, and answers the callers that wait for the last of them. No
// caller gets its answer before the sessions that continue elsewhere are dismissed.
func (m *Machine) concludeClosing(now protocol.Time, out *protocol.Effects) {
	c := &m.closing
	for len(c.stirred) > 0 {
		stirred := c.stirred
		c.stirred = nil
		for _, id := range stirred {
			p := m.sessions[id]
			if _, holder := c.holders[id]; !holder || p != nil && m.holds(now, p, out) {
				continue
			}
			delete(c.holders, id)
			if p != nil {
				m.sendAway(now, p, out)
			}
		}
	}
	m.dismissParting(now, out)
	if len(c.parting.waiting) > 0 {
		return
	}
	if len(c.holders) == 0 {
		for _, call := range c.drained {
			out.Reply(call, &Drained{})
		}
		c.drained = nil
	}
	empty := len(c.holders) == 0 && len(m.beliefs.of) == 0
	if len(c.leavers) > 0 && (empty || c.immediate) && c.mayGo(now, func() bool { return m.stepDown(now, out) }) {
		m.passLeave(now, empty, out)
	}
}

// passLeave orders the membership to leave. Empty reports that no hold is left.
func (m *Machine) passLeave(now protocol.Time, empty bool, out *protocol.Effects) {
	leavers := m.closing.leavers
	m.closing.leavers, m.closing.passed = nil, true
	for _, call := range leavers {
		m.pass(now, &protocol.Event{Kind: protocol.Call, Call: call, Fact: &membership.Leave{Empty: empty}}, out)
	}
}

// holds reports whether a session has holds that end with this member's service: those in lasting spaces do not.
func (m *Machine) holds(now protocol.Time, p *presence, out *protocol.Effects) (anything bool) {
	for port := 1; port <= m.config.Spaces; port++ {
		if m.config.lasts(protocol.Port(port)) {
			continue
		}
		holds, is := m.inquire(now, protocol.Port(port), &protocol.CountHolds{Session: p.id}, out).(*protocol.Holds)
		anything = anything || is && holds.Count > 0
	}
	return anything
}

// divert hides from a client that its wait has ended, if it continues at another member: it hears that its session has
// ended, and repeats the request there. A caller that waits without a stream gets the reason.
func (p *presence) divert(reply *protocol.Reply, why error) {
	switch {
	case reply.Decision.Kind != lock.Refused:
	case p.kind == Stream && reply.To.Sink == p.sink:
		reply.To = protocol.CallID{}
	default:
		reply.Decision.Err = why
	}
}
