package server

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/observe"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// mostListed is the maximum page size of a listing, and the default.
const mostListed = 1000

// scanned is the number of names that one step of a listing examines. Between two steps the driver serves others.
const scanned = 256

// List returns a page of the live names of a space, in byte order. A name that is live throughout is listed once;
// history is left to Show.
func (s *service) List(ctx context.Context, r *schema.ListRequest) (answer *schema.LockPage, err error) {
	space, err := s.space(r.GetSpace())
	if err != nil {
		return nil, failed("list", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "list", err) }()
	if out := s.forwarderAt(space); out != nil {
		return passOn(ctx, out, about{}, "list", schema.Locks_List_FullMethodName, r, &schema.LockPage{})
	}
	limit := mostListed
	if r.Limit != nil {
		limit = int(r.GetLimit())
	}
	if limit < 1 || limit > mostListed {
		return nil, failed("list", space.Name, "", api.Fail(api.CodeBadRequest,
			fmt.Sprintf("limit %d: want 1 to %d", limit, mostListed)))
	}
	paper := s.paper()
	answer = &schema.LockPage{}
	shown, scan := s.shownTo(callerOf(ctx)), protocol.Scan{After: r.GetAfter(), Prefix: r.GetPrefix(), Limit: limit + 1, Stale: r.GetStale()}
	if !shown.all() {
		scan.Limit = math.MaxInt // of which it may read some
	}
	for l, err := range s.names(ctx, space, scan) {
		if err != nil {
			return nil, failed("list", space.Name, "", s.whyUnavailable(err))
		}
		if !shown.name(space.Name, l.Name) {
			continue
		}
		if len(answer.Locks) == limit {
			answer.Next = answer.Locks[limit-1].Name
			break
		}
		answer.Locks = append(answer.Locks, s.lockDocument(paper, space, l))
	}
	return answer, nil
}

// names iterates over the names that match a Scan, in order; Limit is about how many of them are read. It asks for a
// few at a time, so that a listing does not delay locks for long.
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

// Show returns one name in full. A free name has no holders. With stale it may be as old as this member's copy, if
// members have copies.
func (s *service) Show(ctx context.Context, r *schema.ShowRequest) (answer *schema.Lock, err error) {
	space, err := s.space(r.GetSpace())
	if err != nil {
		return nil, failed("show", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "show", err) }()
	return s.lookUp(ctx, space, r)
}

// lookUp is Show in a space.
func (s *service) lookUp(ctx context.Context, space *Space, r *schema.ShowRequest) (*schema.Lock, error) {
	name := r.GetName()
	if err := s.checkKnown(name); err != nil {
		return nil, failed("show", space.Name, strings.ToValidUTF8(name, "\uFFFD"), err)
	}
	if out := s.forwarderAt(space); out != nil {
		return passOnBriefly(ctx, out, about{}, "show", schema.Locks_Show_FullMethodName, r, &schema.Lock{})
	}
	shown, err := query[*lock.Lock](s, space.Port, &protocol.Show{Name: name, Stale: r.GetStale()})
	if err != nil {
		return nil, failed("show", space.Name, name, s.whyUnavailable(err))
	}
	return s.lockDocument(s.paper(), space, shown), nil
}

// paper is shared by the documents of one answer: the view, and the ends of sessions, each of which is queried once.
type paper struct {
	view protocol.View
	ends map[lock.SessionID]protocol.Time
}

func (s *service) paper() *paper {
	return &paper{s.view(), map[lock.SessionID]protocol.Time{}}
}

// documents makes documents with the names of a paper.
func (s *service) documents(p *paper) observe.Documents {
	return observe.Documents{Name: p.view.Name, Wall: s.driver.Wall}
}

// lockDocument returns a lock as a document.
func (s *service) lockDocument(p *paper, space *Space, l *lock.Lock) *schema.Lock {
	shown := *l
	shown.Holders = slices.Clone(l.Holders)
	for i := range shown.Holders {
		s.bound(p, &shown.Holders[i])
	}
	return s.documents(p).Lock(space.Name, &shown)
}

// holderDocument returns a grant that has not ended as a document.
func (s *service) holderDocument(p *paper, g lock.Grant) *schema.Grant {
	s.bound(p, &g)
	return s.documents(p).Grant(&g)
}

// bound bounds a grant that has not ended: it ends with its session at the latest; but in its grace it does not depend
// on its session.
func (s *service) bound(p *paper, g *lock.Grant) {
	if !g.Grace {
		g.Until = min(g.Until, s.sessionEnd(p, g.Session))
	}
}

// sessionEnd returns when a session ends unless it is renewed, as far as this member knows; Never if it does not end by
// itself.
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

// wallOrNone returns nil for a time that never comes.
func (s *service) wallOrNone(t protocol.Time) *timestamppb.Timestamp {
	return observe.Documents{Wall: s.driver.Wall}.Until(t)
}

// Break takes a name from its holders. They get a revocation; the name is free when they have stopped, or can no longer
// believe that they hold it.
func (s *service) Break(ctx context.Context, r *schema.BreakRequest) (answer *schema.Broken, err error) {
	space, err := s.space(r.GetSpace())
	if err != nil {
		return nil, failed("break", "", "", err)
	}
	defer func() { s.observer.operation(space.Name, "break", err) }()
	name, by := r.GetName(), callerOf(ctx).actor(r.GetBy())
	if err := s.checkBreak(r, by); err != nil {
		return nil, failed("break", space.Name, strings.ToValidUTF8(name, "\uFFFD"), api.BadRequest(err))
	}
	if out := s.forwarderAt(space); out != nil {
		return passOnBriefly(ctx, out, about{}, "break", schema.Locks_Break_FullMethodName, r, &schema.Broken{})
	}
	broken, err := query[*protocol.Broken](s, space.Port, &protocol.Break{Name: name, Token: holdfast.Token(r.GetToken()), Reason: r.GetReason()})
	if err == nil && broken.Err != nil {
		view := s.view()
		err = s.driver.Explain(broken.Err, view.Name)
	}
	if err != nil {
		return nil, failed("break", space.Name, name, s.whyUnavailable(err))
	}
	paper := s.paper()
	answer = &schema.Broken{}
	for _, g := range broken.Grants {
		answer.Broken = append(answer.Broken, s.holderDocument(paper, g))
		s.logger.Warn("lock broken", "space", space.Name, "name", name, "token", g.Token, "owner", g.Owner,
			"client", g.Client, "reason", r.GetReason(), "by", by)
	}
	return answer, nil
}

func (s *service) checkBreak(r *schema.BreakRequest, by string) error {
	if err := s.checkKnown(r.GetName()); err != nil {
		return err
	}
	if r.GetReason() == "" {
		return api.Fail(api.CodeBadRequest, "reason: it is missing; say why the lock is broken")
	}
	return cmp.Or(holdfast.CheckText("reason", r.GetReason()), holdfast.CheckText("by", by))
}
