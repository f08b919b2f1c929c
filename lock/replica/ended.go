package replica

import (
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
)

// MaxRanges is how many ranges of ended requests a session has, and how many of ended sessions there are of
// one member.
const MaxRanges = 256

// MaxMembers is of how many members it is known which of the sessions that they have opened have ended. Of one
// more, that is forgotten of the one of which it has been known for longest: what comes late from
// there could open a session anew, which expires.
const MaxMembers = 4096

// gone is the sessions that have ended.
type gone struct {
	numbers map[uint64]*ended // by member
	order   []uint64          // of the members
}

func (g *gone) has(id lock.SessionID) bool {
	e := g.numbers[id.Member]
	return e != nil && e.has(id.Number)
}

func (g *gone) add(id lock.SessionID) { g.of(id.Member).add(id.Number) }

// of returns what there is of a member.
func (g *gone) of(member uint64) *ended {
	e := g.numbers[member]
	if e == nil {
		e = &ended{}
		g.numbers[member] = e
		g.order = append(g.order, member)
	}
	if len(g.order) > MaxMembers {
		delete(g.numbers, g.order[0])
		g.order = g.order[1:]
	}
	return e
}

// span is a range of numbers, both ends in it.
type span struct{ first, last uint64 }

// ended is a set of numbers, as ranges in their order that do not touch.
type ended []span

// find returns where the range is that has n or is the first behind it, and whether it has n.
func (e ended) find(n uint64) (at int, has bool) {
	at, _ = slices.BinarySearchFunc(e, n, func(s span, n uint64) int {
		if s.last < n {
			return -1
		}
		return 1
	})
	return at, at < len(e) && e[at].first <= n
}

func (e ended) has(n uint64) bool {
	_, has := e.find(n)
	return has
}

// add adds a number. Above the bound the lowest two ranges become one.
func (e *ended) add(n uint64) {
	at, has := e.find(n)
	if has {
		return
	}
	joins := at > 0 && (*e)[at-1].last+1 == n
	meets := at < len(*e) && n+1 == (*e)[at].first
	switch {
	case joins && meets:
		(*e)[at-1].last = (*e)[at].last
		*e = slices.Delete(*e, at, at+1)
	case joins:
		(*e)[at-1].last = n
	case meets:
		(*e)[at].first = n
	default:
		*e = slices.Insert(*e, at, span{n, n})
	}
	if len(*e) > MaxRanges {
		(*e)[1].first = (*e)[0].first
		*e = slices.Delete(*e, 0, 1)
	}
}
