package replica

import "slices"

// MaxRanges is the maximum number of ranges of a session's ended requests. The same limit applies to a member's opened
// and ended sessions, and to the operations that it has sent.
const MaxRanges = 256

// MaxMembers is the maximum number of members with known ranges. For a further one, the member that has been known for
// longest is forgotten: its late messages then act again.
const MaxMembers = 4096

// roll is the numbers that members have used, and that must not be used again.
type roll struct {
	numbers map[uint64]*ended // by member
	order   []uint64          // of the members
}

func newRoll() roll { return roll{numbers: map[uint64]*ended{}} }

func (l *roll) has(member, number uint64) bool {
	e := l.numbers[member]
	return e != nil && e.has(number)
}

// of returns a member's numbers.
func (l *roll) of(member uint64) *ended {
	e := l.numbers[member]
	if e == nil {
		e = &ended{}
		l.numbers[member] = e
		l.order = append(l.order, member)
	}
	if len(l.order) > MaxMembers {
		delete(l.numbers, l.order[0])
		l.order = l.order[1:]
	}
	return e
}

// span is a range of numbers, including both ends.
type span struct{ first, last uint64 }

// ended is a set of numbers, as sorted ranges that do not touch.
type ended []span

// find returns the index of the range that has n or is the first after it, and whether it has n.
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

// add adds a number. Above the limit it merges the lowest two ranges.
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
