package cassandra

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
)

// open opens a store for a test.
func open(t testing.TB, url string) *Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func add(t testing.TB, s storage.Store, key string, stamp int64, ttl time.Duration, pairs ...string) {
	t.Helper()
	m := &storage.Mutate{Key: key, Timestamp: stamp, TTL: ttl}
	for i := 0; i < len(pairs); i += 2 {
		m.Additions = append(m.Additions, storage.Entry{Column: pairs[i], Value: pairs[i+1]})
	}
	if err := s.Mutate(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, s storage.Store, key string, stamp int64, columns ...string) {
	t.Helper()
	if err := s.Mutate(t.Context(), &storage.Mutate{Key: key, Timestamp: stamp, Deletions: columns}); err != nil {
		t.Fatal(err)
	}
}

// want looks whether a slice shows these columns, each followed by its value.
func want(t testing.TB, s storage.Store, r *storage.Slice, pairs ...string) {
	t.Helper()
	entries, err := s.Slice(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Column, e.Value)
	}
	if !slices.Equal(got, pairs) {
		t.Errorf("%v shows %q, want %q", r, got, pairs)
	}
}

// TestRow: what one handle adds and deletes, another one sees, in order and within bounds.
func TestRow(t *testing.T) {
	url := realstore.Cassandra(t)
	s := open(t, url)
	other := open(t, url) // the keyspace is there now
	long := strings.Repeat("\xff", storage.MaxName)
	want(t, s, &storage.Slice{Key: "k"})
	add(t, s, "k", 10, 0, "\x00", "zero", "a", "", "a\x00", "v", "\xff", "last")
	add(t, s, "k", 10, time.Hour, "b", "B")
	all := &storage.Slice{Key: "k"}
	want(t, other, all, "\x00", "zero", "a", "", "a\x00", "v", "b", "B", "\xff", "last")
	want(t, other, &storage.Slice{Key: "k", Start: "a", End: "b", Limit: 9}, "a", "", "a\x00", "v")
	want(t, other, &storage.Slice{Key: "k", Start: "a", Limit: 1}, "a", "")
	want(t, other, &storage.Slice{Key: "k", End: "\x01"}, "\x00", "zero")
	add(t, s, long, 0, 0, long, long)
	want(t, other, &storage.Slice{Key: long, Start: long}, long, long)

	// One column goes and another comes: one batch.
	m := &storage.Mutate{Key: "k", Timestamp: 11, TTL: time.Minute, Deletions: []string{"a", "\xff"}, Additions: []storage.Entry{{Column: "c", Value: "C"}}}
	if err := other.Mutate(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	want(t, s, all, "\x00", "zero", "a\x00", "v", "b", "B", "c", "C")
	// What is older changes nothing; of what is as old the higher value stays; and a deletion
	// is remembered, and wins over what is as old.
	add(t, s, "k", 9, 0, "\x00", "older", "a", "again")
	add(t, s, "k", 10, 0, "\x00", "zeal")
	add(t, s, "k", 10, 0, "\x00", "zest")
	add(t, s, "k", 11, 0, "\xff", "again")
	want(t, s, all, "\x00", "zest", "a\x00", "v", "b", "B", "c", "C")
	add(t, s, "k", 12, 0, "\xff", "anew")
	remove(t, s, "k", 9, "\x00")
	want(t, other, all, "\x00", "zest", "a\x00", "v", "b", "B", "c", "C", "\xff", "anew")
}

// TestCompleteRows come in one answer, however many columns they have: a page would be another
// read, at another instant.
func TestCompleteRows(t *testing.T) {
	s := open(t, realstore.Cassandra(t))
	const count = 7000 // above what a page has by default
	m := &storage.Mutate{Key: "k", Timestamp: 1}
	for i := range count {
		m.Additions = append(m.Additions, storage.Entry{Column: fmt.Sprintf("%05d", i)})
	}
	if err := s.Mutate(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	found := s.session.Query("SELECT column1 FROM "+s.table+" WHERE key = ?", []byte("k")).IterContext(t.Context())
	if found.NumRows() != count || len(found.PageState()) > 0 {
		t.Errorf("the first page has %d columns of %d", found.NumRows(), count)
	}
	if err := found.Close(); err != nil {
		t.Fatal(err)
	}
	if entries, err := s.Slice(t.Context(), &storage.Slice{Key: "k"}); err != nil || len(entries) != count {
		t.Errorf("%d columns of %d, %v", len(entries), count, err)
	}
}

// TestTTL: columns are forgotten at the full second after their TTL, or up to one before.
func TestTTL(t *testing.T) {
	t.Parallel()
	s := open(t, realstore.Cassandra(t))
	add(t, s, "k", 1, 0, "stays", "")
	add(t, s, "k", 1, 1100*time.Millisecond, "goes", "")
	began := time.Now()
	add(t, s, "other", 1, 999*time.Second+time.Nanosecond, "goes", "")
	var left int
	if err := s.session.Query("SELECT TTL(value) FROM "+s.table+" WHERE key = ? AND column1 = ?", []byte("other"), []byte("goes")).ScanContext(t.Context(), &left); err != nil || left > 1000 || left < 998-int(time.Since(began).Seconds()) {
		t.Errorf("it is to be forgotten in %d s, %v; want 1000", left, err)
	}
	for {
		entries, err := s.Slice(t.Context(), &storage.Slice{Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 1 && entries[0].Column == "stays" {
			break
		}
	}
	err := s.Mutate(t.Context(), &storage.Mutate{Key: "k", Timestamp: 1, TTL: longestTTL + 1, Additions: []storage.Entry{{Column: "c"}}})
	if !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("a ttl of over 20 years: %v", err)
	}
	// Some servers know no date after January 2038, and say so.
	add(t, s, "k", 1, 10*365*24*time.Hour, "c", "")
}

// TestSwap compares and replaces, tells what there is instead, and leaves plain rows alone.
func TestSwap(t *testing.T) {
	s := open(t, realstore.Cassandra(t))
	add(t, s, "k", 1, 0, "c", "plain")
	swap := func(w storage.Swap, want storage.Swapped) {
		t.Helper()
		if got, err := s.Swap(t.Context(), &w); err != nil || got != want {
			t.Errorf("%v: %v, %v; want %v", w, got, err, want)
		}
	}
	swap(storage.Swap{Key: "k", Column: "c", Old: "v", New: "w"}, storage.Swapped{})
	swap(storage.Swap{Key: "k", Column: "c", Absent: true}, storage.Swapped{Done: true})
	swap(storage.Swap{Key: "k", Column: "c", Absent: true, New: "v"}, storage.Swapped{Present: true})
	swap(storage.Swap{Key: "k", Column: "c", Old: "v", New: "w"}, storage.Swapped{Present: true})
	swap(storage.Swap{Key: "k", Column: "c", New: "v"}, storage.Swapped{Done: true})
	swap(storage.Swap{Key: "k", Column: "c", Absent: true}, storage.Swapped{Present: true, Value: "v"})
	swap(storage.Swap{Key: "k", Column: "d", Absent: true, New: "D"}, storage.Swapped{Done: true})
	swap(storage.Swap{Key: "k", Column: "c", Old: "v", New: "\x00"}, storage.Swapped{Done: true})
	want(t, s, &storage.Slice{Key: "k", Serial: true}, "c", "\x00", "d", "D")
	want(t, s, &storage.Slice{Key: "k", Serial: true, Start: "d", End: "e", Limit: 1}, "d", "D")
	want(t, s, &storage.Slice{Key: "k"}, "c", "plain")
}

// TestTombstonesBelowTheStart are not passed over: a slice from there on takes no longer than
// one of a row without deletions, where a slice of all does.
func TestTombstonesBelowTheStart(t *testing.T) {
	s := open(t, realstore.Cassandra(t))
	const count = 5000
	for i := 0; i < count; i += 500 {
		m := &storage.Mutate{Key: "k", Timestamp: 1}
		for j := i; j < i+500; j++ {
			m.Deletions = append(m.Deletions, fmt.Sprintf("%05d", j))
		}
		if err := s.Mutate(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	add(t, s, "k", 1, 0, "live", "")
	add(t, s, "clean", 1, 0, "live", "")
	passed := func(r *storage.Slice) (cells int) {
		t.Helper()
		want(t, s, r, "live", "")
		return tombstones(t, s, r)
	}
	if all := passed(&storage.Slice{Key: "k"}); all != count {
		t.Fatalf("a slice of all passes over %d tombstones; want %d, or this test shows nothing", all, count)
	}
	for _, r := range []*storage.Slice{{Key: "k", Start: "l"}, {Key: "k", Start: "l", Limit: 3}, {Key: "clean"}} {
		if n := passed(r); n != 0 {
			t.Errorf("%v passes over %d tombstones, want none", r, n)
		}
	}
}

// TestManySwap: of those who race for a counter none is lost and none counted twice, if each
// reads, after an end that is not known, what there is.
func TestManySwap(t *testing.T) {
	url := realstore.Cassandra(t)
	const workers, rounds = 4, 15
	var group sync.WaitGroup
	first := open(t, url)
	var mu sync.Mutex
	unknown := 0
	for i := range workers {
		s := first
		if i > 0 {
			s = open(t, url)
		}
		group.Go(func() {
			n, err := count(t.Context(), s, fmt.Sprint(i), rounds)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			unknown += n
		})
	}
	group.Wait()
	entries, err := first.Slice(t.Context(), &storage.Slice{Key: "k", Serial: true})
	if err != nil || len(entries) != 1 || len(strings.Fields(entries[0].Value)) != workers*rounds {
		t.Fatalf("%q, %v; want %d words", entries, err, workers*rounds)
	}
	t.Logf("%d swaps ended in something unknown", unknown)
}

// count adds words that no other goroutine adds to a column, and returns how often the outcome
// was unknown.
func count(ctx context.Context, s storage.Store, name string, rounds int) (unknown int, err error) {
	for i := range rounds {
		item := fmt.Sprintf(" %s.%d", name, i)
		for done := false; !done; {
			entries, err := s.Slice(ctx, &storage.Slice{Key: "k", Serial: true})
			if errors.Is(err, storage.ErrRefused) {
				continue
			}
			if err != nil {
				return unknown, err
			}
			w := &storage.Swap{Key: "k", Column: "c", Absent: len(entries) == 0, New: item}
			if !w.Absent {
				w.Old, w.New = entries[0].Value, entries[0].Value+item
				if slices.Contains(strings.Fields(w.Old), item[1:]) {
					break // what was not answered has been done
				}
			}
			short, cancel := context.WithTimeout(ctx, time.Duration(1+i%7)*2*time.Millisecond)
			swapped, err := s.Swap(short, w)
			cancel()
			if errors.Is(err, storage.ErrUnknown) {
				unknown++
			} else if err != nil && !errors.Is(err, storage.ErrRefused) {
				return unknown, err
			}
			done = swapped.Done
		}
	}
	return unknown, nil
}
