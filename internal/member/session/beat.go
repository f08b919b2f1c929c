package session

import (
	"errors"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// beat is a [protocol.Beat] under way, to all lasting spaces: another member may have enrolled the session in more of
// them than this one knows. A space where it is not enrolled answers at once.
type beat struct {
	number uint64
	p      *presence
	at     protocol.Time   // when it was stepped
	ports  []protocol.Port // spaces that have answered neither it nor a later one
	waits  bool            // call is waiting for it
	call   protocol.CallID
	renew  Renew
	// attached is the client of the beat, if it came over the session's stream.
	attached lock.Attachments
	// ties reports that it asks to tie the session to this member. It is not among the session's beats, because an
	// answer to a later one says nothing about that.
	ties bool
}

// mostBeats is the maximum number of beats of one session under way. Beyond it the oldest unanswered one is given up.
const mostBeats = 8

// answer is a lasting space's answer to the session machine's own question. It is processed after all decisions of the
// same step have been routed.
type answer struct {
	number uint64
	port   protocol.Port
	result any
}

// attend processes the answers of the lasting spaces.
func (m *Machine) attend(now protocol.Time, out *protocol.Effects) {
	for len(m.heard) > 0 {
		heard := m.heard
		m.heard = nil
		for _, a := range heard {
			switch result := a.result.(type) {
			case *protocol.Beaten:
				m.onBeaten(now, a, result, out)
			case *protocol.Attached:
				if p := m.find(result.Session); p != nil {
					m.takenElsewhere(now, p, result.Now, out)
				}
			case *protocol.Adopted:
				m.onAdopted(now, a, result, out)
			}
		}
	}
}

// hear extracts the answers to the session machine's own questions from the replies, starting at first.
func (m *Machine) hear(first int, out *protocol.Effects) {
	others := out.Replies[:first]
	for _, reply := range out.Replies[first:] {
		if isOwn(&reply) {
			m.heard = append(m.heard, answer{reply.To.Op, reply.Port, reply.Result})
			continue
		}
		others = append(others, reply)
	}
	clear(out.Replies[len(others):])
	out.Replies = others
}

// awaitBeat makes a renewal wait until every lasting space has confirmed the beat, and reports whether it waits or was
// refused. A call that renews nothing does not wait.
func (m *Machine) awaitBeat(now protocol.Time, call protocol.CallID, p *presence, renew Renew, out *protocol.Effects) bool {
	switch {
	case p.lasting == nil, p.kind == Local, renew.beaten, m.unableFor(now, p) != nil, p.hasOnlyLosses():
		return false
	case m.renewals >= m.config.Sessions:
		out.Reply(call, &Renewed{Err: errBeats})
		return true
	}
	m.renewals++
	b := &beat{p: p, waits: true, call: call, renew: renew}
	if renew.Proven {
		b.attached = p.attached
	}
	m.beat(now, b, out)
	return true
}

// beat reports to all lasting spaces that the session's client was heard now. The answers are processed later, even
// those that come at once.
func (m *Machine) beat(now protocol.Time, b *beat, out *protocol.Effects) {
	l := b.p.lasting
	if !b.ties {
		if len(l.beats) >= mostBeats {
			m.forgo(l.beats[0], errBeats, out)
		}
		l.beats = append(l.beats, b)
	}
	m.questions++
	b.number, b.at, b.ports = m.questions, now, slices.Clone(m.config.Lasting)
	m.beats[b.number] = b
	m.question(now, b.number, func() any { return &protocol.Beat{Session: b.p.id, Attached: b.attached, Tied: b.ties} }, out)
}

// question asks all lasting spaces a question that they may answer later.
func (m *Machine) question(now protocol.Time, number uint64, fact func() any, out *protocol.Effects) {
	for _, port := range m.config.Lasting {
		m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Call: protocol.CallID{Op: number}, Fact: fact()}, out)
	}
}

// forgo gives up a beat, and refuses the renewal that waits for it.
func (m *Machine) forgo(b *beat, why error, out *protocol.Effects) {
	delete(m.beats, b.number)
	l := b.p.lasting
	l.beats = slices.DeleteFunc(l.beats, func(other *beat) bool { return other == b })
	if b.waits {
		m.renewals--
		out.Reply(b.call, &Renewed{Err: why})
	}
}

// forgoAll gives up all beats of a session that is no longer served.
func (m *Machine) forgoAll(p *presence, why error, out *protocol.Effects) {
	m.untie(p)
	for p.lasting != nil && len(p.lasting.beats) > 0 {
		m.forgo(p.lasting.beats[0], why, out)
	}
}

// onBeaten handles a lasting space's answer to a beat, which also answers all earlier ones. When all spaces have
// answered, the renewal proceeds.
func (m *Machine) onBeaten(now protocol.Time, a answer, beaten *protocol.Beaten, out *protocol.Effects) {
	b, err := m.beats[a.number], beaten.Err
	if b == nil {
		return // given up, or its session is no longer served
	}
	p := b.p
	if errors.Is(err, holdfast.SessionExpired) {
		m.endedThere(now, p, out)
		return
	}
	if errors.Is(err, holdfast.EndedByAnother) {
		err = ErrTakenOver
		m.takenElsewhere(now, p, beaten.Attached, out)
	}
	if b.ties {
		m.onTied(b, a, err)
		return
	}
	if err != nil {
		if m.beats[a.number] == b {
			m.forgo(b, err, out)
		}
		return
	}
	for _, earlier := range p.lasting.beats {
		if earlier.number <= a.number {
			earlier.ports = slices.DeleteFunc(earlier.ports, func(port protocol.Port) bool { return port == a.port })
		}
	}
	for p.lasting != nil && len(p.lasting.beats) > 0 && len(p.lasting.beats[0].ports) == 0 {
		first := p.lasting.beats[0]
		p.lasting.beats = p.lasting.beats[1:]
		p.lasting.heard = first.at
		m.confirm(now, p, first.attached.Attachment)
		delete(m.beats, first.number)
		if first.waits {
			m.renewals--
			first.renew.beaten, first.renew.heard = true, first.at
			m.onRenew(now, first.call, first.renew, false, out)
		}
	}
}

// beatWhilePresent sends beats for a one-shot session as long as a connection waits for it.
func (m *Machine) beatWhilePresent(now protocol.Time, p *presence) {
	l := p.lasting
	if l == nil || l.reminded || !p.present() {
		return
	}
	l.reminded = true
	m.beatDue.Push(max(now, min(l.heard, now)+l.interval()), sessionKey(p.id))
}

// interval returns the time between two beats of a session.
func (l *lasting) interval() protocol.Time { return max(l.ttl/3, leastTTL) }

// beatPresent sends beats for the one-shot sessions that a connection waits for.
func (m *Machine) beatPresent(now protocol.Time, out *protocol.Effects) {
	for m.beatDue.First() <= now {
		key := m.beatDue.Pop().Key
		p := m.sessions[lock.SessionID(key)]
		if p == nil || p.lasting == nil {
			continue
		}
		p.lasting.reminded = false
		if p.present() {
			p.lasting.reminded = true
			m.beatDue.Push(now+p.lasting.interval(), key)
			m.beat(now, &beat{p: p}, out)
		}
	}
}

// isOwn reports whether a reply answers the session machine's own question: no sink has the number zero.
func isOwn(r *protocol.Reply) bool {
	if _, is := r.Result.(*protocol.Attached); is {
		return true
	}
	return r.To.Sink == 0 && r.To.Op != 0 && r.Decision.Kind == 0 && r.Result != nil
}

// sortedKeys returns the keys of a map in ascending order, for deterministic runs.
func sortedKeys[V any](of map[uint64]V) []uint64 { return slices.Sorted(maps.Keys(of)) }
