package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestColumnsThatAreOverAreDeleted from the table, and no others.
func TestColumnsThatAreOverAreDeleted(t *testing.T) {
	b := newHarness(t)
	store := b.open(b.server.URL())
	for i := range 2500 {
		m := add("k", fmt.Sprint("over ", i))
		m.TTL = time.Hour
		if err := store.Mutate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	later := add("k", "later")
	later.TTL = time.Hour
	b.do("UPDATE holdfast_locks SET until = clock_timestamp() - interval '1 second'")
	if err := errors.Join(store.Mutate(t.Context(), add("k", "stays")), store.Mutate(t.Context(), later)); err != nil {
		t.Fatal(err)
	}
	entries, err := store.Slice(t.Context(), &storage.Slice{Key: "k"})
	if err != nil || len(entries) != 2 {
		t.Errorf("%d columns are shown, %v; want 2", len(entries), err)
	}
	if err := store.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := b.admin.QueryRow(t.Context(), "SELECT count(*) FROM holdfast_locks").Scan(&left); err != nil || left != 2 {
		t.Errorf("%d rows are left in the table, %v; want 2", left, err)
	}
}

// TestSwapsStayInPlace: a column that is swapped all the time moves no index, and the table does
// not grow with it.
func TestSwapsStayInPlace(t *testing.T) {
	b := newHarness(t, "-c", "autovacuum=off")
	store := b.open(b.server.URL())
	value := ""
	const swaps = 2000
	for i := range swaps {
		w := storage.Swap{Key: "k", Column: "c", Absent: i == 0, Old: value, New: fmt.Sprintf("%0100d", i)}
		if swapped, err := store.Swap(t.Context(), &w); err != nil || !swapped.Done {
			t.Fatal(swapped, err)
		}
		value = w.New
	}
	var pages int64
	if err := b.admin.QueryRow(t.Context(), "SELECT pg_relation_size('holdfast_locks') / 8192").Scan(&pages); err != nil || pages > 4 {
		t.Errorf("after %d swaps of one column the table has %d pages, %v", swaps, pages, err)
	}
	if err := b.admin.QueryRow(t.Context(), "SELECT pg_relation_size('holdfast_locks_pkey') / 8192").Scan(&pages); err != nil || pages > 2 {
		t.Errorf("after %d swaps of one column its index has %d pages, %v", swaps, pages, err)
	}
}
