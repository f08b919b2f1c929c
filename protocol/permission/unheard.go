package permission

import (
	"github.com/holdfast-locks/holdfast/protocol"
)

// A copy of a request is answered at once, whether or not its peer has the permission to give.
// So a peer that leaves copies unanswered does not hear this member, or is not heard by it. As long
// as it is in the view it is waited for: the membership, which may have to do without
// one of the two, gets a report.

// maxUnanswered is how many copies in a row a peer may leave unanswered: it is unheard when the
// next one is sent. Counted from the first of what it is asked that is seven patiences, or three
// where its clock is asked for, which is answered at once the first time.
const maxUnanswered = 2

// probe notes that a peer is sent what it answers at once: once a patience, however many
// requests are repeated then.
func (m *Machine) probe(now protocol.Time, p *peer) {
	if p.unanswered > 0 && now < p.probeFrom {
		return
	}
	p.probeFrom = now + m.config.Patience
	p.unanswered++
	m.recount = m.recount || p.unheard()
}

// heardFrom notes that a peer has said something.
func (m *Machine) heardFrom(from protocol.ID) {
	p := &m.peers[m.peerAt(from)]
	m.recount = m.recount || p.unheard()
	p.unanswered = 0
}

// unheard reports whether a peer has left more than so many copies unanswered.
func (p *peer) unheard() bool { return p.unanswered > maxUnanswered }

// sayUnheard tells the membership which members this one does not hear, when that has changed.
func (m *Machine) sayUnheard(out *protocol.Effects) {
	if !m.recount {
		return
	}
	m.recount = false
	var ids []protocol.ID
	for i := range m.peers {
		if m.peers[i].unheard() {
			ids = append(ids, m.peers[i].place.ID)
		}
	}
	if len(ids) > 0 || m.complains {
		m.complains = len(ids) > 0
		out.Raise(&protocol.Unheard{IDs: ids})
	}
}
