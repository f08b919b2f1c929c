package election

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Survey is phase 1 of an election, as the asking member sees it: which members are up, and whether a quorum of them
// has lost its coordinator.
type Survey struct {
	Number  uint64
	Own     StatusAnswer   // of the asker
	Polled  []string       // addresses, without its own
	Answers []StatusAnswer // one per member, in order of arrival
}

// Take records an answer.
func (s *Survey) Take(a StatusAnswer) {
	if a.Number != s.Number || s.Has(a.Self.ID) {
		return
	}
	if s.Answers == nil {
		s.Answers = make([]StatusAnswer, 0, len(s.Polled))
	}
	s.Answers = append(s.Answers, a)
}

// Has reports whether a member has answered.
func (s *Survey) Has(id protocol.ID) bool {
	for i := range s.Answers {
		if s.Answers[i].Self.ID == id {
			return true
		}
	}
	return false
}

// Silent lists the addresses that have not answered.
func (s *Survey) Silent() []string {
	var silent []string
	for _, address := range s.Polled {
		if !s.heard(address) {
			silent = append(silent, address)
		}
	}
	return silent
}

// heard reports whether the member at an address has answered.
func (s *Survey) heard(address string) bool {
	for i := range s.Answers {
		if s.Answers[i].Self.Address == address {
			return true
		}
	}
	return false
}

// Complete reports whether further answers cannot matter: all have answered, or all members of the newest view and all
// whose agreement its successor needs.
func (s *Survey) Complete() bool {
	if !slices.ContainsFunc(s.Polled, func(address string) bool { return !s.heard(address) }) {
		return true
	}
	newest := s.newest()
	silent := func(id protocol.ID) bool { return id != s.Own.Self.ID && !s.Has(id) }
	return newest.Rank(s.Own.Self.ID) >= 0 &&
		!slices.ContainsFunc(newest.Members, func(m Member) bool { return silent(m.ID) }) &&
		!slices.ContainsFunc(newest.Needs(), func(e Electorate) bool { return slices.ContainsFunc(e.Voters, silent) })
}

// newest returns the newest view that any member knows, merged with what the others know of it.
func (s *Survey) newest() *View {
	newest := s.Own.View
	for i := range s.Answers {
		if s.Answers[i].View.Newer(newest) {
			newest = s.Answers[i].View
		}
	}
	newest = newest.Know(s.Own.View)
	for i := range s.Answers {
		newest = newest.Know(s.Answers[i].View)
	}
	return newest
}

// Decision is the asker's next action after phase 1.
type Decision uint8

// The decisions after phase 1.
const (
	Wait  Decision = iota // too few have lost their coordinator, or others must hold the election
	Defer                 // a more senior member is up and has lost its coordinator too
	Elect                 // proceed to phase 2
)

// Verdict is the result of phase 1 of an election.
type Verdict struct {
	Decision   Decision
	Newest     *View // of all answers; nil if no member knows any
	Attendance bool  // with Elect: all founders attend, instead of a quorum
	Seniors    int   // number of more senior members that have lost their coordinator too
	// Well is an answer of a member whose coordinator is well; nil if there is none.
	Well *StatusAnswer
}

// Judge decides (docs/design/membership.md §7.2). A member that is merely cut off must not promise itself out of the
// cluster, so a quorum of the newest view must itself have lost its coordinator.
func (s *Survey) Judge(r Rules) Verdict {
	willing := make([]StatusAnswer, 1, 1+len(s.Answers))
	willing[0] = s.Own
	v := Verdict{Newest: s.newest()}
	for i, a := range s.Answers {
		switch {
		case a.Well && (v.Well == nil || a.View.Newer(v.Well.View)):
			v.Well = &s.Answers[i]
		case !a.Well && a.Candidate != a.Self.ID:
			willing = append(willing, a)
		}
	}
	if !s.Own.Self.Founder && !protocol.Mutated("guests vote") {
		return v
	}
	v.Seniors = s.seniors(v.Newest, willing, r)
	quorum, attendance := s.enough(v.Newest, willing, r)
	if r.Available && v.Well != nil {
		return v // join the side that has a leader
	}
	// In mode any a member without a place may lead a side too: members with a place are more senior, and it defers to
	// them while they are up.
	may := r.Available || v.Newest.Rank(s.Own.Self.ID) >= 0
	switch {
	case quorum && !may, !quorum && !attendance:
		return v
	case v.Seniors > 0:
		v.Decision = Defer
	default:
		v.Decision = Elect
	}
	v.Attendance = !quorum
	return v
}

// enough reports whether the willing members are a quorum, or all founders.
func (s *Survey) enough(newest *View, willing []StatusAnswer, r Rules) (quorum, attendance bool) {
	if protocol.Mutated("phase 1 asks too few") {
		return newest != nil, newest == nil
	}
	by := func(id protocol.ID) bool {
		return slices.ContainsFunc(willing, func(a StatusAnswer) bool { return a.Self.ID == id })
	}
	at := func(address string) bool {
		return slices.ContainsFunc(willing, func(a StatusAnswer) bool { return a.Self.Address == address })
	}
	quorum = newest != nil && (r.Available || Quorums(newest.Needs(), by))
	return quorum, r.Attendance(newest, at, by)
}

// seniors counts the willing members that could coordinate and are more senior.
func (s *Survey) seniors(newest *View, willing []StatusAnswer, r Rules) int {
	own := s.Own
	count := 0
	for _, a := range willing {
		if a.Self.ID != own.Self.ID && a.Self.Founder && !a.Leaving && r.Senior(newest, a.rank(), own.rank()) {
			count++
		}
	}
	return count
}

// Rank holds the criteria of a member's seniority.
type Rank struct {
	ID       protocol.ID
	Name     string
	Priority int
}

func (m StatusAnswer) rank() Rank { return Rank{m.Self.ID, m.Self.Name, m.Priority} }

func (m Promise) rank() Rank { return Rank{m.Self.ID, m.Self.Name, m.Priority} }

// Senior reports whether a comes before b: by place in the newest view, members without one last; without places, the
// smallest (priority, name). With Preempt the highest id comes first, as published.
func (r Rules) Senior(newest *View, a, b Rank) bool {
	if r.Preempt {
		return a.ID > b.ID
	}
	ra, rb := newest.Rank(a.ID), newest.Rank(b.ID)
	switch {
	case ra >= 0 && rb >= 0:
		return ra < rb
	case ra >= 0 || rb >= 0:
		return ra >= 0
	}
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) < 0
}
