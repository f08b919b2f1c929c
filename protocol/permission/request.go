package permission

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// request is one of this member's clients': a process of the published algorithms. It waits
// for its turn at this member (number 0), asks (number, not held), or holds.
type request struct {
	local.Request
	name  *name
	clock uint64 // of its stamp; 0 while it has none

	number uint64
	bounds []bound        // of the peers that have answered
	last   holdfast.Token // the highest that they have given
	due    protocol.Time
	pause  protocol.Time
}

// bound is a peer's answer: the maximum that it uses before the request.
type bound struct {
	peer     protocol.ID
	uses     int
	deferred bool // it has said that it will reply later
}

// due is a reminder to repeat a request.
type due uint64

// Before orders requests by their numbers.
func (d due) Before(o due) bool { return d < o }

// boundOf returns the maximum that a peer uses before the request.
func (r *request) boundOf(peer protocol.ID) int {
	for i := range r.bounds {
		if r.bounds[i].peer == peer {
			return r.bounds[i].uses
		}
	}
	return everything
}

// answeredBy reports whether a peer has answered the request in any way.
func (r *request) answeredBy(peer protocol.ID) bool {
	return slices.ContainsFunc(r.bounds, func(b bound) bool { return b.peer == peer })
}

// learn records a bound. It never rises: the peer's later requests are younger.
func (r *request) learn(peer protocol.ID, uses int, deferred bool) {
	for i := range r.bounds {
		if b := &r.bounds[i]; b.peer == peer {
			b.uses, b.deferred = min(b.uses, uses), b.deferred || deferred
			return
		}
	}
	r.bounds = append(r.bounds, bound{peer, uses, deferred})
}

// unlearn forgets the answer of a peer that has left or has come back.
func (r *request) unlearn(peer protocol.ID) {
	r.bounds = slices.DeleteFunc(r.bounds, func(b bound) bool { return b.peer == peer })
}

// enroll begins a request that the table has queued.
func (m *Machine) enroll(now protocol.Time, r *request, out *protocol.Effects) {
	nm := m.nameOf(r.Key.Name)
	r.name = nm
	nm.own = append(nm.own, r)
	if m.ready() && len(m.unstamped) == 0 && !m.exhausted(now, out) {
		m.stamp(r)
	} else {
		m.unstamped = append(m.unstamped, r)
	}
	m.touch(nm)
}

// ask asks all peers whose permission is not kept, and enters if that is enough.
func (m *Machine) ask(now protocol.Time, r *request, out *protocol.Effects) {
	m.numbers++
	r.number = m.lapses<<protocol.NumberBits | m.numbers
	m.active[r.number] = r
	m.useKept(r)
	m.send(now, r, out)
	m.enterIfAllowed(now, r, out)
}

// send sends a request to all others whose Reply is missing, and sees to its being repeated.
func (m *Machine) send(now protocol.Time, r *request, out *protocol.Effects) {
	msg := m.message(r)
	sent, said := false, true
	for i := range m.peers {
		p := m.peers[i].place.ID
		if r.boundOf(p) == 0 {
			continue
		}
		if r.pause != 0 {
			m.probe(now, &m.peers[i])
		}
		out.Send(p, msg)
		sent = true
		said = said && slices.ContainsFunc(r.bounds, func(b bound) bool { return b.peer == p && b.deferred })
	}
	if !sent {
		r.due = protocol.Never
		return
	}
	if r.pause != 0 {
		m.clients.LetWait(r) // a peer would have answered
	}
	pause := protocol.Longer(r.pause, m.config.Patience)
	if said {
		pause = protocol.Longer(8*m.config.Patience, m.config.Patience) // they are alive, and will reply
	}
	m.repeatLater(now, r, pause)
}

// message returns the request to the peers: one value for all of them.
func (m *Machine) message(r *request) protocol.Message {
	return Request{
		Tag: m.standing.Tag(), Number: r.number, Clock: r.clock, Name: r.name.text,
		Shape: r.Shape, Try: r.Try,
	}
}

// repeatLater sees to it that a request is repeated after a pause.
func (m *Machine) repeatLater(now protocol.Time, r *request, pause protocol.Time) {
	r.pause, r.due = pause, now+pause
	m.reminders.Push(r.due, due(r.number))
}

// sentOnce reports whether a request is sent once under a view, as in the published algorithms. Only then does a debt
// in the form of a flag do harm: a repeated request is answered again.
func sentOnce() bool {
	return protocol.Mutated("request sent once") || protocol.Mutated("a debt is a flag")
}

// repeat resends to the peers that have not answered.
func (m *Machine) repeat(now protocol.Time, out *protocol.Effects) {
	for m.reminders.First() <= now {
		r := m.active[uint64(m.reminders.Pop().Key)]
		if r != nil && !r.Held && r.due <= now && !sentOnce() {
			m.send(now, r, out)
		}
	}
}

// allowed reports whether a request may enter: the peers' maximum use before it, this member's use, and its own demand
// are within the capacity.
func (m *Machine) allowed(r *request) bool {
	if m.config.Capacity != 0 {
		missing := m.absent
		if m.absent == unknownCount {
			return false
		}
		for i := range m.peers {
			if r.boundOf(m.peers[i].place.ID) > 0 {
				missing++
			}
		}
		return missing <= m.config.Capacity-1
	}
	if m.absent != 0 && !protocol.Mutated("a member that has left is not waited for") {
		return false
	}
	uses := r.Shape.Units
	for i := range m.peers {
		if m.peers[i].harmless {
			continue
		}
		switch bound := r.boundOf(m.peers[i].place.ID); {
		case bound == 0:
		case bound == everything, r.Shape.Mode != holdfast.ModeSlots:
			return false
		default:
			uses += bound
		}
	}
	for _, other := range r.name.active() {
		if other != r && (other.Held || other.number < r.number) {
			uses += other.Shape.Units
		}
	}
	return r.Shape.Mode != holdfast.ModeSlots || uses <= r.Shape.Capacity
}

// enterIfAllowed grants a request that has all permissions. It reads the clock rather than relying on a timer: under an
// expired lease no request enters.
func (m *Machine) enterIfAllowed(now protocol.Time, r *request, out *protocol.Effects) {
	if r.Held || r.number == 0 || !m.ready() {
		return
	}
	if !m.allowed(r) {
		// Departed members that may still hold something are silent: wait for them, as for an authority.
		if r.Try && m.absent == 0 && m.answered(r) {
			m.clients.Deny(now, r, r.inTheWay(now), out)
		}
		return
	}
	if now >= m.standing.View.Lease.Member {
		// A newly admitted member has no lease yet, and no event announces it.
		m.leaseDue = now + m.config.Patience
		return
	}
	if m.clock&countOf > lock.MaxCount && m.exhausted(now, out) {
		return // the last stamp of an epoch can still be entered by, and what is beyond it cannot
	}
	if m.runsAhead() {
		m.unlearn()
		m.learn(now, out)
		return
	}
	r.due = protocol.Never
	m.keepBounds(r)
	r.bounds = nil
	m.clients.Permit(now, r, m.token(r), out)
}

// inTheWay returns what keeps a fully answered request from entering.
func (r *request) inTheWay(now protocol.Time) *lock.HeldBy {
	if r.By != nil {
		return r.By
	}
	for _, other := range r.name.active() {
		if other != r {
			return other.HeldBy(now)
		}
	}
	return &lock.HeldBy{}
}

// answered reports whether every peer has answered a request in any way.
func (m *Machine) answered(r *request) bool {
	for i := range m.peers {
		if !m.peers[i].harmless && !r.answeredBy(m.peers[i].place.ID) {
			return false
		}
	}
	return true
}

// ended removes a request in any state: others may enter now. The asked peers are not informed: their replies are about
// a number that no request has any more.
func (m *Machine) ended(r *request) {
	if r.number != 0 && !r.Held {
		m.keepBounds(r)
	}
	if !r.Held || m.config.Capacity == 0 || !protocol.Mutated("one counter for replies") {
		delete(m.active, r.number)
	}
	nm := r.name
	if i := slices.Index(nm.own, r); i >= 0 {
		nm.own = slices.Delete(nm.own, i, i+1)
	}
	m.touch(nm)
	m.reminders.Sweep(len(m.active), func(reminder protocol.Reminder[due]) bool {
		r := m.active[uint64(reminder.Key)]
		return r != nil && !r.Held && r.due == reminder.At
	})
}

// attendAll checks all asking requests again, because the obstacle that kept all from entering may be gone.
func (m *Machine) attendAll(now protocol.Time, out *protocol.Effects) {
	m.resume(now, out)
	if !m.ready() {
		return
	}
	m.stampAll(now, out)
	for _, r := range m.pending() {
		if !r.Dropped {
			m.enterIfAllowed(now, r, out)
		}
	}
}

// pending lists the requests that ask, in the order of their numbers.
func (m *Machine) pending() (list []*request) {
	//tidy:unordered they are put in order
	for _, r := range m.active {
		if !r.Held {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *request) int { return cmp.Compare(a.number, b.number) })
	return list
}
