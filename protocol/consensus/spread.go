package consensus

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// spreading is the state of this member's handovers of shards that others are to lead.
type spreading struct {
	looks   int                    // left in this round; 0 if there is none
	due     bool                   // a reminder of the next one is on its way
	leavers map[protocol.ID]uint64 // members that are to lead nothing, and in which of their lives they have said so
	chosen  protocol.ID            // by an operator, to lead all shards,
	until   protocol.Time          // and until when what this member had handed over before may still come to another
}

// mostLooks is the maximum number of checks in a round, one per election timeout, in addition to one for each shard: a
// returning member is meanwhile sent what it lacks. In the first few checks, patienceOfInquiry, it waits for members of
// the view that it does not hear.
const mostLooks = 100

// spread starts a round, in which this member hands over the shards that another is to lead. An event that changes the
// assignment starts it: an election, another view, another voter. Between rounds each leader continues, so that an
// operator's choice stays.
func (m *Machine) spread() {
	if len(m.parts) == 1 {
		return
	}
	m.spreading.looks = mostLooks + len(m.parts)
	for _, p := range m.parts {
		p.passed = false
	}
	m.lookAgain()
}

func (m *Machine) lookAgain() {
	if !m.spreading.due {
		m.spreading.due = true
		m.reminders.Push(m.now+m.election(), due{what: dueSpread})
	}
}

// look hands over one shard, if there is any that another is to lead, and ends the round if there is none.
func (m *Machine) look(out *protocol.Effects) {
	s := &m.spreading
	s.due = false
	if s.looks == 0 {
		return
	}
	s.looks--
	if m.leaving || m.view == nil || !m.spreadOne(out) {
		s.looks = 0 // a member that leaves hands over all that it leads
	}
	if s.looks > 0 {
		m.lookAgain()
	}
}

// spreadOne hands over the first shard that can be, and reports whether there may be more to do.
func (m *Machine) spreadOne(out *protocol.Effects) (more bool) {
	first := m.spreading.looks >= mostLooks+len(m.parts)-patienceOfInquiry
	for _, p := range m.parts {
		if !m.leads(p) || p.passed && p.offered == 0 && !protocol.Mutated("a shard that comes back stays") {
			continue
		}
		if p.shard.Changing() || !p.shard.Leads() {
			return true
		}
		to, missing := m.designated(p)
		switch {
		case missing && first:
			more = true
		case to == m.config.Self || to == 0 || to == p.offered:
		case m.lacking(p, to):
			more = true
		default:
			p.offered, p.passed = to, true
			out.Note(Spread{m.config.Space, p.index, m.nameOf(to)})
			m.transferLeader(p, to, out)
			return true
		}
	}
	return more
}

// designated returns the member that is to lead a shard, the same at all members: its present voters, by their ids,
// take turns. Those that are not heard are left out, and missing.
func (m *Machine) designated(p *part) (to protocol.ID, missing bool) {
	var ids []protocol.ID
	for _, id := range p.shard.Members().Voters {
		switch id := protocol.ID(id); {
		case !m.isHere(id) || m.isLeaving(id):
		case m.hearsNow(id):
			ids = append(ids, id)
		default:
			missing = true
		}
	}
	if len(ids) == 0 {
		return 0, missing
	}
	slices.Sort(ids)
	return ids[p.index%len(ids)], missing
}

// lacking reports whether a member would have to be sent much before it could lead.
func (m *Machine) lacking(p *part, id protocol.ID) bool {
	lacks, known := p.shard.Lacks(uint64(id))
	return !known || lacks > mostLacking
}

// leads reports whether this member is known to lead a shard.
func (m *Machine) leads(p *part) bool {
	return p.shard != nil && p.leader == uint64(m.config.Self)
}

func (m *Machine) isHere(id protocol.ID) bool {
	_, here := m.view.Of(id)
	return here
}

// isLeaving reports whether a member has reported in its present life that it is to lead nothing.
func (m *Machine) isLeaving(id protocol.ID) bool {
	life, said := m.spreading.leavers[id]
	member, here := m.view.Of(id)
	return said && here && member.Tenure.Incarnation == life
}

// arrived starts a round if the present members have changed, and allows another try of those that did not become
// leader.
func (m *Machine) arrived(before *protocol.View) {
	same := func(a, b protocol.Member) bool { return a.ID == b.ID && a.Tenure == b.Tenure }
	if before != nil && len(before.Members) == len(m.view.Members) &&
		!slices.ContainsFunc(m.view.Members, func(a protocol.Member) bool {
			b, was := before.Of(a.ID)
			return !was || !same(a, b)
		}) {
		return
	}
	for _, p := range m.parts {
		p.offered = 0
	}
	m.spread()
}

// elected continues when a shard has a leader. One that was elected for lack of another may have shards that others are
// to lead; one that was handed the shard is to keep it.
func (m *Machine) elected(p *part, out *protocol.Effects) {
	if leader := protocol.ID(p.leader); leader == p.offered {
		p.offered = 0
		if m.now < m.spreading.until && leader != m.spreading.chosen {
			m.transferLeader(p, m.spreading.chosen, out) // it was on its way when an operator chose another
		}
	}
	if !m.leads(p) {
		return
	}
	p.led, p.silent = m.now, nil
	m.watch()
	if m.leaving {
		m.announceLeaving(out) // the member that has handed it over does not know
	}
	if m.now >= p.given {
		m.spread()
	}
	p.given = 0
}

// onTransferLeader handles a message about leadership: an operator has chosen a leader for all shards, or its sender is
// to lead none.
func (m *Machine) onTransferLeader(p *part, y TransferLeader, from protocol.ID, out *protocol.Effects) {
	if y.To != 0 {
		m.endRound(y.To)
		m.transferLeader(p, y.To, out)
		return
	}
	if m.view == nil {
		return
	}
	life := y.Life
	if member, here := m.view.Of(from); here && protocol.Mutated("who is to lead nothing says in which life") {
		life = member.Tenure.Incarnation
	}
	if life <= m.spreading.leavers[from] {
		return // it has said so before
	}
	m.spreading.leavers[from] = life
	if m.isLeaving(from) {
		m.spread()
	}
}

// choose ends the rounds that could undo an operator's choice: this member's, and that of the chosen member. It asks
// the others that lead something to transfer, and they end theirs.
func (m *Machine) choose(to protocol.ID, out *protocol.Effects) {
	m.endRound(to)
	if to != m.config.Self {
		out.Send(to, m.envelope(m.parts[0], TransferLeader{To: to}))
	}
}

// endRound ends a round, because an operator has chosen the leader.
func (m *Machine) endRound(to protocol.ID) {
	s := &m.spreading
	s.looks, s.chosen, s.until = 0, to, m.now+2*m.election()
}

// announceLeaving informs all members that this one is to lead nothing.
func (m *Machine) announceLeaving(out *protocol.Effects) {
	if m.view == nil || m.cluster == 0 {
		return
	}
	self, here := m.view.Of(m.config.Self)
	if !here {
		return // no other member has anything for it to lead
	}
	for _, member := range m.view.Members {
		if member.ID != m.config.Self {
			out.Send(member.ID, m.envelope(m.parts[0], TransferLeader{Life: self.Tenure.Incarnation}))
		}
	}
}

// nameOf returns the name of a member.
func (m *Machine) nameOf(id protocol.ID) string {
	if member, known := m.known[id]; known {
		return member.Name
	}
	return m.view.Name(id)
}

// Spread notes that this member hands a shard over to the member that is to lead it.
type Spread struct {
	Space string
	Shard int
	To    string
}

func (n Spread) String() string {
	return fmt.Sprintf("shard %d is handed to %s, so that leaders are spread", n.Shard, n.To)
}

// Log names the shard, and the member.
func (n Spread) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Info, "another member is to lead a shard: it is handed over", []any{"space", n.Space, "shard", n.Shard, "member", n.To}
}
