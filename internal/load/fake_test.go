package load

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errBroken = errors.New("broken on purpose")

// fake is a lock service in memory whose behaviour is known to the nanosecond, in the
// fake time of a bubble. Its handover must be more than 0, or that time would stand still.
type fake struct {
	name     string
	handover time.Duration // from a release, or from an asking for a free name, to the grant
	unlock   time.Duration // what Unlock takes
	overlaps bool          // it grants to all
	sticky   int           // a worker gets a lock so many times before another may have it
	strands  bool          // a worker that waits for a sticky worker that has gone waits for ever
	broken   int           // each so manieth Lock ends with an error
	silent   bool          // it does not announce
	lost     bool          // its locks have ended by themselves when they are looked at
	perLock  int64         // bytes of memory
	refuse   error         // what Start ends with

	mu       sync.Mutex
	names    map[string]*fakeName
	requests int
	drawn    map[string]map[int]int // by name and worker
	held     int
	starts   int
	stops    int
	settled  int
	clients  int
	noCells  bool
	worked   time.Duration
	messages Messages
}

type fakeName struct {
	held    bool
	times   int // that it was taken since it was handed over
	taken   int // in all
	waiters []fakeWaiter
}

type fakeWaiter struct {
	worker  int
	granted chan struct{}
}

func (f *fake) Name() string { return f.name }

func (f *fake) Messages() Messages { return f.messages }

func (f *fake) Supports(Cell) bool { return !f.noCells }

func (f *fake) Start(context.Context) error {
	f.starts++
	f.names, f.drawn = map[string]*fakeName{}, map[string]map[int]int{}
	return f.refuse
}

func (f *fake) Stop() error {
	f.stops++
	return nil
}

func (f *fake) Usage(_ context.Context, settle bool) (Usage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if settle {
		f.settled++
	}
	return Usage{CPU: f.worked, Resident: 1e6 + f.perLock*int64(f.held), Heap: f.perLock * int64(f.held) / 2}, nil
}

func (f *fake) Connect(context.Context, Cell) (Client, error) {
	f.clients++
	return f, nil
}

func (f *fake) Close() error {
	f.clients--
	return nil
}

func (f *fake) Worker(_ context.Context, number int) (Locker, error) {
	if f.silent {
		return fakeLocker{f, number}, nil
	}
	return announcing{fakeLocker{f, number}}, nil
}

type fakeLocker struct {
	fake   *fake
	number int
}

type announcing struct{ fakeLocker }

func (a announcing) LockAnnounced(ctx context.Context, name string, queued func()) (Held, error) {
	return a.lock(ctx, name, queued)
}

func (l fakeLocker) Lock(ctx context.Context, name string) (Held, error) {
	return l.lock(ctx, name, func() {})
}

// lock costs no processor, so a free name must take time too, or fake time would stand.
func (l fakeLocker) lock(ctx context.Context, name string, queued func()) (Held, error) {
	f := l.fake
	f.mu.Lock()
	f.requests++
	if f.broken > 0 && f.requests%f.broken == 0 {
		f.mu.Unlock()
		return nil, errBroken
	}
	if f.drawn[name] == nil {
		f.drawn[name] = map[int]int{}
	}
	f.drawn[name][l.number]++
	n := f.names[name]
	if n == nil {
		n = &fakeName{}
		f.names[name] = n
	}
	if n.held && !f.overlaps {
		granted := make(chan struct{})
		n.waiters = append(n.waiters, fakeWaiter{l.number, granted})
		f.mu.Unlock()
		queued()
		select {
		case <-granted:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		f.mu.Lock()
	}
	n.held, n.times, n.taken = true, n.times+1, n.taken+1
	f.held++
	f.worked += time.Millisecond
	f.mu.Unlock()
	<-time.After(f.handover)
	return &fakeHeld{l, n}, nil
}

type fakeHeld struct {
	locker fakeLocker
	name   *fakeName
}

func (h *fakeHeld) Check() error {
	if h.locker.fake.lost {
		return errBroken
	}
	return nil
}

func (h *fakeHeld) Unlock(context.Context) error {
	f, n := h.locker.fake, h.name
	f.mu.Lock()
	f.held--
	switch {
	case len(n.waiters) == 0:
		n.held = false
	case n.times < f.sticky:
		n.held = false
		if taken := n.taken; !f.strands {
			time.AfterFunc(10*f.handover, func() { f.passOn(n, taken) })
		}
	default:
		n.next()
	}
	f.mu.Unlock()
	if f.unlock > 0 {
		<-time.After(f.unlock)
	}
	return nil
}

// passOn hands over what the one it was kept for has not taken again.
func (f *fake) passOn(n *fakeName, taken int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n.taken == taken && len(n.waiters) > 0 {
		n.next()
	}
}

func (n *fakeName) next() {
	n.held, n.times = true, 0
	close(n.waiters[0].granted)
	n.waiters = slices.Delete(n.waiters, 0, 1)
}

// note keeps what a bench has reported.
type note struct{ steps []string }

func (n *note) record(step string) { n.steps = append(n.steps, step) }

// machine is a fake Machine.
type machine struct {
	ping   time.Duration
	shared []string
	shares int // now
}

func (m *machine) Share(_ context.Context, t Target) (func() error, error) {
	m.shared = append(m.shared, t.Name())
	m.shares++
	return func() error { m.shares--; return nil }, nil
}

func (m *machine) Ping(context.Context, time.Duration) (time.Duration, error) { return m.ping, nil }

func (m *machine) CPU() time.Duration { return 0 }
