package observe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

const (
	// unseen is how long looks may fail before the observers of a name learn that this member cannot tell its state.
	unseen = 10 * time.Second
	// firstPause is the longest first pause after a look that has failed.
	firstPause = 100 * time.Millisecond
)

// run observes the name until ctx ends or its state cannot be told.
func (n *named) run(ctx context.Context) error {
	machine := NewMachine(n.key.space, n.key.name, n.hub.Members)
	for {
		feed, err := n.hub.Attend(ctx, n.key.space, n.key.name)
		if err != nil {
			return fmt.Errorf("%w: %w", holdfast.ErrUnavailable, err)
		}
		f := &following{named: n, machine: machine, feed: feed, pauses: backoff.Backoff{Least: firstPause, Most: Pace}}
		err = f.follow(ctx)
		feed.Close()
		if !errors.Is(err, events.ErrSlow) {
			return err
		}
		n.hub.Logger.Info("events about an observed name came faster than this member has read them", "space", n.key.space, "name", n.key.name)
		machine.silent = nil // the next feed reports them again
		machine.Lost()
	}
}

// following feeds a machine from one feed of events, and with looks.
type following struct {
	*named
	machine *Machine
	feed    *events.Feed

	asking bool          // a look is under way
	asked  time.Duration // when it was
	fails  bool          // the latest looks have failed
	since  time.Duration // since when
	next   time.Duration // no look before then
	pauses backoff.Backoff
}

// looked is the answer to a look.
type looked struct {
	mark uint64
	lock *schema.Lock
	err  error
}

// portion is what a feed brings.
type portion struct {
	batches []*events.Batch
	err     error
}

// follow feeds the machine until ctx ends, the feed does, or looks fail for too long.
func (f *following) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	answers, portions := make(chan looked, 1), make(chan portion)
	read := make(chan struct{})
	go func() {
		defer close(read)
		f.read(ctx, portions)
	}()
	defer func() {
		cancel()
		<-read
		if f.asking {
			<-answers
		}
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		f.look(ctx, answers, timer)
		select {
		case p := <-portions:
			if p.err != nil {
				return p.err
			}
			f.happened(p.batches)
		case a := <-answers:
			if err := f.answered(ctx, a); err != nil {
				return err
			}
		case <-timer.C:
			f.machine.Wake(f.hub.Now())
		case <-ctx.Done():
			return ctx.Err()
		}
		f.publish(f.machine.Take())
	}
}

// read passes on what the feed brings, until it ends.
func (f *following) read(ctx context.Context, portions chan<- portion) {
	for {
		batches, err := f.feed.Next(ctx)
		select {
		case portions <- portion{batches, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// look takes a look if the machine wants one, or sets the timer for when it does.
func (f *following) look(ctx context.Context, answers chan<- looked, timer *time.Timer) {
	at, wanted := f.machine.LookAt()
	if f.asking || !wanted {
		timer.Stop()
		return
	}
	now := f.hub.Now()
	if at = max(at, f.next); at > now {
		timer.Reset(at - now)
		return
	}
	f.asking, f.asked = true, now
	mark := f.machine.Mark()
	go func() {
		lock, err := f.hub.Look(ctx, f.key.space, f.key.name)
		answers <- looked{mark, lock, err}
	}()
}

// happened applies events. Those of other names with the same prefix are left out.
func (f *following) happened(batches []*events.Batch) {
	now := f.hub.Now()
	for _, batch := range batches {
		for _, item := range batch.Items {
			switch {
			case item.Gap == events.Silent:
				f.machine.Silent(item.GetMember())
			case item.Gap == events.Heard, item.Gap == events.Missed:
				f.machine.Heard(item.GetMember(), item.Gap == events.Missed)
			case item.GetSpace() == f.key.space && item.GetName() == f.key.name:
				f.machine.Happened(now, item.WatchEvent)
			}
		}
	}
}

// answered applies a look. The error ends the observation: this member does not serve the name, or looks have failed for
// too long.
func (f *following) answered(ctx context.Context, a looked) error {
	f.asking = false
	now := f.hub.Now()
	switch {
	case a.err == nil:
		f.fails = false
		f.pauses.Reset()
		f.machine.Looked(now, a.mark, a.lock)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.Is(a.err, holdfast.ErrUnavailable):
		return a.err
	}
	if !f.fails {
		f.fails, f.since = true, f.asked
	}
	if now-f.since >= unseen {
		return a.err
	}
	f.next = now + f.pauses.Next()
	return nil
}
