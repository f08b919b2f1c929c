package session

import (
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// A session that uses lasting spaces alone continues at any member. One that uses a space that ends with its member is
// tied to that member, for as long as it lives: another member could not tell its client what it has lost there. The
// lasting spaces record the tie, with the first one that asks for it, before the session's first request elsewhere.

// tie ties a session to this member. If lasting spaces have the session, that waits for their answers.
func (m *Machine) tie(now protocol.Time, p *presence, out *protocol.Effects) {
	switch {
	case p.tied, p.tying != nil, p.untied != nil:
	case p.lasting == nil, protocol.Mutated("a session is tied before it uses memory"):
		p.tied = true // no other member knows it yet: the first enrolment says so
	default:
		p.tying = &beat{p: p, ties: true}
		m.beat(now, p.tying, out)
	}
}

// onTied handles a lasting space's answer to a beat that ties its session.
func (m *Machine) onTied(b *beat, a answer, err error) {
	p := b.p
	b.ports = slices.DeleteFunc(b.ports, func(port protocol.Port) bool { return port == a.port })
	if err == nil && len(b.ports) > 0 {
		return
	}
	m.untie(p)
	p.tied, p.untied, m.tieAnswered = err == nil, err, true
}

// untie forgets the question whether a session is tied.
func (m *Machine) untie(p *presence) {
	if p.tying != nil {
		delete(m.beats, p.tying.number)
		p.tying = nil
	}
}

// mayUse reports whether a session may have something in the spaces that end with this member. If it has not, it may
// have something there through another member, which an end here must leave alone.
func (m *Machine) mayUse(p *presence) bool { return p.kind == Local || p.tied || p.lasting == nil }
