package session

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Over streams one client at a time uses a session: the one it is attached to, see lock.Attachments. The same client
// returns as often as its stream breaks. A Resume by another one takes the session over, with all its holds. The
// previous client gets TakenOver and is finished: input on its stream has no effect, and its next Resume is refused.

// claim attaches a session to the client that resumes it, and takes it over from the previous client. The error reports
// that a later client has it.
func (m *Machine) claim(now protocol.Time, p *presence, resume *Resume, out *protocol.Effects) error {
	next, may := p.attached.Claim(resume.Number, resume.Generation)
	if !may && !protocol.Mutated("an earlier client is refused") {
		return ErrTakenOver
	}
	before := p.attached.Attachment
	m.takeOver(now, p, next, out)
	if before.Client != 0 && p.attached.Attachment != before {
		m.endWaits(now, p, resume.Requests, out)
	}
	return nil
}

// onCheck answers whether a session is alive and the caller's, and whether a Resume would take it over.
func (m *Machine) onCheck(call protocol.CallID, check *Check, out *protocol.Effects) {
	p := m.here(check.ID)
	checked := &Renewed{Err: p.refusal(check.Secret, check.Identity)}
	if checked.Err == nil {
		checked.Takes, checked.Err = p.takes(check.Number, check.Generation)
	}
	out.Reply(call, checked)
}

// mayNotRenew returns why a call does not renew a session: it is not the caller's, or it was taken over from its
// client.
func (m *Machine) mayNotRenew(p *presence, call protocol.CallID, renew *Renew) error {
	if m.ousted[call.Sink] {
		return ErrTakenOver
	}
	if p != nil && renew.Proven {
		return nil
	}
	return p.refusal(renew.Secret, renew.Identity)
}

// generationFor returns the generation in the answer to a Resume; 0 for any other renewal.
func (p *presence) generationFor(renew *Renew) uint64 {
	if !renew.resumed {
		return 0
	}
	return p.attached.Generation
}

// takes reports whether a Resume takes a session over from another client. The error reports that a later one has it.
func (p *presence) takes(number, generation uint64) (takes bool, err error) {
	next, may := p.attached.Claim(number, generation)
	if !may && !protocol.Mutated("an earlier client is refused") {
		return false, ErrTakenOver
	}
	return p.attached.Client != 0 && next.Attachment != p.attached.Attachment, nil
}

// takenElsewhere records that a client has taken a session over through another member. Lasting spaces themselves end
// the waiting requests of the client here: those of the later client are listed there.
func (m *Machine) takenElsewhere(now protocol.Time, p *presence, next lock.Attachments, out *protocol.Effects) {
	before := p.attached.Attachment
	m.takeOver(now, p, next, out)
	if before.Client == 0 || p.attached.Attachment == before {
		return
	}
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		if !m.config.lasts(port) {
			m.endWaitsAt(now, p, port, nil, out)
		}
	}
}

// takeOver attaches a session to a later client, if next is one. The previous client, which was heard here last, gets
// TakenOver. It gets no time to stop, because its holds are granted to no other session.
func (m *Machine) takeOver(now protocol.Time, p *presence, next lock.Attachments, out *protocol.Effects) {
	before := p.attached
	p.attached = before.Join(next)
	if before.Client == 0 || p.attached.Attachment == before.Attachment {
		return
	}
	m.inherit(now, p, out)
	p.back = nil
	if sink := p.sink; sink != 0 {
		out.Reply(protocol.CallID{Sink: sink}, &TakenOver{ID: p.id})
		m.superseded[sink], m.ousted[sink] = true, true
		m.unattach(p)
		m.forgoOf(p, sink, out)
	}
}

// confirm records that all lasting spaces of a session know the client that uses it. The previous one may have been
// renewed until now, through another member.
func (m *Machine) confirm(now protocol.Time, p *presence, a lock.Attachment) {
	if l := p.lasting; l.attached.Before(a) {
		l.attached, p.former = a, max(p.former, now+m.stretch(l.ttl))
		m.remindGiven(p)
	}
}

// isUnconfirmed reports whether a lasting space may not know yet which client uses a session: the previous one may be
// renewed through another member.
func (p *presence) isUnconfirmed() bool {
	return p.lasting != nil && p.lasting.attached != p.attached.Attachment
}

// forgoOf gives up the beats of a session whose renewals came from a sink.
func (m *Machine) forgoOf(p *presence, sink uint64, out *protocol.Effects) {
	if p.lasting == nil {
		return
	}
	for _, b := range slices.Clone(p.lasting.beats) {
		if b.waits && b.call.Sink == sink {
			m.forgo(b, ErrTakenOver, out)
		}
	}
}

// endWaits ends the waiting requests that the previous client made over its stream; its calls end with them. Requests
// are those that the later client has made itself, on an earlier stream.
func (m *Machine) endWaits(now protocol.Time, p *presence, requests []uint64, out *protocol.Effects) {
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		m.endWaitsAt(now, p, port, requests, out)
	}
}

func (m *Machine) endWaitsAt(now protocol.Time, p *presence, port protocol.Port, requests []uint64, out *protocol.Effects) {
	for _, of := range m.requestsOf(now, p, port, out) {
		if of.Token != 0 || of.ID >= SingleCall || slices.Contains(requests, of.ID) {
			continue
		}
		if m.config.lasts(port) { // it may be granted just now, and another member would report it to the previous client
			m.recall(now, p, port, of, protocol.CallID{}, out)
			continue
		}
		cancel := &protocol.Cancel{Session: p.id, Name: of.Name, Request: of.ID}
		m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Fact: cancel}, out)
	}
}

// ender returns the client that ends a session over its stream; zero if it ends otherwise.
func (p *presence) ender() lock.Attachment {
	switch {
	case p.taking != nil && p.taking.own:
		return p.taking.by
	case p.kind != Stream || p.taking != nil:
		return lock.Attachment{}
	}
	return p.attached.Attachment
}
