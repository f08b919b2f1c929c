package storelock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storelock"
)

// What LockKeyColumnValueStoreTest of the original checks, by its names: hosts with transactions over
// one store.

// machine is a process of the original's tests: its locks, and the table that it writes.
type machine struct {
	t     *testing.T
	table storelock.Table
	locks storage.Store
}

// hosts are processes over one store of data and one of locks.
func hosts(t *testing.T, count int, o ...storelock.Option) (all []*machine) {
	t.Helper()
	data, locks := newStore(), newStore()
	for range count {
		all = append(all, &machine{t, storelock.Table{Data: data, Locks: opened(t, locks, quick(o...)...)}, locks})
	}
	return all
}

// stamp orders the writes of the tests.
var stamp = time.Now().UnixMicro()

func (h *machine) write(tx *storelock.Tx, key, column, value string) error {
	return tx.Mutate(context.Background(), h.table, &storage.Mutate{
		Key: key, Timestamp: stamp, Additions: []storage.Entry{{Column: column, Value: value}},
	})
}

// claim claims a cell, which must go well.
func (h *machine) claim(tx *storelock.Tx, key, column string, expected storelock.Expected) {
	h.t.Helper()
	if err := tx.Claim(context.Background(), h.table, key, column, expected); err != nil {
		h.t.Fatal(err)
	}
}

// must fails the test where something did not go well.
func (h *machine) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// has checks what a cell has.
func (h *machine) has(key, column, want string) {
	h.t.Helper()
	entries, err := h.table.Data.Slice(context.Background(), &storage.Slice{Key: key, Start: column, End: column + "\x00"})
	h.must(err)
	if len(entries) != 1 || entries[0].Value != want {
		h.t.Errorf("cell (%q, %q) has %v, want %q", key, column, entries, want)
	}
}

// unclaimed waits until the store has no claim of a cell.
func (h *machine) unclaimed(key, column string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	row, changed := claim.Row(key, column), make(chan struct{}, 1)
	h.must(h.locks.Watch(ctx, row, func() {
		select {
		case changed <- struct{}{}:
		default: // one look is for all that has changed
		}
	}))
	for {
		entries, err := h.locks.Slice(ctx, &storage.Slice{Key: row})
		h.must(err)
		if !slices.ContainsFunc(entries, func(e storage.Entry) bool { _, _, is := claim.ParseColumn(e.Column); return is }) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			h.t.Fatalf("the row of cell (%q, %q) still has %v", key, column, entries)
		}
	}
}

// TestTransactionsDateTheirWrites: what is written to a cell is not lost because a transaction over that cell and others
// came before, whose tokens were higher.
func TestTransactionsDateTheirWrites(t *testing.T) {
	t.Parallel()
	for name, o := range map[string][]storelock.Option{"cas": {storelock.CAS()}, "claims": nil, "claims in ms": {storelock.Unit(claim.Milli)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := hosts(t, 1, o...)[0]
			ctx := context.Background()
			run := func(columns string, add bool) {
				t.Helper()
				tx := storelock.NewTx()
				m := &storage.Mutate{Key: "k"}
				for _, column := range strings.Split(columns, "") {
					entries, err := h.table.Data.Slice(ctx, &storage.Slice{Key: "k", Start: column, End: column + "\x00"})
					h.must(err)
					expected := storelock.Absent
					if len(entries) == 1 {
						expected = storelock.Value(entries[0].Value)
					}
					h.claim(tx, "k", column, expected)
					m.Additions = append(m.Additions, storage.Entry{Column: column, Value: columns})
				}
				if !add {
					m.Additions, m.Deletions = nil, strings.Split(columns, "")
				}
				h.must(tx.Mutate(ctx, h.table, m))
				h.must(tx.Commit(ctx))
			}
			run("a", true)
			run("ab", true) // the token of b is the time, that of a the next number where the store compares and sets
			h.has("k", "a", "ab")
			h.has("k", "b", "ab")
			run("a", true)
			h.has("k", "a", "a")
			run("abc", true)
			run("a", false)
			if entries, err := h.table.Data.Slice(ctx, &storage.Slice{Key: "k"}); err != nil || len(entries) != 2 {
				t.Errorf("of a, b and c there is %v, %v; want that a is deleted", entries, err)
			}
			tx := storelock.NewTx()
			h.claim(tx, "k", "b", storelock.Value("abc"))
			err := tx.Mutate(ctx, h.table, &storage.Mutate{Key: "k", Additions: []storage.Entry{{Column: "b", Value: "v"}, {Column: "z", Value: "v"}}})
			if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), `cell ("k", "z"): it is not claimed`) {
				t.Errorf("a column that is not claimed and has no timestamp: %v", err)
			}
			h.has("k", "b", "abc")
			h.must(tx.Rollback(ctx))
		})
	}
}

// TestSingleLockAndUnlock is singleLockAndUnlock.
func TestSingleLockAndUnlock(t *testing.T) {
	t.Parallel()
	h := hosts(t, 1)[0]
	tx := storelock.NewTx()
	h.claim(tx, "k", "c", storelock.Absent)
	h.must(h.write(tx, "k", "c", "v"))
	if token := tx.Token(h.table, "k", "c"); token == 0 {
		t.Error("a claim that was checked has no token")
	}
	h.must(tx.Commit(context.Background()))
	h.has("k", "c", "v")
}

// TestTransactionMayReenterLock is transactionMayReenterLock: the first expectation stays.
func TestTransactionMayReenterLock(t *testing.T) {
	t.Parallel()
	h := hosts(t, 1)[0]
	tx := storelock.NewTx()
	h.claim(tx, "k", "c", storelock.Absent)
	h.claim(tx, "k", "c", storelock.Absent)
	h.claim(tx, "k", "c", storelock.Value("another"))
	h.must(h.write(tx, "k", "c", "v"))
	h.must(tx.Commit(context.Background()))
	h.has("k", "c", "v")
}

// TestExpectedValueMismatchCausesMutateFailure is expectedValueMismatchCausesMutateFailure: nothing is
// written, to no table, and nothing later.
func TestExpectedValueMismatchCausesMutateFailure(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := hosts(t, 1)[0]
	tx := storelock.NewTx()
	h.claim(tx, "k", "c", storelock.Value("v1"))
	h.claim(tx, "k", "other", storelock.Absent)
	for range 2 {
		err := h.write(tx, "k", "other", "v")
		var mismatch *storelock.MismatchError
		if !errors.As(err, &mismatch) || !errors.Is(err, holdfast.ErrConflict) || mismatch.Have != storelock.Absent {
			t.Errorf("it is %v", err)
		}
		if want := `cell ("k", "c") has nothing, and "v1" was expected`; err != nil && err.Error() != want {
			t.Errorf("it says %q, want %q", err, want)
		}
	}
	h.must(tx.Rollback(ctx))
	if entries, err := h.table.Data.Slice(ctx, &storage.Slice{Key: "k"}); err != nil || len(entries) != 0 {
		t.Errorf("%v was written: %v", entries, err)
	}
}

// TestLocalLockContention is testLocalLockContention: the second transaction of a process is refused at once,
// each time, and the first is not harmed.
func TestLocalLockContention(t *testing.T) {
	t.Parallel()
	h := hosts(t, 1)[0]
	first, second := storelock.NewTx(), storelock.NewTx()
	h.claim(first, "k", "c", storelock.Absent)
	for range 2 {
		err := second.Claim(context.Background(), h.table, "k", "c", storelock.Absent)
		if !errors.Is(err, holdfast.ErrHeld) || !strings.Contains(err.Error(), "another transaction of this process") {
			t.Errorf("it is %v", err)
		}
	}
	h.must(h.write(first, "k", "c", "v"))
	h.must(first.Commit(context.Background()))
	h.must(second.Rollback(context.Background()))
	h.claim(rolledBack(h), "k", "c", storelock.Value("v"))
}

// rolledBack is a transaction that is rolled back with the test.
func rolledBack(h *machine) *storelock.Tx {
	tx := storelock.NewTx()
	h.t.Cleanup(func() { h.must(tx.Rollback(context.Background())) })
	return tx
}

// TestRemoteLockContention is testRemoteLockContention: the second host may claim, and must not write.
func TestRemoteLockContention(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string][]storelock.Option{"claims": nil, "cas": {storelock.CAS()}} {
		t.Run(name, func(t *testing.T) {
			two := hosts(t, 2, o...)
			first, second := storelock.NewTx(), storelock.NewTx()
			two[0].t, two[1].t = t, t
			two[0].claim(first, "k", "c", storelock.Absent)
			two[0].must(first.Check(ctx))
			two[1].claim(second, "k", "c", storelock.Absent)
			if err := two[1].write(second, "k", "c", "second"); !errors.Is(err, holdfast.ErrHeld) {
				t.Errorf("the second host writes: %v", err)
			}
			two[0].must(two[0].write(first, "k", "c", "first"))
			two[1].must(second.Rollback(ctx))
			two[0].must(first.Commit(ctx))
			two[0].has("k", "c", "first")
		})
	}
}

// TestIndependentLocks is singleTransactionWithMultipleLocks, twoLocalTransactionsWithIndependentLocks and
// twoTransactionsWithIndependentLocks.
func TestIndependentLocks(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	two := hosts(t, 2)
	for name, by := range map[string][]*machine{"one process": {two[0], two[0]}, "two processes": {two[0], two[1]}} {
		first, second := storelock.NewTx(), storelock.NewTx()
		by[0].claim(first, name, "1", storelock.Absent)
		by[0].claim(first, name, "2", storelock.Absent)
		by[1].claim(second, name, "3", storelock.Absent)
		by[0].must(by[0].write(first, name, "1", "a"))
		by[1].must(by[1].write(second, name, "3", "c"))
		by[0].must(by[0].write(first, name, "2", "b"))
		by[0].must(first.Commit(ctx))
		by[1].must(second.Commit(ctx))
		for column, value := range map[string]string{"1": "a", "2": "b", "3": "c"} {
			by[0].has(name, column, value)
		}
	}
}

// TestRolledBackClaimIsFree is expiredLocalLockIsIgnored and expiredRemoteLockIsIgnored, as far as
// they are about claims that their transactions gave up; those whose process has ended expire in
// TestCrashedProcess.
func TestRolledBackClaimIsFree(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	two := hosts(t, 2)
	first := storelock.NewTx()
	two[0].claim(first, "k", "c", storelock.Absent)
	two[0].must(first.Rollback(ctx)) // never checked
	two[0].unclaimed("k", "c")
	for _, h := range two {
		tx := storelock.NewTx()
		h.claim(tx, "k", "c", storelock.Absent)
		h.must(tx.Check(ctx))
		h.must(tx.Rollback(ctx))
	}
}

// deleting is a store that holds deletions in two cells' rows back, from when it is armed until let is closed.
// Before, it deletes at once: a claim that took longer than its wait is deleted and written again.
type deleting struct {
	storage.Store
	armed        atomic.Bool
	arrived, let chan struct{} // a deletion has come; closed: they may be done
}

func (d *deleting) Mutate(ctx context.Context, m *storage.Mutate) error {
	if d.armed.Load() && len(m.Deletions) > 0 && (m.Key == claim.Row("k", "1") || m.Key == claim.Row("k", "2")) {
		select {
		case d.arrived <- struct{}{}:
		default: // it is known that one has come
		}
		<-d.let
	}
	return d.Store.Mutate(ctx, m)
}

// TestEndIsWhenClaimsAreDeleted: where Commit and Rollback have returned, another process finds no claim that was
// checked; and where their context ends before, they say so, and the claims are deleted all the same.
func TestEndIsWhenClaimsAreDeleted(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*storelock.Tx, context.Context) error{"commit": (*storelock.Tx).Commit, "rollback": (*storelock.Tx).Rollback} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			data := newStore()
			slow := &deleting{Store: newStore(), arrived: make(chan struct{}, 1), let: make(chan struct{})}
			ours := &machine{t, storelock.Table{Data: data, Locks: opened(t, slow, quick()...)}, slow}
			other := &machine{t, storelock.Table{Data: data, Locks: opened(t, slow.Store, quick()...)}, slow.Store}
			checked := func(h *machine, column string) *storelock.Tx {
				t.Helper()
				tx := storelock.NewTx()
				h.claim(tx, "k", column, storelock.Absent)
				h.must(tx.Check(ctx))
				return tx
			}
			unheard, heard := checked(ours, "1"), checked(ours, "2")
			slow.armed.Store(true)
			ending, cancel := context.WithCancel(ctx)
			go func() {
				<-slow.arrived
				cancel()
			}()
			if err := end(unheard, ending); !errors.Is(err, context.Canceled) {
				t.Errorf("it has ended before the claim was deleted: %v", err)
			}
			close(slow.let)
			ours.must(end(heard, ctx))
			other.must(end(checked(other, "2"), ctx))
			other.unclaimed("k", "1")
			other.must(end(checked(other, "1"), ctx))
		})
	}
}

// TestLocksOnMultipleStores is testLocksOnMultipleStores: six tables, claims in four of them, and all are
// checked before the first write to any.
func TestLocksOnMultipleStores(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	var tables []*machine
	for range 6 {
		tables = append(tables, hosts(t, 1)...)
	}
	rival := storelock.NewTx()
	other := &machine{t, storelock.Table{Data: tables[3].table.Data, Locks: tables[3].table.Locks}, tables[3].locks}
	tx := storelock.NewTx()
	for _, h := range tables[:4] {
		h.claim(tx, "k", "c", storelock.Absent)
	}
	if err := rival.Claim(ctx, other.table, "k", "c", storelock.Absent); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("another transaction claims: %v", err)
	}
	for _, h := range tables {
		h.must(h.write(tx, "k", "c", "v"))
	}
	for _, h := range tables[:4] {
		if tx.Token(h.table, "k", "c") == 0 {
			t.Error("a claim was not checked before the first write")
		}
	}
	if err := tx.Claim(ctx, tables[5].table, "k", "c", storelock.Absent); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a claim after the first write: %v", err)
	}
	tables[0].must(tx.Commit(ctx))
	for _, h := range tables {
		h.has("k", "c", "v")
	}
	if err := tables[0].write(tx, "k", "c", "late"); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("a write after the end: %v", err)
	}
}

// TestCrashedProcess is expiredRemoteLockIsIgnored: the claims of a process that has ended are passed
// over when they have expired, and its tokens are passed over.
func TestCrashedProcess(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	ctx := context.Background()
	for name, o := range map[string][]storelock.Option{"claims": nil, "cas": {storelock.CAS()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := append(quick(storelock.Expiry(time.Second)), o...)
			store := newStore()
			dies := &mortal{Store: store}
			first := opened(t, dies, o...)
			held, err := first.Lock(ctx, "n")
			if err != nil {
				t.Fatal(err)
			}
			dies.dead.Store(true)
			second := opened(t, store, o...)
			next, err := second.Lock(ctx, "n", holdfast.Wait(20*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if err := held.Check(); !errors.Is(err, holdfast.ErrLost) {
				t.Errorf("the first holder believes: %v", err)
			}
			if next.Token() <= held.Token() {
				t.Errorf("token %d after %d", next.Token(), held.Token())
			}
			if dies.refused.Load() == 0 {
				t.Error("the store was never asked by the dead")
			}
		})
	}
}

// TestLimitOfCells: a key and a column have 255 bytes together.
func TestLimitOfCells(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := hosts(t, 1)[0]
	tx := storelock.NewTx()
	h.claim(tx, strings.Repeat("k", 200), strings.Repeat("c", 55), storelock.Absent)
	if err := tx.Check(ctx); err != nil {
		t.Error(err)
	}
	err := tx.Claim(ctx, h.table, strings.Repeat("k", 200), strings.Repeat("c", 56), storelock.Absent)
	if !errors.Is(err, holdfast.ErrName) || !strings.Contains(err.Error(), "have 256 bytes; at most 255 are allowed") {
		t.Errorf("256 bytes: %v", err)
	}
	h.must(tx.Rollback(ctx))
}
