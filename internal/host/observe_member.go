package host

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/internal/server/observe"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// observing has the names that this process's own users observe.
type observing struct {
	mu       sync.Mutex
	gatherer *events.Gatherer
	hub      *observe.Hub // nil before the first observation
	closed   bool
}

// hub returns the observed names of this process.
func (n *Member) hub() (*observe.Hub, error) {
	o := &n.observing
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, holdfast.ErrClosed
	}
	if o.hub != nil {
		return o.hub, nil
	}
	peers, follows := n.transport.(events.Peers)
	switch {
	case n.config.Events != nil:
		return nil, fmt.Errorf("%w: the events of this member are those of its server, at which names are observed", holdfast.ErrUnsupported)
	case n.transport != nil && !follows:
		return nil, fmt.Errorf("%w: a %T carries no events of other members", holdfast.ErrUnsupported, n.transport)
	}
	var err error
	if o.gatherer, err = events.NewGatherer(events.Config{Source: n.events, Self: n.Identity().ID, Peers: peers, Logger: n.logger}); err != nil {
		return nil, err
	}
	o.hub = observe.NewHub(observe.Config{
		Attend: func(ctx context.Context, space, name string) (*events.Feed, error) {
			return o.gatherer.Attend(ctx, events.Filter{Space: space, Prefix: name}, n.Name())
		},
		Look: n.look,
		Members: func() []string {
			view := n.View()
			return names(&view)
		},
		Now: n.driver.Now, Logger: n.logger,
	})
	return o.hub, nil
}

// look returns the state of a name.
func (n *Member) look(ctx context.Context, space, name string) (*schema.Lock, error) {
	shown, err := run.Query[*lock.Lock](ctx, n.driver, n.portOf(space), &protocol.Show{Name: name})
	if err != nil {
		return nil, closedOr(err)
	}
	return observe.Documents{Name: n.called, Wall: n.driver.Wall}.Lock(space, shown), nil
}

// closeObserving ends all observations.
func (n *Member) closeObserving() {
	o := &n.observing
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.hub != nil {
		o.hub.Close()
		o.gatherer.Close()
	}
}

// observation is one observation of a name.
type observation struct {
	locker  locker
	name    string
	yield   func(holdfast.State, error) bool
	states  api.States
	after   string // the id of the last state that this member has shown
	moved   bool   // another member has shown states since
	some    bool   // there were states
	stopped bool   // the caller has stopped the loop
}

// The pauses before a name is observed again.
const (
	leastPause = 10 * time.Millisecond
	mostPause  = time.Second
)

// observed observes a name through this member; through another one as long as this one has no part in the space.
func (l locker) observed(ctx context.Context, name string) iter.Seq2[holdfast.State, error] {
	return func(yield func(holdfast.State, error) bool) {
		o := &observation{locker: l, name: name, yield: yield, states: api.States{Space: l.space, Name: name}}
		for pauses := (backoff.Backoff{Least: leastPause, Most: mostPause}); ; {
			err := o.attend(ctx)
			switch {
			case o.stopped:
				return
			case ctx.Err() != nil:
				yield(holdfast.State{}, ctx.Err())
				return
			case !errors.Is(err, holdfast.ErrUnavailable):
				if said, is := errors.AsType[*holdfast.Error](err); is {
					err = said.Err
				}
				yield(holdfast.State{}, l.fail(opObserve, name, err))
				return
			}
			_ = backoff.Sleep(ctx, pauses.Next()) // the next attempt looks at ctx
		}
	}
}

// attend yields states until the member cannot tell them.
func (o *observation) attend(ctx context.Context) error {
	there, err := o.locker.insider(ctx, o.name)
	if err != nil {
		return err
	}
	if there != nil {
		return o.elsewhere(ctx, there)
	}
	hub, err := o.locker.node.hub()
	if err != nil {
		return err
	}
	from, err := hub.Observe(o.locker.space, o.name, o.after, math.MaxInt)
	if err != nil {
		return err
	}
	defer from.Close()
	if o.moved {
		o.states.Cut()
		o.moved = false
	}
	for ctx.Err() == nil {
		shown, err := from.Next(ctx)
		if err != nil {
			return err
		}
		for _, state := range shown {
			o.after = state.GetId()
			missed, differs, err := o.states.Next(state)
			if err != nil {
				return err
			}
			if !differs {
				continue
			}
			next := api.FromObserved(state)
			if next.Missed, o.some = missed, true; !o.yield(next, nil) {
				o.stopped = true
				return nil
			}
		}
	}
	return ctx.Err()
}

// elsewhere yields states that another member shows.
func (o *observation) elsewhere(ctx context.Context, there holdfast.Locker) error {
	for state, err := range there.(holdfast.Observer).Observe(ctx, o.name) {
		if err != nil {
			return err
		}
		state.Missed = state.Missed || o.some && !o.moved
		o.some, o.moved = true, true
		if !o.yield(state, nil) {
			o.stopped = true
			return nil
		}
	}
	return ctx.Err()
}
