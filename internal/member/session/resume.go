package session

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// After a broken stream each end may have missed messages of the other. The client returns with the list of its
// unsettled requests, and repeats those that it waits for. Two things can then cross:
//
//   - a request was decided, answered and settled while its repetition was under way: it would be made a second time,
//     and no client would take its grant;
//   - it was granted like that on the previous stream, and the client has not heard.
//
// A [comeback] prevents the first, the list repairs the second.

// comeback is a session's memory of its client's return, until its client has repeated all its waiting requests.
type comeback struct {
	sink     uint64
	requests []uint64        // unsettled at the client's hello, in order
	last     uint64          // the latest id that it had used then
	decided  map[uint64]bool // decisions sent on this stream, about those and later ones
}

// note records a decision sent to the client. A client that gets Released has asked for it, and does not repeat the
// request.
func (b *comeback) note(d *lock.Decision) {
	if d.Kind != lock.Refused && d.Kind != lock.Lost {
		return
	}
	if _, listed := slices.BinarySearch(b.requests, d.Request); listed || d.Request > b.last {
		if b.decided == nil {
			b.decided = map[uint64]bool{}
		}
		b.decided[d.Request] = true
	}
}

// crossed reports whether a request that arrives on a sink was sent before its client could hear, on the same stream,
// that it was decided.
func (b *comeback) crossed(sink, request uint64) bool {
	return b != nil && b.sink == sink && b.decided[request]
}

// onResume attaches a session to another sink.
func (m *Machine) onResume(now protocol.Time, call protocol.CallID, resume *Resume, out *protocol.Effects) {
	p := m.here(resume.ID)
	err := p.refusal(resume.Secret, resume.Identity)
	if err == nil && p.lasting != nil && p.lasting.taken {
		p.becomeStream()
	}
	if err == nil && p.kind != Stream {
		err = ErrUnknown
	}
	if err == nil {
		err = m.claim(now, p, resume, out)
	}
	if err != nil {
		out.Reply(call, &Renewed{Err: err})
		return
	}
	if p.sink != 0 && p.sink != call.Sink {
		out.Reply(protocol.CallID{Sink: p.sink}, &Superseded{ID: p.id})
		m.superseded[p.sink] = true
		m.unattach(p)
	}
	m.attach(p, call.Sink)
	delete(m.superseded, call.Sink)
	delete(m.ousted, call.Sink)
	requests := slices.Clone(resume.Requests)
	slices.Sort(requests)
	if resume.Last > 0 {
		m.endSettled(now, p, requests, resume.Last, out)
	}
	p.back = &comeback{sink: call.Sink, requests: requests, last: resume.Last}
	// The broken stream may have lost its last messages. Before it is renewed, a client must know which of its grants
	// it must not use.
	for _, r := range p.revoked.inOrder() {
		out.Decide(protocol.CallID{Sink: call.Sink, Op: r.decision.Request}, &r.decision)
	}
	m.onRenew(now, call, Renew{ID: resume.ID, Proven: true, TTL: resume.TTL, resumed: true}, false, out)
}

// endSettled ends requests of a session with ids up to last that its client has settled.
func (m *Machine) endSettled(now protocol.Time, p *presence, open []uint64, last uint64, out *protocol.Effects) {
	for port := 1; port <= m.config.Spaces; port++ {
		for _, r := range m.requestsOf(now, p, protocol.Port(port), out) {
			if _, is := slices.BinarySearch(open, r.ID); is || r.ID > last {
				continue
			}
			ev := &protocol.Event{Kind: protocol.Call, Port: protocol.Port(port), Fact: &protocol.Cancel{Session: p.id, Name: r.Name, Request: r.ID}}
			if !m.keepsOne(now, p, ev, out) {
				m.pass(now, ev, out)
			}
		}
	}
}

// requestsOf asks a space for the session's holds and waits there.
func (m *Machine) requestsOf(now protocol.Time, p *presence, port protocol.Port, out *protocol.Effects) []protocol.RequestOf {
	requests, is := m.inquire(now, port, &protocol.ListRequests{Session: p.id}, out).(*protocol.Requests)
	if !is {
		return nil
	}
	return requests.List
}
