package server

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// mostListed is the largest page of a listing, and the usual one.
const mostListed = 1000

// scanned is how many names one step of a listing looks at. Between two steps the
// driver serves others.
const scanned = 256

// list returns a page of the live names of a space, in the order of their bytes. A
// name that is live throughout is listed once; history is left to show.
func (s *service) list(ctx context.Context, in listInput) (answer api.Locks, err error) {
	space, err := s.space(in.Space)
	if err != nil {
		return answer, failed("list", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "list", err) }()
	if out := s.forwarderAt(space); out != nil {
		return out.list(ctx, in)
	}
	if in.Limit == 0 {
		in.Limit = mostListed
	}
	if in.Limit < 1 || in.Limit > mostListed {
		return answer, failed("list", space.Name, "", api.Fail(api.CodeBadRequest,
			fmt.Sprintf("limit %d: want 1 to %d", in.Limit, mostListed)))
	}
	paper := s.paper()
	for l, err := range s.names(ctx, space, protocol.Scan{After: in.After, Prefix: in.Prefix, Limit: in.Limit + 1, Stale: in.Stale}) {
		if err != nil {
			return answer, failed("list", space.Name, "", s.whyUnavailable(err))
		}
		if len(answer.Locks) == in.Limit {
			answer.Next = answer.Locks[in.Limit-1].Name
			break
		}
		answer.Locks = append(answer.Locks, s.lockDocument(paper, space, *l))
	}
	return answer, nil
}

// names goes through the names that a Scan wants, in their order, Limit being about how many of
// them are read. It asks for a few at a time, so that no lock waits long for a listing.
func (s *service) names(ctx context.Context, space *Space, wanted protocol.Scan) iter.Seq2[*lock.Lock, error] {
	return func(yield func(*lock.Lock, error) bool) {
		for {
			if err := ctx.Err(); err != nil {
				yield(nil, err)
				return
			}
			page := wanted
			page.Limit = max(1, min(wanted.Limit, scanned))
			chunk, err := query[*protocol.Scanned](s, space.Port, &page)
			if err == nil && chunk.Next != "" && chunk.Next <= wanted.After {
				err = fmt.Errorf("%w: the listing does not go on behind %q", holdfast.ErrUnavailable, wanted.After)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			wanted.Limit -= len(chunk.Locks)
			for i := range chunk.Locks {
				if !yield(&chunk.Locks[i], nil) {
					return
				}
			}
			if wanted.After = chunk.Next; wanted.After == "" {
				return
			}
		}
	}
}

// show returns one name in full. A free name has no holders. With stale it may be as old as this member's copy is, where
// members have copies.
func (s *service) show(spaceName, name string, stale bool) (answer api.Lock, err error) {
	space, err := s.space(spaceName)
	if err != nil {
		return answer, failed("show", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "show", err) }()
	if err := s.checkName(name); err != nil {
		return answer, failed("show", space.Name, strings.ToValidUTF8(name, "\uFFFD"), err)
	}
	if out := s.forwarderAt(space); out != nil {
		return out.show(space.Name, name, stale)
	}
	shown, err := query[*lock.Lock](s, space.Port, &protocol.Show{Name: name, Stale: stale})
	if err != nil {
		return answer, failed("show", space.Name, name, s.whyUnavailable(err))
	}
	return s.lockDocument(s.paper(), space, *shown), nil
}

// paper is what the documents of one answer have in common: the view, and when sessions end, each
// of which is asked for once.
type paper struct {
	view protocol.View
	ends map[lock.SessionID]protocol.Time
}

func (s *service) paper() *paper {
	return &paper{s.view(), map[lock.SessionID]protocol.Time{}}
}

// lockDocument returns a lock as people see it.
func (s *service) lockDocument(p *paper, space *Space, l lock.Lock) api.Lock {
	document := api.Lock{Space: space.Name, Name: l.Name, Mode: l.Mode, Units: l.Units, Capacity: l.Capacity, Token: l.Token}
	for _, g := range l.Holders {
		document.Holders = append(document.Holders, s.holderDocument(p, g))
	}
	for i, w := range l.Waiters {
		waits := api.Wait{
			Owner: w.Owner, Session: w.Session.String(), Member: p.view.Name(protocol.ID(w.Session.Member)), Client: w.Client,
			Mode: w.Mode, Units: w.Units, Since: api.At(s.driver.Wall(w.Since)), Until: s.wallOrNone(w.Until),
			Position: i, Reason: w.Reason,
		}
		for _, id := range w.For {
			waits.For = append(waits.For, p.view.Name(protocol.ID(id)))
		}
		document.Waiters = append(document.Waiters, waits)
	}
	for _, g := range l.History {
		document.History = append(document.History, s.grantDocument(p, g))
	}
	return document
}

// holderDocument is grantDocument for a grant that has not ended: it does when its
// session does, or before; but in its grace it does not depend on its session.
func (s *service) holderDocument(p *paper, g lock.Grant) api.Grant {
	if !g.Grace {
		g.Until = min(g.Until, s.sessionEnd(p, g.Session))
	}
	return s.grantDocument(p, g)
}

func (s *service) grantDocument(p *paper, g lock.Grant) api.Grant {
	return api.Grant{
		Owner: g.Owner, Session: g.Session.String(), Member: p.view.Name(protocol.ID(g.Session.Member)), Client: g.Client,
		Mode: g.Mode, Units: g.Units, Token: g.Token,
		Since: api.At(s.driver.Wall(g.Since)), Until: s.wallOrNone(g.Until), Reason: g.Reason, Grace: g.Grace,
	}
}

// sessionEnd returns when a session ends unless it is renewed, as far as this member
// knows; Never for what does not end by itself.
func (s *service) sessionEnd(p *paper, id lock.SessionID) protocol.Time {
	if end, known := p.ends[id]; known {
		return end
	}
	end := protocol.Never // it may have ended since
	known, err := query[*session.Known](s, protocol.Below, &session.Who{ID: id})
	if err == nil && (known.Client != "" || known.Until != 0) {
		end = known.Until
	}
	p.ends[id] = end
	return end
}

// wallOrNone returns no time for what does not end.
func (s *service) wallOrNone(t protocol.Time) api.Time {
	if t == protocol.Never {
		return api.Time{}
	}
	return api.At(s.driver.Wall(t))
}

// breakLock takes a name from its holders. They are told; the name is free when
// they have stopped, or can no longer believe that they hold it.
func (s *service) breakLock(in breakInput) (answer api.Broken, err error) {
	space, err := s.space(in.Space)
	if err != nil {
		return answer, failed("break", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "break", err) }()
	if err := s.checkBreak(in); err != nil {
		return answer, failed("break", space.Name, strings.ToValidUTF8(in.Name, "\uFFFD"), api.BadRequest(err))
	}
	if out := s.forwarderAt(space); out != nil {
		return out.breakLock(in)
	}
	broken, err := query[*protocol.Broken](s, space.Port, &protocol.Break{Name: in.Name, Token: in.Token, Reason: in.Reason})
	if err == nil && broken.Err != nil {
		view := s.view()
		err = s.driver.Explain(broken.Err, view.Name)
	}
	if err != nil {
		return answer, failed("break", space.Name, in.Name, s.whyUnavailable(err))
	}
	paper := s.paper()
	for _, g := range broken.Grants {
		answer.Broken = append(answer.Broken, s.holderDocument(paper, g))
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
		return api.Fail(api.CodeBadRequest, "reason: it is missing; say why the lock is broken")
	}
	return cmp.Or(holdfast.CheckText("reason", in.Reason), holdfast.CheckText("by", in.By))
}
