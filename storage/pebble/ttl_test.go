package pebble_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/pebble"
)

// TestColumnsThatAreOver are not shown, and are removed by a later Mutate of the row with a TTL:
// what was only hidden would be seen again by a clock that goes back.
func TestColumnsThatAreOver(t *testing.T) {
	now := time.UnixMicro(1_000_000_000)
	store, err := pebble.OpenFS(t.Context(), vfs.NewMem(), "folder", pebble.Config{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}()
	add := func(key, column string, ttl time.Duration) {
		t.Helper()
		m := storage.Mutate{Key: key, Additions: []storage.Entry{{Column: column}}, TTL: ttl}
		if err := store.Mutate(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	want := func(key string, n int) {
		t.Helper()
		entries, err := store.Slice(t.Context(), &storage.Slice{Key: key})
		if err != nil || len(entries) != n {
			t.Errorf("row %q has %v, %v; want %d columns", key, entries, err, n)
		}
	}
	for i := range 5 {
		add("k", fmt.Sprint(i), time.Second)
		add("other", fmt.Sprint(i), time.Second)
	}
	add("k", "stays", 0)
	now = now.Add(time.Second - 1)
	want("k", 6)
	now = now.Add(time.Microsecond)
	want("k", 1)
	want("other", 0)
	add("k", "3", 10*time.Second) // one of those that are over, anew
	want("k", 2)
	now = now.Add(-time.Second)
	want("k", 2)
	want("other", 5)
	if at, err := store.Clock(t.Context()); err != nil || at != now.UnixMicro() {
		t.Errorf("the clock says %d, %v", at, err)
	}
}
