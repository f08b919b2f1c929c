package storelock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/node"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storelock"
)

// quick are settings for a store next door and clocks that are one.
func quick(more ...storelock.Option) []storelock.Option {
	return append([]storelock.Option{
		storelock.Wait(10 * time.Millisecond), storelock.Skew(time.Millisecond), storelock.Spaces("billing"),
		storelock.Limits(node.Limits{WaitersPerName: 300, LocksPerSession: 250}),
	}, more...)
}

// opened makes a locker of a process of its own.
func opened(tb testing.TB, store storage.Store, o ...storelock.Option) *storelock.Locker {
	tb.Helper()
	locks, err := storelock.Open(context.Background(), store, o...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := locks.Close(); err != nil {
			tb.Error(err)
		}
	})
	return locks
}

// TestConformance over a store in memory: by claims, and by conditional writes. Every Locker is a
// process of its own.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options []storelock.Option
		class   holdfast.Class
	}{
		"claims": {quick(), holdfast.Advisory},
		"cas":    {quick(storelock.CAS()), holdfast.Fenced},
		"kept":   {quick(storelock.CAS(), storelock.HoldOn(50*time.Millisecond)), holdfast.Fenced},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "cas" {
				parallel.SkipBrief(t) // each lock waits
			}
			t.Parallel()
			store := newStore()
			conforms(t, store, tt.class, name == "kept", tt.options...)
		})
	}
}

// conforms runs the suite of every Locker over a store.
func conforms(t *testing.T, store storage.Store, class holdfast.Class, keeps bool, o ...storelock.Option) {
	t.Helper()
	rounds := 40
	if testing.Short() {
		rounds = 10
	}
	lockertest.Run(t, func(tb testing.TB) holdfast.Locker {
		locks, err := storelock.Open(context.Background(), store, o...)
		if err != nil {
			tb.Fatal(err)
		}
		return locks
	}, lockertest.Caps{
		NoShared: true, NoSlots: true, NoFIFO: true, NoDeadlock: true, ObserveMerges: true, Class: class, Spaces: []string{"billing"}, Keeps: keeps,
		LocksPerSession: 250, Rounds: rounds,
		Values: func(tb testing.TB, space, name string) []string { return valuesIn(tb, store, space, name) },
	})
}

// valuesIn returns the value of a name's holder as the store shows it.
func valuesIn(tb testing.TB, store storage.Store, space, name string) []string {
	tb.Helper()
	locks, err := storelock.Operate(context.Background(), store, storelock.GroupOf(space, ""))
	if err != nil {
		tb.Error(err)
		return nil
	}
	shown, err := locks.Show(context.Background(), name)
	if err != nil {
		tb.Errorf("show %q: %v", name, err)
	}
	if shown.RID == "" {
		return nil
	}
	return []string{shown.Value}
}

// TestSettingsMustMatch: the error of a process that starts with others has both, and says how to go on.
func TestSettingsMustMatch(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newStore()
	first := opened(t, store, storelock.Wait(10*time.Millisecond))
	_, err := storelock.Open(ctx, store, storelock.Wait(20*time.Millisecond))
	if !errors.Is(err, holdfast.ErrConflict) || !strings.Contains(err.Error(), "wait=10ms") || !strings.Contains(err.Error(), "wait=20ms") {
		t.Errorf("another wait: %v", err)
	}
	if _, err = storelock.Open(ctx, store, storelock.CAS()); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("cas over claims: %v", err)
	}
	settings := first.Settings()
	stored, err := storelock.StoredSettings(ctx, store)
	if err != nil || len(stored) == 0 {
		t.Errorf("next to the locks stand %+v, %v; want %q", stored, err, settings.Settings())
	}
	common := false
	for _, one := range stored { // both spaces of the first may have written them, or the second have asked while the first agreed
		common = common || one.Accepted
		if one.Settings != settings.Settings() || one.RID == "" {
			t.Errorf("next to the locks stands %+v; want %q", one, settings.Settings())
		}
	}
	if !common {
		t.Errorf("nothing is agreed of %+v", stored)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time there is nothing to forget
		if err := storelock.ForgetSettings(ctx, store); err != nil {
			t.Fatal(err)
		}
		if stored, err := storelock.StoredSettings(ctx, store); err != nil || len(stored) != 0 {
			t.Errorf("next to the locks stand %+v, %v; want nothing", stored, err)
		}
	}
	opened(t, store, storelock.Wait(20*time.Millisecond))
}

// TestContradictions are refused at the start, with the fix.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]storelock.Option{
		"raise expiry to": storelock.Expiry(200 * time.Millisecond),
		"raise wait to":   storelock.Skew(90 * time.Millisecond),
		`option wait cannot be "1h": it is too long`:            storelock.Wait(time.Hour),
		`option retries cannot be "-1"`:                         storelock.Retries(-1),
		`option rid cannot be "\n": it has a control character`: storelock.RID("\n"),
	} {
		if _, err := storelock.Open(context.Background(), newStore(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestOneNameIsNotOneProcess: processes that were given one rid are two, and so are a process and its next
// life; and a transaction's cell excludes the lock whose row it has.
func TestOneNameIsNotOneProcess(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := newStore()
	first, second := opened(t, store, quick(storelock.RID("same"))...), opened(t, store, quick(storelock.RID("same"))...)
	if _, err := first.Lock(ctx, "n"); err != nil {
		t.Fatal(err)
	}
	if _, err := second.TryLock(ctx, "n"); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("the other process gets it: %v", err)
	}
	tx := storelock.NewTx()
	table := storelock.Table{Data: newStore(), Locks: first}
	if err := tx.Claim(ctx, table, holdfast.DefaultSpace, "n", storelock.Absent); err != nil {
		t.Fatal(err)
	}
	if err := tx.Check(ctx); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("a transaction of the same process gets it: %v", err)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Error(err)
	}
}

// TestCloseReleases: a process that closes its Locker does not keep others waiting for an
// expiry.
func TestCloseReleases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string][]storelock.Option{"claims": quick(), "cas": quick(storelock.CAS())} {
		t.Run(name, func(t *testing.T) {
			store := newStore()
			first, second := opened(t, store, o...), opened(t, store, o...)
			held, err := first.Lock(ctx, "n")
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			next, err := second.Lock(ctx, "n", holdfast.Wait(5*time.Second)) // less than any expiry
			if err != nil {
				t.Fatal(err)
			}
			if next.Token() <= held.Token() {
				t.Errorf("token %d after %d", next.Token(), held.Token())
			}
		})
	}
}

// newStore makes a store in memory.
func newStore() storage.Store { return memory.New(memory.Config{}) }
