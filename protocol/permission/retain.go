package permission

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
)

// maxRetained is the maximum number of names with kept permissions that no client here uses.
const maxRetained = 1024

// links place a name among those whose permissions are kept.
type links struct {
	prev, next *name
	in         bool
}

// recent are the names whose permissions are kept, in the order in which they were used.
type recent struct {
	first, last *name
	count       int
}

func (q *recent) add(nm *name) {
	q.remove(nm)
	nm.links = links{prev: q.last, in: true}
	if q.last != nil {
		q.last.links.next = nm
	} else {
		q.first = nm
	}
	q.last = nm
	q.count++
}

func (q *recent) remove(nm *name) {
	at := nm.links
	if !at.in {
		return
	}
	if at.prev != nil {
		at.prev.links.next = at.next
	} else {
		q.first = at.next
	}
	if at.next != nil {
		at.next.links.prev = at.prev
	} else {
		q.last = at.prev
	}
	nm.links = links{}
	q.count--
}

// keepBounds keeps the permissions that an exclusive request has got, as far as they were not
// asked back.
func (m *Machine) keepBounds(r *request) {
	if !m.config.Retain || r.Shape.Mode != holdfast.ModeExclusive {
		return
	}
	for _, b := range r.bounds {
		if b.uses == 0 && !slices.Contains(r.name.kept, b.peer) {
			r.name.kept = append(r.name.kept, b.peer)
		}
	}
	if len(r.name.kept) == 0 {
		return
	}
	r.name.last = max(r.name.last, r.last)
	m.recent.add(r.name)
	for m.recent.count > maxRetained {
		m.forgetKept(m.recent.first)
	}
}

// useKept applies kept permissions to a request. Requests for slots have none: a giver may have asked by an older stamp
// that has not arrived here yet. It enters with this one if the two fit, and a third member may have counted only the
// giver.
func (m *Machine) useKept(r *request) {
	if r.Shape.Mode == holdfast.ModeSlots && !protocol.Mutated("slots ask every member") {
		return
	}
	if len(r.name.kept) > 0 {
		r.last = max(r.last, r.name.last)
	}
	for _, peer := range r.name.kept {
		r.learn(peer, 0, false)
	}
}

// again is a lost permission of a request that must be requested again: its giver has reclaimed it.
type again struct {
	request *request
	peer    protocol.ID
}

// giveBack returns a peer's kept permission: it is about to use the name. Requests that rely on it and come after the
// peer's ask for it again; those that share with it need not.
func (m *Machine) giveBack(nm *name, peer protocol.ID, shares bool) {
	nm.kept = slices.DeleteFunc(nm.kept, func(id protocol.ID) bool { return id == peer })
	if len(nm.kept) == 0 {
		m.recent.remove(nm)
	}
	if !m.config.Retain {
		return
	}
	for _, r := range nm.active() {
		if !r.Held && r.boundOf(peer) == 0 && !(shares && r.Shape.Mode == holdfast.ModeShared) {
			r.unlearn(peer)
			m.again = append(m.again, again{r, peer})
		}
	}
}

// askAgain asks only the peers that have reclaimed a permission that a request still needs.
func (m *Machine) askAgain(now protocol.Time, out *protocol.Effects) {
	for _, a := range m.again {
		if r := a.request; !r.Dropped && !r.Held {
			out.Send(a.peer, m.message(r))
			m.clients.LetWait(r)
			if r.due == protocol.Never {
				m.repeatLater(now, r, m.config.Patience)
			}
		}
	}
	clear(m.again)
	m.again = m.again[:0]
}

// forgetKept forgets the permissions of a name.
func (m *Machine) forgetKept(nm *name) {
	nm.kept = nil
	m.recent.remove(nm)
	m.touch(nm)
}

// forgetKeptOf forgets the permissions of a peer that has left.
func (m *Machine) forgetKeptOf(peer protocol.ID) {
	for nm := m.recent.first; nm != nil; {
		next := nm.links.next
		nm.kept = slices.DeleteFunc(nm.kept, func(id protocol.ID) bool { return id == peer })
		if len(nm.kept) == 0 {
			m.forgetKept(nm)
		}
		nm = next
	}
}
