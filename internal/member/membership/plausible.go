package membership

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Messages of other members are looked at before they are acted upon: a number that no
// member can have come by would otherwise overflow where it is reckoned with, be
// remembered for ever, or break an invariant of this member's. A possible message may
// still be untrue.

// furthest bounds times and lengths of time of other members, so that sums of a few of
// them, stretched, are within what a Time can be. It is 36 years.
const furthest = time.Duration(1 << 60)

// latest bounds the numbers of views: each is followed by the next.
const latest = 1 << 62

// plausible reports whether what a message says can be so.
func plausible(msg any) bool {
	switch msg := msg.(type) {
	case Poll:
		return msg.plausible()
	case NewView:
		return msg.Poll.plausible() && msg.View != nil && plausibleView(msg.View)
	case PollAnswer:
		return msg.plausible()
	case ViewAck:
		return msg.Answer.plausible()
	case Join:
		return possible(msg.Promised) && possibleMember(&msg.Self) && len(msg.Hears) <= 2*maxPlaces // of a view, and founders
	case Dropped:
		return possible(msg.Epoch)
	case Resign:
		return possible(msg.Epoch)
	case election.StatusAnswer:
		return possible(msg.Promised) && possibleMember(&msg.Self) && plausibleView(msg.View) && lasting(msg.Wait)
	case election.Election:
		return possible(msg.Epoch) && plausibleView(msg.View)
	case election.Promise:
		return possible(msg.Epoch) && possibleMember(&msg.Self) && plausibleView(msg.Accepted) && plausiblePledges(msg.Pledges) && lasting(msg.At, msg.Owes)
	case election.Refuse:
		return possible(msg.Epoch, msg.Promised) && plausibleView(msg.View)
	}
	return true
}

func (p *Poll) plausible() bool {
	return possible(p.Epoch) && p.View <= latest && lasting(p.Echo) && plausiblePledges(p.Pledges) && p.List <= latest && p.Role >= -furthest && p.Role <= furthest && plausiblyClosed(p.Closed)
}

func (a *PollAnswer) plausible() bool {
	return possible(a.Epoch) && a.View <= latest && lasting(a.At) && a.Version <= latest && a.Stored <= latest && ascending(a.Unheard) && ascending(a.Closed)
}

// plausiblyClosed reports whether a list can be of the members at which spaces are closed.
func plausiblyClosed(list []Closed) bool {
	for i, c := range list {
		if i > 0 && list[i-1].Member >= c.Member || !ascending(c.Ports) {
			return false
		}
	}
	return len(list) <= maxPlaces
}

// ascending reports whether a list can be of the members of a view, or of the spaces of a member: each
// once, in order.
func ascending[T ~uint16 | ~uint64](ids []T) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return false
		}
	}
	return len(ids) <= maxPlaces
}

// plausiblePledges reports whether a member can know of these, so that a cell that has them can
// be read again.
func plausiblePledges(p *election.Pledges) bool {
	if p == nil {
		return true
	}
	known := func(q election.Pledge) bool { return q.Version > latest }
	return len(p.Of) <= maxPlaces && p.Ascending() && !slices.ContainsFunc(p.Of, known) && p.Durable <= p.Top
}

// plausibleView reports whether a view can be one, so that a cell that has it can be read
// again; none can be.
func plausibleView(v *election.View) bool {
	if v == nil {
		return true
	}
	if !possible(v.Epoch) || v.Number > latest || len(v.Members) > maxPlaces || len(v.Base) > maxPlaces || len(v.Terms) > maxPlaces {
		return false
	}
	known := make(map[protocol.ID]bool, len(v.Members))
	for i := range v.Members {
		if id := v.Members[i].ID; known[id] || !possibleMember(&v.Members[i]) {
			return false
		}
		known[v.Members[i].ID] = true
	}
	for _, e := range v.Base {
		if !possible(e.Epoch) || e.Number > latest || len(e.Voters) > maxPlaces {
			return false
		}
	}
	return true
}

// possibleMember reports whether a place can be a member's: some ids are no member's.
func possibleMember(m *election.Member) bool {
	return m.ID != protocol.Storage && m.ID != protocol.AnyMember && m.ID != protocol.Rumour
}

func possible(epochs ...protocol.Epoch) bool {
	for _, epoch := range epochs {
		if epoch.Counter > protocol.MaxEpoch {
			return false
		}
	}
	return true
}

// lasting reports whether lengths of time are none that are negative or without end.
func lasting(spans ...time.Duration) bool {
	for _, span := range spans {
		if span < 0 || span > furthest {
			return false
		}
	}
	return true
}
