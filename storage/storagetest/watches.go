package storagetest

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast/storage"
)

func watchChecks() []check {
	return []check{
		{"watch_of_deletions", needWatch, watchOfDeletions},
		{"watch_of_swaps", needWatchedSwap, watchOfSwaps},
		{"watch_of_many", needWatch, watchOfMany},
		{"watch_ends", needWatch, watchEnds},
		{"watch_one_call_at_a_time", needWatch, watchOneCallAtATime},
	}
}

// watched starts to watch a row, and returns the channel of its notices.
func (s *stage) watched(ctx context.Context, store storage.Store, key string) <-chan struct{} {
	s.Helper()
	notified := make(chan struct{}, 1)
	err := store.Watch(ctx, key, func() {
		select {
		case notified <- struct{}{}:
		default:
		}
	})
	if err != nil {
		s.Fatalf("watch %q: %v", cut(key), err)
	}
	return notified
}

// drain discards earlier notices.
func drain(notified <-chan struct{}) {
	select {
	case <-notified:
	default:
	}
}

// delete adds a column and deletes it again. Notices of the addition are ignored.
func (s *stage) delete(store storage.Store, key string, i int, notified ...<-chan struct{}) {
	s.Helper()
	column := fmt.Sprint("column ", i)
	s.add(store, key, int64(i), entry(column, "v"))
	for _, t := range notified {
		drain(t)
	}
	s.remove(store, key, int64(i), column)
}

// watchOfDeletions checks that deletions through every handle are reported, from the first one on.
func watchOfDeletions(s *stage) {
	stores := s.several(3)
	for round := range 5 {
		key := s.row() + "\x00\xff'"
		// The columns exist before the watch, so that only their deletions can be reported.
		s.add(s, key, 1, entry("0", ""), entry("1", ""), entry("2", ""), entry("3", ""))
		notified := s.watched(s.ctx, stores[0], key)
		for i := range 4 {
			drain(notified)
			s.remove(stores[(round+i)%3], key, 2, fmt.Sprint(i))
			s.await(notified, fmt.Sprintf("deletion %d of round %d", i, round))
		}
	}
}

// watchOfSwaps checks that swaps with Notify are reported.
func watchOfSwaps(s *stage) {
	stores := s.several(3)
	key, value := s.row()+"\x00\xff'", ""
	notified := s.watched(s.ctx, stores[0], key)
	for i := range 12 {
		next := fmt.Sprint(i)
		w := storage.Swap{Key: key, Column: "c", Absent: i == 0, Old: value, New: next}
		if w.Notify = i%2 == 0; w.Notify {
			drain(notified)
		}
		s.swap(stores[i%3], &w, storage.Swapped{Done: true})
		value = next
		if w.Notify {
			s.await(notified, fmt.Sprintf("swap %d", i))
		}
	}
}

// watchOfMany checks that every watcher, of any handle, is notified about the row that it watches.
func watchOfMany(s *stage) {
	const rows = 4
	stores := s.several(3)
	var keys [rows]string
	var watchers [rows][]<-chan struct{}
	for row := range rows {
		keys[row] = s.row()
		for i := range 6 {
			watchers[row] = append(watchers[row], s.watched(s.ctx, stores[i%3], keys[row]))
		}
	}
	for i := range 3 * rows {
		row := i % rows
		s.delete(stores[i%3], keys[row], i, watchers[row]...)
		for j, notified := range watchers[row] {
			s.await(notified, fmt.Sprintf("watcher %d of row %d", j, row))
		}
	}
}

// watchEnds checks that a watch ends with its context, and other watches of the row continue.
func watchEnds(s *stage) {
	key := s.row()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	var calls atomic.Int64
	if err := s.Watch(ctx, key, func() { calls.Add(1) }); err != nil {
		s.Fatalf("watch: %v", err)
	}
	stays := s.watched(s.ctx, s, key)
	for i := 0; calls.Load() == 0; i++ {
		s.delete(s.Store, key, i, stays)
		s.await(stays, "the watcher who stays")
	}
	cancel()
	// Notices in flight may still arrive. They must come to an end.
	for i, quiet := 1000, 0; quiet < 25; i++ {
		before := calls.Load()
		s.delete(s.Store, key, i, stays)
		s.await(stays, "the watcher who stays")
		runtime.Gosched() // lets a watcher with a notice run
		if quiet++; calls.Load() != before {
			quiet = 0
		}
		if i == 1200 {
			s.Fatalf("200 deletions after its context has ended, a watcher is still notified")
		}
	}
}

// watchOneCallAtATime checks that a watcher's calls do not overlap, regardless of the number of notices.
func watchOneCallAtATime(s *stage) {
	stores := s.several(2)
	key := s.row()
	var inside, most atomic.Int64
	notified := make(chan struct{}, 1)
	err := s.Watch(s.ctx, key, func() {
		if n := inside.Add(1); n > 1 {
			most.Store(n)
		}
		select {
		case notified <- struct{}{}:
		default:
		}
		for range 1000 {
			runtime.Gosched() // another call may start now
		}
		inside.Add(-1)
	})
	if err != nil {
		s.Fatalf("watch: %v", err)
	}
	s.together(6, func(w int) {
		for i := range 10 {
			m := storage.Mutate{Key: key, Deletions: []string{fmt.Sprintf("%d %d", w, i)}, Timestamp: 1}
			if err := again(func() error { return stores[w%2].Mutate(s.ctx, &m) }); err != nil {
				s.Errorf("%s: %v", brief(m), err)
				return
			}
		}
	})
	s.delete(s.Store, key, 0)
	s.await(notified, "the watcher")
	for inside.Load() > 0 && s.ctx.Err() == nil {
		runtime.Gosched() // another call may start during this one
	}
	if n := most.Load(); n > 1 {
		s.Errorf("%d calls at a time", n)
	}
}
