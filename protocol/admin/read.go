package admin

import (
	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Source is the data from which a member answers, by its own clock.
type Source interface {
	// Show copies a name without the first skip holders and waiters, with at most room of them ([lock.Lock.Part]).
	Show(now protocol.Time, name string, skip, room int) (part lock.Lock, more int)
	// Scan visits names, as [lock.Table.Scan] does.
	Scan(now protocol.Time, after, prefix string, limit int, visit func(lock.Lock) bool) (more bool)
	// Break notifies the holders of a name to stop.
	Break(now protocol.Time, query *Query, out *protocol.Effects) ([]lock.Grant, error)
	// Inspect returns the space's condition, or this member's share of it.
	Inspect(now protocol.Time) *protocol.Condition
}

// Read answers a query from a source, with at most room holders and waiters.
func Read(now protocol.Time, s Source, q *Query, room int, out *protocol.Effects) Answer {
	a := Answer{Number: q.Number, Skip: q.Skip}
	switch q.Kind {
	case Show:
		part, more := s.Show(now, q.Name, q.Skip, room)
		a.Locks, a.More = []lock.Lock{part}, more
	case Scan:
		more := s.Scan(now, q.Name, q.Prefix, q.Limit, func(l lock.Lock) bool {
			l, a.More = l.Part(0, room)
			room -= len(l.Holders) + len(l.Waiters)
			a.Locks = append(a.Locks, l)
			return room > 0
		})
		if n := len(a.Locks); more && n > 0 {
			a.Next = a.Locks[n-1].Name
		}
	case Break:
		a.Grants, a.Err = s.Break(now, q, out)
	case Inspect:
		a.Condition = *s.Inspect(now)
	}
	return a
}

// Tell answers a query of another member's from a source, with at most chunk holders and waiters.
func Tell(now protocol.Time, s Source, q *Query, chunk int, out *protocol.Effects) Answer {
	a := Read(now, s, q, chunk, out)
	return a.after(-now, q.Kind)
}

// OfSession answers questions about a session from a table that has all of its entries. It reports whether the call was
// one.
func OfSession(ev *protocol.Event, table *lock.Table, out *protocol.Effects) bool {
	switch fact := ev.Fact.(type) {
	case *protocol.CountHolds:
		holds, _ := table.Session(fact.Session)
		out.Reply(ev.Call, &protocol.Holds{Count: holds})
	case *protocol.ListRequests:
		list := &protocol.Requests{}
		table.Requests(fact.Session, func(request uint64, name string, token holdfast.Token) {
			list.List = append(list.List, protocol.RequestOf{ID: request, Name: name, Token: token})
		})
		out.Reply(ev.Call, list)
	default:
		return false
	}
	return true
}
