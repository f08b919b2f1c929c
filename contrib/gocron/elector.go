package gocron

import (
	"context"
	"errors"
	"fmt"
	"sync"

	gocronv2 "github.com/go-co-op/gocron/v2"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/elect"
)

// ErrNotLeader reports that another candidate leads, or none.
var ErrNotLeader = errors.New("not the leader")

// Elector is a gocron.Elector: a candidate that campaigns until it is closed. It serves any number of schedulers of one
// process.
type Elector struct {
	name   string
	cancel context.CancelFunc
	ended  chan struct{} // closed when the campaign has ended

	mu   sync.Mutex
	term *elect.Term // nil while it does not lead
	err  error       // of the campaign, once ended is closed
}

var _ gocronv2.Elector = (*Elector)(nil)

// NewElector starts to campaign for a name. The options are those of [elect.Run]; with elect.OnLoss it reports losses
// and campaigns that have failed for a time.
func NewElector(locks holdfast.Locker, name string, options ...elect.Option) *Elector {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Elector{name: name, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(e.ended)
		err := elect.Run(ctx, locks, name, e.lead, options...)
		e.mu.Lock()
		defer e.mu.Unlock()
		e.err = err
	}()
	return e
}

// lead keeps the term while it lasts.
func (e *Elector) lead(ctx context.Context, term elect.Term) error {
	e.set(&term)
	defer e.set(nil)
	<-ctx.Done()
	return ctx.Err()
}

func (e *Elector) set(term *elect.Term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = term
}

// IsLeader returns nil while this candidate leads, and an [ErrNotLeader] otherwise, which says why if the campaign has
// ended. It reads the clock itself, so a process that wakes after a pause is no leader.
func (e *Elector) IsLeader(context.Context) error {
	_, err := e.Term()
	return err
}

// Term returns the present leadership, whose token goes with what a job writes and whose context ends with it. The error
// is that of IsLeader.
func (e *Elector) Term() (elect.Term, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var err error
	switch {
	case e.term != nil:
		if err = e.term.Check(); err == nil {
			return *e.term, nil
		}
	case e.err != nil:
		err = e.err
	default:
		return elect.Term{}, fmt.Errorf("%w of %q", ErrNotLeader, e.name)
	}
	return elect.Term{}, fmt.Errorf("%w of %q: %w", ErrNotLeader, e.name, err)
}

// Close resigns, and returns when the next candidate in order may lead. The error is that by which the campaign had
// ended before, such as ErrDenied, or that of the resignation: an ErrLost if the leadership was lost just before.
func (e *Elector) Close() error {
	e.cancel()
	<-e.ended
	e.mu.Lock()
	defer e.mu.Unlock()
	if errors.Is(e.err, context.Canceled) {
		return nil
	}
	return e.err
}
