package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/server/observe"
)

// observeBeat is how often an observer without a new state learns that its stream is alive.
const observeBeat = 5 * time.Second

// newHub returns the hub of the names that are observed here.
func (s *service) newHub() *observe.Hub {
	return observe.NewHub(observe.Config{
		Attend: func(ctx context.Context, space, name string) (*events.Feed, error) {
			return s.gatherer.Attend(ctx, events.Filter{Space: space, Prefix: name}, s.identity().Member.GetName())
		},
		Look: func(ctx context.Context, space, name string) (*schema.Lock, error) {
			return s.lookUp(ctx, s.byName[space], &schema.ShowRequest{Space: space, Name: name})
		},
		Members: func() (names []string) {
			for _, member := range s.view().Members {
				names = append(names, member.Name)
			}
			return names
		},
		Now: s.now, Logger: s.logger,
	})
}

// observerFeed receives the states of a name.
type observerFeed interface {
	begin() error
	idle() error // nothing has changed for a while
	states(states []*schema.Observed) error
}

// observe sends the states of a name to a feed, until ctx ends, the name can no longer be observed here, this member
// leaves (errLeaving) or the feed returns an error. May reports whether the caller may still read the name.
func (s *service) observe(ctx context.Context, r *schema.ObserveRequest, may func() error, to observerFeed) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	space, err := s.space(r.GetSpace())
	if err != nil {
		return failed("observe", "", "", err)
	}
	defer func() {
		if s.life.Err() != nil {
			err = errLeaving
		}
		s.observer.operation(space.Name, "observe", err)
	}()
	name := r.GetName()
	err = s.checkKnown(name)
	if name == "" {
		err = holdfast.CheckName(name)
	}
	if err != nil {
		return failed("observe", space.Name, strings.ToValidUTF8(name, "\uFFFD"), err)
	}
	from, err := s.hub.Observe(space.Name, name, r.GetAfter(), s.limits.Watchers-s.observer.source.Watchers())
	if err != nil {
		return failed("observe", space.Name, name, s.wholeLimit(err))
	}
	defer from.Close()
	if err := to.begin(); err != nil {
		return err
	}
	for {
		beat, done := context.WithTimeout(ctx, observeBeat)
		states, err := from.Next(beat)
		done()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			err = to.idle()
		case err != nil:
			return failed("observe", space.Name, name, err)
		default:
			if err = may(); err == nil {
				err = to.states(states)
			}
		}
		if err != nil {
			return err
		}
	}
}

// wholeLimit returns a refusal of a watcher or an observer, which share a limit, with the limit and not what it left.
func (s *service) wholeLimit(err error) error {
	var limit *holdfast.LimitError
	if errors.As(err, &limit) && limit.Limit == "watchers" {
		return &holdfast.LimitError{Limit: limit.Limit, Value: int64(s.limits.Watchers)}
	}
	return err
}

// observeFor is observe for a caller, within its share of the feeds of this member.
func (s *service) observeFor(ctx context.Context, v caller, r *schema.ObserveRequest, to observerFeed) error {
	if err := s.watchers.take(v, 1, s.limits.Watchers); err != nil {
		s.observer.operation("", "observe", err)
		return failed("observe", "", "", err)
	}
	defer s.watchers.give(v, 1)
	right := s.rights[schema.Locks_Observe_FullMethodName]
	return s.observe(ctx, r, func() error { return s.permit(v, right, r) }, to)
}

// Observe sends the states of a name to send, the present one first, until ctx ends or send returns an error. It is for
// this process, which may read everything. See the call Observe of the schema.
func (s *Server) Observe(ctx context.Context, r *schema.ObserveRequest, send func(*schema.Observed) error) error {
	err := s.service.observe(ctx, r, func() error { return nil }, ownFeed(send))
	if errors.Is(err, errLeaving) {
		return errClosing
	}
	return err
}

// ownFeed is the feed of an observer in this process.
type ownFeed func(*schema.Observed) error

func (ownFeed) begin() error { return nil }
func (ownFeed) idle() error  { return nil }

func (f ownFeed) states(states []*schema.Observed) error {
	for _, state := range states {
		if err := f(state); err != nil {
			return err
		}
	}
	return nil
}
