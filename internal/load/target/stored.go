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

// keptFor is how long a process keeps what it has released, of kind CASKept: the most that there is.
const keptFor = time.Second

// Stored says how locks are kept in a store that the bench has not started.
type Stored struct {
	// Name is the target's.
	Name string
	// Open connects to the store; it is called once for each process that workers stand for.
	Open func(ctx context.Context) (storage.Store, error)
	// CAS takes locks by conditional writes. Otherwise it is by claims, and Wait is for how long
	// each is left alone; zero means 100 ms.
	CAS  bool
	Wait time.Duration
	// Keeps has a process keep for a second what was released, for workers of its own. It goes with CAS.
	Keeps bool
}

// Over is a target over a store.
//
// Where no worker wants what another has, all workers share one locker, as in one program; where all
// want one name each has a locker and connections of its own, as in many programs, and none hears of a
// release but from the store. All that is asked of the store is counted. The workers do not get in the way of
// other locks: all rows have keys of their own, and so the settings next to the locks are the bench's,
// of one kind each.
func Over(s Stored) load.Target { return &stored{Stored: s, ledger: &ledger{}} }

// stored is a [load.Target] and a [load.RequestCounter].
type stored struct {
	Stored
	ledger    *ledger
	processes []*process // those that were needed so far: what they know of the store they keep
}

func (s *stored) Name() string { return s.Stored.Name }

// Supports says that what grows in the store is not measured, nor a crowd of processes.
func (s *stored) Supports(c load.Cell) bool {
	return c.Workload == load.Uncontended || c.Workload == load.Hot
}

// Start opens the first process: the store answers, or it does not.
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

// grow opens processes until there are so many.
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

// openLimit is how long the store may take to be opened.
const openLimit = 30 * time.Second

// open makes a process. The keys of its rows say of what kind it is, because those who share locks must
// agree on that.
func (s *stored) open(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	// All are on one machine, whose clock is one: what is left for the skew is next to nothing, as in the
	// original, which leaves nothing.
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

// Usage is nothing: the store's processes are not the bench's own.
func (*stored) Usage(context.Context, bool) (load.Usage, error) { return load.Usage{}, nil }

// Ping is not known: what a round trip to the store takes is in every figure.
func (*stored) Ping(context.Context, time.Duration) (time.Duration, error) { return 0, nil }

// CountedRequests is what the store was asked for.
func (s *stored) CountedRequests() load.Requests { return s.ledger.sum() }

// mostProcesses is how many there are at most: each may have some connections.
const mostProcesses = 64

// Connect gives workers a process together, or one each.
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

// process is what one program has: connections to the store, and a locker.
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

// ledger has counts of what was asked of a store by all processes.
type ledger struct{ writes, reads, tries atomic.Uint64 }

func (l *ledger) sum() load.Requests {
	return load.Requests{Writes: l.writes.Load(), Reads: l.reads.Load(), Tries: l.tries.Load()}
}

// countingStore is a store that counts what it is asked, and puts something before every key.
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

// Kept is a store that is measured, by the URL under which it is opened.
type Kept struct {
	URL  string
	Open func(ctx context.Context) (storage.Store, error)
}

// StoredTargets are targets over stores: of each, by claims with each of the waits, and by
// conditional writes, without and with keeping what was released, as far as kinds names them. They are called after the scheme of the
// URL: store-redis-100ms, store-redis-cas, store-redis-cas-kept; of a second store of one scheme, store-redis-2-cas.
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

// Together makes what opens a store many times of what opens it once: it is closed when all are.
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

// share is a share in a store, which is closed once.
type share struct {
	storage.Store
	of *together
}

// Close closes the store if it is the last one.
func (p share) Close() error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	if p.of.users--; p.of.users > 0 {
		return nil
	}
	return p.Store.Close()
}
