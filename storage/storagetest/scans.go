package storagetest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/storage"
)

func scanChecks() []check {
	return []check{
		{"scan", nil, scan},
		{"scan_of_swaps", needSwap, scanOfSwaps},
		{"scan_of_a_long_row", nil, scanOfLongRow},
		{"scan_that_stops", nil, scanThatStops},
	}
}

// scanner returns a handle that can scan; all drivers can, and wrappers need not.
func (s *stage) scanner(store storage.Store) storage.Scanner {
	s.Helper()
	scanner, is := store.(storage.Scanner)
	if !is {
		s.Skipf("a %T is no storage.Scanner", store)
	}
	return scanner
}

// scanned returns the rows of a scan, each as it must come: once.
func (s *stage) scanned(r *storage.Scan) map[string][]storage.Entry {
	s.Helper()
	got := map[string][]storage.Entry{}
	err := s.scanner(s.open()).Scan(s.ctx, r, func(key string, entries []storage.Entry) error {
		if _, again := got[key]; again {
			s.Errorf("row %q came twice", key)
		}
		got[key] = entries
		return nil
	})
	if err != nil {
		s.Fatalf("scan of %q: %v", r.Prefix, err)
	}
	return got
}

// wantScan compares the rows of a scan.
func (s *stage) wantScan(r *storage.Scan, want map[string][]storage.Entry) {
	s.Helper()
	got := s.scanned(r)
	if len(got) != len(want) {
		s.Errorf("a scan of %q found %d rows, want %d", r.Prefix, len(got), len(want))
	}
	for key, entries := range want {
		if !slices.Equal(got[key], entries) {
			s.Errorf("row %q: %s, want %s", key, list(got[key]), list(entries))
		}
	}
}

// scan checks that all rows with the prefix are found, whole, and no others: deleted ones, longer and shorter keys, and
// keys with bytes that patterns give a meaning.
func scan(s *stage) {
	s.scanner(s.Store)
	base := s.row()
	prefix := base + `*[a-z]?\\^`
	want := map[string][]storage.Entry{}
	for i := range 300 {
		key := fmt.Sprintf("%s\x00%d\xff", prefix, i)
		if i == 0 {
			key = prefix
		}
		want[key] = []storage.Entry{entry("a", "1"), entry("b", fmt.Sprint(i))}
		s.add(s, key, 1, want[key]...)
	}
	s.add(s, base, 1, entry("shorter", ""))
	s.add(s, base+`*[a-z]?\\`, 1, entry("shorter by one", ""))
	s.add(s, base+`xa?\\^`, 1, entry("what a pattern matches", ""))
	s.add(s, prefix+"gone", 1, entry("c", ""))
	s.remove(s, prefix+"gone", 2, "c")
	s.remove(s, prefix+"\x001\xff", 2, "a")
	want[prefix+"\x001\xff"] = []storage.Entry{entry("b", "1")}
	s.wantScan(&storage.Scan{Prefix: prefix}, want)
	s.wantScan(&storage.Scan{Prefix: s.row()}, nil)
}

// scanOfSwaps checks that rows of Swap are found with Serial.
func scanOfSwaps(s *stage) {
	s.scanner(s.Store)
	prefix := s.row()
	want := map[string][]storage.Entry{}
	for i := range 30 {
		key := fmt.Sprint(prefix, i)
		s.swap(s, &storage.Swap{Key: key, Column: "cell", Absent: true, New: "first"}, storage.Swapped{Done: true})
		s.swap(s, &storage.Swap{Key: key, Column: "cell", Old: "first", New: key}, storage.Swapped{Done: true})
		want[key] = []storage.Entry{entry("cell", key)}
	}
	s.wantScan(&storage.Scan{Prefix: prefix, Serial: true}, want)
}

// scanOfLongRow checks that a row with more columns than are read at a time stays whole.
func scanOfLongRow(s *stage) {
	s.scanner(s.Store)
	prefix := s.row()
	long := make([]storage.Entry, 2500)
	for i := range long {
		long[i] = entry(fmt.Sprintf("%05d", i), "")
	}
	for part := range slices.Chunk(long, 100) {
		s.add(s, prefix+"b", 1, part...)
	}
	want := map[string][]storage.Entry{prefix + "a": {entry("c", "")}, prefix + "b": long, prefix + "c": {entry("c", "")}}
	s.add(s, prefix+"a", 1, want[prefix+"a"]...)
	s.add(s, prefix+"c", 1, want[prefix+"c"]...)
	s.wantScan(&storage.Scan{Prefix: prefix}, want)
}

var errEnough = errors.New("enough rows")

// scanThatStops checks that a scan ends with the error of its function, and that a closed store is an ErrInvalid.
func scanThatStops(s *stage) {
	s.scanner(s.Store)
	prefix := s.row()
	for i := range 3 {
		s.add(s, fmt.Sprint(prefix, i), 1, entry("c", ""))
	}
	store, calls := s.open(), 0
	err := s.scanner(store).Scan(s.ctx, &storage.Scan{Prefix: prefix}, func(string, []storage.Entry) error {
		calls++
		return errEnough
	})
	if !errors.Is(err, errEnough) || calls != 1 {
		s.Errorf("a scan whose function failed: %v after %d calls", err, calls)
	}
	if err := store.Close(); err != nil {
		s.Fatal(err)
	}
	err = s.scanner(store).Scan(s.ctx, &storage.Scan{Prefix: prefix}, func(string, []storage.Entry) error { return nil })
	s.wantKind("a scan of a closed store", err, storage.ErrInvalid)
}
