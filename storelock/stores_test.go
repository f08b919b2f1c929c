package storelock_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storage/open"
	"github.com/holdfast-locks/holdfast/storage/pebble"
	"github.com/holdfast-locks/holdfast/storelock"
)

// realStore is a store that runs as a server or in a folder: how one is started, and what
// it is worth.
type realStore struct {
	name    string
	start   func(testing.TB) string // its URL
	durable bool
	clock   bool
}

var realStores = []realStore{
	{"folder", func(tb testing.TB) string { return tb.TempDir() }, true, true},
	{"pebble", func(tb testing.TB) string { return "pebble://" + tb.TempDir() }, true, true},
	{"postgres", realstore.Postgres, true, true},
	{"redis", realstore.Redis, false, true},
	{"etcd", realstore.Etcd, true, false},
	{"cassandra", realstore.Cassandra, true, false},
}

// only skips all but what is done to a folder by conditional writes, where tests are to be short: the
// others drive the same code with another driver.
func (r *realStore) only(t *testing.T, claims bool) {
	t.Helper()
	if testing.Short() && (r.name != "pebble" || claims) {
		t.Skip("run without -short for all stores")
	}
}

// connected is a Locker with connections of its own, which end with it.
type connected struct {
	*storelock.Locker
	store storage.Store
}

func (p *connected) Close() error { return errors.Join(p.Locker.Close(), p.store.Close()) }

// dial opens a store for as long as the test takes.
func (r *realStore) dial(tb testing.TB, url string, first storage.Store) storage.Store {
	tb.Helper()
	store := r.connect(tb, url, first)
	tb.Cleanup(func() {
		if err := store.Close(); err != nil {
			tb.Error(err)
		}
	})
	return store
}

// connect opens a store as another process would: with connections of its own. A folder belongs to
// one process, so there it is another handle on the same.
func (r *realStore) connect(tb testing.TB, url string, first storage.Store) storage.Store {
	tb.Helper()
	var store storage.Store
	var err error
	if folder, is := first.(*pebble.Store); is {
		store, err = folder.Share()
	} else {
		store, err = open.Open(context.Background(), url)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return store
}

// steady are settings for a store on a machine that others keep busy: a write may take 17 ms, and is tried again where it takes longer.
func steady(more ...storelock.Option) []storelock.Option {
	return append([]storelock.Option{
		storelock.Claims(storelock.Settings{Wait: 20 * time.Millisecond, Skew: time.Millisecond, Retries: 25}), storelock.Spaces("billing"),
	}, more...)
}

// TestTokensOutliveChangedSettings: a store in which claims and conditional writes take turns gives rising tokens,
// regardless of what was left of the other way. Over Redis, where the two are kept in keys of different kinds, the
// change is refused, with what to do.
func TestTokensOutliveChangedSettings(t *testing.T) {
	t.Parallel()
	for i := range realStores {
		r := &realStores[i]
		t.Run(r.name, func(t *testing.T) {
			r.only(t, false)
			t.Parallel()
			takeTurns(t, r.dial(t, r.start(t), nil), r.name == "redis")
		})
	}
	t.Run("memory", func(t *testing.T) {
		store := memory.New(memory.Config{})
		takeTurns(t, store, false)
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
}

// takeTurns locks a name by claims and by conditional writes in turn.
func takeTurns(t *testing.T, store storage.Store, refused bool) {
	t.Helper()
	ctx := context.Background()
	var last holdfast.Token
	for turn, way := range []string{"claims", "cas", "cas", "claims", "cas", "claims", "claims", "cas"} {
		if err := storelock.ForgetSettings(ctx, store); err != nil {
			t.Fatal(err)
		}
		options := steady()
		if way == "cas" {
			options = steady(storelock.CAS())
		}
		locks, err := storelock.Open(ctx, store, options...)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			lock, err := locks.Lock(ctx, "n", holdfast.Wait(time.Minute))
			if refused && way != "claims" {
				if err == nil || !strings.Contains(err.Error(), "?prefix=NAME") {
					t.Errorf("turn %d, %s: %v; want what to do", turn, way, err)
				}
				break
			}
			if err != nil {
				t.Fatalf("turn %d, %s: %v", turn, way, err)
			}
			if lock.Token() <= last {
				t.Errorf("turn %d, %s: token %d comes after %d", turn, way, lock.Token(), last)
			}
			last = lock.Token()
			if err := lock.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if err := locks.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRealStores runs the suite of every Locker over every store of realStores, by claims and by
// conditional writes. Each Locker is a process with connections of its own.
func TestRealStores(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for i := range realStores {
		r := &realStores[i]
		for _, cas := range []bool{false, true} {
			name, options, class := r.name+" claims", steady(), holdfast.Advisory
			if cas {
				name, options = r.name+" cas", steady(storelock.CAS())
				if r.durable {
					class = holdfast.Fenced
				}
			}
			t.Run(name, func(t *testing.T) {
				r.only(t, !cas)
				t.Parallel()
				url := r.start(t)
				first := r.dial(t, url, nil)
				lockertest.Run(t, func(tb testing.TB) holdfast.Locker {
					p := &connected{store: r.connect(tb, url, first)}
					var err error
					if p.Locker, err = storelock.Open(context.Background(), p.store, options...); err != nil {
						tb.Fatal(err)
					}
					return p
				}, lockertest.Caps{NoShared: true, NoSlots: true, NoFIFO: true, NoDeadlock: true, ObserveMerges: true, Class: class, Spaces: []string{"billing"}, Rounds: 8})
			})
		}
	}
}

// TestContention: processes that want one lock all get it, one at a time, and tokens rise: over each store,
// by claims, by the store's clock where it has one, and by conditional writes.
func TestContention(t *testing.T) {
	t.Parallel()
	const processes, rounds = 4, 3
	for i := range realStores {
		r := &realStores[i]
		ways := map[string][]storelock.Option{"claims": steady(), "cas": steady(storelock.CAS())}
		if r.clock {
			// The store is asked for the time, which takes as long as it takes.
			ways["store clock"] = append(steady(storelock.StoreClock()), storelock.Wait(50*time.Millisecond), storelock.Skew(20*time.Millisecond))
		}
		for name, options := range ways {
			t.Run(r.name+" "+name, func(t *testing.T) {
				r.only(t, name == "claims")
				t.Parallel()
				url := r.start(t)
				first := r.dial(t, url, nil)
				var mu sync.Mutex
				var inside int
				var last holdfast.Token
				var all sync.WaitGroup
				for range processes {
					locks := opened(t, r.dial(t, url, first), options...)
					all.Go(func() {
						for range rounds {
							lock, err := locks.Lock(context.Background(), "n", holdfast.Wait(time.Minute))
							if err != nil {
								t.Error(err)
								return
							}
							mu.Lock()
							if inside++; inside > 1 {
								t.Errorf("%d hold the lock", inside)
							}
							if lock.Token() <= last {
								t.Errorf("token %d after %d", lock.Token(), last)
							}
							last = lock.Token()
							mu.Unlock()
							mu.Lock()
							inside--
							mu.Unlock()
							if err := lock.Unlock(context.Background()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				all.Wait()
			})
		}
	}
}

// TestHoldLongerThanExpiry: a claim is renewed while its lock is held, also while others wait.
func TestHoldLongerThanExpiry(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string][]storelock.Option{"claims": nil, "cas": {storelock.CAS()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore()
			o := append([]storelock.Option{
				storelock.Wait(20 * time.Millisecond), storelock.Skew(2 * time.Millisecond), storelock.Expiry(time.Second),
			}, o...)
			first, second := opened(t, store, o...), opened(t, store, o...)
			held, err := first.Lock(ctx, "n")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := second.Lock(ctx, "n", holdfast.Wait(3*time.Second)); err == nil {
				t.Error("it was granted while it was held")
			}
			if err := held.Check(); err != nil {
				t.Errorf("after three times its expiry: %v", err)
			}
		})
	}
}
