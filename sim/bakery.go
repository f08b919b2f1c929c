package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// bakeryProtocol is one space of protocol bakery over the membership.
func bakeryProtocol() Protocol {
	return Protocol{
		Name: "bakery", Fewest: 3, Most: 7, Locks: true, Peers: true, Loose: true, Leads: true,
		Faults: Within.Without(Any) &^ ofStores,
		Build:  OneSpace("bakery"), draw: drawBakery,
		Own: func(space protocol.Machine, now protocol.Time) *protocol.Condition {
			return space.(*bakery.Machine).Own(now)
		},
		LeaderProbe: leadersOfBakery{},
		Universe: Universe{Below: append(membershipMessages(), membership.JoinDeferred{}), Above: []protocol.Message{
			bakery.Started{}, bakery.Elect{}, bakery.Elected{}, bakery.Leaders{}, bakery.Refused{},
			bakery.Envelope{}, local.Query{}, local.Answer{},
		}, Brought: []any{
			bakery.Heard{}, bakery.Entering{}, bakery.Entered{}, bakery.GetMax{}, bakery.Max{}, bakery.Add{}, bakery.Added{},
			bakery.Exiting{}, bakery.Ready{}, bakery.Activate{}, bakery.Activated{}, bakery.Drop{}, bakery.Tickets{}, bakery.Lock{},
			bakery.Unlock{}, bakery.Unlocking{}, bakery.Claim{}, bakery.Raise{}, bakery.Locked{}, bakery.Queued{}, bakery.Failed{}, bakery.Unlocked{},
		}},
	}
}

// leadersOfBakery is what can be read off leaders, other members and their messages.
type leadersOfBakery struct{}

// Said reads off an envelope what it says.
func (leadersOfBakery) Said(m any) any {
	if envelope, is := m.(bakery.Envelope); is {
		return envelope.Body
	}
	return nil
}

// steps are those of a ticket; who counts is choosing.
var steps = [...]TicketStep{
	bakery.StepEntering: TicketChoosing, bakery.StepCounting: TicketChoosing, bakery.StepAdding: TicketAdded,
	bakery.StepWaiting: TicketWaiting, bakery.StepReady: TicketReady, bakery.StepLocked: TicketLocked,
}

// Drawn reads off a space the tickets that its member is the master of.
func (leadersOfBakery) Drawn(space protocol.Machine) (list []Drawn) {
	for _, t := range space.(*bakery.Machine).Drawn() {
		list = append(list, Drawn{steps[t.Step], t.For, t.First, t.Slow})
	}
	return list
}

// Serves reads off a space whether its member is a leader that has all tickets.
func (leadersOfBakery) Serves(space protocol.Machine) bool { return space.(*bakery.Machine).Serves() }

// Graces reads off a space how many names stay taken through it.
func (leadersOfBakery) Graces(space protocol.Machine) int { return space.(*bakery.Machine).Graces() }

// Behind reads off a space how many other members are behind with what it sends them.
func (leadersOfBakery) Behind(space protocol.Machine) int { return space.(*bakery.Machine).Behind() }

// TopicOf reads off a message what it is about.
func (l leadersOfBakery) TopicOf(space protocol.Machine, m any) Topic {
	if _, is := m.(bakery.Leaders); is {
		return TopicLeaders
	}
	switch said := l.Said(m).(type) {
	case bakery.Tickets:
		return TopicTickets
	case bakery.Locked:
		if master, is := space.(*bakery.Machine); is && master.TakenOver(said.Key) {
			return TopicTakenOver
		}
	}
	return TopicNone
}

// Finds reads off a message that is about to reach a space what it finds there. What is said about an
// election is for one view alone.
func (l leadersOfBakery) Finds(space protocol.Machine, view *protocol.View, from protocol.ID, m any) Finding {
	member := space.(*bakery.Machine)
	if leaders, is := m.(bakery.Leaders); is {
		if known, _ := member.Term(); leaders.Election.Term.Before(known) {
			return FindsOlder // regardless of why it is refused
		}
	}
	if tagged, is := m.(interface{ Tagged() local.Tag }); is {
		if tag := tagged.Tagged(); tag.View != view.Number || tag.Epoch != view.Epoch {
			return FindsNothing
		}
	}
	switch m := m.(type) {
	case bakery.Envelope:
		claim, claims := m.Body.(bakery.Claim)
		term, _ := member.Term()
		switch {
		case member.TooLate(from, &m):
			return FindsEnded
		case !claims || m.Term != term || !member.Rebuilds():
		case slices.ContainsFunc(claim.Claims, func(c bakery.Claimed) bool { return c.Token != 0 }):
			return FindsHold
		case len(claim.Claims) > 0:
			return FindsRequest
		}
	case bakery.Refused:
		if m.Why == bakery.RefusedEpoch {
			return FindsRefused
		}
	case bakery.Leaders:
		return l.findsLeaders(member, view, &m)
	}
	return FindsNothing
}

// findsLeaders reads off who leads whether a member has known that, or anything newer.
func (leadersOfBakery) findsLeaders(member *bakery.Machine, view *protocol.View, m *bakery.Leaders) Finding {
	known, promised := member.Term()
	own, _ := view.Of(member.ID())
	switch term := m.Election.Term; {
	case term.Before(promised) && promised.View == view.Number:
		return FindsOlder
	case known == (bakery.Term{}) && term.View < own.Since:
		return FindsNewcomer
	}
	return FindsLeaders
}

// Placed reads off the master of a ticket that another leader has just told it that it knows its number.
func (l leadersOfBakery) Placed(space protocol.Machine, m any) (Placed, bool) {
	added, is := l.Said(m).(bakery.Added)
	if !is {
		return Placed{}, false
	}
	name, epoch, placed := space.(*bakery.Machine).Placed(added.Key)
	return Placed{name, added.Key.Member, added.Key.Incarnation, added.Key.Number, protocol.Epoch{Counter: epoch}}, placed
}

// Request reads off the owner's space which request of a client waits by a ticket.
func (leadersOfBakery) Request(space protocol.Machine, t Placed) (lock.SessionID, uint64, bool) {
	return space.(*bakery.Machine).Request(bakery.Key{Member: t.Owner, Incarnation: t.Incarnation, Number: t.Number})
}

// drawBakery draws the options of a space that is led by several members.
func drawBakery(s *settings, r *rand.Rand) {
	if r.IntN(3) == 0 {
		s.set("messages", "published")
	}
	if grace := time.Duration(r.Int64N(int64(4 * time.Second))); r.IntN(3) == 0 && grace >= time.Second {
		s.set("grace", grace.Round(time.Millisecond))
	}
}
