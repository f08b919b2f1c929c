package election

import (
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Quorum reports whether the members for which has is true are more than half of the
// voters, or exactly half with the most senior one. Any two quorums of one electorate
// have a voter in common.
func (e Electorate) Quorum(has func(protocol.ID) bool) bool {
	count := 0
	for _, id := range e.Voters {
		if has(id) {
			count++
		}
	}
	n := len(e.Voters)
	return n > 0 && (2*count > n || 2*count == n && has(e.Voters[0]) || count > 0 && protocol.Mutated("every side grants"))
}

// Quorums reports whether the members for which has is true are a quorum of every electorate.
func Quorums(needs []Electorate, has func(protocol.ID) bool) bool {
	return !slices.ContainsFunc(needs, func(e Electorate) bool { return !e.Quorum(has) })
}

// Since returns the latest time such that a quorum has answered at or after it. The function answered returns a voter's
// last answer, and whether there is one. It works for any other value that a quorum reaches, too.
func (e Electorate) Since(answered func(protocol.ID) (protocol.Time, bool)) (protocol.Time, bool) {
	var latest protocol.Time
	found := false
	for _, id := range e.Voters {
		at, ok := answered(id)
		if !ok || found && at <= latest {
			continue
		}
		since := func(id protocol.ID) bool { other, ok := answered(id); return ok && other >= at }
		if e.Quorum(since) {
			latest, found = at, true
		}
	}
	return latest, found
}

// Rules are the settings that all members of a cluster agree on.
type Rules struct {
	Founders  []string // addresses, sorted
	Preempt   bool     // the highest id coordinates, as published
	Available bool     // partition mode any: no quorum is needed
}

// Founder reports whether the member at an address votes.
func (r Rules) Founder(address string) bool { return slices.Contains(r.Founders, address) }

// Attendance reports whether every founder is present, both by its address and, if it is in the view, by its id: then
// no process with power is elsewhere (docs/design/membership.md §5). A founder that has moved is recognized by its id.
func (r Rules) Attendance(v *View, at func(address string) bool, by func(protocol.ID) bool) bool {
	absent := func(address string) bool { return !at(address) }
	if protocol.Mutated("second bootstrap") {
		missing := slices.DeleteFunc(slices.Clone(r.Founders), at)
		return 2*len(missing) < len(r.Founders)
	}
	if len(r.Founders) == 0 || slices.ContainsFunc(r.Founders, absent) || v != nil && protocol.Mutated("no full attendance") {
		return false
	}
	return v == nil || !slices.ContainsFunc(v.Members, func(m Member) bool {
		return m.Founder && absent(m.Address) && !by(m.ID)
	})
}

// NewestOf returns the newest of the given views, merged with what the others know of it.
func NewestOf(views ...*View) *View {
	var newest *View
	for _, v := range views {
		if v.Newer(newest) {
			newest = v
		}
	}
	for _, v := range views {
		newest = newest.Know(v)
	}
	return newest
}
