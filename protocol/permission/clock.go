package permission

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Stamp orders requests: the smaller one is the older one (Lamport, CACM 21(7), 1978).
type Stamp struct {
	Clock  uint64
	Member protocol.ID
}

// Before orders stamps by clock, then by member. It is a strict order of all stamps.
func (s Stamp) Before(o Stamp) bool {
	return s.Clock < o.Clock || s.Clock == o.Clock && s.Member < o.Member
}

// countOf is the part of a clock below its epoch's.
const countOf = 1<<32 - 1

// maxClock is the highest count of an honest member's clock: stamps end at lock.MaxCount, and the numbers skipped after
// that are far from half as much again.
const maxClock = lock.MaxCount + lock.MaxCount/2

// possible reports whether an honest member can have come to a clock, or a token, under this
// epoch. One that is beyond would carry this member's own into the next epoch.
func (m *Machine) possible(clock uint64) bool {
	return clock>>32 <= m.standing.View.Epoch.Counter && clock&countOf <= maxClock
}

// see raises this member's clock to one that it has heard of: the highest ever, and never a
// lower one that comes late (E1).
func (m *Machine) see(clock uint64) {
	if protocol.Mutated("clock follows the last message") {
		m.clock = max(m.lastStamp, clock)
		return
	}
	m.clock = max(m.clock, clock)
}

// begin raises the clock to the start of a view's epoch.
func (m *Machine) begin(view *protocol.View) {
	m.clock = max(m.clock, view.Epoch.Counter<<32|uint64(view.Count))
}

// exhausted reports whether this epoch has no more stamps. The coordinator, which can request another one, may not know
// of a clock that is so high: then this informs it.
func (m *Machine) exhausted(now protocol.Time, out *protocol.Effects) bool {
	if m.clock&countOf < lock.MaxCount {
		return false
	}
	if i := m.peerAt(m.standing.View.Coordinator); i >= 0 && m.peers[i].clock < m.clock && m.learned {
		m.peers[i].unmet = false // it is waited for in any case
		m.unlearn()
		m.learn(now, out)
	}
	return true
}

// needEpoch requests another epoch if this one's stamps are used up, whichever member wants the next one: only the
// coordinator can.
func (m *Machine) needEpoch(out *protocol.Effects) {
	if m.standing.Admitted() && m.standing.View.Coordinator == m.self && m.wanted != m.standing.View.Epoch && m.clock&countOf >= lock.MaxCount {
		m.wanted = m.standing.View.Epoch
		out.Raise(&protocol.NeedEpoch{Above: m.standing.View.Epoch.Counter})
	}
}

// stamp gives a request its place in the order of all: it is younger than everything that this member knows.
func (m *Machine) stamp(r *request) {
	m.clock++
	r.clock = m.clock
	m.lastStamp = r.clock
}

// stampAll stamps, in order of arrival, the requests that came while nothing could be stamped.
func (m *Machine) stampAll(now protocol.Time, out *protocol.Effects) {
	for len(m.unstamped) > 0 && !m.exhausted(now, out) {
		r := m.unstamped[0]
		m.unstamped = m.unstamped[1:]
		if r.Dropped {
			continue
		}
		m.stamp(r)
		m.touch(r.name)
		m.clients.Review(r)
	}
}

// ahead is the maximum lead of a member's tokens over the value of its clock that every peer has seen. When a member is
// lost that many are skipped: other members may not know its latest tokens.
const ahead = 1 << 20

// advancePast raises the clock above every token that departed members can have given, and makes all members exchange
// clocks again: no token here is above what the others have seen by more than the limit, and the others have raised
// theirs before they report. Above the tokens of unbounded members only those of the next epoch are certain to be.
func (m *Machine) advancePast(lost int, unbounded bool) {
	if unbounded && !protocol.Mutated("a clock that was not heard bounds tokens") {
		m.clock = max(m.clock, m.clock&^countOf|lock.MaxCount+1)
	}
	if lost > 0 && !protocol.Mutated("tokens of the lost not outrun") {
		// If that is beyond the epoch's count nothing is given before the next epoch.
		m.clock += min(uint64(lost)*ahead, countOf-m.clock&countOf)
		m.floor = m.clock
	}
	m.unlearn()
}

// unlearn begins to ask all others for their clocks.
func (m *Machine) unlearn() {
	m.learned = false
	for i := range m.peers {
		m.peers[i].answered = false
	}
}

// knows notes that a peer's clock is at least so much.
func (m *Machine) knows(peer protocol.ID, clock uint64) {
	if i := m.peerAt(peer); i >= 0 {
		m.peers[i].clock = max(m.peers[i].clock, clock)
	}
}

// runsAhead reports whether this member has given so many tokens that others must learn its clock before the next one.
func (m *Machine) runsAhead() bool {
	for i := range m.peers {
		if p := &m.peers[i]; !p.unmet && m.clock+2*slots > p.clock+ahead {
			return true
		}
	}
	return false
}

// token returns the token of a request that enters: doc.go says why tokens rise.
//
// An exclusive grant's token is its stamp's clock, or the next number above all tokens given by the members that have
// replied, by this member, and by lost ones. Any other grant's token is a number that no other member gives to a
// compatible one: the next number above this member's clock that is in its slot.
func (m *Machine) token(r *request) holdfast.Token {
	token := max(r.clock, uint64(r.last)+1, uint64(m.given)+1, m.floor+1)
	if r.Shape.Mode != holdfast.ModeExclusive {
		token = max(m.clock, token) + 1
		token += (uint64(m.slot) + slots - token%slots) % slots
	}
	m.clock = max(m.clock, token)
	m.given = max(m.given, holdfast.Token(token))
	return holdfast.Token(token)
}

// slots is the maximum number of members of a view with distinct tokens.
const slots = 64

// takeSlot takes the first slot that no other member has. Of several members without one, each leaves one for every
// other that is before it in the view: no two take the same, regardless of which learns of the other's first.
func (m *Machine) takeSlot() {
	if m.slot != 0 {
		return
	}
	ahead := 0
	var taken []int
	for _, member := range m.standing.View.Members {
		if member.ID == m.self {
			break
		}
		if i := m.peerAt(member.ID); i >= 0 && m.peers[i].slot == 0 {
			ahead++
		}
	}
	for i := range m.peers {
		taken = append(taken, m.peers[i].slot)
	}
	for slot := 1; ; slot++ {
		if slices.Contains(taken, slot) {
			continue
		}
		if ahead == 0 {
			m.slot = slot
			return
		}
		ahead--
	}
}

// peerAt is a member's place among the peers, or −1.
func (m *Machine) peerAt(id protocol.ID) int {
	return slices.IndexFunc(m.peers, func(p peer) bool { return p.place.ID == id })
}
