package bakery

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// What a leader does when another one goes a step with a ticket.

// foreign returns a ticket of another leader's, or nil.
func (m *Machine) foreign(from protocol.ID, key Key, out *protocol.Effects) *ticket {
	if t := m.book.tickets[key]; t != nil && t.master == from {
		return t
	}
	out.Note(local.Ignored{What: fmt.Sprintf("a step of %v by member %d, which has no such ticket", key, from)})
	return nil
}

// onEntering records that a ticket is choosing its number.
func (m *Machine) onEntering(now protocol.Time, from protocol.ID, msg *Entering, out *protocol.Effects) {
	if !m.here(from) {
		return
	}
	if known := m.book.tickets[msg.Ticket.Key]; known != nil {
		if known.serial != 0 {
			out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d: it has begun before", msg, from)})
			return
		}
		m.remove(now, known, out) // of the term before: its master begins again
	}
	t := m.book.enter(msg.Ticket, from, msg.Serial)
	answer := Entered{Key: t.Key, Capacity: t.page.otherCapacity(&t.Ticket, m.config.Self)}
	if !m.config.Published {
		answer.Max = t.page.max()
	}
	if t.Try {
		if by := m.inTheWay(t, m.config.Self); by != nil {
			answer.By = m.heldBy(now, by)
		}
	}
	m.say(now, from, answer, out)
}

// onGetMax answers with the highest number of a name.
func (m *Machine) onGetMax(now protocol.Time, from protocol.ID, msg *GetMax, out *protocol.Effects) {
	if t := m.foreign(from, msg.Key, out); t != nil {
		m.say(now, from, Max{Key: t.Key, Max: t.page.max()}, out)
	}
}

// onAdd records a ticket's number, and answers with the tickets that are choosing here.
func (m *Machine) onAdd(now protocol.Time, from protocol.ID, msg *Add, out *protocol.Effects) {
	t := m.foreign(from, msg.Key, out)
	if t == nil || t.step != entering {
		return
	}
	answer := Added{Key: t.Key, Entering: t.page.choosing(t.Key)}
	m.book.add(t, msg.Number)
	if msg.Activate && len(answer.Entering) == 0 {
		t.step = ready
		m.book.exit(t)
		m.hasExited(now, t.page, t.Key, out)
		answer.Activated, answer.Vote = true, m.vote(t, msg.Count)
	}
	m.say(now, from, answer, out)
	m.refuseTries(now, t.page, out)
	m.notifyOvertaken(now, t, out)
}

// notifyOvertaken notifies this leader's own tickets that have to wait now: they have already asked for agreement,
// before a ticket with a lower number was known here.
func (m *Machine) notifyOvertaken(now protocol.Time, by *ticket, out *protocol.Effects) {
	for _, x := range slices.Backward(by.page.tickets) {
		if x == by {
			return
		}
		if x.proposed && x.step == ready && x.master == m.config.Self {
			m.notifyQueued(now, x, out)
		}
	}
}

// refuseTries refuses this leader's own tickets that do not want to wait, as far as they have to now.
func (m *Machine) refuseTries(now protocol.Time, p *page, out *protocol.Effects) {
	for i := 0; i < len(p.tickets); {
		x := p.tickets[i]
		if x.Try && x.master == m.config.Self {
			m.refuseTry(now, x, out)
		}
		if i < len(p.tickets) && p.tickets[i] == x {
			i++
		}
	}
}

// onExiting records that a ticket has its number.
func (m *Machine) onExiting(now protocol.Time, from protocol.ID, msg *Exiting, out *protocol.Effects) {
	t := m.foreign(from, msg.Key, out)
	if t == nil {
		return
	}
	if t.step < waiting {
		t.step = waiting
	}
	if !t.chosen {
		m.book.exit(t)
		m.hasExited(now, t.page, t.Key, out)
	}
	if msg.Ready {
		t.step = ready
	}
	if msg.Activate {
		m.say(now, from, Activated{Key: t.Key, Vote: m.vote(t, msg.Count)}, out)
	}
}

// onReady records that a ticket waits for no other one to choose.
func (m *Machine) onReady(from protocol.ID, msg *Ready) {
	if t := m.book.tickets[msg.Key]; t != nil && t.master == from {
		t.step = ready
	}
}

// onActivate answers whether a ticket is the first.
func (m *Machine) onActivate(now protocol.Time, from protocol.ID, msg *Activate, out *protocol.Effects) {
	t := m.foreign(from, msg.Key, out)
	if t == nil {
		return
	}
	t.step = ready
	m.say(now, from, Activated{Key: t.Key, Vote: m.vote(t, msg.Count)}, out)
	if t.held {
		t.held = false // else its master would not ask
		m.turn(now, t.page, out)
	}
}

// vote returns this leader's answer about the grant of a ticket. If it does not agree now, it will as soon as it can.
// The grant number that it reserves is above all that it knows, and above count.
func (m *Machine) vote(t *ticket, count uint64) Vote {
	ahead, by := t.page.before(t)
	t.wanted = by != nil
	if by != nil {
		t.page.count = max(t.page.count, count)
		return Vote{}
	}
	t.page.count, t.accepted = m.above(max(t.page.count, count), t.master), true
	return Vote{First: true, Before: ahead, Count: t.page.count}
}

// above returns the next grant number above count that belongs to the master. Numbers are assigned by rank, so that two
// masters never get the same one, regardless of the leader that reserves it for them: they would ask again and again,
// each time raising the other's number.
func (m *Machine) above(count uint64, master protocol.ID) uint64 {
	leaders := uint64(len(m.term.Leaders))
	rank := uint64(max(0, slices.Index(idsOf(m.term.Leaders), master)))
	return count + 1 + (rank+leaders-count%leaders)%leaders
}

// onDrop ends a ticket.
func (m *Machine) onDrop(now protocol.Time, from protocol.ID, msg *Drop, out *protocol.Effects) {
	if t := m.book.tickets[msg.Key]; t != nil && t.master == from {
		m.remove(now, t, out)
	}
}
