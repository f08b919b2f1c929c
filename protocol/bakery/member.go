package bakery

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// What a member does for its own clients: it asks a leader for a ticket, and ends it. It is snaplock's
// client, and its proxy.

// request is a client's request.
type request struct {
	local.Request
	arrived   protocol.Time
	ticket    Ticket         // with a key, once a leader was asked
	master    local.Place    // that leader, or its successor; zero before
	queued    bool           // it is known to wait
	locked    holdfast.Token // of a Locked that it has not taken, mostly because this member had no lease; 0 for nothing
	notifyEnd bool           // its client hears of its release when its ticket has ended
}

// proxy is the protocol's handling of this member's clients.
type proxy struct{ *Machine }

// Ready reports whether there are leaders to ask.
func (p proxy) Ready() bool {
	here := 0
	for _, leader := range p.term.Leaders {
		if p.standing.Admitted() && p.present(leader) {
			here++
		}
	}
	return here > len(p.term.Leaders)/2
}

// Refusal returns why a request is refused outright.
func (p proxy) Refusal(q *lock.Request) error {
	if q.Mode == holdfast.ModeSlots && q.Capacity > maxCapacity {
		return fmt.Errorf("%w: slots %d/%d: in protocol bakery the capacity is at most %d, because leaders exchange lists of holders; use protocol central or grantor",
			holdfast.ErrUnsupported, q.Units, q.Capacity, maxCapacity)
	}
	return nil
}

// Keep returns the record of a request.
func (p proxy) Keep(r local.Request) *request { return &request{Request: r} }

// Enroll asks a leader for a ticket, if there is one.
func (p proxy) Enroll(now protocol.Time, r *request, out *protocol.Effects) {
	r.arrived = now
	p.byName[r.Requested().Key.Name] = append(p.byName[r.Requested().Key.Name], r)
	if p.Ready() {
		p.askLeader(now, r, out)
	}
}

// Ended ends a request's ticket, at the end of the step.
func (p proxy) Ended(r *request) {
	name := r.Request.Key.Name
	if left := slices.DeleteFunc(p.byName[name], func(o *request) bool { return o == r }); len(left) > 0 {
		p.byName[name] = left
	} else {
		delete(p.byName, name)
	}
	if r.master.ID != 0 {
		p.Machine.ended = append(p.Machine.ended, r)
	}
}

// Named lists this member's requests for a name.
func (p proxy) Named(name string) []*request { return p.byName[name] }

// Explain returns why a request was not granted in time.
func (p proxy) Explain(now protocol.Time, r *request, err error) error {
	switch {
	case r.By != nil:
		return p.marked(now, r.By)
	case !p.Ready() || p.poll.refused != 0 || p.leads && !p.serves || err == holdfast.ErrUnavailable:
		return p.Condition(now, &protocol.Condition{}).Unavailable(now, p.whyLeaderless())
	case r.master.ID != 0 && !r.queued:
		var names []string
		for _, leader := range p.term.Leaders {
			names = append(names, p.standing.View.Name(leader.ID))
		}
		return &lock.Unavailable{Why: "no answer yet from the leaders, " + strings.Join(names, ", ")}
	}
	if by := p.holder(now, r.Request.Key.Name); by != nil {
		return p.marked(now, by)
	}
	return err
}

// holder returns the holder of a name, or the one in its grace, as far as this member knows; else nil.
func (m *Machine) holder(now protocol.Time, name string) *lock.HeldBy {
	if m.serves && m.book.names[name] != nil {
		for _, t := range m.book.names[name].tickets {
			if t.mayBeLocked() {
				return m.heldBy(now, t)
			}
		}
	}
	for _, g := range m.graces {
		if g.request.Request.Key.Name == name {
			by := g.request.HeldBy(now)
			by.Grace, by.Left = true, max(0, g.until-now)
			return by
		}
	}
	return nil
}

// Knows reports whether a request is known to have to wait.
func (p proxy) Knows(r *request) bool { return r.queued }

// Settled reports that others ask this member when they want to know.
func (p proxy) Settled() bool { return true }

// Awaits reports whether a request waits for a leader's answer.
func (p proxy) Awaits(r *request, peer protocol.ID) bool { return !r.Held && r.master.ID == peer }

// WithholdAmendment reports false: others ask this member for its clients' values.
func (proxy) WithholdAmendment(*request, *lock.Decision) bool { return false }

// Withhold reports that a release is answered when the ticket's master has ended it: from then on any client
// that asks, through any member, finds the name free.
func (p proxy) Withhold(r *request) bool {
	r.notifyEnd = r.master.ID != 0
	return r.notifyEnd
}

// askLeader asks a leader for a ticket: this member itself, if it leads; else one after another, starting at a random
// one.
func (m *Machine) askLeader(now protocol.Time, r *request, out *protocol.Effects) {
	m.numbers++
	key := r.Request.Key
	r.master = m.pick()
	r.ticket = Ticket{
		Key: Key{m.config.Self, m.standing.Place.Tenure.Incarnation, m.numbers}, For: m.standing.Place, Name: key.Name,
		Shape: r.Shape, Try: r.Try, Owner: r.Owner, Session: key.Session,
	}
	m.mine[r.ticket.Key] = r
	m.say(now, r.master.ID, Lock{Ticket: r.ticket}, out)
}

// pick returns the leader that gets the next request.
func (m *Machine) pick() local.Place {
	if m.leads {
		return m.standing.Place
	}
	for range m.term.Leaders {
		m.next++
		if leader := m.term.Leaders[m.next%len(m.term.Leaders)]; m.present(leader) {
			return leader
		}
	}
	return m.term.Leaders[0]
}

// askAll asks for tickets for those requests that have none.
func (m *Machine) askAll(now protocol.Time, out *protocol.Effects) {
	for _, r := range m.clients.Waiting() {
		if r.master.ID == 0 && !r.Dropped {
			m.askLeader(now, r, out)
		}
	}
}

// rename forgets the tickets of waiting requests: they belonged to an ended stay.
func (m *Machine) rename(out *protocol.Effects) {
	clear(m.mine)
	m.ended = nil
	for _, r := range m.releases() {
		m.clients.NotifyReleased(r, out) // the leaders end it with this member's stay
	}
	clear(m.ending)
	for _, r := range m.clients.Waiting() {
		r.ticket, r.master, r.queued, r.locked, r.By, r.Waits = Ticket{}, local.Place{}, false, 0, nil, false
	}
}

// claimsPerPart is the maximum number of claims in one message.
const claimsPerPart = 128

// claimAll informs the leaders of a new term of this member's tickets: each of those whose master it now is; and if
// they follow no earlier leaders, all of them of the held ones.
func (m *Machine) claimAll(now protocol.Time, out *protocol.Effects) {
	rebuilt := m.term.After == (Term{})
	claims := make([][]Claimed, len(m.term.Leaders))
	for _, r := range m.claimed() {
		rank := slices.Index(m.term.Leaders, r.master)
		if rank < 0 || rebuilt {
			rank = 0
		}
		r.master = m.term.Leaders[rank]
		if rebuilt && !protocol.Mutated("a word that was not taken ends with its leaders") {
			r.locked = 0 // it is not held: the new leaders grant it again, under a token of theirs
		}
		c := Claimed{Ticket: r.ticket, Token: max(r.Token, r.locked)}
		if c.Token == 0 {
			c.Age = now - r.arrived
		}
		for at := range claims {
			if at == rank || rebuilt && c.Token != 0 {
				claims[at] = append(claims[at], c)
			}
		}
	}
	for rank, list := range claims {
		to := m.term.Leaders[rank].ID
		for len(list) > claimsPerPart {
			m.say(now, to, Claim{Claims: list[:claimsPerPart]}, out)
			list = list[claimsPerPart:]
		}
		m.say(now, to, Claim{Claims: list, Done: true}, out)
	}
	for _, g := range m.graces {
		if left := g.until - now; left > 0 { // else it ends when its time is looked at
			m.say(now, g.request.master.ID, Unlocking{Key: g.request.ticket.Key, Left: left}, out)
		}
	}
	for _, r := range m.releases() {
		// An unclaimed ticket ends, and the leader here knows of that.
		if !slices.Contains(m.term.Leaders, r.master) {
			r.master = m.term.Leaders[0]
		}
		m.say(now, r.master.ID, Unlock{Key: r.ticket.Key}, out)
	}
	m.askAll(now, out)
}

// claimed returns the requests with tickets, in request order.
func (m *Machine) claimed() []*request { return inOrder(m.mine) }

// releases returns the released tickets that have not ended yet, as far as their client waits for that.
func (m *Machine) releases() []*request { return inOrder(m.ending) }

func inOrder(tickets map[Key]*request) []*request {
	list := make([]*request, 0, len(tickets))
	//tidy:unordered they are put in order
	for _, r := range tickets {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *request) int { return a.ticket.Key.Compare(b.ticket.Key) })
	return list
}

// onLocked handles a ticket's lock. A ticket that no request wants any more is returned.
func (m *Machine) onLocked(now protocol.Time, from protocol.ID, msg *Locked, out *protocol.Effects) {
	r := m.mine[msg.Key]
	switch {
	case r == nil:
		m.say(now, from, Unlock{Key: msg.Key}, out)
	case m.awaits(r, from, msg, out):
		r.locked = msg.Token
		m.takeLock(now, r, out)
	}
}

// awaits reports whether a request waits for a leader's message about it: only its master's counts.
func (m *Machine) awaits(r *request, from protocol.ID, body Body, out *protocol.Effects) bool {
	if r == nil || r.Held || r.Dropped {
		return false
	}
	if r.master.ID != from {
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d, which is not its master", body, from)})
	}
	return r.master.ID == from
}

// takeLock makes a request hold according to its Locked: only under a lease, by the clock and not by a timer.
func (m *Machine) takeLock(now protocol.Time, r *request, out *protocol.Effects) {
	if now >= m.standing.View.Lease.Member || m.outlived() {
		// A newly admitted member has no lease yet. No event announces it, or new leaders.
		m.leaseDue = now + m.config.Patience
		return
	}
	if !m.fitsHere(r) { // only a leader that errs says so
		out.Note(local.Ignored{What: fmt.Sprintf("%v is locked together with what is held here", &r.ticket)})
		r.locked = 0
		return
	}
	for _, other := range m.byName[r.Request.Key.Name] {
		if other.Held && other.Token >= r.locked {
			r.locked = 0
			m.say(now, r.master.ID, Raise{Key: r.ticket.Key, Above: other.Token}, out)
			return
		}
	}
	token := r.locked
	r.locked = 0
	m.clients.Permit(now, r, token, out)
}

// outlived reports whether the view is of another epoch than the term, and most of the term's leaders are gone. Then
// others may have given tokens of an epoch between the two, under views that this member does not know. It then accepts
// no message of those leaders, but keeps it until most of them are back, or until it reports to leaders that follow no
// earlier ones that the ticket is not held.
func (m *Machine) outlived() bool {
	return !proxy{m}.Ready() && m.standing.View.Epoch.Counter != m.term.Term.Epoch && !protocol.Mutated("a word that was not taken ends with its leaders")
}

// fitsHere reports whether a request is compatible with this member's other clients' holds.
func (m *Machine) fitsHere(r *request) bool {
	units := r.ticket.Units
	for _, other := range m.byName[r.Request.Key.Name] {
		if !other.Held {
			continue
		}
		units += other.ticket.Units
		if !compatible(&r.ticket, &other.ticket) || units > r.ticket.Capacity {
			return false
		}
	}
	return true
}

// takeLocks accepts the locks that had to wait, usually for a lease.
func (m *Machine) takeLocks(now protocol.Time, out *protocol.Effects) {
	if m.leaseDue == protocol.Never {
		return
	}
	m.leaseDue = protocol.Never
	for _, r := range m.claimed() {
		if r.locked != 0 && !r.Held && !r.Dropped {
			m.takeLock(now, r, out)
		}
	}
}

// onQueued records that a ticket has to wait.
func (m *Machine) onQueued(from protocol.ID, msg *Queued, out *protocol.Effects) {
	if r := m.mine[msg.Key]; m.awaits(r, from, msg, out) {
		r.queued = true
		m.clients.LetWait(r)
	}
}

// onFailed handles the reason why a ticket will not be locked.
func (m *Machine) onFailed(now protocol.Time, from protocol.ID, msg *Failed, out *protocol.Effects) {
	r := m.mine[msg.Key]
	if !m.awaits(r, from, msg, out) {
		return
	}
	r.master = local.Place{} // there is no ticket to be ended
	m.clients.Deny(now, r, m.failure(now, r, msg), out)
	delete(m.mine, msg.Key)
}

// marked returns until when a hold through a lost member is waited for, as far as is known.
func (m *Machine) marked(now protocol.Time, by *lock.HeldBy) *lock.HeldBy {
	member, listed := m.standing.View.Of(protocol.ID(by.Holder.Member))
	if by.Holder == (lock.SessionID{}) || listed && member.Tenure.Incarnation == by.Holder.Number>>32 {
		return by
	}
	gone := *by
	if gone.Gone = true; m.opens(now) != protocol.Never {
		gone.Left = max(gone.Left, m.opens(now)-now) // its grace may last longer
	}
	return &gone
}

// heldBy returns the holder of a ticket for the tickets that wait for it. Its holder's member counts a grace, and the
// slowest clock if that member is lost.
func (m *Machine) heldBy(now protocol.Time, t *ticket) *lock.HeldBy {
	by := &lock.HeldBy{Owner: t.Owner, Holder: t.Session, Suspended: t.Name == lock.SpaceLock, Age: lock.UnknownAge}
	if t.step == locked && t.since != 0 {
		by.Age = now - t.since
	}
	if by.Left = max(0, t.until-now); by.Left > 0 {
		if by.Grace = true; m.present(t.For) {
			by.Left = lock.Shrink(by.Left, m.config.Table.Drift)
		}
	}
	return by
}

// failure is the error for a client.
func (m *Machine) failure(now protocol.Time, r *request, msg *Failed) error {
	switch msg.Why {
	case FailedHeld:
		if msg.By != nil {
			return m.marked(now, msg.By)
		}
		return &lock.HeldBy{}
	case FailedConflict:
		return fmt.Errorf("%w: capacity %d is asked for, and the name has capacity %d", holdfast.ErrConflict, r.Shape.Capacity, msg.Capacity)
	case FailedLimit:
		return &holdfast.LimitError{Limit: "unheard", Value: int64(msg.Limit)}
	}
	return &holdfast.LimitError{Limit: "waiters", Value: int64(msg.Limit)}
}

// endTickets ends the tickets of requests that ended in this step: at once, or after the grace in which a holder that
// knows that its hold limit has passed can stop.
func (m *Machine) endTickets(now protocol.Time, out *protocol.Effects) {
	for len(m.ended) > 0 {
		ended := m.ended
		m.ended = nil
		for _, r := range ended {
			if d := m.grace(r); r.Lost == holdfast.HoldLimit && d > 0 && !protocol.Mutated("a name is kept for its grace") {
				m.beginGrace(now, r, d, out)
				continue
			}
			m.unlock(now, r, out)
		}
	}
}

// unlock ends a ticket.
func (m *Machine) unlock(now protocol.Time, r *request, out *protocol.Effects) {
	if m.mine[r.ticket.Key] != r {
		return
	}
	delete(m.mine, r.ticket.Key)
	if r.notifyEnd {
		m.ending[r.ticket.Key] = r
	}
	if m.standing.Admitted() && m.present(r.master) {
		m.say(now, r.master.ID, Unlock{Key: r.ticket.Key}, out)
	}
}

// onUnlocked records that a ticket has ended.
func (m *Machine) onUnlocked(from protocol.ID, msg *Unlocked, out *protocol.Effects) {
	if r := m.ending[msg.Key]; r != nil && r.master.ID == from {
		delete(m.ending, msg.Key)
		m.clients.NotifyReleased(r, out)
	}
}
