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
	HTTP   string // where it serves people, "" where it does not
	Serves bool   // it serves clients outside of its process
	Kept   bool   // it has a stable cell
}

// View is a view as members record it. It is never changed after it was made: what
// is learned of it makes another value.
type View struct {
	Cluster uint64 // drawn by the member that bootstrapped it
	Number  uint64
	Epoch   protocol.Epoch // its candidate coordinates the view
	Members []Member       // in order of seniority
	// Terms has a line for everything that all members must agree on: one that differs has
	// no part in the view. It is empty where it was never recorded.
	Terms []string
	// Base has the voters of every view back to the last one known to be installed,
	// newest first. A quorum of each must agree with any view that replaces this
	// one. It is empty when the view is known to be installed itself.
	Base []Electorate
	// Installed says that the view is known to be installed; Open, that no member
	// outside of it is known to be able to hold anything (docs/design/membership.md §4).
	Installed bool
	Open      bool
	// Order is why the epoch has no quorum behind it: an operator has forced it. It is
	// zero for every other.
	Order Order
}

// Order is what an operator has said who forced a view.
type Order struct{ Reason, By string }

// Electorate is the members that vote on what follows a view: its founders, in order of
// seniority.
type Electorate struct {
	Number uint64
	Epoch  protocol.Epoch
	Voters []protocol.ID
}

// Less orders epochs. Two with one counter never both serve; the candidate orders
// them nevertheless, so that all agree which is newer.
func Less(a, b protocol.Epoch) bool {
	return a.Counter < b.Counter || a.Counter == b.Counter && a.Candidate < b.Candidate
}

// compare orders by (epoch, number).
func compare(ae protocol.Epoch, an uint64, be protocol.Epoch, bn uint64) int {
	return cmp.Or(cmp.Compare(ae.Counter, be.Counter), cmp.Compare(ae.Candidate, be.Candidate), cmp.Compare(an, bn))
}

// Newer reports whether v is newer than o. No view is older than every view.
func (v *View) Newer(o *View) bool {
	if v == nil || o == nil {
		return v != nil
	}
	return compare(v.Epoch, v.Number, o.Epoch, o.Number) > 0
}

// Same reports whether v and o are one view, regardless of what is known of it here and there.
func (v *View) Same(o *View) bool {
	return v != nil && o != nil && v.Epoch == o.Epoch && v.Number == o.Number
}

// Of returns the place of a member in the view.
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

// Rank is a member's place in the order of seniority; -1 where it has none.
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

// Electorate returns who votes on what follows the view.
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

// VoterCount is how many vote on what follows the view.
func (v *View) VoterCount() (voters int) {
	for i := range v.Members {
		if v.Members[i].votes() {
			voters++
		}
	}
	return voters
}

// Date notes since when each member has its place, where the view follows another one; nil
// is none.
func (v *View) Date(predecessor *View) {
	for i := range v.Members {
		place := &v.Members[i]
		place.Since = v.Number
		if before, listed := predecessor.Of(place.ID); listed && before.Tenure == place.Tenure {
			place.Since = before.Since
		}
	}
}

// Needs returns the electorates of which any view that follows this one needs
// quorums: those of the view and of every view in its base.
func (v *View) Needs() []Electorate {
	needs := []Electorate{v.Electorate()}
	if v.Installed || protocol.Mutated("chain of uninstalled views") {
		return needs
	}
	return append(needs, v.Base...)
}

// BaseOfNext is the base of a view that follows v. Neighbours with the same voters
// are one condition, so only the newest of them is kept: what cannot be installed
// for long does not grow for long.
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

// Know returns v with what is known of another view: a view that is older than one
// that is installed needs no agreement any more.
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

// String is short, for traces: v7@12.3{a/1:0 b/1:0}+ with + installed, * open.
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
