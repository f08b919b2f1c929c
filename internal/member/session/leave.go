package session

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// stage says how far this member has gone in ending its service.
type stage uint8

const (
	serving  stage = iota
	draining       // it takes nothing new
	leaving        // and has revoked all grants
)

// closing is the end of this member's service in good order. A client's session ends
// as soon as it holds nothing: then there is nothing to wait for because of it, and
// its client goes on elsewhere. So does one that holds something in lasting spaces alone, and with it.
type closing struct {
	stage     stage
	leavers   []protocol.CallID           // wait until the member has left
	drained   []protocol.CallID           // wait until nothing is held
	immediate bool                        // it leaves regardless of what is held
	pending   bool                        // a space's authority is being handed over
	passed    bool                        // the membership has its order
	until     protocol.Time               // handing over is waited for
	parting   partings                    // sessions that hold something in lasting spaces alone
	holders   map[lock.SessionID]struct{} // sessions that hold something
	stirred   []lock.SessionID            // of those, which may hold less than before
}

// refusal says why nothing new is taken; nil if something is.
func (c *closing) refusal() error {
	switch c.stage {
	case draining:
		return errDraining
	case leaving:
		return errLeaving
	}
	return nil
}

// stir notes that a session may hold less than before, once for many decisions about it.
func (c *closing) stir(id lock.SessionID) {
	if n := len(c.stirred); n > 0 && c.stirred[n-1] == id {
		return
	}
	if _, holds := c.holders[id]; holds {
		c.stirred = append(c.stirred, id)
	}
}

// tooLate refuses a request that comes when nothing new is taken, and reports that. One
// that came over its session's own stream is not answered when the session is about to
// end: its client asks again elsewhere. A copy of what the session has already is not too
// late: its client could take the refusal for the answer to what it has said since.
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

// onDrain takes nothing new, and ends what holds nothing. What is held stays.
func (m *Machine) onDrain(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.closing.drained = append(m.closing.drained, call)
	m.close(now, draining, out)
}

// onLeave revokes all grants. The membership gets the order to leave when all clients have stopped, or
// cannot believe any more that they hold anything; and when others have taken
// over what this member was the authority of.
func (m *Machine) onLeave(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.closing.leavers = append(m.closing.leavers, call)
	m.close(now, leaving, out)
}

// onLeaveNow leaves regardless of what is held. A caller that leaves with it need not wait
// any longer either.
func (m *Machine) onLeaveNow(now protocol.Time, call protocol.CallID, out *protocol.Effects) {
	m.onLeave(now, call, out)
	m.closing.immediate = true
	m.concludeClosing(now, out)
}

// close goes on to a stage, if it was not reached before.
func (m *Machine) close(now protocol.Time, next stage, out *protocol.Effects) {
	if m.closing.stage >= next {
		return
	}
	m.closing.stage = next
	m.closing.holders = map[lock.SessionID]struct{}{}
	m.closing.until, m.closing.parting.until = now+m.config.Lease/2, now+m.config.Lease/4
	m.answerParked(now, out)
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

// stepDown has every space hand over what it is the authority of, and reports whether that
// is done everywhere.
func (m *Machine) stepDown(now protocol.Time, out *protocol.Effects) (done bool) {
	done = true
	for port := 1; port <= m.config.Spaces; port++ {
		answer, is := m.inquire(now, protocol.Port(port), &protocol.StepDown{}, out).(*protocol.SteppedDown)
		done = done && !(is && answer.Pending)
	}
	return done
}

// mayGo reports whether the membership may get the order to leave, as far as the spaces are
// concerned: no member need recover what this member was the authority of, or it has taken too
// long to hand that over. An authority that is not handed over is as safe, and takes longer.
func (c *closing) mayGo(now protocol.Time, done func() bool) bool {
	c.pending = !c.passed && now < c.until && !done()
	return !c.pending
}

// wake is when handing over is waited for no longer; Never where it is not.
func (c *closing) wake() protocol.Time {
	if !c.pending {
		return c.parting.next()
	}
	return min(c.until, c.parting.next())
}

// sendAway ends a session that holds nothing, and lets one that goes on elsewhere wait until it is dismissed. One of this
// process stays, because it cannot go elsewhere; but what it waits for ends.
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

// revokeAll tells a session to stop using all that it holds, and cancels what it waits
// for.
func (m *Machine) revokeAll(now protocol.Time, p *presence, out *protocol.Effects) {
	p.away = m.closing.refusal()
	for port := 1; port <= m.config.Spaces; port++ {
		if m.config.lasts(protocol.Port(port)) {
			continue // what it holds there outlasts this member
		}
		revoke := &protocol.Revoke{Session: p.id, Why: holdfast.MemberLost}
		m.pass(now, &protocol.Event{Kind: protocol.Call, Port: protocol.Port(port), Fact: revoke}, out)
	}
}

// concludeClosing sends those away that hold nothing any more, and answers the callers that wait
// for the last of them. No caller gets its answer before the sessions that go on elsewhere are dismissed.
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

// passLeave tells the membership to leave. Empty says that nothing is held.
func (m *Machine) passLeave(now protocol.Time, empty bool, out *protocol.Effects) {
	leavers := m.closing.leavers
	m.closing.leavers, m.closing.passed = nil, true
	for _, call := range leavers {
		m.pass(now, &protocol.Event{Kind: protocol.Call, Call: call, Fact: &membership.Leave{Empty: empty}}, out)
	}
}

// holds reports whether a session holds anything that ends with this member's service: in a lasting space
// nothing does.
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

// divert hides from a client that its wait has ended, where it goes on at another
// member: it hears that its session has ended, and asks again there. A caller that
// waits without a stream gets the reason.
func (p *presence) divert(reply *protocol.Reply, why error) {
	switch {
	case reply.Decision.Kind != lock.Refused:
	case p.kind == Stream && reply.To.Sink == p.sink:
		reply.To = protocol.CallID{}
	default:
		reply.Decision.Err = why
	}
}
