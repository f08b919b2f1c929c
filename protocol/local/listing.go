package local

import (
	"cmp"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// show copies a name, or the next part of it, as much as one answer tells.
func (s *Survey[R]) show(now protocol.Time, a *Answer, name string) {
	l := adding(s.clients.table.Show(name), s.clients.graces(now, "", name))
	s.clients.markWaits(&l)
	l, a.More = l.Part(a.Skip, maxListed)
	a.Locks = append(a.Locks, l)
}

// scan copies as many names as one answer tells. All of them are complete but the first,
// where that is the only one.
func (s *Survey[R]) scan(now protocol.Time, a *Answer, query *Query) {
	graces := s.clients.graces(now, query.Name, query.Prefix) // whose names are not told yet
	room, last, cut := maxListed, "", false
	emit := func(l lock.Lock) bool {
		part, rest := adding(l, graces).Part(0, room)
		graces = slices.DeleteFunc(graces, func(g Grace) bool { return g.Name == l.Name })
		if cut = rest > 0 && len(a.Locks) > 0; cut {
			return false
		}
		s.clients.markWaits(&part)
		last = l.Name
		a.Locks = append(a.Locks, part)
		a.More, room = rest, room-len(part.Holders)-len(part.Waiters)
		return room > 0
	}
	before := func(name string) bool { // tells the names before it of which the table does not know
		for len(graces) > 0 && (name == "" || graces[0].Name < name) {
			if !emit(lock.Lock{Name: graces[0].Name}) {
				cut = true
				return false
			}
		}
		return true
	}
	more := s.clients.table.Scan(query.Name, query.Prefix, min(query.Limit, maxListed), func(l lock.Lock) bool {
		return before(l.Name) && emit(l)
	})
	if more || cut || !before("") {
		a.Next = last
	}
}

// markWaits says which peers the requests wait for.
func (c *Clients[R]) markWaits(l *lock.Lock) {
	for i := range l.Waiters {
		w := &l.Waiters[i]
		r, known := c.requests[Key{w.Session, w.Request, l.Name}]
		if !known {
			continue
		}
		for peer := range c.standing.Others() {
			if c.protocol.Awaits(r, peer.ID) {
				w.For = append(w.For, uint64(peer.ID))
			}
		}
	}
}

// scanned is a page of a listing: what members have told, in the order of the names, as far as all have told it.
func (o *operation) scanned(s *protocol.Scan) *protocol.Scanned {
	page := &protocol.Scanned{Next: o.next}
	slices.SortStableFunc(o.parts, func(a, b lock.Lock) int { return strings.Compare(a.Name, b.Name) })
	for i, end := 0, 0; i < len(o.parts); i = end {
		name := o.parts[i].Name
		for end = i; end < len(o.parts) && o.parts[end].Name == name; end++ {
		}
		if o.next != "" && name > o.next {
			break
		}
		if len(page.Locks) == s.Limit {
			page.Next = page.Locks[s.Limit-1].Name
			break
		}
		l := merge(name, o.parts[i:end])
		if name > s.After && strings.HasPrefix(name, s.Prefix) && len(l.Holders)+len(l.Waiters) > 0 {
			l.History = nil
			page.Locks = append(page.Locks, l)
		}
	}
	return page
}

// merge makes of what members know of a name what people see of it. They have not said it at one
// moment: a grant that does not fit beside one that a member has told of later has ended meanwhile.
func merge(text string, parts []lock.Lock) lock.Lock {
	shown := lock.Lock{Name: text}
	for i := len(parts) - 1; i >= 0; i-- {
		l := &parts[i]
		if l.Name != text {
			continue
		}
		for _, g := range l.Holders {
			if beside(&shown, &g, l.Capacity) {
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

// beside reports whether a grant can be held beside what is shown to be held.
func beside(shown *lock.Lock, g *lock.Grant, capacity int) bool {
	switch {
	case len(shown.Holders) == 0:
		return true
	case g.Mode != shown.Mode || g.Mode == holdfast.ModeExclusive:
		return false
	}
	return g.Mode == holdfast.ModeShared || capacity == shown.Capacity && shown.Units+g.Units <= capacity
}
