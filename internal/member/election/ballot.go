package election

import (
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Ballot is phase 2 of an election and the start of phase 3, as the candidate sees them: the promises received, and the
// view that follows from them.
type Ballot struct {
	Epoch      protocol.Epoch
	Sent       protocol.Time // when the first Election was sent: the coordinator's role counts from it
	View       *View         // newest known to the candidate
	Terms      []string      // of the new view
	Polled     []string      // addresses, without its own
	Active     []protocol.ID // members that answered phase 1; nil if it was skipped
	Attendance bool          // all founders attend, instead of a quorum
	Forced     []protocol.ID // for a view that an operator forces: exactly these members, all of them
	Order      Order         // with Forced: the operator's reason
	Merge      bool
	Preempts   bool   // the coordinator is well, and phase 1 was skipped
	Votes      []Vote // one per member, in order of arrival
	Refused    []protocol.ID
}

// Vote is a promise and its time of arrival.
type Vote struct {
	Promise
	Received protocol.Time
}

// Take records a promise. A repeated one has no effect: the first was received earlier than the second was sent.
func (b *Ballot) Take(p Promise, received protocol.Time) {
	if p.Epoch == b.Epoch && b.Of(p.Self.ID) == nil {
		b.Votes = append(b.Votes, Vote{p, received})
	}
}

// Refuse records a refusal.
func (b *Ballot) Refuse(id protocol.ID) {
	if !slices.Contains(b.Refused, id) {
		b.Refused = append(b.Refused, id)
	}
}

// Of returns a member's vote, or nil.
func (b *Ballot) Of(id protocol.ID) *Vote {
	i := slices.IndexFunc(b.Votes, func(v Vote) bool { return v.Self.ID == id })
	if i < 0 {
		return nil
	}
	return &b.Votes[i]
}

// Unheard reports whether no member but the candidate has promised or refused.
func (b *Ballot) Unheard() bool {
	other := func(v Vote) bool { return v.Self.ID != b.Epoch.Candidate }
	return len(b.Refused) == 0 && !slices.ContainsFunc(b.Votes, other)
}

func (b *Ballot) has(id protocol.ID) bool { return b.Of(id) != nil }

func (b *Ballot) at(address string) bool {
	return slices.ContainsFunc(b.Votes, func(v Vote) bool { return v.Self.Address == address })
}

// WithoutQuorum reports whether the view needs no quorum of the newest one: all founders attend instead, or an operator forces it.
func (b *Ballot) WithoutQuorum() bool { return b.Attendance || b.Forced != nil }

// Silent lists the addresses that have not sent a promise.
func (b *Ballot) Silent() []string {
	return slices.DeleteFunc(slices.Clone(b.Polled), b.at)
}

// Complete reports whether no more promises are expected soon: all the ACTIVE have promised or refused; or, without
// phase 1, all members of the view and all whose agreement it needs.
func (b *Ballot) Complete() bool {
	if b.View == nil || b.Attendance || b.Merge {
		return len(b.Silent()) == 0
	}
	silent := func(id protocol.ID) bool { return !b.has(id) && !slices.Contains(b.Refused, id) }
	if b.Active != nil {
		return !slices.ContainsFunc(b.Active, silent)
	}
	return !slices.ContainsFunc(b.View.Members, func(m Member) bool { return silent(m.ID) }) &&
		!slices.ContainsFunc(b.View.Needs(), func(e Electorate) bool { return slices.ContainsFunc(e.Voters, silent) })
}

// Succession is the result of a won election: a view and its predecessor.
type Succession struct {
	Predecessor *View // nil at a bootstrap
	View        *View
	// Needs are the electorates, besides the view's own, that must each accept it with a quorum. With Attendance, all
	// founders must instead. A forced view needs only those of a named member that is leaving.
	Needs      []Electorate
	Attendance bool
	// Missing reports that a member of the predecessor has not promised, or no longer has a place: it may have holds
	// that the others do not know.
	Missing bool
	// Merged reports that a member of the view comes from another side of a partition: its holds were granted under
	// another authority. Only in partition mode any.
	Merged bool
	Votes  []Vote
}

// Of returns a member's vote, or nil.
func (s *Succession) Of(id protocol.ID) *Vote {
	i := slices.IndexFunc(s.Votes, func(v Vote) bool { return v.Self.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Votes[i]
}

// Count returns the succession that the promises allow, or nil if there are too few (docs/design/membership.md §7.4).
// The newest view among them is the predecessor: a quorum of it must have promised, and, unless it is known to be
// installed, one of every view in its base.
func (b *Ballot) Count(self protocol.ID, r Rules) *Succession {
	views := []*View{b.View}
	for _, vote := range b.Votes {
		views = append(views, vote.Accepted)
	}
	s := &Succession{Predecessor: NewestOf(views...), Votes: b.Votes, Attendance: b.Attendance}
	if own := b.Of(self); own != nil && own.Accepted != nil && protocol.Mutated("old view next to an installed one") {
		s.Predecessor = own.Accepted.Know(&View{Epoch: own.Accepted.Epoch, Number: own.Accepted.Number, Installed: true})
	}
	switch {
	case b.Forced != nil:
		if slices.ContainsFunc(b.Forced, func(id protocol.ID) bool { return !b.has(id) }) {
			return nil
		}
	case b.Attendance:
		if !r.Attendance(s.Predecessor, b.at, b.has) {
			return nil
		}
	case s.Predecessor == nil || !r.Available && !Quorums(s.Predecessor.Needs(), b.has):
		return nil
	default:
		s.Needs = s.Predecessor.Needs()
	}
	s.View = b.next(s.Predecessor, r)
	if s.View.Rank(self) < 0 {
		return nil
	}
	if b.Forced != nil && !protocol.Mutated("forced view behind a leaver's back") {
		s.Needs = b.parting(s)
		s.View.Base = s.Needs // until it is installed: its coordinator may crash earlier
	}
	s.Merged = b.Merge || r.Available && s.joins()
	if s.Predecessor != nil {
		s.Missing = slices.ContainsFunc(s.Predecessor.Members, func(m Member) bool {
			vote := b.Of(m.ID)
			return vote == nil || vote.Leaving && !vote.Empty
		})
	}
	return s
}

// parting returns an electorate for each member that is named for a forced view and votes on the predecessor's
// successor, but has no place because it is leaving: each must accept the view. Otherwise its cell would keep the
// predecessor, and the leaver could return: with the seniority that makes half of two a quorum, it would lead a second
// view.
func (b *Ballot) parting(s *Succession) (needs []Electorate) {
	if s.Predecessor == nil {
		return nil
	}
	for _, id := range b.Forced {
		votes := func(e Electorate) bool { return slices.Contains(e.Voters, id) }
		if s.View.Rank(id) < 0 && slices.ContainsFunc(s.Predecessor.Needs(), votes) {
			needs = append(needs, Electorate{Number: s.Predecessor.Number, Epoch: s.Predecessor.Epoch, Voters: []protocol.ID{id}})
		}
	}
	return needs
}

// joins reports whether a member of the view has accepted a view of another epoch than the predecessor's.
func (s *Succession) joins() bool {
	return s.Predecessor != nil && slices.ContainsFunc(s.Votes, func(v Vote) bool {
		return s.View.Rank(v.Self.ID) >= 0 && v.Accepted != nil && v.Accepted.Epoch != s.Predecessor.Epoch
	})
}

// next returns the view of the members that promised: the predecessor's members in their old order, each under the
// tenure with which it promised. A member that the predecessor has dropped gets no place, because its names may be
// about to be freed; but if every founder attends, no other member can free anything, and all get places. In mode any
// every member that promises is included: it no longer follows any other member.
func (b *Ballot) next(predecessor *View, r Rules) *View {
	next := b.successor(predecessor, r)
	next.Date(predecessor)
	return next
}

func (b *Ballot) successor(predecessor *View, r Rules) *View {
	next := &View{Epoch: b.Epoch, Number: 1, Terms: b.Terms, Order: b.Order}
	listed := func(v Vote) bool { return v.Leaving || next.Rank(v.Self.ID) >= 0 }
	if predecessor != nil {
		next.Cluster, next.Number = predecessor.Cluster, predecessor.Number+1
		if b.Forced == nil {
			next.Base = predecessor.BaseOfNext()
		}
		for _, member := range predecessor.Members {
			vote := b.Of(member.ID)
			if vote == nil || vote.Leaving || b.Forced != nil && !slices.Contains(b.Forced, member.ID) {
				continue
			}
			place := vote.Self
			place.Founder = member.Founder
			next.Members = append(next.Members, place)
		}
	}
	if predecessor != nil && !b.Attendance && !r.Available && !protocol.Mutated("dropped member renewed") {
		return next
	}
	others := slices.DeleteFunc(slices.Clone(b.Votes), listed)
	slices.SortStableFunc(others, func(x, y Vote) int {
		if r.Senior(nil, x.rank(), y.rank()) {
			return -1
		}
		return 1
	})
	for _, vote := range others {
		place := vote.Self
		place.Founder = place.Founder && r.Founder(place.Address)
		if place.Founder || predecessor != nil && !b.Attendance {
			next.Members = append(next.Members, place)
		}
	}
	return next
}
