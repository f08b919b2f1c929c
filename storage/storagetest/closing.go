package storagetest

import (
	"fmt"
	"sync"

	"github.com/holdfast-locks/holdfast/storage"
)

func closeChecks() []check {
	return []check{
		{"close", nil, closeOne},
		{"close_with_requests", nil, closeWithRequests},
		{"close_with_watches", needWatch, closeWithWatches},
		{"use_by_many", nil, useByMany},
	}
}

// closeOne closes one handle and checks that it accepts nothing more, that the others continue, and that writes stay.
func closeOne(s *stage) {
	key := s.row()
	one := s.open()
	s.add(one, key, 1, entry("a", "1"))
	for range 2 {
		if err := one.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
		s.each(s.ctx, one, key+"x", func(what string, err error) { s.wantKind(what+" after Close", err, storage.ErrInvalid) })
	}
	s.want(s, &storage.Slice{Key: key}, entry("a", "1"))
	s.want(s, &storage.Slice{Key: key + "x"})
	s.want(s.open(), &storage.Slice{Key: key}, entry("a", "1"))
	s.each(s.ctx, s, key, func(what string, err error) {
		if err != nil {
			s.Errorf("%s, after another handle was closed: %v", what, err)
		}
	})
}

// closeWithRequests closes during requests and checks that each of them ends, with an error of the right kind.
func closeWithRequests(s *stage) {
	const workers = 6
	key := s.row()
	one := s.open()
	var mu sync.Mutex
	said := map[string]error{}
	underWay := make(chan struct{}, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := 0; ; i++ {
				column := fmt.Sprintf("%d %04d", w, i)
				err := one.Mutate(s.ctx, &storage.Mutate{Key: key, Additions: []storage.Entry{entry(column, "v")}, Timestamp: 1})
				mu.Lock()
				said[column] = err
				mu.Unlock()
				if i == 3 || err != nil && i < 3 {
					underWay <- struct{}{}
				}
				if err != nil {
					return
				}
			}
		})
	}
	for range workers {
		<-underWay
	}
	if err := one.Close(); err != nil {
		s.Errorf("Close: %v", err)
	}
	all.Wait()
	there := map[string]bool{}
	for _, e := range s.read(s, &storage.Slice{Key: key}) {
		there[e.Column] = true
	}
	for column, err := range said {
		switch k := kind(err); {
		case err == nil && !there[column]:
			s.Errorf("column %q was added, and is not there", column)
		case err != nil && k == nil:
			s.Errorf("the error of a request under way at Close is of none of the three kinds, or of several: %v", err)
		case err != nil && k != storage.ErrUnknown && there[column]:
			s.Errorf("column %q is there: %v", column, err)
		}
	}
}

// closeWithWatches checks that Close ends watches.
func closeWithWatches(s *stage) {
	key := s.row()
	one := s.open()
	notified := s.watched(s.ctx, one, key)
	s.delete(s.Store, key, 1, notified)
	s.await(notified, "the watcher")
	if err := one.Close(); err != nil {
		s.Errorf("Close: %v", err)
	}
	drain(notified)
	stays := s.watched(s.ctx, s, key)
	s.delete(s.Store, key, 2, stays)
	s.await(stays, "the watcher of another handle")
	select {
	case <-notified:
		s.Errorf("the watcher of a handle that was closed is notified")
	default:
	}
}

// useByMany uses all methods of one handle concurrently.
func useByMany(s *stage) {
	const workers, rounds = 12, 10
	f := s.Features()
	shared := s.row()
	s.together(workers, func(w int) {
		own := fmt.Sprint(shared, " of ", w)
		for i := range rounds {
			column := fmt.Sprintf("%d %02d", w, i)
			for _, key := range []string{shared, own} {
				m := storage.Mutate{Key: key, Additions: []storage.Entry{entry(column, "v")}, Timestamp: 1}
				if err := again(func() error { return s.Mutate(s.ctx, &m) }); err != nil {
					s.Errorf("%s: %v", brief(m), err)
					return
				}
			}
			entries, err := s.Slice(s.ctx, &storage.Slice{Key: own})
			if err != nil || len(entries) != i+1 {
				s.Errorf("worker %d sees %d of %d columns, %v", w, len(entries), i+1, err)
				return
			}
			if f.Swap {
				if _, ok := s.claim(s.Store, fmt.Sprint(own, "s", i), column); !ok {
					return
				}
			}
			if f.Clock {
				if _, err := s.Clock(s.ctx); err != nil {
					s.Errorf("Clock: %v", err)
				}
			}
			if f.Watch {
				if err := s.Watch(s.ctx, own, func() {}); err != nil {
					s.Errorf("Watch: %v", err)
				}
			}
		}
	})
	if got := len(s.read(s, &storage.Slice{Key: shared})); got != workers*rounds {
		s.Errorf("%d columns in the row of all, want %d", got, workers*rounds)
	}
}
