package gocron

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gocronv2 "github.com/go-co-op/gocron/v2"

	"github.com/holdfast-locks/holdfast"
)

// DefaultLeast is how long a lock lasts at least, unless [Least] says otherwise.
const DefaultLeast = 500 * time.Millisecond

// Locker is a gocron.Locker. It serves any number of schedulers of one process.
type Locker struct {
	locks   holdfast.Locker
	least   time.Duration
	onLoss  func(job string, err error)
	options []holdfast.Option
	err     error // of an option

	mu   sync.Mutex
	held map[string]*holdfast.Lock // by job
}

var _ gocronv2.Locker = (*Locker)(nil)

// Option changes a Locker.
type Option func(*Locker)

// Least sets for how long the lock of a run lasts at least, counted from its grant: the time by which the clocks of the
// schedulers may differ, and less than the time between two runs of a job. Zero means the run alone. The default is
// [DefaultLeast]. Less than 0 is an ErrConflict at each Lock.
func Least(d time.Duration) Option {
	return func(l *Locker) {
		if d < 0 {
			l.err = fmt.Errorf("%w: a lock that lasts at least %v: want 0 or more", holdfast.ErrConflict, d)
		}
		l.least = d
	}
}

// OnLoss calls f for each lock that was lost before its release, with the name of the job and an ErrLost with the
// reason: another scheduler may have run the job at the same time. f must not block.
func OnLoss(f func(job string, err error)) Option { return func(l *Locker) { l.onLoss = f } }

// With passes options on to each request for a lock: a reason to show, a required class.
func With(options ...holdfast.Option) Option {
	return func(l *Locker) { l.options = append(l.options, options...) }
}

// NewLocker returns a Locker over the locks of one lockspace. Give the jobs a space of their own if other programs use
// the default one: the names of jobs are the names of locks.
func NewLocker(locks holdfast.Locker, options ...Option) *Locker {
	l := &Locker{locks: locks, least: DefaultLeast, onLoss: func(string, error) {}, held: map[string]*holdfast.Lock{}}
	for _, option := range options {
		option(l)
	}
	return l
}

// Lock takes the lock of a job, and does not wait for it: the error is an ErrHeld if another scheduler runs the job.
func (l *Locker) Lock(ctx context.Context, job string) (gocronv2.Lock, error) {
	if l.err != nil {
		return nil, &holdfast.Error{Op: "lock", Name: job, Err: l.err}
	}
	lock, err := l.locks.TryLock(ctx, job, l.options...)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[job] = lock
	return &run{l, lock, time.Now().Add(l.least)}, nil
}

// Held returns the lock under which a job runs now in this process, or nil if there is none. A job calls it at its
// beginning: the token goes with what the job writes, and the context ends with the lock.
func (l *Locker) Held(job string) *holdfast.Lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[job]
}

// run is the lock of one run: a gocron.Lock.
type run struct {
	locker *Locker
	lock   *holdfast.Lock
	until  time.Time // it is not released before
}

// Unlock ends the run. Its lock is released at once if it has lasted long enough, or later in the background. The error
// is an ErrLost if the lock was lost during the run.
func (r *run) Unlock(ctx context.Context) error {
	r.forget()
	if err := r.lock.Check(); err != nil {
		return r.report(err)
	}
	rest := time.Until(r.until)
	if rest <= 0 {
		// A job's context has ended when its scheduler stops; the release goes on then.
		return r.report(r.lock.Unlock(ctx))
	}
	// Of its errors only a loss matters: the Locker was closed otherwise, which has released the lock.
	time.AfterFunc(rest, func() { _ = r.report(r.lock.UnlockAsync()) })
	return nil
}

// forget makes Held no longer return the lock.
func (r *run) forget() {
	l := r.locker
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[r.lock.Name()] == r.lock {
		delete(l.held, r.lock.Name())
	}
}

// report reports a loss, and returns err.
func (r *run) report(err error) error {
	if errors.Is(err, holdfast.ErrLost) {
		r.locker.onLoss(r.lock.Name(), err)
	}
	return err
}
