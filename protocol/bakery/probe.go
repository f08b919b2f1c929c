package bakery

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

func probes() probe.Probes {
	return probe.Probes{
		Draw: draw, LeaderProbe: leaders{}, Links: links{},
		Known:     func(o protocol.Options) probe.Known { return probe.Known{Grace: max(0, o.(*Options).Grace)} },
		Unreached: []any{Exhausted{}}, // takes 2³² grants
		Timed:     local.Fields(), Unordered: unordered,
	}
}

// draw draws the options of a space that is led by several members.
func draw(r *probe.Run) {
	if r.IntN(3) == 0 {
		r.Set("messages", "published")
	}
	if grace := time.Duration(r.Int64N(int64(4 * time.Second))); r.IntN(3) == 0 && grace >= time.Second {
		r.Set("grace", grace)
	}
}

// unordered are the fields that distinguish no states if no time passes.
func unordered(members int) []probe.Field {
	fields := []probe.Field{
		// Envelopes arrive in order and none is lost, so their numbers show only the order in which they are in flight;
		// resending is a matter of time.
		{In: Envelope{}, Name: "Seq"},
		{In: Envelope{}, Name: "Seen"},
		{In: Machine{}, Name: "links"},
		// The members that have answered a ticket's entering matter only for one that does not wait; no user makes such
		// a request here.
		{In: ticket{}, Name: "heard", Unless: "Try"},
	}
	if members > 3 {
		return fields
	}
	// A notice of waiting is a message for people. If all members lead, each knows it by itself, so that none is in
	// flight.
	return append(fields, []probe.Field{
		{In: ticket{}, Name: "notified"},
		{In: request{}, Name: "queued"},
		{In: request{}, Name: "Request.Waits"},
		{In: request{}, Name: "Request.notified"},
	}...)
}

// links describes the delivery of envelopes.
type links struct{}

// InTurn reports whether a message is an envelope.
func (links) InTurn(message protocol.Message) bool {
	_, is := message.(Envelope)
	return is
}

// Late reports whether an envelope answers a finished step of a ticket: the other leader's answer has come first, or
// the ticket has ended. The answer cannot come before that step has started.
func (links) Late(message protocol.Message) bool {
	envelope, _ := message.(Envelope)
	switch body := envelope.Body.(type) {
	case Entered, Max, Added:
		return true
	case Activated:
		return !body.Vote.First
	}
	return false
}

// Outdates reads off a note that a member follows a term: it ignores envelopes of earlier ones.
func (links) Outdates(note protocol.Note) func(message protocol.Message) bool {
	led, is := note.(Led)
	if !is {
		return nil
	}
	return func(message protocol.Message) bool {
		envelope, is := message.(Envelope)
		return is && envelope.Term.Before(led.Term)
	}
}

// Ignored reports whether a note is about a message of another view, or tenure.
func (links) Ignored(note protocol.Note) bool {
	_, is := note.(local.Ignored)
	return is
}

// carried returns the contents of an envelope; nil for any other message.
func carried(m any) any {
	if envelope, is := m.(Envelope); is {
		return envelope.Body
	}
	return nil
}

// leaders reads leaders, other members and their messages.
type leaders struct{}

// steps are those of a ticket; one that counts is choosing. In the merged set of messages none counts.
var steps = [...]probe.TicketStep{
	entering: probe.TicketChoosing, counting: probe.TicketChoosing, adding: probe.TicketAdded,
	waiting: probe.TicketWaiting, ready: probe.TicketReady, locked: probe.TicketLocked,
}

// Drawn reads off a space the tickets that its member is the master of, as a leader that serves.
func (leaders) Drawn(space protocol.Machine) (list []probe.Drawn) {
	m := space.(*Machine)
	if !m.serves {
		return nil
	}
	for _, t := range m.book.all() {
		if t.master != m.config.Self {
			continue
		}
		d := probe.Drawn{Owner: t.For.ID, Step: steps[t.step]}
		if len(t.heard) > 0 {
			d.First = t.heard[0]
			d.Slow = slices.DeleteFunc(slices.Clone(m.others), func(id protocol.ID) bool { return slices.Contains(t.heard, id) })
		}
		list = append(list, d)
	}
	return list
}

// Serves reads off a space whether its member is a leader that has all tickets.
func (leaders) Serves(space protocol.Machine) bool { return space.(*Machine).serves }

// Graces returns how many names stay taken through a space after their hold limits have passed.
func (leaders) Graces(space protocol.Machine) int { return len(space.(*Machine).graces) }

// Behind returns how many other members are behind: more envelopes to each are unacknowledged than were resent.
func (leaders) Behind(space protocol.Machine) (behind int) {
	for _, l := range space.(*Machine).links {
		if l.again != 0 {
			behind++
		}
	}
	return behind
}

// TopicOf returns the topic of a message.
func (l leaders) TopicOf(space protocol.Machine, message any) probe.Topic {
	if _, is := message.(Leaders); is {
		return probe.TopicLeaders
	}
	switch said := carried(message).(type) {
	case Tickets:
		return probe.TopicTickets
	case Locked:
		if m, is := space.(*Machine); is && m.serves {
			if t := m.own(said.Key); t != nil && t.formerly != 0 && t.formerly != m.config.Self {
				return probe.TopicTakenOver
			}
		}
	}
	return probe.TopicNone
}

// Finds returns the finding of a message that is about to reach a space. A message about an election is for one view
// alone. A leader that follows no earlier leaders and does not serve yet is rebuilding: it waits for members' claims.
func (l leaders) Finds(space protocol.Machine, view *protocol.View, from protocol.ID, message any) probe.Finding {
	m := space.(*Machine)
	if said, is := message.(Leaders); is && said.Election.Term.Before(m.term.Term) {
		return probe.FindsOlder // regardless of why it is refused
	}
	if tagged, is := message.(interface{ Tagged() local.Tag }); is {
		if tag := tagged.Tagged(); tag.View != view.Number || tag.Epoch != view.Epoch {
			return probe.FindsNothing
		}
	}
	switch message := message.(type) {
	case Envelope:
		claim, claims := message.Body.(Claim)
		rebuilds := m.leads && !m.serves && m.term.After == (Term{})
		switch {
		case m.tooLate(from, &message):
			return probe.FindsEnded
		case !claims || message.Term != m.term.Term || !rebuilds:
		case slices.ContainsFunc(claim.Claims, func(c Claimed) bool { return c.Token != 0 }):
			return probe.FindsHold
		case len(claim.Claims) > 0:
			return probe.FindsRequest
		}
	case Refused:
		if message.Why == RefusedEpoch {
			return probe.FindsRefused
		}
	case Leaders:
		return m.findsLeaders(view, &message)
	}
	return probe.FindsNothing
}

// findsLeaders returns whether a member already knew the announced leaders, or newer ones.
func (m *Machine) findsLeaders(view *protocol.View, said *Leaders) probe.Finding {
	own, _ := view.Of(m.config.Self)
	switch term := said.Election.Term; {
	case term.Before(m.promised) && m.promised.View == view.Number:
		return probe.FindsOlder
	case m.term.Term == (Term{}) && term.View < own.Since:
		return probe.FindsNewcomer
	}
	return probe.FindsLeaders
}

// tooLate reports whether an envelope, which is the next on its link, answers for a ticket that has ended: the
// faster answer was enough.
func (m *Machine) tooLate(from protocol.ID, envelope *Envelope) bool {
	if !m.serves || envelope.Term != m.term.Term || envelope.To != m.standing.Place || envelope.From.ID != from || !m.present(envelope.From) {
		return false
	}
	i := slices.IndexFunc(m.links, func(l *link) bool { return l.to.ID == from })
	if i < 0 || envelope.Seq != m.links[i].seen+1 {
		return false
	}
	switch body := envelope.Body.(type) {
	case Entered:
		return m.own(body.Key) == nil
	case Max:
		return m.own(body.Key) == nil
	case Added:
		return m.own(body.Key) == nil
	}
	return false
}

// Placed reads off the master of a ticket that another leader has just reported to know its number. Then a
// majority of the leaders does, and any ticket that enters from now on gets a higher one in that epoch.
func (l leaders) Placed(space protocol.Machine, message any) (probe.Placed, bool) {
	m := space.(*Machine)
	added, is := carried(message).(Added)
	if !is || !m.serves {
		return probe.Placed{}, false
	}
	t := m.own(added.Key)
	if t == nil || t.step < waiting {
		return probe.Placed{}, false
	}
	return probe.Placed{
		Name: t.Name, Owner: t.Key.Member, Incarnation: t.Key.Incarnation, Number: t.Key.Number, Reign: protocol.Epoch{Counter: m.term.Term.Epoch},
	}, true
}

// Request reads off the owner's space which request of a client waits by a ticket. None does that has ended, or holds.
func (leaders) Request(space protocol.Machine, t probe.Placed) (session lock.SessionID, request uint64, waits bool) {
	r := space.(*Machine).mine[Key{Member: t.Owner, Incarnation: t.Incarnation, Number: t.Number}]
	if r == nil || r.Held || r.Dropped {
		return lock.SessionID{}, 0, false
	}
	return r.Request.Key.Session, r.Request.Key.ID, true
}
