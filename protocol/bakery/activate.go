package bakery

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The last step of a ticket: it is the first, here and at another leader, and is locked.

// proposeLock asks the other leaders to agree that a ticket is locked, if it is the first here.
func (m *Machine) proposeLock(now protocol.Time, x *ticket, out *protocol.Effects) {
	if x.step != ready || x.proposed || x.orphan || m.exhausted(now, x) || !m.fits(x) {
		return
	}
	x.proposed = true
	if m.alone() {
		m.lock(now, x, x.page.count+1, out)
		return
	}
	m.sayAll(now, Activate{Key: x.Key, Count: x.page.count}, out)
}

// exhausted reports whether the epoch has no grant number for a ticket any more. Then leaders of another one are
// needed.
func (m *Machine) exhausted(now protocol.Time, x *ticket) bool {
	if x.page.count < lock.MaxCount {
		return false
	}
	if !m.used {
		m.used, m.usedDue = true, now
	}
	return true
}

// sayUsed requests another epoch, until there is one.
func (m *Machine) sayUsed(now protocol.Time, out *protocol.Effects) {
	if !m.used || m.usedDue > now || !m.standing.Admitted() {
		return
	}
	m.usedDue = now + 8*m.config.Patience
	switch view := m.standing.View; {
	case view.Epoch.Counter > m.term.Term.Epoch:
		m.poll.settled = false
		m.start(now, out) // the elector does not know yet
	case view.Coordinator == m.config.Self:
		m.needEpoch(m.term.Term.Epoch, out)
	default:
		out.Send(view.Coordinator, Exhausted{Tag: m.standing.Tag(), Epoch: m.term.Term.Epoch})
	}
}

// onActivated handles another leader's answer.
func (m *Machine) onActivated(now protocol.Time, from protocol.ID, msg *Activated, out *protocol.Effects) {
	if x := m.own(msg.Key); x != nil {
		m.onVote(now, x, from, &msg.Vote, out)
		m.refuseTry(now, x, out)
	}
}

// onVote locks a ticket that is the first here and there. One of the two leaders knows any earlier ticket; for slots,
// all earlier ones together must leave enough.
func (m *Machine) onVote(now protocol.Time, x *ticket, from protocol.ID, vote *Vote, out *protocol.Effects) {
	if x.step != ready || !x.proposed || !vote.First {
		return
	}
	ahead, by := x.page.before(x)
	if by != nil || !together(x, ahead, vote.Before) {
		x.proposed = false // asked again when one of them has ended
		return
	}
	if vote.Count <= max(x.page.given, x.page.ended) {
		// Two leaders have set one number aside for two tickets of this master's, or one of them less than was
		// counted here for another that has ended.
		m.say(now, from, Activate{Key: x.Key, Count: x.page.count}, out)
		return
	}
	m.lock(now, x, vote.Count, out)
}

// together reports whether slots fit with the earlier ones here and there.
func together(x *ticket, here, there []TicketUnits) bool {
	units := x.Units
	for _, p := range here {
		units += p.Units
	}
	for _, p := range there {
		if !slices.Contains(here, p) {
			units += p.Units
		}
	}
	return x.Mode != holdfast.ModeSlots || units <= x.Capacity
}

// lock informs a ticket's member that it is locked.
func (m *Machine) lock(now protocol.Time, x *ticket, count uint64, out *protocol.Effects) {
	x.page.count, x.page.given = max(x.page.count, count), count
	x.step, x.since = locked, now
	x.token = holdfast.Token(m.term.Term.Epoch<<32 | count)
	m.say(now, x.For.ID, Locked{Key: x.Key, Token: x.token}, out)
}

// onRaise gives a ticket a grant number above another one.
func (m *Machine) onRaise(now protocol.Time, from protocol.ID, msg *Raise, out *protocol.Effects) {
	x := m.own(msg.Key)
	if x == nil || x.For.ID != from || x.step != locked || uint64(msg.Above)>>32 > m.term.Term.Epoch {
		return
	}
	x.step, x.proposed = ready, false
	if uint64(msg.Above)>>32 == m.term.Term.Epoch {
		above := uint64(msg.Above) & (1<<32 - 1)
		x.page.count, x.page.given = max(x.page.count, above), max(x.page.given, above)
	}
	m.proposeAgain(now, x, out)
}

// proposeAgain asks the other leaders to agree to a ticket that they may consider locked, and that is not: they learn
// that even if it has to wait, since another one may wait for it.
func (m *Machine) proposeAgain(now protocol.Time, x *ticket, out *protocol.Effects) {
	if m.proposeLock(now, x, out); !m.fits(x) {
		m.sayAll(now, Activate{Key: x.Key, Count: x.page.count}, out)
	}
}
