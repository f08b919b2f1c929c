package bakery

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// What a leader does for the tickets that it is the master of. Each step goes to the other leaders, and
// the first answer ends it: with this leader's own knowledge it is that of a majority. The later
// one changes nothing.

// onLock draws a ticket for a member's request.
func (m *Machine) onLock(now protocol.Time, from protocol.ID, msg *Lock, out *protocol.Effects) {
	t := &msg.Ticket
	if t.For.ID != from || t.Key.Member != from || !m.present(t.For) {
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d", msg, from)})
		return
	}
	if m.book.tickets[t.Key] != nil {
		return // it was claimed, or started over, before this arrived
	}
	if failed := m.refusal(t); failed != nil {
		failed.Key = t.Key
		m.say(now, from, *failed, out)
		return
	}
	m.draw(now, *t, out).claimed = true
}

// draw begins a ticket.
func (m *Machine) draw(now protocol.Time, t Ticket, out *protocol.Effects) *ticket {
	if known := m.book.tickets[t.Key]; known != nil {
		m.remove(now, known, out) // of the term before, with a number that too few know
	}
	x := m.book.enter(t, m.config.Self, m.book.serials[m.config.Self]+1)
	if t.Try {
		if by := m.inTheWay(x, m.config.Self); by != nil {
			m.fail(now, x, Failed{Why: FailedHeld, By: m.heldBy(now, by)}, out)
			return x
		}
	}
	m.sayAll(now, Entering{Ticket: t, Serial: x.serial}, out)
	if m.alone() {
		m.number(now, x, 0, out)
	}
	return x
}

// inTheWay returns the first ticket of a master that another one, which has no number yet, would have to
// wait for.
func (m *Machine) inTheWay(x *ticket, master protocol.ID) *ticket {
	units := x.Units
	for _, t := range x.page.tickets {
		if t == x {
			continue
		}
		fits := compatible(&x.Ticket, &t.Ticket)
		if x.Mode == holdfast.ModeSlots {
			units += t.Units
			fits = fits && units <= x.Capacity
		}
		if !fits && t.master == master {
			return t
		}
	}
	return nil
}

// refusal returns why no ticket is drawn, or nil.
func (m *Machine) refusal(t *Ticket) *Failed {
	p := m.book.names[t.Name]
	if m.congested() {
		return &Failed{Why: FailedLimit, Limit: maxQueue}
	}
	if p == nil {
		return nil
	}
	if most := m.mostTickets(); len(p.entering)+len(p.tickets) >= most {
		return &Failed{Why: FailedOverflow, Limit: most}
	}
	if differ := p.otherCapacity(t, m.config.Self); differ != 0 {
		return &Failed{Why: FailedConflict, Capacity: differ}
	}
	return nil
}

// alone reports whether this leader is all of them.
func (m *Machine) alone() bool { return len(m.others) == 0 }

// sayAll sends a message to the other leaders.
func (m *Machine) sayAll(now protocol.Time, body Body, out *protocol.Effects) {
	for _, to := range m.others {
		if m.here(to) {
			m.say(now, to, body, out)
		}
	}
}

// here reports whether a leader of the term has its place still.
func (m *Machine) here(leader protocol.ID) bool {
	return slices.ContainsFunc(m.term.Leaders, func(p local.Place) bool { return p.ID == leader && m.present(p) })
}

// own returns a ticket that this leader is the master of, or nil.
func (m *Machine) own(key Key) *ticket {
	if t := m.book.tickets[key]; t != nil && t.master == m.config.Self {
		return t
	}
	return nil
}

// onEntered records that another leader knows a ticket, and continues with the first such answer.
func (m *Machine) onEntered(now protocol.Time, from protocol.ID, msg *Entered, out *protocol.Effects) {
	x := m.own(msg.Key)
	if x == nil {
		return
	}
	x.heard = append(x.heard, from)
	switch {
	case x.step == locked:
		return
	case msg.Capacity != 0 && x.Mode == holdfast.ModeSlots:
		m.fail(now, x, Failed{Why: FailedConflict, Capacity: msg.Capacity}, out)
		return
	case msg.By != nil && x.Try:
		m.fail(now, x, Failed{Why: FailedHeld, By: msg.By}, out)
		return
	case x.step != entering:
		m.refuseTry(now, x, out)
		return
	}
	if m.config.Published {
		x.step = counting
		m.sayAll(now, GetMax{Key: x.Key}, out)
		return
	}
	m.number(now, x, msg.Max, out)
}

// onMax handles the highest number that another leader knows.
func (m *Machine) onMax(now protocol.Time, msg *Max, out *protocol.Effects) {
	if x := m.own(msg.Key); x != nil && x.step == counting {
		m.number(now, x, msg.Max, out)
	}
}

// number gives a ticket the next number. In the merged set, if no other ticket is choosing here and it is the first,
// leaders with the same state have nothing to wait for, and agree at once.
func (m *Machine) number(now protocol.Time, x *ticket, highest uint64, out *protocol.Effects) {
	m.book.add(x, max(x.page.max(), highest)+1)
	x.page.waits = append(x.page.waits, x)
	if m.alone() {
		m.settle(now, x, nil, out)
		m.proposeLock(now, x, out)
		m.refuseTry(now, x, out)
		m.notifyQueued(now, x, out)
		return
	}
	add := Add{Key: x.Key, Number: x.number}
	if !m.config.Published && len(x.page.entering) == 1 && !m.exhausted(now, x) && m.fits(x) {
		add.Activate, add.Count = true, x.page.count
		x.early = true
	}
	m.sayAll(now, add, out)
}

// fits reports whether a ticket is compatible with all earlier ones, as far as this leader knows.
func (m *Machine) fits(x *ticket) bool {
	_, by := x.page.before(x)
	return by == nil
}

// onAdded records that another leader knows a ticket's number, and the tickets that were choosing there at that moment.
func (m *Machine) onAdded(now protocol.Time, from protocol.ID, msg *Added, out *protocol.Effects) {
	x := m.own(msg.Key)
	if x == nil {
		return
	}
	if x.step != adding {
		if x.early && !msg.Activated {
			m.say(now, from, m.exiting(now, x), out)
		}
		return
	}
	if m.config.Published {
		m.sayAll(now, Exiting{Key: x.Key}, out) // before what others are now that have waited for it
	}
	m.settle(now, x, msg.Entering, out)
	switch {
	case m.config.Published:
		m.readied(now, x, out)
	case !x.early:
		m.sayAll(now, m.exiting(now, x), out)
	case !msg.Activated:
		m.say(now, from, m.exiting(now, x), out)
	case x.step == ready:
		x.proposed = true
		m.onVote(now, x, from, &msg.Vote, out)
	}
	m.refuseTry(now, x, out)
	m.notifyQueued(now, x, out)
}

// settle determines the tickets that a numbered ticket waits for: those that were choosing here or there, and have not
// exited since. The other leader's list may be older than an exit that is known here, and the ticket would wait for it
// forever: a serial shows that (the tombstones of the model).
func (m *Machine) settle(now protocol.Time, x *ticket, there []Choosing, out *protocol.Effects) {
	still := x.page.choosing(x.Key)
	if protocol.Mutated("still entering from the own map") {
		there = nil
	}
	for _, y := range there {
		known := m.book.serials[y.Master] >= y.Serial // if it is choosing still, it is in still
		if !slices.Contains(still, y) && (!known || protocol.Mutated("no memory of exited tickets")) {
			still = append(still, y)
		}
	}
	x.still = make([]Key, 0, len(still))
	for _, y := range still {
		x.still = append(x.still, y.Key)
	}
	x.step = waiting
	if len(x.still) == 0 {
		x.step = ready
		x.page.leaveWaits(x)
	}
	m.book.exit(x)
	m.hasExited(now, x.page, x.Key, out)
}

// exiting says, in the merged set, that a ticket has exited; that it is ready; and asks for agreement if it
// is the first here.
func (m *Machine) exiting(now protocol.Time, x *ticket) Exiting {
	e := Exiting{Key: x.Key, Ready: x.step >= ready}
	if x.step == ready && !m.exhausted(now, x) && m.fits(x) {
		e.Activate, e.Count = true, x.page.count
		x.proposed = true
	}
	return e
}

// hasExited records that no other ticket has to wait any more for this one to choose its number.
func (m *Machine) hasExited(now protocol.Time, p *page, key Key, out *protocol.Effects) {
	for _, x := range slices.Clone(p.waits) {
		x.still = slices.DeleteFunc(x.still, func(k Key) bool { return k == key })
		if x.step == waiting && len(x.still) == 0 {
			x.step = ready
			p.leaveWaits(x)
			m.readied(now, x, out)
		}
	}
}

// readied continues a ticket that no longer waits for another one to choose.
func (m *Machine) readied(now protocol.Time, x *ticket, out *protocol.Effects) {
	if x.step != ready {
		return
	}
	if m.config.Published {
		m.sayAll(now, Ready{Key: x.Key}, out)
	}
	m.proposeLock(now, x, out)
	m.refuseTry(now, x, out)
	m.notifyQueued(now, x, out)
}

// refuseTry refuses a ticket that does not wait and has to: another ticket is before it, and that one's master, which
// knows whether it has ended, has been heard since.
func (m *Machine) refuseTry(now protocol.Time, x *ticket, out *protocol.Effects) {
	if !x.Try || x.step != ready {
		return
	}
	_, by := x.page.before(x)
	if by != nil && (by.master == m.config.Self || slices.Contains(x.heard, by.master)) {
		m.fail(now, x, Failed{Why: FailedHeld, By: m.heldBy(now, by)}, out)
	}
}

// notifyQueued informs a ticket's member once that it has to wait, and behind how many. A ticket that is compatible, as
// far as this leader knows, and has asked for agreement may not have to.
func (m *Machine) notifyQueued(now protocol.Time, x *ticket, out *protocol.Effects) {
	if x.notified || x.Try || x.orphan || x.step > ready || x.proposed && m.fits(x) {
		return
	}
	at := slices.Index(x.page.tickets, x)
	if at <= 0 {
		return
	}
	x.notified = true
	m.say(now, x.For.ID, Queued{Key: x.Key, Position: at}, out)
}

// fail informs a ticket's member why it is not locked, and ends it.
func (m *Machine) fail(now protocol.Time, x *ticket, why Failed, out *protocol.Effects) {
	why.Key = x.Key
	m.say(now, x.For.ID, why, out)
	m.end(now, x, out)
}

// onUnlock ends a ticket when its member asks.
func (m *Machine) onUnlock(now protocol.Time, from protocol.ID, msg *Unlock, out *protocol.Effects) {
	x := m.own(msg.Key)
	if x != nil && x.For.ID != from {
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d", msg, from)})
		return
	}
	if x != nil {
		m.end(now, x, out)
	}
	m.say(now, from, Unlocked{Key: msg.Key}, out)
}

// end ends a ticket of this leader's.
func (m *Machine) end(now protocol.Time, x *ticket, out *protocol.Effects) {
	m.sayAll(now, Drop{Key: x.Key}, out)
	m.remove(now, x, out)
}

// remove removes a ticket from the book. A ticket that has waited for it continues, whether it waited for its choosing
// or for its turn.
func (m *Machine) remove(now protocol.Time, t *ticket, out *protocol.Effects) {
	choosing := !t.chosen
	m.book.remove(t)
	if choosing {
		m.hasExited(now, t.page, t.Key, out)
	}
	m.turn(now, t.page, out)
}

// turn continues the tickets of a page whose turn it is: from the first ticket on, until one is incompatible. No later
// one is compatible.
func (m *Machine) turn(now protocol.Time, p *page, out *protocol.Effects) {
	units := 0
	for i, t := range p.tickets {
		if i > 0 && !compatible(&p.tickets[i-1].Ticket, &t.Ticket) {
			return
		}
		if units += t.Units; t.Mode == holdfast.ModeSlots && units > t.Capacity {
			return
		}
		switch {
		case t.master == m.config.Self:
			m.proposeLock(now, t, out)
		case t.wanted:
			m.say(now, t.master, Activated{Key: t.Key, Vote: m.vote(t, 0)}, out)
		}
	}
}

// activateAll continues all tickets whose turn it is, when this leader starts to serve.
func (m *Machine) activateAll(now protocol.Time, out *protocol.Effects) {
	names := make([]string, 0, len(m.book.names))
	//tidy:unordered they are put in order
	for name := range m.book.names {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m.turn(now, m.book.names[name], out)
	}
}

// onClaim handles a member's tickets at this leader under a new term: unclaimed ones have ended.
func (m *Machine) onClaim(now protocol.Time, from protocol.ID, msg *Claim, out *protocol.Effects) {
	for i := range msg.Claims {
		c := &msg.Claims[i]
		x := m.own(c.Ticket.Key)
		switch {
		case c.Ticket.For.ID != from || c.Ticket.Key.Member != from || c.Ticket.For != m.placeOf(from):
			out.Note(local.Ignored{What: fmt.Sprintf("a claim of %v from member %d", c.Ticket.Key, from)})
		case x != nil:
			doubt := x.orphan && x.accepted
			x.claimed, x.orphan = true, false
			switch {
			case c.Token != 0 && x.step != locked:
				x.step, x.token, x.since = locked, c.Token, now
			case c.Token == 0 && x.step == locked: // its Locked came too late for the term before
				m.say(now, from, Locked{Key: x.Key, Token: x.token}, out)
			case c.Token == 0 && doubt:
				m.proposeAgain(now, x, out)
			}
			m.setAccepted(x, false)
		case c.Token == 0:
			m.draw(now, c.Ticket, out).claimed = true
		default:
			out.Note(local.Ignored{What: fmt.Sprintf("a claim of %v, which is locked and unknown, from member %d", c.Ticket.Key, from)})
		}
	}
	if !msg.Done {
		return
	}
	place := m.placeOf(from)
	for _, x := range m.book.all() {
		if x.master == m.config.Self && x.For == place && !x.claimed {
			m.end(now, x, out)
		}
	}
	m.activateAll(now, out)
}

// mostTickets is the maximum number of tickets of a name. Each member's own table limits its clients' waits, so this is
// for members with larger tables.
func (m *Machine) mostTickets() int { return maxTickets }

// maxTickets is snaplock's limit of a hundred entering tickets, applied to all tickets of a name and generous enough
// for crowds.
const maxTickets = 1 << 17
