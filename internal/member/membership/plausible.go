package membership

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Messages of other members are validated before they are acted upon: a number that no member can have produced would
// otherwise overflow in arithmetic, be remembered permanently, or break an invariant of this member. A possible message
// may still be untrue.

// furthest bounds times and durations of other members, so that sums of a few of them, stretched, fit into a Time. It
// is 36 years.
const furthest = time.Duration(1 << 60)

// latest bounds the numbers of views: each must have a successor.
const latest = 1 << 62

// plausible reports whether the values of a message are possible.
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

// plausiblyClosed reports whether a list of members with closed spaces is possible.
func plausiblyClosed(list []Closed) bool {
	for i, c := range list {
		if i > 0 && list[i-1].Member >= c.Member || !ascending(c.Ports) {
			return false
		}
	}
	return len(list) <= maxPlaces
}

// ascending reports whether a list of member ids, or of ports, is strictly ascending.
func ascending[T ~uint16 | ~uint64](ids []T) bool {
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			return false
		}
	}
	return len(ids) <= maxPlaces
}

// plausiblePledges reports whether a member can know these pledges, so that a cell with them can be read again.
func plausiblePledges(p *election.Pledges) bool {
	if p == nil {
		return true
	}
	known := func(q election.Pledge) bool { return q.Version > latest }
	return len(p.Of) <= maxPlaces && p.Ascending() && !slices.ContainsFunc(p.Of, known) && p.Durable <= p.Top
}

// plausibleView reports whether a view is possible, so that a cell with it can be read again; nil is.
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

// possibleMember reports whether a place can be a member's: some ids are reserved.
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

// lasting reports whether durations are neither negative nor too long.
func lasting(spans ...time.Duration) bool {
	for _, span := range spans {
		if span < 0 || span > furthest {
			return false
		}
	}
	return true
}
