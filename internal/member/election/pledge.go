package election

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/protocol"
)

// Pledge is the latest promise of a member about how far beyond its lease the clients of a tenure may believe. The
// member numbers the versions, from 1 in each tenure: of two pledges of one tenure the one with the higher version is
// newer.
type Pledge struct {
	ID      protocol.ID
	Tenure  protocol.Tenure
	Version uint64
	Reach   protocol.Reach
}

// Pledges are all pledges that a member knows, of the members of a view and of past tenures, sorted by member and
// tenure. They are immutable; nil is empty.
type Pledges struct {
	Of []Pledge
	Limits
}

// Limits bound all pledges. Top is the maximum of any pledge, and Durable the highest Top that every founder is known
// to have recorded: if a quorum's memory is lost, one founder's is enough to know how far any client may believe. No
// member promises more than Durable.
type Limits struct{ Top, Durable protocol.Reach }

// Bounds returns the known limits; unknown ones are zero.
func (p *Pledges) Bounds() Limits {
	if p == nil {
		return Limits{}
	}
	return p.Limits
}

// Find returns the newest known pledge of a tenure; its version is 0 if there is none.
func (p *Pledges) Find(id protocol.ID, tenure protocol.Tenure) Pledge {
	none := Pledge{ID: id, Tenure: tenure}
	if p == nil {
		return none
	}
	if i, found := p.place(id, tenure); found {
		return p.Of[i]
	}
	return none
}

// place returns the index of a tenure's pledge, or the index at which it would be inserted.
func (p *Pledges) place(id protocol.ID, tenure protocol.Tenure) (at int, found bool) {
	return slices.BinarySearchFunc(p.Of, id, func(q Pledge, id protocol.ID) int {
		switch {
		case q.before(id, tenure):
			return -1
		case q.ID == id && q.Tenure == tenure:
			return 0
		}
		return 1
	})
}

// before reports whether the pledge sorts before that of a tenure.
func (p *Pledge) before(id protocol.ID, tenure protocol.Tenure) bool {
	return p.ID < id || p.ID == id && p.Tenure.Before(tenure)
}

// With returns p with q in place of an older pledge of its tenure, or p itself if q is not newer.
func (p *Pledges) With(q Pledge) *Pledges {
	if q.Version <= p.Find(q.ID, q.Tenure).Version && !protocol.Mutated("the last pledge to arrive wins") {
		return p
	}
	return p.put(q)
}

func (p *Pledges) put(q Pledge) *Pledges {
	next := p.Copy()
	if i, found := next.place(q.ID, q.Tenure); found {
		next.Of[i] = q
	} else {
		next.Of = slices.Insert(next.Of, i, q)
	}
	return next
}

// Copy returns a mutable copy.
func (p *Pledges) Copy() *Pledges {
	if p == nil {
		return &Pledges{}
	}
	next := *p
	next.Of = slices.Clone(p.Of)
	return &next
}

// Join merges two sets of pledges: the newest pledge of each tenure.
func (p *Pledges) Join(o *Pledges) *Pledges {
	if p == nil || o == nil {
		return cmp.Or(p, o)
	}
	all := p
	for _, q := range o.Of {
		all = all.With(q)
	}
	if o.Top > all.Top || o.Durable > all.Durable {
		next := *all
		next.Top, next.Durable = max(all.Top, o.Top), max(all.Durable, o.Durable)
		all = &next
	}
	return all
}

// Same reports whether two are equal.
func (p *Pledges) Same(o *Pledges) bool {
	if p == nil || o == nil {
		return p.Empty() && o.Empty()
	}
	return p.Limits == o.Limits && slices.Equal(p.Of, o.Of)
}

// Empty reports whether there are neither pledges nor limits.
func (p *Pledges) Empty() bool { return p == nil || len(p.Of) == 0 && p.Limits == Limits{} }

// Longest returns the longest reach of all pledges.
func (p *Pledges) Longest() (longest protocol.Reach) {
	if p == nil {
		return 0
	}
	for _, q := range p.Of {
		longest = max(longest, q.Reach)
	}
	return longest
}

// LongestOf returns the longest reach of one member's pledges, in any tenure.
func (p *Pledges) LongestOf(id protocol.ID) (longest protocol.Reach) {
	if p == nil {
		return 0
	}
	for _, q := range p.Of {
		if q.ID == id {
			longest = max(longest, q.Reach)
		}
	}
	return longest
}

// Most returns an upper bound, as far as is known here, of promises to clients beyond their member's lease.
func (p *Pledges) Most() protocol.Reach { return max(p.Bounds().Top, p.Longest()) }

// Ascending reports whether the pledges are sorted, with each tenure once.
func (p *Pledges) Ascending() bool {
	if p == nil {
		return true
	}
	for i := 1; i < len(p.Of); i++ {
		if !p.Of[i-1].before(p.Of[i].ID, p.Of[i].Tenure) {
			return false
		}
	}
	return true
}

func (p *Pledges) String() string {
	if p.Empty() {
		return "no pledges"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "pledges to %v of %v", p.Top.Span(), p.Durable.Span())
	for _, q := range p.Of {
		fmt.Fprintf(&b, " %d %d:%d #%d %v", q.ID, q.Tenure.Incarnation, q.Tenure.Lapses, q.Version, q.Reach.Span())
	}
	return b.String()
}
