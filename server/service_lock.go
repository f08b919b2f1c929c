package server

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/session"
	"github.com/holdfast-locks/holdfast/wire"
)

// mostListed is the largest page of a listing, and the usual one.
const mostListed = 1000

// scanned is how many names one step of a listing looks at. Between two steps the
// driver serves others.
const scanned = 256

// list returns a page of the live names of a space, in the order of their bytes. A
// name that is live throughout is listed once; history is left to show.
func (s *service) list(ctx context.Context, in listInput) (answer wire.Locks, err error) {
	space, err := s.space(in.Space)
	if err != nil {
		return answer, failed("list", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "list", err) }()
	if in.Limit == 0 {
		in.Limit = mostListed
	}
	if in.Limit < 1 || in.Limit > mostListed {
		return answer, failed("list", space.Name, "", wire.Fail(wire.CodeBadRequest,
			fmt.Sprintf("limit %d: want 1 to %d", in.Limit, mostListed)))
	}
	page := make(pageHeap, 0, min(in.Limit, scanned)+1)
	for cursor := uint64(0); ; {
		if err := ctx.Err(); err != nil {
			return answer, failed("list", space.Name, "", err)
		}
		chunk, err := ask[*protocol.Scanned](s, space.Port, &protocol.Scan{Cursor: cursor, Limit: scanned, Stale: in.Stale})
		if err != nil {
			return answer, failed("list", space.Name, "", err)
		}
		for _, l := range chunk.Locks {
			if l.Name > in.After && strings.HasPrefix(l.Name, in.Prefix) {
				page.add(l, in.Limit+1)
			}
		}
		if cursor = chunk.Next; cursor == 0 {
			break
		}
	}
	slices.SortFunc(page, func(a, b lock.Lock) int { return strings.Compare(a.Name, b.Name) })
	if len(page) > in.Limit {
		page = page[:in.Limit]
		answer.Next = page[in.Limit-1].Name
	}
	view := s.view()
	for _, l := range page {
		answer.Locks = append(answer.Locks, s.lockDocument(view, space, l))
	}
	return answer, nil
}

// pageHeap keeps the first names of a listing: a heap with the last of them on top.
type pageHeap []lock.Lock

func (h pageHeap) Len() int           { return len(h) }
func (h pageHeap) Less(i, j int) bool { return h[i].Name > h[j].Name }
func (h pageHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push is for package heap.
func (h *pageHeap) Push(x any) { *h = append(*h, x.(lock.Lock)) }

// Pop is for package heap.
func (h *pageHeap) Pop() any {
	last := len(*h) - 1
	l := (*h)[last]
	(*h)[last] = lock.Lock{}
	*h = (*h)[:last]
	return l
}

// add keeps l if it is among the first most names so far.
func (h *pageHeap) add(l lock.Lock, most int) {
	switch {
	case len(*h) < most:
		heap.Push(h, l)
	case l.Name < (*h)[0].Name:
		(*h)[0] = l
		heap.Fix(h, 0)
	}
}

// show returns one name in full. A free name has no holders. With stale it may be as old as this member's copy is, where
// members have copies.
func (s *service) show(spaceName, name string, stale bool) (answer wire.Lock, err error) {
	space, err := s.space(spaceName)
	if err != nil {
		return answer, failed("show", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "show", err) }()
	if err := s.checkName(name); err != nil {
		return answer, failed("show", space.Name, strings.ToValidUTF8(name, "\uFFFD"), err)
	}
	shown, err := ask[*lock.Lock](s, space.Port, &protocol.Show{Name: name, Stale: stale})
	if err != nil {
		return answer, failed("show", space.Name, name, err)
	}
	return s.lockDocument(s.view(), space, *shown), nil
}

// lockDocument returns a lock as people see it.
func (s *service) lockDocument(view protocol.View, space *Space, l lock.Lock) wire.Lock {
	document := wire.Lock{Space: space.Name, Name: l.Name, Mode: l.Mode, Units: l.Units, Capacity: l.Capacity, Token: l.Token}
	for _, g := range l.Holders {
		document.Holders = append(document.Holders, s.holderDocument(view, g))
	}
	for i, w := range l.Waiters {
		waits := wire.Wait{
			Owner: w.Owner, Session: w.Session.String(), Member: view.Name(protocol.ID(w.Session.Member)), Client: w.Client,
			Mode: w.Mode, Units: w.Units, Since: wire.At(s.driver.Wall(w.Since)), Until: s.wallOrNone(w.Until),
			Position: i, Reason: w.Reason,
		}
		for _, id := range w.For {
			waits.For = append(waits.For, view.Name(protocol.ID(id)))
		}
		document.Waiters = append(document.Waiters, waits)
	}
	for _, g := range l.History {
		document.History = append(document.History, s.grantDocument(view, g))
	}
	return document
}

// holderDocument is grantDocument for a grant that has not ended: it does when its
// session does, or before.
func (s *service) holderDocument(view protocol.View, g lock.Grant) wire.Grant {
	g.Until = min(g.Until, s.sessionEnd(g.Session))
	return s.grantDocument(view, g)
}

func (s *service) grantDocument(view protocol.View, g lock.Grant) wire.Grant {
	return wire.Grant{
		Owner: g.Owner, Session: g.Session.String(), Member: view.Name(protocol.ID(g.Session.Member)), Client: g.Client,
		Mode: g.Mode, Units: g.Units, Token: g.Token,
		Since: wire.At(s.driver.Wall(g.Since)), Until: s.wallOrNone(g.Until), Reason: g.Reason,
	}
}

// sessionEnd returns when a session ends unless it is renewed, as far as this member
// knows; Never for what does not end by itself.
func (s *service) sessionEnd(id lock.SessionID) protocol.Time {
	known, err := ask[*session.Known](s, protocol.Below, &session.Who{ID: id})
	if err != nil || known.Client == "" && known.Until == 0 {
		return protocol.Never // it has ended since
	}
	return known.Until
}

// wallOrNone returns no time for what does not end.
func (s *service) wallOrNone(t protocol.Time) wire.Time {
	if t == protocol.Never {
		return wire.Time{}
	}
	return wire.At(s.driver.Wall(t))
}

// breakLock takes a name from its holders. They are told; the name is free when
// they have stopped, or can no longer believe that they hold it.
func (s *service) breakLock(in breakInput) (answer wire.Broken, err error) {
	space, err := s.space(in.Space)
	if err != nil {
		return answer, failed("break", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "break", err) }()
	if err := s.checkBreak(in); err != nil {
		return answer, failed("break", space.Name, strings.ToValidUTF8(in.Name, "\uFFFD"), badRequest(err))
	}
	broken, err := ask[*protocol.Broken](s, space.Port, &protocol.Break{Name: in.Name, Token: in.Token, Reason: in.Reason})
	if err == nil {
		err = broken.Err
	}
	if err != nil {
		return answer, failed("break", space.Name, in.Name, err)
	}
	view := s.view()
	for _, g := range broken.Grants {
		answer.Broken = append(answer.Broken, s.holderDocument(view, g))
		s.logger.Warn("lock broken", "space", space.Name, "name", in.Name, "token", g.Token, "owner", g.Owner,
			"client", g.Client, "reason", in.Reason, "by", in.By)
	}
	return answer, nil
}

func (s *service) checkBreak(in breakInput) error {
	if err := s.checkName(in.Name); err != nil {
		return err
	}
	if in.Reason == "" {
		return wire.Fail(wire.CodeBadRequest, "reason: it is missing; say why the lock is broken")
	}
	return cmp.Or(holdfast.CheckText("reason", in.Reason), holdfast.CheckText("by", in.By))
}
