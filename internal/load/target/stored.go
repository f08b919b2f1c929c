package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/member"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storelock"
)

// Claims, CAS and CASKept are the kinds of targets over a store.
const (
	Claims  = "store"
	CAS     = "store-cas"
	CASKept = "store-cas-kept"
)

// keptFor is how long a process keeps released names, of kind CASKept: the maximum.
const keptFor = time.Second

// Stored describes locks in a store that the bench has not started.
type Stored struct {
	// Name is the target's name.
	Name string
	// Open connects to the store; it is called once for each simulated process.
	Open func(ctx context.Context) (storage.Store, error)
	// CAS takes locks by conditional writes. Otherwise they are taken by claims, and Wait is how long each is left
	// alone; zero means 100 ms.
	CAS  bool
	Wait time.Duration
	// Keeps makes a process keep released names for a second, for its own workers. It requires CAS.
	Keeps bool
}

// Over returns a target over a store.
//
// If the workers' names are separate, all workers share one locker, as in one program; if all want one name, each has
// its own locker and connections, as in many programs, and learns of a release only from the store. All requests to the
// store are counted. The workers do not interfere with other locks: all rows have their own keys, and so the settings
// next to the locks are the bench's, of one kind each.
func Over(s Stored) load.Target { return &stored{Stored: s, ledger: &ledger{}} }

// stored is a [load.Target] and a [load.RequestCounter].
type stored struct {
	Stored
	ledger    *ledger
	processes []*process // those needed so far: they keep their knowledge of the store
}

func (s *stored) Name() string { return s.Stored.Name }

// Supports excludes Hold and Drain, which do not apply.
func (s *stored) Supports(c load.Cell) bool {
	return c.Workload == load.Uncontended || c.Workload == load.Hot
}

// Start opens the first process, which shows whether the store answers.
func (s *stored) Start(ctx context.Context) error { return s.grow(ctx, 1) }

// Stop ends all of them.
func (s *stored) Stop() error {
	var closing sync.WaitGroup
	errs := make([]error, len(s.processes))
	for i, p := range s.processes {
		closing.Go(func() { errs[i] = p.close() })
	}
	closing.Wait()
	s.processes = nil
	return errors.Join(errs...)
}

// grow opens processes up to that number.
func (s *stored) grow(ctx context.Context, count int) error {
	for len(s.processes) < count {
		p, err := s.open(ctx)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
	}
	return nil
}

// openLimit is the time limit for opening the store.
const openLimit = 30 * time.Second

// open makes a process. The keys of its rows contain its kind, because processes that share locks must agree on it.
func (s *stored) open(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	// All are on one machine with one clock: the allowance for skew is next to nothing, as in the original, which has
	// none.
	options, kind := []storelock.Option{storelock.Wait(s.Wait), storelock.Skew(s.Wait / 20)}, s.Wait.String()
	if s.CAS {
		options, kind = []storelock.Option{storelock.CAS()}, "cas"
	}
	if s.Keeps {
		options, kind = append(options, storelock.HoldOn(keptFor)), "cas kept"
	}
	store, err := s.Open(ctx)
	if err != nil {
		return nil, err
	}
	tries := probe.Of(protocol.Named(member.Protocols(), "claim")).Tries
	counted := &countingStore{Store: store, ledger: s.ledger, tries: tries, prefix: "holdfast bench " + kind + "/"}
	locks, err := storelock.Open(ctx, counted, options...)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &process{locks, store}, nil
}

// Usage returns zero: the store's processes are not the bench's own.
func (*stored) Usage(context.Context, bool) (load.Usage, error) { return load.Usage{}, nil }

// Ping is unknown: a round trip to the store is part of every figure.
func (*stored) Ping(context.Context, time.Duration) (time.Duration, error) { return 0, nil }

// CountedRequests returns the requests to the store.
func (s *stored) CountedRequests() load.Requests { return s.ledger.sum() }

// mostProcesses is the maximum number of processes: each may have several connections.
const mostProcesses = 64

// Connect gives the workers a shared process, or one each.
func (s *stored) Connect(ctx context.Context, c load.Cell) (load.Client, error) {
	count := 1
	if c.Workload != load.Uncontended {
		count = min(c.Workers, mostProcesses)
	}
	if err := s.grow(ctx, count); err != nil {
		return nil, err
	}
	var used lockers
	for _, p := range s.processes[:count] {
		used = append(used, p.locks)
	}
	return used, nil
}

// process simulates one program: connections to the store, and a locker.
type process struct {
	locks *storelock.Locker
	store storage.Store
}

func (p *process) close() error {
	err := p.locks.Close()
	if closed := p.store.Close(); closed != nil {
		err = errors.Join(err, fmt.Errorf("close the store: %w", closed))
	}
	return err
}

// ledger counts the requests of all processes to a store.
type ledger struct{ writes, reads, tries atomic.Uint64 }

func (l *ledger) sum() load.Requests {
	return load.Requests{Writes: l.writes.Load(), Reads: l.reads.Load(), Tries: l.tries.Load()}
}

// countingStore is a store that counts requests, and prefixes every key.
type countingStore struct {
	storage.Store
	ledger *ledger
	tries  func(protocol.Message) bool
	prefix string
}

func (t *countingStore) Mutate(ctx context.Context, m *storage.Mutate) error {
	t.ledger.writes.Add(1)
	if t.tries(*m) {
		t.ledger.tries.Add(1)
	}
	there := *m
	there.Key = t.prefix + m.Key
	return t.Store.Mutate(ctx, &there)
}

func (t *countingStore) Swap(ctx context.Context, s *storage.Swap) (storage.Swapped, error) {
	t.ledger.writes.Add(1)
	if t.tries(*s) {
		t.ledger.tries.Add(1)
	}
	there := *s
	there.Key = t.prefix + s.Key
	return t.Store.Swap(ctx, &there)
}

func (t *countingStore) Slice(ctx context.Context, s *storage.Slice) ([]storage.Entry, error) {
	t.ledger.reads.Add(1)
	there := *s
	there.Key = t.prefix + s.Key
	return t.Store.Slice(ctx, &there)
}

func (t *countingStore) Watch(ctx context.Context, key string, changed func()) error {
	return t.Store.Watch(ctx, t.prefix+key, changed)
}

// Kept is a measured store, with its URL.
type Kept struct {
	URL  string
	Open func(ctx context.Context) (storage.Store, error)
}

// StoredTargets returns targets over stores: for each, by claims with each of the waits, and by conditional writes,
// without and with keeping released names, as far as kinds includes them. Their names contain the scheme of the URL:
// store-redis-100ms, store-redis-cas, store-redis-cas-kept; for a second store of the same scheme, store-redis-2-cas.
func StoredTargets(stores []Kept, kinds []string, waits []time.Duration) (targets []load.Target) {
	seen := map[string]int{}
	for _, kept := range stores {
		scheme, _, _ := strings.Cut(kept.URL, "://")
		name := "store-" + strings.ToLower(scheme)
		if seen[name]++; seen[name] > 1 {
			name += fmt.Sprintf("-%d", seen[name])
		}
		if slices.Contains(kinds, Claims) {
			for _, wait := range waits {
				targets = append(targets, Over(Stored{Name: name + "-" + wait.String(), Open: kept.Open, Wait: wait}))
			}
		}
		if slices.Contains(kinds, CAS) {
			targets = append(targets, Over(Stored{Name: name + "-cas", Open: kept.Open, CAS: true}))
		}
		if slices.Contains(kinds, CASKept) {
			targets = append(targets, Over(Stored{Name: name + "-cas-kept", Open: kept.Open, CAS: true, Keeps: true}))
		}
	}
	return targets
}

// Together makes a function that opens a store repeatedly from one that opens it once: it is closed when all are.
func Together(opens func(context.Context) (storage.Store, error)) func(context.Context) (storage.Store, error) {
	t := &together{opens: opens}
	return t.open
}

type together struct {
	opens func(context.Context) (storage.Store, error)

	mu    sync.Mutex
	store storage.Store
	users int
}

func (t *together) open(ctx context.Context) (_ storage.Store, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.users == 0 {
		if t.store, err = t.opens(ctx); err != nil {
			return nil, err
		}
	}
	t.users++
	return share{t.store, t}, nil
}

// share is one open handle of a shared store, closed once.
type share struct {
	storage.Store
	of *together
}

// Close closes the store if it is the last handle.
func (p share) Close() error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.users--; p.of.users > 0 {
		return nil
	}
	return p.Store.Close()
}
