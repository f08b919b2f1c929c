package admin

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// question is the query to one target, and its answer so far.
type question[T any] struct {
	target T
	locks  []lock.Lock
	next   string // the present end of its part of a listing
	skip   int    // how much of the last name is known; 0 if nothing is
}

// of returns a query for the missing part of a target's answer.
func (q *question[T]) of(query *Query) Query {
	if q.skip == 0 {
		return *query
	}
	return Query{Number: query.Number, Kind: Show, Name: q.locks[len(q.locks)-1].Name, Skip: q.skip}
}

// take handles an answer, and reports whether a part of a name is still missing, which is then the question. It ignores
// names that were not requested.
func (q *question[T]) take(query *Query, a *Answer) (goesOn bool) {
	asks := q.of(query)
	if q.skip == 0 {
		q.next = a.Next
	}
	goesOn = a.More > a.Skip
	for i, l := range a.Locks {
		switch n := len(q.locks); {
		case !asks.wants(l.Name):
			goesOn = goesOn && i < len(a.Locks)-1
		case q.skip > 0:
			last := &q.locks[n-1]
			last.Holders, last.Waiters = append(last.Holders, l.Holders...), append(last.Waiters, l.Waiters...)
		default:
			q.locks = append(q.locks, l)
		}
	}
	if goesOn = goesOn && len(a.Locks) > 0; goesOn {
		q.skip = a.More
	}
	return goesOn
}

// wants reports whether a query is about a name.
func (q *Query) wants(name string) bool {
	if q.Kind == Scan {
		return name > q.Name && strings.HasPrefix(name, q.Prefix)
	}
	return q.Kind == Show && name == q.Name
}

// gathered are the answers to a call so far, by this member's clock.
type gathered struct {
	parts     []lock.Lock // of names, in the order in which members have answered
	next      string      // of a listing: all have answered up to here; "" for all that there is
	err       error
	inspected bool

	Grants    []lock.Grant       // that were broken
	Condition protocol.Condition // of the first that has answered, with the counts of all
}

// gather adds a whole answer.
func (c *Call[T]) gather(a *Answer) {
	g := &c.gathered
	g.parts = append(g.parts, a.Locks...)
	// Names after the last name of another member come with the next page.
	if a.Next > c.Query.Name && (g.next == "" || a.Next < g.next) {
		g.next = a.Next
	}
	for _, grant := range a.Grants {
		// After a repetition under another view, a member reports its broken holds again.
		if !slices.ContainsFunc(g.Grants, func(known lock.Grant) bool { return known.Session == grant.Session && known.Token == grant.Token }) {
			g.Grants = append(g.Grants, grant)
		}
	}
	if g.err == nil || errors.Is(g.err, holdfast.ErrNotHeld) {
		g.err = a.Err
	}
	sum, part := &g.Condition, &a.Condition
	if !g.inspected {
		g.inspected, *sum = true, *part
		return
	}
	sum.Locks, sum.Waiters, sum.Sessions = sum.Locks+part.Locks, sum.Waiters+part.Waiters, sum.Sessions+part.Sessions
	sum.Awaited = append(sum.Awaited, part.Awaited...)
}

// broken answers a Break. That no member has anything to break is an error; that one of several has not is none.
func (g *gathered) broken() *protocol.Broken {
	b := &protocol.Broken{Grants: g.Grants}
	if len(g.Grants) == 0 {
		b.Err = cmp.Or(g.err, holdfast.ErrNotHeld)
	}
	return b
}

// page returns a page of a listing: the members' answers, in the order of the names, as far as all have answered.
func (g *gathered) page(query *Query) *protocol.Scanned {
	page, limit := &protocol.Scanned{Next: g.next}, max(1, query.Limit)
	slices.SortStableFunc(g.parts, func(a, b lock.Lock) int { return strings.Compare(a.Name, b.Name) })
	for i, end := 0, 0; i < len(g.parts); i = end {
		name := g.parts[i].Name
		for end = i; end < len(g.parts) && g.parts[end].Name == name; end++ {
		}
		if g.next != "" && name > g.next {
			break
		}
		if len(page.Locks) == limit {
			page.Next = page.Locks[limit-1].Name
			break
		}
		if l := merge(name, g.parts[i:end]); len(l.Holders)+len(l.Waiters) > 0 {
			l.History = nil
			page.Locks = append(page.Locks, l)
		}
	}
	return page
}

// merge combines members' knowledge of a name. The answers are not of the same moment: a grant that is incompatible
// with one from a later answer has ended in the meantime.
func merge(name string, parts []lock.Lock) lock.Lock {
	if len(parts) == 1 {
		return parts[0]
	}
	shown := lock.Lock{Name: name}
	for i := len(parts) - 1; i >= 0; i-- {
		l := &parts[i]
		for _, g := range l.Holders {
			if compatible(&shown, &g, l.Capacity) {
				shown.Mode, shown.Capacity = g.Mode, l.Capacity
				shown.Units += g.Units
				shown.Token = max(shown.Token, g.Token)
				shown.Holders = append(shown.Holders, g)
			}
		}
		if len(shown.Holders)+len(shown.Waiters) == 0 && len(l.Waiters) > 0 {
			shown.Mode, shown.Capacity = l.Mode, l.Capacity
		}
		shown.Waiters = append(shown.Waiters, l.Waiters...)
		shown.History = append(shown.History, l.History...)
	}
	slices.SortStableFunc(shown.Holders, func(a, b lock.Grant) int { return cmp.Compare(a.Token, b.Token) })
	slices.SortStableFunc(shown.Waiters, func(a, b lock.Wait) int { return cmp.Compare(a.Since, b.Since) })
	slices.SortStableFunc(shown.History, func(a, b lock.Grant) int { return cmp.Compare(b.Until, a.Until) })
	return shown
}

// compatible reports whether a grant can be held together with the shown holders.
func compatible(shown *lock.Lock, g *lock.Grant, capacity int) bool {
	switch {
	case len(shown.Holders) == 0:
		return true
	case g.Mode != shown.Mode || g.Mode == holdfast.ModeExclusive:
		return false
	}
	return g.Mode == holdfast.ModeShared || capacity == shown.Capacity && shown.Units+g.Units <= capacity
}
