package memory_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/memory"
)

// harness is a store, its clock, and the test that plays with them.
type harness struct {
	*testing.T
	*memory.Store
	now time.Time
}

func newHarness(t *testing.T, remember time.Duration) *harness {
	b := &harness{T: t, now: time.UnixMicro(1_000_000_000)}
	b.Store = memory.New(memory.Config{Now: func() time.Time { return b.now }, Remember: remember})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *harness) add(stamp int64, ttl time.Duration, column, value string) {
	b.Helper()
	m := storage.Mutate{Key: "k", Additions: []storage.Entry{{Column: column, Value: value}}, Timestamp: stamp, TTL: ttl}
	if err := b.Mutate(b.Context(), &m); err != nil {
		b.Fatal(err)
	}
}

func (b *harness) remove(stamp int64, columns ...string) {
	b.Helper()
	if err := b.Mutate(b.Context(), &storage.Mutate{Key: "k", Deletions: columns, Timestamp: stamp}); err != nil {
		b.Fatal(err)
	}
}

// want looks whether the row has these columns, each followed by its value.
func (b *harness) want(pairs ...string) {
	b.Helper()
	entries, err := b.Slice(b.Context(), &storage.Slice{Key: "k"})
	if err != nil {
		b.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Column, e.Value)
	}
	if !slices.Equal(got, pairs) {
		b.Errorf("the row has %q, want %q", got, pairs)
	}
}

// TestTimestampsDecide between writes of one column, whichever comes last.
func TestTimestampsDecide(t *testing.T) {
	b := newHarness(t, 0)
	b.add(5, 0, "a", "five")
	b.add(4, 0, "a", "four")
	b.want("a", "five")
	b.add(5, 0, "a", "fife")
	b.want("a", "five")
	b.add(5, 0, "a", "fiver")
	b.want("a", "fiver")
	b.remove(4, "a", "never there")
	b.want("a", "fiver")
	b.add(6, 0, "a", "")
	b.want("a", "")
	b.remove(6, "a")
	b.want()
	b.add(1, 0, "a", "again")
	b.want("a", "again") // as it remembers nothing
}

// TestDeletionsAreRemembered for a while, where that is wanted.
func TestDeletionsAreRemembered(t *testing.T) {
	b := newHarness(t, time.Minute)
	b.remove(5, "a")
	b.want()
	b.add(5, 0, "a", "not higher")
	b.want()
	b.add(6, 0, "a", "higher")
	b.want("a", "higher")
	b.remove(5, "a")
	b.want("a", "higher")
	b.remove(7, "a")
	b.remove(6, "a")
	b.add(7, 0, "a", "not higher")
	b.want()
	b.now = b.now.Add(time.Minute)
	b.add(1, 0, "a", "forgotten")
	b.want("a", "forgotten")
}

// TestColumnsAreForgotten at the full second after their TTL; one that was written anew
// without one is not.
func TestColumnsAreForgotten(t *testing.T) {
	b := newHarness(t, 0)
	b.add(1, time.Millisecond, "a", "1")
	b.add(1, 2*time.Second, "b", "2")
	b.add(1, time.Second, "c", "3")
	b.add(2, 0, "c", "stays")
	b.now = b.now.Add(time.Second - 1)
	b.want("a", "1", "b", "2", "c", "stays")
	b.now = b.now.Add(1)
	b.want("b", "2", "c", "stays")
	b.add(0, 0, "a", "lower")
	b.want("a", "lower", "b", "2", "c", "stays")
	b.now = b.now.Add(time.Hour)
	b.want("a", "lower", "c", "stays")
	if now, err := b.Clock(t.Context()); err != nil || now != b.now.UnixMicro() {
		t.Errorf("the clock says %d, %v", now, err)
	}
}

// TestHandles share rows and their watchers, and end one by one.
func TestHandles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := memory.New(memory.Config{})
		two := one.Share()
		notified := 0
		if err := two.Watch(t.Context(), "k", func() { notified++ }); err != nil {
			t.Fatal(err)
		}
		swap := storage.Swap{Key: "k", Column: "c", Absent: true, New: "v"}
		if swapped, err := one.Swap(t.Context(), &swap); err != nil || !swapped.Done {
			t.Fatal(swapped, err)
		}
		synctest.Wait()
		if swapped, err := two.Swap(t.Context(), &swap); err != nil || swapped != (storage.Swapped{Present: true, Value: "v"}) || notified != 1 {
			t.Errorf("the other handle sees %v, %v, and was notified %d times", swapped, err, notified)
		}
		if err := one.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := one.Swap(t.Context(), &swap); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("after Close: %v", err)
		}
		three := one.Share()
		if entries, err := three.Slice(t.Context(), &storage.Slice{Key: "k", Serial: true}); err != nil || len(entries) != 1 {
			t.Errorf("a handle that came later sees %v, %v", entries, err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := three.Clock(ended); !errors.Is(err, storage.ErrRefused) || !errors.Is(err, context.Canceled) {
			t.Errorf("under a context that has ended: %v", err)
		}
		if err := errors.Join(two.Close(), three.Close(), three.Close()); err != nil {
			t.Error(err)
		}
	})
}
