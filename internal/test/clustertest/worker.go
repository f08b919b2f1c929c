package clustertest

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Worker is the main function of a worker process: it works until its input ends. The line "keep" makes the worker keep
// the register the next time it has it, until the line "go on".
type Worker struct {
	Server   string // addresses of members; the first one is gone to first
	Register string // path of the guarded file
	PoolOnly bool   // it takes the pool alone: so one works while the register is kept
	// HoldTime is the maximum time for which the worker has a lock; the minimum is a fifth of it, which is also the
	// interval of its checks that it still has the lock. The longer, the less load on the members. Zero means
	// [ShortHold].
	HoldTime time.Duration
	Orders   io.Reader
	Events   io.Writer
}

// ShortHold is the default of [Worker.HoldTime]: long enough for others to queue.
const ShortHold = 5 * time.Millisecond

// dialLimit is the time limit for a worker to find its first member.
const dialLimit = 30 * time.Second

// worker is a Worker at work.
type worker struct {
	Worker
	clock    clock.Clock
	register Register
	locks    *client.Client

	mu     sync.Mutex
	events *json.Encoder
	keep   bool
	goOn   chan struct{}
}

// Run works. The error is what stopped it before its input ended.
func (w Worker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.HoldTime = cmp.Or(w.HoldTime, ShortHold)
	at := &worker{
		Worker: w, clock: clock.Real(), register: Register{w.Register},
		events: json.NewEncoder(w.Events), goOn: make(chan struct{}, 1),
	}
	go func() {
		defer cancel()
		at.listen()
	}()
	dialing, done := context.WithTimeout(ctx, dialLimit)
	defer done()
	var err error
	if at.locks, err = client.Dial(dialing, w.Server, client.Name("worker")); err == nil {
		at.report(Event{Kind: Ready})
		err = errors.Join(at.work(ctx), at.locks.Close())
	}
	if ctx.Err() != nil {
		return nil // its input has ended: that is the order to stop
	}
	return err
}

// listen takes orders until there are no more.
func (w *worker) listen() {
	for lines := bufio.NewScanner(w.Orders); lines.Scan(); {
		switch lines.Text() {
		case "keep":
			w.mu.Lock()
			w.keep = true
			w.mu.Unlock()
		case "go on":
			select {
			case w.goOn <- struct{}{}:
			default:
			}
		}
	}
}

// report reports an event, with the time unless it has one, and its member.
func (w *worker) report(e Event) {
	if e.At == 0 {
		e.At = w.clock.Now()
	}
	e.Member = w.locks.Member()
	w.mu.Lock()
	defer w.mu.Unlock()
	// That the reader is gone is noticed by the end of the input.
	_ = w.events.Encode(e)
}

// kept reports, once, that the worker was ordered to keep what it has.
func (w *worker) kept() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.keep
	w.keep = false
	return kept
}

// work takes one lock after the other.
func (w *worker) work(ctx context.Context) error {
	for ctx.Err() == nil {
		name, options := RegisterName, []holdfast.Option(nil)
		if w.PoolOnly || rand.IntN(2) == 0 {
			name, options = PoolName, []holdfast.Option{holdfast.Slots(PoolUnits, PoolCapacity)}
		}
		lock, err := w.locks.Lock(ctx, name, options...)
		if err != nil {
			return err
		}
		w.use(ctx, &holding{worker: w, lock: lock})
	}
	return nil
}

// use works briefly with a lock and releases it.
func (w *worker) use(ctx context.Context, s *holding) {
	if !s.alive() {
		s.end()
		return
	}
	s.report(Event{At: s.used, Kind: Entered})
	switch {
	case s.lock.Name() != RegisterName:
		s.wait(ctx, time.After(s.length()), nil)
	case w.kept():
		// Simulates a process paused at the wrong moment: it writes when it continues, without checking whether it
		// still has the lock.
		s.report(Event{Kind: Keeping})
		s.wait(ctx, nil, w.goOn)
		s.write()
	default:
		s.write()
		s.wait(ctx, time.After(s.length()), nil)
	}
	s.end()
}

// holding is a worker's time with a lock.
type holding struct {
	*worker
	lock *holdfast.Lock
	used time.Duration // the last instant at which it surely had the lock
}

func (s *holding) length() time.Duration {
	return s.interval() + rand.N(s.HoldTime-s.interval())
}

// interval is the time between two looks, short enough for an overlap to be seen.
func (s *holding) interval() time.Duration { return max(s.HoldTime/5, 1) }

// alive checks whether it has the lock. The clock is read first: a lock found alive was alive at that time.
func (s *holding) alive() bool {
	now := s.clock.Now()
	if s.lock.Context().Err() != nil {
		return false
	}
	s.used = now
	return true
}

// wait keeps the lock until one of the channels ends the wait. It checks the lock throughout.
func (s *holding) wait(ctx context.Context, enough <-chan time.Time, goOn <-chan struct{}) {
	looks := time.NewTicker(s.interval())
	defer looks.Stop()
	ended := s.lock.Context().Done()
	for {
		select {
		case <-looks.C:
			s.alive()
		case <-ended:
			if goOn == nil {
				return
			}
			ended = nil // its order is to keep it, even beyond the end of the lock
		case <-enough:
			return
		case <-goOn:
			return
		case <-ctx.Done():
			return
		}
	}
}

// end releases the lock, or finds it lost.
func (s *holding) end() {
	s.alive()
	err := s.lock.UnlockAsync() // what the authority makes of it is not what is judged
	switch {
	case s.used == 0:
		// It was lost before it was used.
	case err == nil:
		s.report(Event{At: s.used, Kind: Left})
	case errors.Is(err, holdfast.ErrLost):
		s.report(Event{At: s.used, Kind: Lost, Why: err.Error()})
	default:
		s.report(Event{Kind: Failed, Why: err.Error()})
	}
}

// write writes to the register under the lock's token.
func (s *holding) write() {
	err := s.register.Write(s.lock.Token())
	switch {
	case err == nil:
		s.report(Event{Kind: Wrote})
	case errors.Is(err, ErrStale):
		s.report(Event{Kind: Refused, Why: err.Error()})
	default:
		s.report(Event{Kind: Failed, Why: fmt.Sprintf("write under %v: %v", s.lock.Token(), err)})
	}
}

// report adds the lock to the event.
func (s *holding) report(e Event) {
	e.Name, e.Token = s.lock.Name(), s.lock.Token()
	s.worker.report(e)
}
