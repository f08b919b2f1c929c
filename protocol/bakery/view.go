package bakery

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// onView handles the newest view. The leaders and their links continue under it, except departed ones; the view's
// elector announces whether others lead from now on.
func (m *Machine) onView(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	lapsed := m.standing.View != nil && m.standing.Place.ID != 0 && view.Lease.Tenure != m.standing.Place.Tenure
	if lapsed {
		m.leave(now, out)
	}
	confirmed := m.standing.View != nil && m.standing.View.Epoch == view.Epoch
	same := m.standing.Take(view)
	anew := m.standing.Settle()
	if m.standing.Place.ID == 0 {
		m.forget(now, out)
		return
	}
	if anew {
		m.forget(now, out)
	}
	if anew || !confirmed {
		// Leaders know this member's clients' holds, or ask for them before they grant anything: the holds may
		// therefore be renewed.
		out.Raise(&protocol.Confirmed{Epoch: view.Epoch.Counter})
	}
	m.cut()
	m.recount = m.complains
	m.count(now, view, out)
	m.dropLost(now, out)
	if !same {
		m.survey.Renew(now, out)
		m.takePoll(now, out)
	}
	m.takeLocks(now, out)
	for _, ev := range m.standing.Early() {
		m.onReceive(now, ev, out)
	}
}

// leave ends this member's stay: its lease has run out.
func (m *Machine) leave(now protocol.Time, out *protocol.Effects) {
	m.standing.Leave()
	m.survey.End(now, out)
	m.forget(now, out)
}

// forget clears this member's state: it is a newcomer, and its clients' holds have ended. Their waits are requested
// again when it knows leaders again.
func (m *Machine) forget(now protocol.Time, out *protocol.Effects) {
	m.clients.Lose(now, holdfast.MemberLost, out)
	m.endTickets(now, out)
	m.setTerm(Election{})
	m.promised, m.former, m.used, m.early = Term{}, nil, false, nil
	m.graces, m.leaseDue = nil, protocol.Never
	m.poll = poll{due: protocol.Never, again: protocol.Never}
	m.open, m.openFrom = false, protocol.Never
	m.recount = m.complains
	m.clients.Pause()
	m.rename(out)
}

// count notes from when on no member outside the view can hold anything.
func (m *Machine) count(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	m.open, m.openFrom = false, protocol.Never
	switch {
	case !view.Open:
		return
	case view.GrantFrom != protocol.Never && view.GrantFrom > now:
		m.openFrom = view.GrantFrom
		return
	}
	m.onOpen(now, out)
}

// onOpen counts departed members as gone: their tickets end, and a leader of a new term knows all held ones.
func (m *Machine) onOpen(now protocol.Time, out *protocol.Effects) {
	m.open = true
	m.dropLost(now, out)
	m.serveIfAble(now, out)
}

// present reports whether a stay continues in the newest view.
func (m *Machine) present(p local.Place) bool {
	at, listed := m.standing.View.Of(p.ID)
	return listed && local.PlaceOf(&at) == p
}

// placeOf returns the place of a member of the view.
func (m *Machine) placeOf(id protocol.ID) local.Place {
	at, _ := m.standing.View.Of(id)
	return local.PlaceOf(&at)
}

// keepEarly keeps an envelope of a term that is about to come. One that is dropped is sent again.
func (m *Machine) keepEarly(ev protocol.Event) {
	if len(m.early) < maxEarly {
		m.early = append(m.early, ev)
	}
}

// maxEarly is the maximum number of envelopes that wait for a term that is about to come.
const maxEarly = 1024

// maxUnheard is how often in a row a member may leave repeated messages unheard: after that, the
// member reports it to the membership (protocol.Unheard), which may have to do without one of the two.
const maxUnheard = 2

// sayUnheard reports to the membership which members this one does not hear, when that has changed.
func (m *Machine) sayUnheard(out *protocol.Effects) {
	if !m.recount || !m.standing.Admitted() {
		return
	}
	m.recount = false
	var ids []protocol.ID
	for _, l := range m.links {
		if l.copies > maxUnheard {
			ids = append(ids, l.to.ID)
		}
	}
	if e := m.elector(); m.poll.copies > maxUnheard && !slices.Contains(ids, e) {
		ids = append(ids, e)
	}
	if len(ids) > 0 || m.complains {
		m.complains = len(ids) > 0
		out.Raise(&protocol.Unheard{IDs: ids})
	}
}
