package clientele

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// part is what one member knows of a name.
type part struct {
	rank int // of the member in the view
	lock lock.Lock
}

// show copies names, from one of their holders and waiters on, counted through, as many as
// one answer tells. More is where to go on; 0 at the end.
func (s *Survey[R]) show(names []string, skip int) (shown []lock.Lock, more int) {
	passed, room := 0, maxTold
	for _, text := range names {
		l := s.clients.table.Show(text)
		s.clients.markWaits(&l)
		if len(names) > 1 {
			l.History = nil
		}
		all := len(l.Holders) + len(l.Waiters)
		if skip > passed+all || skip == passed+all && skip > 0 && all > 0 {
			passed += all
			continue
		}
		if room == 0 && all > 0 {
			return shown, passed
		}
		part, rest := l.Part(max(0, skip-passed), room)
		shown = append(shown, part)
		room -= len(part.Holders) + len(part.Waiters)
		if rest > 0 {
			return shown, passed + rest
		}
		passed += all
	}
	return shown, 0
}

// markWaits says for whom the requests wait.
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

// scanned is a page of a listing. A name that several members have is listed with the first.
func (s *Survey[R]) scanned(o *operation) *protocol.Scanned {
	page := &protocol.Scanned{}
	for _, text := range o.names {
		first := slices.IndexFunc(o.parts, func(p part) bool {
			return p.rank < o.lister && p.lock.Name == text && len(p.lock.Holders)+len(p.lock.Waiters) > 0
		})
		if first >= 0 {
			continue
		}
		if l := merge(text, o.parts); len(l.Holders)+len(l.Waiters) > 0 {
			l.History = nil
			page.Locks = append(page.Locks, l)
		}
	}
	switch {
	case o.next != 0:
		page.Next = uint64(o.lister)<<cursorBits | o.next
	case o.lister+1 < len(s.standing.View.Members):
		page.Next = uint64(o.lister+1) << cursorBits
	}
	return page
}

// merge makes of what members know of a name what people see of it. They have not said it at
// one moment: what does not fit beside what somebody has said later has ended meanwhile.
func merge(text string, parts []part) lock.Lock {
	shown := lock.Lock{Name: text}
	for i := len(parts) - 1; i >= 0; i-- {
		l := &parts[i].lock
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
