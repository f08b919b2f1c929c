package server

import (
	"context"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// acquireOnce is acquire for a request with an id: it joins the request of that id, at any stage.
func (s *service) acquireOnce(ctx context.Context, o *order) (answer *schema.AcquiredAll, err error) {
	q, made, err := s.requests.join(s.life, o, s.now())
	if err != nil {
		return answer, failed("acquire", o.space.Name, o.single(), err)
	}
	if made {
		s.background.Go(func() { s.run(q) })
	}
	poll := time.NewTimer(s.limits.LongPoll)
	defer poll.Stop()
	within, expire := s.bounded(ctx, o)
	defer expire()
	select {
	case <-q.done:
	case <-within.Done():
		s.leave(q, 0)
		return answer, s.refusal(o, context.Cause(within))
	case <-poll.C:
		s.leave(q, s.limits.Grace)
		return answer, s.refusal(o, errLongPoll)
	case <-s.life.Done():
		s.leave(q, 0)
		return answer, failed("acquire", o.space.Name, o.single(), errClosing)
	}
	if ctx.Err() != nil {
		s.leave(q, 0)
		return answer, failed("acquire", o.space.Name, o.single(), context.Cause(ctx))
	}
	first, gone := s.requests.answer(q)
	switch {
	case q.err != nil:
		return answer, s.refusal(o, q.err)
	case gone:
		return answer, failed("acquire", o.space.Name, o.single(), holdfast.ErrNotHeld)
	}
	return s.presentWithin(within, q, first, o)
}

// presentWithin returns the grants of q, for the first time or again, before a context ends.
func (s *service) presentWithin(ctx context.Context, q *request, first bool, o *order) (*schema.AcquiredAll, error) {
	got, ok := promptly(ctx, s, func() (f fulfilled) {
		if !first {
			f.answer, f.err = s.presentAgain(q, o.Arrived)
			return f
		}
		renewed := q.taken.renewed
		if q.order != o {
			renewed = nil // another connection has made the request
		}
		if f.answer, f.err = s.present(q.order, q.taken, o.Arrived, renewed); f.err != nil {
			s.undo(q.order, q.taken)
		}
		return f
	}, func(late fulfilled) {
		if first && late.err == nil {
			s.undo(q.order, q.taken)
		}
	})
	if !ok {
		return nil, s.refusal(o, context.Cause(ctx))
	}
	return got.answer, got.err
}

// run carries out q.
func (s *service) run(q *request) {
	t, err := s.take(q.ctx, q.order)
	if wanted := s.requests.finish(q, t, err, s.now()); !wanted && err == nil {
		s.undo(q.order, t)
	}
}

// leave ends one connection's wait for q.
func (s *service) leave(q *request, keep time.Duration) {
	lapsed := func() {
		if s.requests.lapse(q) {
			s.giveBack(q)
		}
	}
	if s.requests.leave(q, keep, lapsed) {
		s.giveBack(q)
	}
}

// giveBack undoes a request that is over, if it was already granted; otherwise the goroutine that runs it does so.
func (s *service) giveBack(q *request) {
	select {
	case <-q.done:
		if q.err == nil {
			s.undo(q.order, q.taken)
		}
	default:
	}
}

// presentAgain returns the grants of q to another connection, if all of them still stand: a copy of a request that has
// ended is never reported as held (docs/design/membership.md §9, V21).
func (s *service) presentAgain(q *request, arrived protocol.Time) (answer *schema.AcquiredAll, err error) {
	o := q.order
	if answer, err = s.present(o, q.taken, arrived, nil); err != nil {
		return answer, err
	}
	for _, g := range q.taken.grants {
		shown, err := query[*lock.Lock](s, o.space.Port, &protocol.Show{Name: g.name})
		if err != nil {
			return nil, failed("acquire", o.space.Name, g.name, err)
		}
		stands := slices.ContainsFunc(shown.Holders, func(h lock.Grant) bool {
			return h.Session == q.taken.session.id && h.Token == g.decision.Token && !h.Revoked && !h.Grace
		})
		if !stands {
			return nil, failed("acquire", o.space.Name, g.name, holdfast.ErrNotHeld)
		}
	}
	return answer, nil
}
