package election

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Member is one place in a View.
type Member struct {
	protocol.Member
	HTTP   string // its HTTP address, "" for none
	Serves bool   // it serves clients outside of its process
	Kept   bool   // it has a stable cell
}

// View is a view as members record it. It is immutable: new knowledge of it makes another value.
type View struct {
	Cluster uint64 // random, drawn by the member that bootstrapped it
	Number  uint64
	Epoch   protocol.Epoch // its candidate coordinates the view
	Members []Member       // in order of seniority
	// Terms has a line for everything that all members must agree on: a member with a different line cannot join the
	// view. It is empty if it was never recorded.
	Terms []string
	// Base has the voters of every view back to the last one known to be installed, newest first. A quorum of each must
	// agree with any view that replaces this one. It is empty if this view is itself known to be installed.
	Base []Electorate
	// Installed reports that the view is known to be installed. Open reports that no member outside of it can have
	// holds, as far as is known (docs/design/membership.md §4).
	Installed bool
	Open      bool
	// Order records the operator's order for an epoch that has no quorum behind it. It is zero for all other views.
	Order Order
}

// Order is the reason and name that an operator gave for a forced view.
type Order struct{ Reason, By string }

// Electorate is the set of members that vote on a view's successor: its founders, in order of seniority.
type Electorate struct {
	Number uint64
	Epoch  protocol.Epoch
	Voters []protocol.ID
}

// Less orders epochs. Two with the same counter never both serve; the candidate orders them nevertheless, so that all
// members agree which is newer.
func Less(a, b protocol.Epoch) bool {
	return a.Counter < b.Counter || a.Counter == b.Counter && a.Candidate < b.Candidate
}

// compare orders by (epoch, number).
func compare(ae protocol.Epoch, an uint64, be protocol.Epoch, bn uint64) int {
	return cmp.Or(cmp.Compare(ae.Counter, be.Counter), cmp.Compare(ae.Candidate, be.Candidate), cmp.Compare(an, bn))
}

// Newer reports whether v is newer than o. A nil view is older than every other.
func (v *View) Newer(o *View) bool {
	if v == nil || o == nil {
		return v != nil
	}
	return compare(v.Epoch, v.Number, o.Epoch, o.Number) > 0
}

// Same reports whether v and o are the same view, regardless of what is known about it.
func (v *View) Same(o *View) bool {
	return v != nil && o != nil && v.Epoch == o.Epoch && v.Number == o.Number
}

// Of returns a member's place in the view.
func (v *View) Of(id protocol.ID) (Member, bool) {
	if v == nil {
		return Member{}, false
	}
	for _, member := range v.Members {
		if member.ID == id {
			return member, true
		}
	}
	return Member{}, false
}

// Rank returns a member's index in the order of seniority, or -1 if it has none.
func (v *View) Rank(id protocol.ID) int {
	if v == nil {
		return -1
	}
	return slices.IndexFunc(v.Members, func(m Member) bool { return m.ID == id })
}

// Reaches reports whether a member of the view is at an address.
func (v *View) Reaches(address string) bool {
	for i := range v.Members {
		if v.Members[i].Address == address {
			return true
		}
	}
	return false
}

// Electorate returns the members that vote on the view's successor.
func (v *View) Electorate() Electorate {
	e := Electorate{Number: v.Number, Epoch: v.Epoch, Voters: make([]protocol.ID, 0, len(v.Members))}
	for i := range v.Members {
		if v.Members[i].votes() {
			e.Voters = append(e.Voters, v.Members[i].ID)
		}
	}
	return e
}

func (m *Member) votes() bool { return m.Founder || protocol.Mutated("guests vote") }

// VoterCount returns the number of members that vote on the view's successor.
func (v *View) VoterCount() (voters int) {
	for i := range v.Members {
		if v.Members[i].votes() {
			voters++
		}
	}
	return voters
}

// Date records since when each member has had its place, given the predecessor; nil for none.
func (v *View) Date(predecessor *View) {
	for i := range v.Members {
		place := &v.Members[i]
		place.Since = v.Number
		if before, listed := predecessor.Of(place.ID); listed && before.Tenure == place.Tenure {
			place.Since = before.Since
		}
	}
}

// Needs returns the electorates that any successor of this view needs quorums of: its own and those of every view in
// its base.
func (v *View) Needs() []Electorate {
	needs := []Electorate{v.Electorate()}
	if v.Installed || protocol.Mutated("chain of uninstalled views") {
		return needs
	}
	return append(needs, v.Base...)
}

// BaseOfNext returns the base of v's successor. Adjacent views with the same voters are one condition, so only the
// newest is kept: a view that long cannot be installed does not make the base grow.
func (v *View) BaseOfNext() []Electorate {
	needs := v.Needs()
	base := needs[:1]
	for _, e := range needs[1:] {
		if !slices.Equal(e.Voters, base[len(base)-1].Voters) {
			base = append(base, e)
		}
	}
	return base
}

// Know returns v updated with knowledge of another view: a view older than an installed one needs no agreement any
// more.
func (v *View) Know(installed *View) *View {
	if v == nil || installed == nil || !installed.Installed {
		return v
	}
	if v.Same(installed) {
		if v.Installed && (v.Open || !installed.Open) {
			return v
		}
		known := *v
		known.Installed, known.Open, known.Base = true, v.Open || installed.Open, nil
		return &known
	}
	keep := slices.IndexFunc(v.Base, func(e Electorate) bool {
		return compare(e.Epoch, e.Number, installed.Epoch, installed.Number) < 0
	})
	if v.Installed || keep <= 0 || installed.Newer(v) {
		return v
	}
	known := *v
	known.Base = v.Base[:keep:keep]
	return &known
}

// String returns a short form for traces: v7@12.3{a/1:0 b/1:0}+ with + for installed, * for open.
func (v *View) String() string {
	if v == nil {
		return "no view"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "v%d@%d{", v.Number, v.Epoch.Counter)
	for i, member := range v.Members {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "%s/%d:%d", member.Name, member.Tenure.Incarnation, member.Tenure.Lapses)
		if !member.Founder {
			b.WriteByte('?')
		}
	}
	b.WriteByte('}')
	switch {
	case v.Open:
		b.WriteByte('*')
	case v.Installed:
		b.WriteByte('+')
	}
	return b.String()
}
