package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/protocol"
)

// watchSpaces reports changes of the spaces' states and of the addresses for clients, and measures recoveries, until
// the server is shut down. It checks whenever a fact or note appears, and once a second for changes by time alone.
func (s *service) watchSpaces() {
	const interval = time.Second
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	states := make([]spaceState, len(s.spaces))
	known, policy := s.roster(), s.guard.Policy()
	for {
		policy = s.reallot(policy)
		known = s.announceMoved(known)
		for i := range s.spaces {
			s.lookAt(&s.spaces[i], &states[i])
		}
		s.forwarder.moved()
		known = s.announceMoved(known) // the check may have taken as long as another member's answer
		select {
		case <-s.life.Done():
			return
		case <-s.observer.stirs:
		case <-ticker.C:
		}
	}
}

// announceMoved sends the streams the addresses for clients, if they have changed.
func (s *service) announceMoved(before *edge.Roster) *edge.Roster {
	if s.moved == nil {
		return before
	}
	now := s.roster()
	if now.Authority == before.Authority && slices.Equal(now.Members, before.Members) {
		return before
	}
	s.moved(now)
	return now
}

// spaceState is the last seen state of a space.
type spaceState struct {
	seen  bool
	state protocol.State
	since protocol.Time
}

func (s *service) lookAt(space *Space, last *spaceState) {
	condition, err := query[*protocol.Condition](s, space.Port, &protocol.Inspect{Here: true}) // every second: no other member has to answer
	if err == nil && space.Name == holdfast.DefaultSpace {
		s.seen.Store(condition)
	}
	if err != nil || last.seen && last.state == condition.State {
		return // shut down, or unchanged
	}
	now := s.now()
	if last.seen && last.state == protocol.Recovering {
		s.observer.recovery.WithLabelValues(space.Name).Observe((now - last.since).Seconds())
	}
	if condition.State == protocol.Recovering {
		s.observer.recoveries.WithLabelValues(space.Name).Inc()
	}
	if last.seen {
		s.observer.source.Publish(&schema.WatchEvent{Event: events.Space, Space: space.Name, Why: s.conditionText(space, condition)})
	}
	*last = spaceState{true, condition.State, now}
}

// feed receives the events of a watcher.
type feed interface {
	begin() error // no event is missing from now on without a report
	idle() error  // nothing has happened for a while
	send(ctx context.Context, turn *feedTurn, happened []*events.Batch) error
}

// beatEvery is how often an idle feed shows that it is alive.
const beatEvery = 15 * time.Second

// errLeaving ends the feeds of a leaving member.
var errLeaving = errors.New("this member is leaving")

// follow sends events to a feed, until ctx ends, the watcher is too slow (events.ErrSlow), this member leaves
// (errLeaving) or the feed returns an error.
func (s *service) follow(ctx context.Context, r *schema.WatchRequest, to feed) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	by := callerOf(ctx)
	if err := s.watchers.take(by, 1, s.limits.Watchers); err != nil {
		s.observer.operation("", "watch", err)
		return failed("watch", "", "", err)
	}
	defer s.watchers.give(by, 1)
	from, err := s.watch(ctx, r)
	if err != nil {
		return err
	}
	defer from.Close()
	if err := to.begin(); err != nil {
		return err
	}
	to = shownFeed{to, s, by}
	turn := &feedTurn{pace: s.feeds}
	for {
		beat, done := context.WithTimeout(ctx, beatEvery)
		happened, err := from.Next(beat)
		done()
		switch {
		case err == nil:
			err = to.send(ctx, turn, happened)
		case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
			err = to.idle()
		case errors.Is(err, events.ErrSlow):
			s.observer.refused(unreadEvents)
		case s.life.Err() != nil:
			return errLeaving
		}
		if err != nil {
			return err
		}
	}
}

// watch subscribes to the events of a space, or of all with "", whose names begin with prefix, through any member.
// Events without a name (view, space) match every prefix. It waits until the other members send, or do not answer. The
// error is an ErrSpace, an ErrLimit named watchers, or ErrUnavailable if ctx ends.
func (s *service) watch(ctx context.Context, r *schema.WatchRequest) (f *events.Feed, err error) {
	defer func() { s.observer.operation("", "watch", err) }()
	if r.GetSpace() != "" {
		if _, err := s.space(r.GetSpace()); err != nil {
			return nil, failed("watch", "", "", err)
		}
	}
	f, err = s.gatherer.Watch(ctx, events.Filter{Space: r.GetSpace(), Prefix: r.GetPrefix()}, r.GetAfter(), s.identity().Member.GetName(), s.limits.Watchers-s.hub.Observers())
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err)
	}
	return f, failed("watch", "", "", s.wholeLimit(err))
}
