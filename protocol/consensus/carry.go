package consensus

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
)

// Two members of a view may not hear each other, though its coordinator hears both: it drops the members that it does
// not hear. As long as one of the two leads a shard, their messages also go through the coordinator. Raft does not
// notice: for the group the message comes from its author.
//
// A leader and each of the others exchange several messages in an election timeout. A leader that does not hear a
// member directly for half of one has its messages to that member carried, and so has a member that does not hear the
// leader. It reports that it is deaf to the other one: then the other one's answers are carried as well, even if that
// one hears everything. A carried message is also sent directly, so that both notice when the link is restored.

// Carriage marks an envelope that goes through the coordinator.
type Carriage struct {
	Other   protocol.ID // the member to carry it to; or its author, once carried
	Brought bool        // by the coordinator: it goes no further
	Deaf    bool        // its sender does not hear its receiver directly
}

func (c *Carriage) String() string {
	text := "to"
	if c.Brought {
		text = "of"
	}
	return fmt.Sprintf("%s member %d, deaf=%v", text, c.Other, c.Deaf)
}

// contact is this member's knowledge of the link to another one.
type contact struct {
	near    protocol.Time // when it was heard directly, or ought to be for the first time
	carried protocol.Time // when something that it has said was carried here; 0 for never
	deaf    protocol.Time // when it said that it does not hear this member directly; 0 for never
}

// contactOf returns the knowledge of a link.
func (m *Machine) contactOf(id protocol.ID) *contact {
	c := m.contacts[id]
	if c == nil {
		c = &contact{near: m.now}
		m.contacts[id] = c
	}
	return c
}

// isRecent reports whether something was so within an election timeout.
func (m *Machine) isRecent(at protocol.Time) bool { return at != 0 && m.now < at+m.election() }

// envelope is one about a shard.
func (m *Machine) envelope(p *part, body shard.Message) Envelope {
	return Envelope{Cluster: m.cluster, Shard: uint16(p.index), Body: body}
}

// say sends another member a message about a shard, and has it carried if the two may not hear each other.
func (m *Machine) say(p *part, to protocol.ID, body shard.Message, out *protocol.Effects) {
	envelope := m.envelope(p, body)
	out.Send(to, envelope)
	if m.view == nil || p.shard == nil || protocol.Mutated("an unheard leader is reached through the coordinator") {
		return
	}
	by := m.view.Coordinator
	if by == m.config.Self || by == to || !m.isHere(by) || !m.isHere(to) {
		return
	}
	c := m.contacts[to]
	deaf := m.isDeafTo(p, to)
	if deaf || c != nil && m.isRecent(c.deaf) {
		envelope.Carriage = &Carriage{Other: to, Deaf: deaf}
		out.Send(by, envelope)
	}
}

// isDeafTo reports whether this member should hear another one directly, and does not: one of the two leads, or the
// other one's messages are carried.
func (m *Machine) isDeafTo(p *part, to protocol.ID) bool {
	c := m.contacts[to]
	switch {
	case c != nil && m.isRecent(c.carried):
		return m.now >= c.near+m.election()/2
	case p.leader == uint64(m.config.Self) || p.leader == uint64(to):
		c = m.contactOf(to)
		return m.now >= max(c.near, p.turned)+m.election()/2
	}
	return false
}

// bring brings an envelope to another member.
func (m *Machine) bring(l *Envelope, from protocol.ID, out *protocol.Effects) {
	to := l.Carriage.Other
	if m.view == nil || !m.isHere(to) || to == m.config.Self || to == from {
		out.Note(Ignored{fmt.Sprintf("message %v of member %d, which is not for another member of the view", l, from)})
		return
	}
	brought := *l
	brought.Carriage = &Carriage{Other: from, Brought: true, Deaf: l.Carriage.Deaf}
	out.Send(to, brought)
}

// writer returns the author of an envelope. Only the coordinator carries others' envelopes.
func (m *Machine) writer(l *Envelope, from protocol.ID, out *protocol.Effects) (id protocol.ID, known bool) {
	if l.Carriage == nil {
		m.contactOf(from).near = m.now
		return from, true
	}
	of := l.Carriage.Other
	if m.view == nil || from != m.view.Coordinator || !m.isHere(of) || of == m.config.Self {
		out.Note(Ignored{fmt.Sprintf("message %v, which member %d does not bring", l, from)})
		return 0, false
	}
	link := m.contactOf(of)
	link.carried = m.now
	if l.Carriage.Deaf {
		link.deaf = m.now
	}
	return of, true
}
