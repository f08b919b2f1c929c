package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A caller with a session's credentials can release its holds, and end it, while another client uses it over a stream.
// That client still believes in its locks, so they are not freed at once: they are revoked, as when a lock is broken,
// and each ends when the client confirms that it has stopped, or at the deadline that its session had then. Requests
// from single calls have no client to notify: they end at once.

// recallKey identifies a hold to end: by its request, or in a lasting space by its token if the request is not known
// here.
type recallKey struct {
	port    protocol.Port
	request uint64
	name    string
	token   holdfast.Token // only if request is 0
}

func compareRecalls(a, b recallKey) int {
	return cmp.Or(cmp.Compare(a.port, b.port), cmp.Compare(a.request, b.request), cmp.Compare(a.name, b.name), cmp.Compare(a.token, b.token))
}

// taking is the end of a session by another client than the one at its stream, until that one has stopped.
type taking struct {
	calls    []protocol.CallID
	released []Lost
	// own reports that the client at the stream itself ends the session, while an earlier one may believe in its holds.
	own bool
	by  lock.Attachment
}

// mostRecalls is the maximum number of calls that wait for the end of one hold, or of one session.
const mostRecalls = 16

// errTaken refuses renewals of a session that is being ended; errEnded is the reason of its end.
var (
	errTaken = fmt.Errorf("%w: another client is ending this session", holdfast.ErrUnavailable)
	errEnded = errors.New("another client has ended it")
)

// isAnother reports whether a call is from another client than the one that uses the session over a stream.
func isAnother(p *presence, call protocol.CallID) bool {
	return p.kind == Stream && call.Sink != p.sink && !protocol.Mutated("release by another client goes unreported")
}

// isTakenOver reports whether a session was adopted for a call: its client may use it over a stream at another member,
// and make requests there that are not known here yet.
func (p *presence) isTakenOver() bool {
	return p.kind == OneShot && p.lasting != nil && p.lasting.taken
}

// mayBeAnother reports whether a call may be from another client than the one that uses a session over a stream, here
// or elsewhere.
func mayBeAnother(p *presence, call protocol.CallID) bool {
	return isAnother(p, call) || p.isTakenOver()
}

// onEnd ends a session at its client's request.
func (m *Machine) onEnd(now protocol.Time, call protocol.CallID, end *End, out *protocol.Effects) {
	p := m.alive(now, end.ID)
	if p == nil && m.isSuperseded(call.Sink) {
		return // it was dismissed: its client ends it elsewhere
	}
	if m.ousted[call.Sink] {
		out.Reply(call, &Ended{Err: ErrTakenOver})
		return
	}
	if err := p.refusal(end.Secret, end.Identity); err != nil && (p == nil || !end.Proven) {
		out.Reply(call, &Ended{Err: err})
		return
	}
	if mayBeAnother(p, call) {
		m.take(now, call, p, out)
		return
	}
	if m.isBelieved(now, p, out) {
		m.endLater(now, call, p, out)
		return
	}
	before := len(out.Replies)
	m.end(now, p, "", out)
	out.Reply(call, &Ended{Released: releasedOf(p, out.Replies[before:])})
}

// unableFor returns why a session cannot be renewed now; nil if it can.
func (m *Machine) unableFor(now protocol.Time, p *presence) error {
	if p.taking != nil {
		return errTaken
	}
	return m.unable(now)
}

// recallOne handles the release of a hold by another client, and reports whether the one that uses it has to stop
// first.
func (m *Machine) recallOne(now protocol.Time, p *presence, ev *protocol.Event, r *protocol.Release, out *protocol.Effects) bool {
	if !mayBeAnother(p, ev.Call) {
		return false
	}
	requests := slices.Backward(m.requestsOf(now, p, ev.Port, out))
	for _, of := range requests {
		if of.Name != r.Name || of.Token == 0 || r.Token != 0 && of.Token != r.Token || r.Request != 0 && of.ID != r.Request {
			continue
		}
		if of.ID >= SingleCall {
			return false
		}
		m.recall(now, p, ev.Port, of, ev.Call, out)
		return true
	}
	if !m.config.lasts(ev.Port) || r.Token == 0 {
		return false
	}
	m.recall(now, p, ev.Port, protocol.RequestOf{ID: r.Request, Name: r.Name, Token: r.Token}, ev.Call, out) // it may have come through another member, just now
	return true
}

// recall asks the client at the stream to stop using a hold. The call is answered when that has ended; the zero call
// has no caller.
func (m *Machine) recall(now protocol.Time, p *presence, port protocol.Port, of protocol.RequestOf, call protocol.CallID, out *protocol.Effects) {
	key := recallKey{port: port, request: of.ID, name: of.Name}
	if of.ID == 0 {
		key.token = of.Token
	}
	calls, known := p.recalled[key]
	if call.Sink != 0 {
		if len(calls) >= mostRecalls {
			m.refuse(call, p.id, of.ID, of.Name, &holdfast.LimitError{Limit: "recalls", Value: mostRecalls}, out)
			return
		}
		calls = append(calls, call)
	}
	if p.recalled == nil {
		p.recalled = map[recallKey][]protocol.CallID{}
	}
	if p.recalled[key] = calls; known {
		return
	}
	if m.config.lasts(port) {
		recall := &protocol.Recall{Session: p.id, Name: of.Name, Token: of.Token, Request: of.ID}
		m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Fact: recall}, out)
		return
	}
	if _, revoked := p.revoked.byRequest[revokedKey{port, of.ID}]; revoked {
		return // its client has a revocation for another reason
	}
	out.Decide(p.reach(of.ID), &lock.Decision{
		Kind: lock.Revoked, Session: p.id, Request: of.ID, Name: of.Name, Token: of.Token, Loss: holdfast.EndedByAnother,
	})
	reply := &out.Replies[len(out.Replies)-1]
	reply.Port = port
	m.routeRevoked(now, p, reply)
}

// hearRecalled answers the calls that wait for the end of a request: it has ended, or the space could not be asked. It
// reports whether the decision was only about that. A waiting request ends by a refusal, because another client has
// ended it; the client at the stream gets that refusal as well.
func (m *Machine) hearRecalled(p *presence, port protocol.Port, d lock.Decision, called protocol.CallID, out *protocol.Effects) (own bool) {
	switch d.Kind {
	case lock.Released, lock.Lost:
		if p.taking != nil && d.Token != 0 {
			p.taking.released = append(p.taking.released, Lost{port, released(d)})
		}
	case lock.Refused:
		if called.Sink != 0 {
			return false
		}
	default:
		return false
	}
	for _, key := range [...]recallKey{{port, d.Request, d.Name, 0}, {port, 0, d.Name, d.Token}} {
		calls, waits := p.recalled[key]
		if !waits {
			continue
		}
		own = d.Kind == lock.Refused && d.Err != holdfast.EndedByAnother
		delete(p.recalled, key)
		answer := d
		if !own {
			answer = released(d)
		}
		for _, call := range calls {
			out.Decide(call, &answer)
		}
		if own && p.taking != nil {
			m.giveUpTaking(p, d.Err, out)
		}
	}
	return own
}

// released is the answer to the client that requested the end of a hold, once it has ended.
func released(d lock.Decision) lock.Decision {
	d.Kind, d.Loss, d.Err = lock.Released, "", nil
	return d
}

// take ends a session for another client than the one at its stream, as soon as that one has stopped.
func (m *Machine) take(now protocol.Time, call protocol.CallID, p *presence, out *protocol.Effects) {
	if p.taking == nil {
		p.taking = &taking{}
		m.takings = append(m.takings, p)
	}
	if len(p.taking.calls) >= mostRecalls {
		out.Reply(call, &Ended{Err: &holdfast.LimitError{Limit: "recalls", Value: mostRecalls}})
		return
	}
	p.taking.calls = append(p.taking.calls, call)
	m.recallAll(now, p, out)
	m.concludeTakings(now, out)
}

// recallAll asks the client at the stream to stop using all its holds, and reports whether any are left. In lasting
// spaces its waiting requests end as well: one could be granted just now, and another member would report it to the
// client.
func (m *Machine) recallAll(now protocol.Time, p *presence, out *protocol.Effects) bool {
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		for _, of := range m.requestsOf(now, p, port, out) {
			if of.ID < SingleCall && (of.Token != 0 || m.config.lasts(port)) {
				m.recall(now, p, port, of, protocol.CallID{}, out)
			}
		}
	}
	return len(p.recalled) > 0
}

// concludeTakings ends the sessions whose clients have stopped.
func (m *Machine) concludeTakings(now protocol.Time, out *protocol.Effects) {
	takings := m.takings
	m.takings = nil
	for _, p := range takings {
		switch {
		case m.sessions[p.id] != p || p.taking == nil:
		case p.taking.own && now < p.believedUntil():
			m.takings = append(m.takings, p)
		case p.taking.own:
			m.end(now, p, "", out)
		case len(p.recalled) > 0 || m.recallAll(now, p, out): // a waiting request may have been granted meanwhile
			m.takings = append(m.takings, p)
		default:
			m.takeBack(now, p, out)
			m.end(now, p, "", out)
		}
	}
}

// takeBack makes lasting spaces end the requests of single calls. They end the session itself if it has nothing then:
// its client may have moved to another member meanwhile, and believe in grants there.
func (m *Machine) takeBack(now protocol.Time, p *presence, out *protocol.Effects) {
	if p.lasting == nil {
		return
	}
	for _, port := range p.lasting.ports {
		for _, of := range m.requestsOf(now, p, port, out) {
			cancel := &protocol.Cancel{Session: p.id, Name: of.Name, Request: of.ID}
			m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Fact: cancel}, out)
		}
	}
}

// giveUpTaking leaves a session unchanged, because a space could not be asked. Its stream repeats what it has sent
// meanwhile.
func (m *Machine) giveUpTaking(p *presence, why error, out *protocol.Effects) {
	if why == holdfast.ErrNotHeld {
		return // it has ended otherwise
	}
	calls := p.taking.calls
	p.taking = nil
	for _, call := range calls {
		out.Reply(call, &Ended{Err: why})
	}
	if p.sink != 0 {
		out.Reply(protocol.CallID{Sink: p.sink}, &Superseded{ID: p.id})
		m.superseded[p.sink] = true
		m.unattach(p)
	}
}

// answerRecalls answers all callers that wait for a session that has now ended.
func (m *Machine) answerRecalls(p *presence, out *protocol.Effects) {
	for _, key := range slices.SortedFunc(maps.Keys(p.recalled), compareRecalls) {
		for _, call := range p.recalled[key] {
			m.refuse(call, p.id, key.request, key.name, p.gone(), out)
		}
	}
	p.recalled = nil
	for _, g := range p.given {
		if g.call == (protocol.CallID{}) {
			continue
		}
		m.refuse(g.call, p.id, g.key.request, g.key.name, p.gone(), out)
	}
	p.given = nil
	if p.taking == nil {
		return
	}
	ended := &Ended{Released: p.taking.released}
	if p.dismissed {
		ended.Err = p.gone()
	}
	for _, call := range p.taking.calls {
		out.Reply(call, ended)
	}
}

// tooLateForTaken refuses requests in a session that is being ended, and reports whether it did. Its own stream repeats
// them, in another session, when this one has ended.
func (m *Machine) tooLateForTaken(p *presence, ev *protocol.Event, r *lock.Request, out *protocol.Effects) bool {
	if p.taking == nil {
		return false
	}
	if ev.Call.Sink != p.sink {
		m.refuse(ev.Call, r.Session, r.ID, r.Name, ErrUnknown, out)
	}
	return true
}
