package storagetest

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

func swapChecks() []check {
	return []check{
		{"swap", needSwap, swap},
		{"swap_of_empty_values", needSwap, swapOfEmptyValues},
		{"swap_of_long_values", needSwap, swapOfLongValues},
		{"swap_leaves_the_rest", needSwap, swapLeavesTheRest},
		{"swap_has_one_winner", needSwap, swapHasOneWinner},
		{"swap_counts", needSwap, swapCounts},
		{"swap_is_seen", needSwap, swapIsSeen},
		{"swaps_at_a_time", needSwap, swapsAtATime},
	}
}

// swap checks that Swap replaces the expected value, and otherwise returns the actual one.
func swap(s *stage) {
	key, any := s.row(), "\x00\xff'\\"
	done := storage.Swapped{Done: true}
	is := func(value string) storage.Swapped { return storage.Swapped{Present: true, Value: value} }
	for i, c := range []struct {
		absent   bool
		old, new string
		want     storage.Swapped
	}{
		{false, "one", "x", storage.Swapped{}}, // the column does not exist
		{true, "", "one", done},
		{true, "", "x", is("one")},
		{false, "on", "x", is("one")}, {false, "one\x00", "x", is("one")}, {false, "", "x", is("one")}, {false, "ONE", "x", is("one")},
		{false, "one", any, done},
		{false, "one", "x", is(any)},
		{false, any, any, done}, // also with its own value
		{false, any, "1", done},
		{false, "1.0", "x", is("1")}, {false, "01", "x", is("1")},
		{false, "1", "one", done}, // back to an earlier value
		{false, "one", "two", done},
	} {
		s.swap(s, &storage.Swap{Key: key, Column: "\x00c\xff", Absent: c.absent, Old: c.old, New: c.new, Notify: i%2 == 0}, c.want)
	}
	s.want(s.open(), &storage.Slice{Key: key, Serial: true}, entry("\x00c\xff", "two"))
}

// swapOfLongValues checks that values may be long, and are compared to their end.
func swapOfLongValues(s *stage) {
	key, long := s.row(), random(65536)
	other := long[:len(long)-1] + string([]byte{long[len(long)-1] + 1})
	w := &storage.Swap{Key: key, Column: "c", Absent: true, New: long}
	s.swap(s, w, storage.Swapped{Done: true})
	w = &storage.Swap{Key: key, Column: "c", Old: other, New: "x"}
	s.swap(s, w, storage.Swapped{Present: true, Value: long})
	w.Old, w.New = long, other
	s.swap(s, w, storage.Swapped{Done: true})
	s.want(s.open(), &storage.Slice{Key: key, Serial: true}, entry("c", other))
}

// swapOfEmptyValues checks that a column with an empty value exists.
func swapOfEmptyValues(s *stage) {
	w := func(absent bool, old, to string) *storage.Swap {
		return &storage.Swap{Key: "empty", Column: "c", Absent: absent, Old: old, New: to}
	}
	row := s.row()
	for _, c := range []struct {
		swap *storage.Swap
		want storage.Swapped
	}{
		{w(false, "", "x"), storage.Swapped{}},
		{w(true, "", ""), storage.Swapped{Done: true}},
		{w(true, "", "x"), storage.Swapped{Present: true}},
		{w(false, "x", "y"), storage.Swapped{Present: true}},
		{w(false, "", "x"), storage.Swapped{Done: true}},
		{w(false, "x", ""), storage.Swapped{Done: true}},
	} {
		c.swap.Key = row
		s.swap(s, c.swap, c.want)
	}
	s.want(s, &storage.Slice{Key: row, Serial: true}, entry("c", ""))
}

// swapLeavesTheRest checks that the rest of the row, and other rows, are unchanged.
func swapLeavesTheRest(s *stage) {
	one, two := s.row(), s.row()
	done := storage.Swapped{Done: true}
	for _, key := range []string{one, two} {
		for _, column := range []string{"a", "ab", "b"} {
			s.swap(s, &storage.Swap{Key: key, Column: column, Absent: true, New: "0"}, done)
		}
	}
	s.swap(s, &storage.Swap{Key: one, Column: "a", Old: "0", New: "1"}, done)
	s.swap(s, &storage.Swap{Key: one, Column: "ab", Old: "1", New: "2"}, storage.Swapped{Present: true, Value: "0"})
	s.want(s, &storage.Slice{Key: one, Serial: true}, entry("a", "1"), entry("ab", "0"), entry("b", "0"))
	s.want(s, &storage.Slice{Key: two, Serial: true}, entry("a", "0"), entry("ab", "0"), entry("b", "0"))
}

// swapsAtATime checks that concurrent swaps are independent, even if the store combines them: some find the expected
// value, some do not, and some find no column.
func swapsAtATime(s *stage) {
	const rows = 80
	keys := make([]string, rows)
	for i := range keys {
		keys[i] = s.row()
		if i%5 != 3 && i%5 != 4 {
			s.swap(s, &storage.Swap{Key: keys[i], Column: "c", Absent: true, New: keys[i]}, storage.Swapped{Done: true})
		}
	}
	s.together(rows, func(i int) {
		w := storage.Swap{Key: keys[i], Column: "c", Old: keys[i], New: "new", Notify: i%2 == 0}
		want := storage.Swapped{Done: true}
		switch i % 5 {
		case 1:
			w.Old, want = "else", storage.Swapped{Present: true, Value: keys[i]}
		case 2:
			w.Absent, w.Old, want = true, "", storage.Swapped{Present: true, Value: keys[i]}
		case 3:
			w.Absent, w.Old = true, ""
		case 4:
			want = storage.Swapped{}
		}
		s.swap(s, &w, want)
	})
	for i, key := range keys {
		read := storage.Slice{Key: key, Serial: true}
		switch i % 5 {
		case 0, 3:
			s.want(s, &read, entry("c", "new"))
		case 1, 2:
			s.want(s, &read, entry("c", key))
		case 4:
			s.want(s, &read)
		}
	}
}

// swapHasOneWinner checks that of several swaps that expect no column one wins, and the others get its value.
func swapHasOneWinner(s *stage) {
	const racers = 12
	stores := s.several(3)
	for round := range 25 {
		key := s.row()
		var mu sync.Mutex
		var won []string
		said := map[string]int{}
		s.together(racers, func(i int) {
			mine := fmt.Sprintf("racer %d of round %d", i, round)
			present, ok := s.claim(stores[i%3], key, mine)
			mu.Lock()
			defer mu.Unlock()
			if ok && present == mine {
				won = append(won, mine)
			}
			said[present]++
		})
		if s.Failed() {
			return
		}
		if len(won) != 1 || len(said) != 1 || said[won[0]] != racers {
			s.Fatalf("%d have won: %q; and the reported values are %v", len(won), won, said)
		}
	}
}

// claim swaps a missing column for mine, until the column's value is known.
func (s *stage) claim(store storage.Store, key, mine string) (present string, ok bool) {
	w := storage.Swap{Key: key, Column: "c", Absent: true, New: mine}
	for s.ctx.Err() == nil {
		swapped, err := store.Swap(s.ctx, &w)
		switch {
		case err == nil && swapped.Done:
			return mine, true
		case err == nil && swapped.Present:
			return swapped.Value, true
		case err == nil:
			s.Errorf("%s: not done, and there is nothing", brief(w))
			return "", false
		case s.classified(w, err) == storage.ErrInvalid:
			s.Errorf("%s: %v", brief(w), err)
			return "", false
		}
		// Refused or unknown: a read or a retry shows whether it was done, as no other goroutine writes this value.
		if value, there := s.look(store, key); there {
			return value, true
		}
	}
	s.Errorf("%s: no end: %v", brief(w), s.ctx.Err())
	return "", false
}

// look reads the column c of a row written by Swap.
func (s *stage) look(store storage.Store, key string) (value string, there bool) {
	entries, err := store.Slice(s.ctx, &storage.Slice{Key: key, Serial: true})
	if err != nil || len(entries) != 1 {
		return "", false
	}
	return entries[0].Value, true
}

// swapCounts checks that concurrent increments by Swap add up.
func swapCounts(s *stage) { s.count(s.several(3), 6, 25) }

// count has workers add to one column by Swap, each several times. The column has a mark for each addition, so that a
// read shows whether one with an unknown outcome was done. No value recurs once it was replaced, so a later effect of
// such a swap is impossible.
func (s *stage) count(stores []storage.Store, workers, each int) {
	key := s.row()
	s.together(workers, func(i int) {
		store, seen := stores[i%len(stores)], ""
		for n := range each {
			var ok bool
			if seen, ok = s.append(store, key, seen, fmt.Sprintf("%d.%d ", i, n)); !ok {
				return
			}
		}
	})
	if s.Failed() {
		return
	}
	value, there := s.look(s, key)
	for tries := 0; !there && tries < 1000; tries++ {
		value, there = s.look(s, key) // a faulty store may have refused it
	}
	marks := map[string]int{}
	for _, mark := range strings.Fields(value) {
		marks[mark]++
	}
	for i := range workers {
		for n := range each {
			if mark := strconv.Itoa(i) + "." + strconv.Itoa(n); marks[mark] != 1 {
				s.Errorf("addition %s was done, and is there %d times", mark, marks[mark])
			}
		}
	}
	if len(marks) != workers*each {
		s.Errorf("%d marks in the end, want %d", len(marks), workers*each)
	}
}

// append adds a mark to the column, whose value was seen, and returns the new value.
func (s *stage) append(store storage.Store, key, seen, mark string) (string, bool) {
	for s.ctx.Err() == nil {
		w := storage.Swap{Key: key, Column: "c", Absent: seen == "", Old: seen, New: seen + mark}
		swapped, err := store.Swap(s.ctx, &w)
		value, there := swapped.Value, swapped.Present
		switch {
		case err == nil && swapped.Done:
			return w.New, true
		case err == nil && !there && seen != "":
			s.Errorf("%s: what was there is gone", brief(w))
			return "", false
		case err != nil && s.classified(w, err) == storage.ErrInvalid:
			s.Errorf("%s: %v", brief(w), err)
			return "", false
		case err != nil:
			value, there = s.look(store, key)
		}
		if there && !strings.HasPrefix(value, seen) {
			s.Errorf("%s: %q is there, and does not begin with what was there before", brief(w), cut(value))
			return "", false
		}
		if there && strings.Contains(" "+value, " "+mark) {
			return value, true // it was done, though the answer did not say so
		}
		if there {
			seen = value
		}
	}
	s.Errorf("adding %q: no end: %v", mark, s.ctx.Err())
	return "", false
}

// swapIsSeen checks that every later read or swap sees a swap.
func swapIsSeen(s *stage) {
	stores := s.several(3)
	key, value := s.row(), ""
	for i := range 60 {
		next := fmt.Sprint("value ", i)
		s.swap(stores[i%3], &storage.Swap{Key: key, Column: "c", Absent: i == 0, Old: value, New: next}, storage.Swapped{Done: true})
		value = next
		s.want(stores[(i+1)%3], &storage.Slice{Key: key, Serial: true}, entry("c", value))
		s.swap(stores[(i+2)%3], &storage.Swap{Key: key, Column: "c", Absent: true, New: "x"}, storage.Swapped{Present: true, Value: value})
	}
}
