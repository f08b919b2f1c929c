package storelock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storelock"
)

// TestTransactionsOverRealStores is what LockKeyColumnValueStoreTest of the original is set up for: eight
// processes with two transactions each over a real store. All count up one cell, each by what it has read, and
// no count is lost. Claims that meet are rolled back and tried again, as the original's users do.
func TestTransactionsOverRealStores(t *testing.T) {
	t.Parallel()
	const processes, transactions, each = 8, 2, 2
	for i := range realStores {
		r := &realStores[i]
		for name, options := range map[string][]storelock.Option{
			"claims": steady(storelock.Retries(10), storelock.Expiry(5*time.Second)), "cas": steady(storelock.CAS(), storelock.Expiry(5*time.Second)),
		} {
			t.Run(r.name+" "+name, func(t *testing.T) {
				r.only(t, name == "claims")
				t.Parallel()
				url := r.start(t)
				first := r.dial(t, url, nil)
				var met atomic.Int64
				var all sync.WaitGroup
				for range processes {
					store := r.dial(t, url, first)
					table := storelock.Table{Data: store, Locks: opened(t, store, options...)}
					for range transactions {
						all.Go(func() {
							for range each {
								for !count(t, table, &met) {
									<-time.After(rand.N(50 * time.Millisecond)) // as the original's users do, who meet again otherwise
								}
							}
						})
					}
				}
				all.Wait()
				entries, err := first.Slice(context.Background(), &storage.Slice{Key: "counter"})
				if err != nil || len(entries) != 1 || entries[0].Value != strconv.Itoa(processes*transactions*each) {
					t.Errorf("counted %v (%v), want %d", entries, err, processes*transactions*each)
				}
				if met.Load() == 0 {
					t.Error("no two transactions have met")
				}
			})
		}
	}
}

// count counts up once, and reports whether it has; or that another process was before it. What
// it writes is dated by its token, which rises.
func count(t *testing.T, table storelock.Table, met *atomic.Int64) bool {
	ctx := context.Background()
	tx := storelock.NewTx()
	defer func() {
		if err := tx.Rollback(ctx); err != nil {
			t.Error(err)
		}
	}()
	entries, err := table.Data.Slice(ctx, &storage.Slice{Key: "counter", Start: "n", End: "n\x00"})
	if err != nil {
		t.Error(err)
		return true
	}
	expected, value := storelock.Absent, 0
	if len(entries) == 1 {
		expected = storelock.Value(entries[0].Value)
		if value, err = strconv.Atoi(entries[0].Value); err != nil {
			t.Error(err)
			return true
		}
	}
	if err = tx.Claim(ctx, table, "counter", "n", expected); err == nil {
		if err = tx.Check(ctx); err == nil {
			err = tx.Mutate(ctx, table, &storage.Mutate{
				Key: "counter", Additions: []storage.Entry{{Column: "n", Value: strconv.Itoa(value + 1)}},
			})
		}
	}
	switch {
	case err == nil:
		if err := tx.Commit(ctx); err != nil {
			t.Error(err)
		}
		return true
	case errors.Is(err, holdfast.ErrHeld), errors.Is(err, holdfast.ErrConflict), errors.Is(err, holdfast.ErrUnavailable), errors.Is(err, holdfast.ErrLost):
		met.Add(1)
		return false
	}
	t.Error(err)
	return true
}
