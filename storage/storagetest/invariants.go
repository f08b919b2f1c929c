package storagetest

import (
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

func invariants() []check {
	return []check{
		{"what_was_said_of_writes_is_true", nil, writesAreTrue},
		{"mutates_are_whole", nil, mutatesAreAtomic},
		{"swaps_count", needSwap, func(s *stage) { s.count(s.several(3), 6, 12) }},
	}
}

// writesAreTrue checks that acknowledged additions and deletions are visible, and refused ones have no effect.
func writesAreTrue(s *stage) {
	const workers, each = 8, 40
	key := s.row()
	stores := s.several(3)
	var mu sync.Mutex
	must, mustNot := map[string]bool{}, map[string]bool{}
	s.together(workers, func(w int) {
		for i := range each {
			column := fmt.Sprintf("%d %02d", w, i)
			m := storage.Mutate{Key: key, Additions: []storage.Entry{entry(column, column)}, Timestamp: int64(2 * i)}
			added := stores[w%3].Mutate(s.ctx, &m)
			if added != nil && s.classified(m, added) == storage.ErrInvalid {
				s.Errorf("%s: %v", brief(m), added)
				return
			}
			var removed error
			if i%2 == 0 {
				removed = stores[w%3].Mutate(s.ctx, &storage.Mutate{Key: key, Deletions: []string{column}, Timestamp: int64(2*i + 1)})
			}
			mu.Lock()
			switch {
			case kind(added) == storage.ErrRefused:
				mustNot[column] = true
			case added == nil && i%2 == 0 && removed == nil:
				mustNot[column] = true
			case added == nil && (i%2 != 0 || kind(removed) == storage.ErrRefused):
				must[column] = true
			}
			mu.Unlock()
		}
	})
	entries, err := s.eventually(key)
	if err != nil {
		s.Fatalf("the row cannot be read: %v", err)
	}
	for _, e := range entries {
		if e.Value != e.Column {
			s.Errorf("column %q has the value %q", e.Column, e.Value)
		}
		if mustNot[e.Column] {
			s.Errorf("column %q is there, and was refused or deleted", e.Column)
		}
		delete(must, e.Column)
	}
	if len(must) > 0 {
		s.Errorf("columns that were added and not deleted are not there: %v", must)
	}
}

// eventually reads a row of a store that may refuse to show it.
func (s *stage) eventually(key string) (entries []storage.Entry, err error) {
	for range 1000 {
		if entries, err = s.Slice(s.ctx, &storage.Slice{Key: key}); kind(err) != storage.ErrRefused {
			return entries, err
		}
	}
	return entries, err
}

// mutatesAreAtomic checks that mutations are atomic whenever they take effect: each adds a pair of columns, and a read
// shows both of a pair or neither.
func mutatesAreAtomic(s *stage) {
	const workers, each = 6, 25
	key := s.row()
	stores := s.several(3)
	s.together(workers, func(w int) {
		for i := range each {
			name := fmt.Sprintf("%d %02d", w, i)
			m := storage.Mutate{Key: key, Additions: []storage.Entry{entry("a "+name, name), entry("b "+name, name)}, Timestamp: int64(i)}
			if i > 1 {
				// If a pair may still appear later, both are added under the same timestamp.
				before := fmt.Sprintf("%d %02d", w, i-2)
				m.Deletions = []string{"a " + before, "b " + before}
			}
			if err := stores[w%3].Mutate(s.ctx, &m); err != nil && s.classified(m, err) == storage.ErrInvalid {
				s.Errorf("%s: %v", brief(m), err)
				return
			}
			entries, err := stores[(w+1)%3].Slice(s.ctx, &storage.Slice{Key: key})
			if err != nil {
				if k := s.classified(m, err); k != storage.ErrRefused {
					s.Errorf("a slice: %v", err)
				}
				continue
			}
			pairs := map[string]int{}
			for _, e := range entries {
				pairs[e.Value]++
			}
			for name, n := range pairs {
				if n != 2 {
					s.Errorf("of pair %q there is one column, want both or neither", name)
					return
				}
			}
		}
	})
}
