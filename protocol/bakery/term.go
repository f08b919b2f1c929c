package bakery

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// A term begins when a member learns the leaders. Leaders of the previous term stop at that moment, and hand their
// tickets to those of the new one: a leader of the new term serves when it has those of a majority of them, because a
// majority knows every ticket that counts. If no majority is left, each member reports its clients' holds to the new
// leaders, and they serve when all have and no other member can hold anything. A member that has just come, or come
// back, knows nothing and serves no sooner than any other.

// former is a leader's state at the end of its term: the same for all that ask.
type former struct {
	Election
	book *book
}

// placeOf returns the place of a leader of that term.
func (f *former) placeOf(id protocol.ID) local.Place {
	for _, leader := range f.Leaders {
		if leader.ID == id {
			return leader
		}
	}
	return local.Place{}
}

// gather is the information that a leader of a new term collects before it serves.
type gather struct {
	from    []protocol.ID // whose tickets, or claims, are complete
	waiting []claimedBy   // of waiting tickets, if the leaders follow no earlier ones
}

// claimedBy is a claim, by this leader's clock.
type claimedBy struct {
	Claimed
	since protocol.Time
}

// setTerm adopts another election's outcome, without any state of it.
func (m *Machine) setTerm(e Election) {
	m.term, m.links, m.hearSelf, m.parked = e, nil, nil, nil
	m.leads, m.serves, m.others, m.rank, m.book, m.gather = false, false, nil, 0, nil, gather{}
	m.gracesDue = protocol.Never
	for rank, leader := range e.Leaders {
		if leader == m.standing.Place {
			m.leads, m.rank = true, rank
		} else {
			m.others = append(m.others, leader.ID)
		}
	}
}

// adopt begins a term.
func (m *Machine) adopt(now protocol.Time, e *Election, out *protocol.Effects) {
	if m.serves {
		m.former = &former{m.term, m.book}
	}
	m.setTerm(*e)
	m.promised, m.used = e.Term, false
	out.Note(Led{Term: e.Term, Leaders: idsOf(e.Leaders)})
	if m.leads {
		m.book = newBook()
		m.book.floor = uint64(e.Count)
		m.handOver(now, out)
	}
	m.claimAll(now, out)
	m.serveIfAble(now, out)
	early := m.early
	m.early = nil
	for _, ev := range early {
		if envelope, is := ev.Fact.(Envelope); is {
			m.onEnvelope(now, ev, &envelope, out)
		}
	}
	m.clients.Resume(now, out)
	m.takeLocks(now, out)
}

// handOver sends this member's tickets as a leader of the previous term to the others, and to itself.
func (m *Machine) handOver(now protocol.Time, out *protocol.Effects) {
	if m.former == nil || m.former.Term != m.term.After {
		return
	}
	parts := m.former.parts(now, m.config.Table.Drift)
	for _, to := range m.others {
		for _, part := range parts {
			m.say(now, to, part, out)
		}
	}
	m.inherit(now)
	m.gather.from = append(m.gather.from, m.config.Self)
}

// namesPerPart and ticketsPerPart limit the contents of one handover message.
const (
	namesPerPart   = 64
	ticketsPerPart = 256
)

// parts writes a book down, names in order.
func (f *former) parts(now protocol.Time, drift float64) (parts []Tickets) {
	b := f.book
	names := make([]string, 0, len(b.names))
	//tidy:unordered they are put in order
	for name := range b.names {
		names = append(names, name)
	}
	slices.Sort(names)
	part, tickets := Tickets{Floor: b.floor}, 0
	for _, name := range names {
		p := b.names[name]
		state := NameState{Name: name, Count: p.count}
		for _, t := range p.tickets {
			if tickets == ticketsPerPart {
				part.Names = append(part.Names, state)
				parts, part, tickets = append(parts, part), Tickets{Floor: b.floor}, 0
				state.Tickets = nil
			}
			state.Tickets = append(state.Tickets, Numbered{
				Ticket: t.Ticket, Number: t.number, Master: f.placeOf(t.master), Accepted: t.mayBeLocked(),
				Left: lock.Shrink(max(0, t.until-now), drift),
			})
			tickets++
		}
		if part.Names = append(part.Names, state); len(part.Names) == namesPerPart {
			parts, part, tickets = append(parts, part), Tickets{Floor: b.floor}, 0
		}
	}
	part.Done = true
	return append(parts, part)
}

// inherit takes over this member's own tickets. Those whose number enough leaders know keep it, regardless of what they
// still waited for: a choosing ticket chooses again, and gets a higher one. Its other own tickets start over.
func (m *Machine) inherit(now protocol.Time) {
	b := m.former.book
	m.inheritCounts(b.floor, nil)
	names := make([]*page, 0, len(b.names))
	//tidy:unordered they are put in order
	for _, p := range b.names {
		names = append(names, p)
	}
	slices.SortFunc(names, func(a, b *page) int { return cmp.Compare(a.name, b.name) })
	for _, p := range names {
		for _, t := range p.tickets {
			if !m.keepsNumber(t) {
				m.gather.waiting = append(m.gather.waiting, claimedBy{Claimed: Claimed{Ticket: t.Ticket}}) // in order
				continue
			}
			kept := m.inheritTicket(now, Numbered{Ticket: t.Ticket, Number: t.number, Master: m.former.placeOf(t.master), Accepted: t.mayBeLocked()})
			kept.until, kept.held = max(kept.until, t.until), t.held && kept.master == t.master
			if t.master == m.config.Self {
				kept.token, kept.since, kept.orphan = t.token, t.since, t.orphan
				if t.step == locked {
					kept.step = locked
				}
				m.setAccepted(kept, kept.accepted)
			}
		}
		for _, t := range p.entering {
			if t.master == m.config.Self && t.number == 0 {
				m.gather.waiting = append(m.gather.waiting, claimedBy{Claimed: Claimed{Ticket: t.Ticket}})
			}
		}
		m.inheritCounts(b.floor, &NameState{Name: p.name, Count: p.count})
	}
}

// keepsNumber reports whether a numbered ticket keeps its number in the next term, as far as this leader can say: of
// its own, those that a majority knows. The order of tickets thus outlives a term.
func (m *Machine) keepsNumber(t *ticket) bool {
	return t.master != m.config.Self || t.step == locked || t.step >= waiting && !protocol.Mutated("a number outlives its term")
}

// inheritCounts takes over the counts of grants, if the new term continues in the same epoch.
func (m *Machine) inheritCounts(floor uint64, name *NameState) {
	if m.term.After.Epoch != m.term.Term.Epoch {
		return
	}
	m.book.floor = max(m.book.floor, floor)
	if name == nil {
		return
	}
	if p := m.book.names[name.Name]; p != nil {
		p.count = max(p.count, name.Count)
	} else {
		m.book.floor = max(m.book.floor, name.Count)
	}
}

// raise brings the count of each name up to the floor: a leader that had forgotten the name may have counted
// that far in it.
func (b *book) raise() {
	//tidy:unordered each by itself
	for _, p := range b.names {
		p.count = max(p.count, b.floor)
		p.ended = p.count
	}
}

// inheritTicket takes over a ticket that has a number. Of two numbers the higher one is the later.
func (m *Machine) inheritTicket(now protocol.Time, n Numbered) *ticket {
	until := protocol.Time(0)
	if known := m.book.tickets[n.Ticket.Key]; known != nil {
		n.Accepted = n.Accepted || known.accepted
		m.extendGrace(now, known, n.Left)
		if known.number >= n.Number {
			m.setAccepted(known, n.Accepted)
			return known
		}
		until = known.until
		m.book.remove(known)
	}
	master := m.successor(n.Master)
	t := m.book.enter(n.Ticket, master, 0)
	m.book.add(t, n.Number)
	m.book.exit(t)
	t.step, t.formerly, t.until = ready, n.Master.ID, until
	m.extendGrace(now, t, n.Left)
	t.orphan = master == m.config.Self // its master before does not say whether it is locked
	m.setAccepted(t, n.Accepted)
	return t
}

// setAccepted records whether another leader may have agreed to a taken-over ticket. That matters not to its master,
// which knows whether it has locked it, unless it was another one's and its member has not claimed it yet.
func (m *Machine) setAccepted(t *ticket, accepted bool) {
	t.accepted = accepted && (t.master != m.config.Self || t.orphan)
	if t.mayBeLocked() {
		t.page.keep(t)
	}
}

// successor returns the master of a ticket under the term: the previous one, if it leads, else the leader of the first
// rank.
func (m *Machine) successor(master local.Place) protocol.ID {
	if slices.Contains(m.term.Leaders, master) {
		return master.ID
	}
	return m.term.Leaders[0].ID
}

// onTickets handles the tickets of a leader of the previous term. That leader knows best about those whose master it
// was.
func (m *Machine) onTickets(now protocol.Time, from protocol.ID, msg *Tickets, out *protocol.Effects) {
	former := slices.ContainsFunc(m.term.AfterLeaders, func(p local.Place) bool { return p == m.placeOf(from) })
	if !m.leads || !former || slices.Contains(m.gather.from, from) {
		return
	}
	for i := range msg.Names {
		state := &msg.Names[i]
		for _, n := range state.Tickets {
			t := m.book.tickets[n.Ticket.Key]
			if !m.serves && !m.hasEnded(&n) {
				t = m.inheritTicket(now, n) // else all that counts is known
			}
			if t != nil && n.Master == m.placeOf(from) {
				t.named = true
				if t.held = n.Accepted && t.master == from; t.held {
					m.setAccepted(t, true)
				}
			}
		}
		m.inheritCounts(msg.Floor, state)
	}
	m.inheritCounts(msg.Floor, nil)
	if !msg.Done {
		return
	}
	m.gather.from = append(m.gather.from, from)
	m.purge(now, from, out)
	m.serveIfAble(now, out)
}

// hasEnded reports whether a ticket that another leader hands over has ended: its master has handed over its tickets,
// and it is not among them. If the master hands over later, purge drops it.
func (m *Machine) hasEnded(n *Numbered) bool {
	if !slices.Contains(m.gather.from, n.Master.ID) || protocol.Mutated("a master knows what it has ended") {
		return false
	}
	book := m.book
	if n.Master.ID == m.config.Self {
		book = m.former.book // a ticket of its own that draws another number is in this one alone
	}
	return book.tickets[n.Ticket.Key] == nil
}

// purge drops the tickets of a master that does not list them: they have ended, and this leader has them from one that
// did not know of that.
func (m *Machine) purge(now protocol.Time, master protocol.ID, out *protocol.Effects) {
	for _, t := range m.book.all() {
		if t.master == master && !t.named && t.formerly == master {
			m.remove(now, t, out)
		}
	}
}

// serveIfAble begins to serve, when this leader knows enough.
func (m *Machine) serveIfAble(now protocol.Time, out *protocol.Effects) {
	if !m.leads || m.serves || !m.gathered() {
		return
	}
	m.serves, m.former = true, nil
	m.book.raise()
	out.Note(protocol.Serving{Reign: m.term.Term.Epoch})
	m.dropLost(now, out)
	m.nameHeld(now, out)
	again := m.gather.waiting
	m.gather.waiting = nil
	slices.SortStableFunc(again, func(a, b claimedBy) int { return cmp.Compare(a.since, b.since) })
	for i := range again {
		if t := &again[i].Ticket; m.present(t.For) {
			m.draw(now, *t, out)
		} else {
			m.sayAll(now, Drop{Key: t.Key}, out)
		}
	}
	parked := m.parked
	m.parked = nil
	for _, p := range parked {
		m.onBody(now, p.from, p.body, out)
	}
	m.activateAll(now, out)
	m.reportServing(now, out)
}

// gathered reports whether this leader has the tickets of a majority of the previous ones; or, if it follows no earlier
// leaders, the claims of all members that were present before it was elected, and no other member can hold anything.
func (m *Machine) gathered() bool {
	if m.term.After != (Term{}) {
		return len(m.gather.from) > len(m.term.AfterLeaders)/2
	}
	if !m.open {
		return false
	}
	for i := range m.standing.View.Members {
		member := &m.standing.View.Members[i]
		if member.Since <= m.term.Term.View && !slices.Contains(m.gather.from, member.ID) {
			return false
		}
	}
	return true
}

// onClaimOfAll handles a member's tickets, if leaders follow no earlier ones: all of them accept the held ones, and the
// first one also the waiting ones.
func (m *Machine) onClaimOfAll(now protocol.Time, from protocol.ID, msg *Claim, out *protocol.Effects) {
	for i := range msg.Claims {
		c := &msg.Claims[i]
		switch {
		case c.Ticket.For.ID != from || c.Ticket.Key.Member != from:
			out.Note(local.Ignored{What: "a claim of member " + c.Ticket.Key.String() + " by another one"})
		case c.Token != 0:
			m.hold(now, c)
		case m.rank == 0:
			m.gather.waiting = append(m.gather.waiting, claimedBy{*c, now - c.Age})
		}
	}
	if msg.Done && !slices.Contains(m.gather.from, from) {
		m.gather.from = append(m.gather.from, from)
		m.serveIfAble(now, out)
	}
}

// nameHeld sends the held tickets to the other leaders, if they follow no others: the leader of the first rank is the
// master of all of them. While the view is that of the election all leaders have the claims of the same members.
func (m *Machine) nameHeld(now protocol.Time, out *protocol.Effects) {
	if m.term.After != (Term{}) || m.rank != 0 || m.standing.View.Number == m.term.Term.View || protocol.Mutated("the first leader names what is held") {
		return
	}
	held := former{m.term, m.book}
	for _, part := range held.parts(now, m.config.Table.Drift) {
		m.sayAll(now, part, out)
	}
}

// onNamed handles the list of the leader of the first rank. Any ticket that it does not list has ended: this leader has
// the claim of a member that was lost before that one had it.
func (m *Machine) onNamed(now protocol.Time, from protocol.ID, msg *Tickets, out *protocol.Effects) {
	if from != m.term.Leaders[0].ID {
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d, which is not of the first rank", msg, from)})
		return
	}
	for i := range msg.Names {
		for _, n := range msg.Names[i].Tickets {
			if t := m.book.tickets[n.Ticket.Key]; t != nil && t.master == from {
				t.named = true
			}
		}
	}
	if msg.Done {
		m.purge(now, from, out)
	}
}

// hold adds a locked ticket, before all that will have a number.
func (m *Machine) hold(now protocol.Time, c *Claimed) {
	t := m.inheritTicket(now, Numbered{Ticket: c.Ticket, Master: m.term.Leaders[0], Accepted: true})
	t.step, t.token, t.orphan = locked, c.Token, false
	if t.since == 0 {
		t.since = now
	}
}

// dropLost ends the tickets of departed members, as far as they cannot hold anything any more and have no grace; and at
// once those that were never locked.
func (m *Machine) dropLost(now protocol.Time, out *protocol.Effects) {
	if !m.serves {
		return
	}
	m.gracesDue = protocol.Never
	for _, t := range m.book.all() {
		switch {
		case t.master != m.config.Self || m.present(t.For) || !m.open && (t.step == locked || t.orphan && !m.neverLocked(t)):
		case t.until > now:
			m.gracesDue = min(m.gracesDue, t.until)
		default:
			m.end(now, t, out)
		}
	}
}

// mayBeLocked reports whether a leader cannot rule out that a ticket is locked, its own or another's.
func (t *ticket) mayBeLocked() bool { return t.accepted || t.step == locked }

// neverLocked reports whether a lost master has not locked a ticket: it needed the agreement of one of the others, and
// all of them have reported that they have not agreed. Their reports include earlier terms.
func (m *Machine) neverLocked(t *ticket) bool {
	return !t.accepted && !slices.ContainsFunc(m.term.AfterLeaders, func(p local.Place) bool {
		return p.ID != t.formerly && !slices.Contains(m.gather.from, p.ID)
	})
}

// all lists the tickets, in order of their keys.
func (b *book) all() []*ticket {
	list := make([]*ticket, 0, len(b.tickets))
	//tidy:unordered they are put in order
	for _, t := range b.tickets {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *ticket) int { return a.Key.Compare(b.Key) })
	return list
}
