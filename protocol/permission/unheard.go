package permission

import (
	"github.com/holdfast-locks/holdfast/protocol"
)

// A copy of a request is answered at once, whether or not its peer can give permission. A peer that leaves copies
// unanswered therefore does not hear this member, or is not heard by it. As long as it is in the view it is waited for:
// this member reports it to the membership, which may have to drop one of the two.

// maxUnanswered is how many copies in a row a peer may leave unanswered: it is unheard when the next one is sent. From
// the first request that is seven patiences, or three for a clock request, which is answered at once the first time.
const maxUnanswered = 2

// probe records that a peer was sent a message that it answers at once: at most once per patience, however many
// requests are repeated then.
func (m *Machine) probe(now protocol.Time, p *peer) {
	if p.unanswered > 0 && now < p.probeFrom {
		return
	}
	p.probeFrom = now + m.config.Patience
	p.unanswered++
	m.recount = m.recount || p.unheard()
}

// heardFrom records a message of a peer.
func (m *Machine) heardFrom(from protocol.ID) {
	p := &m.peers[m.peerAt(from)]
	m.recount = m.recount || p.unheard()
	p.unanswered = 0
}

// unheard reports whether a peer has left too many copies unanswered.
func (p *peer) unheard() bool { return p.unanswered > maxUnanswered }

// sayUnheard reports to the membership which members this one does not hear, when that has changed.
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
