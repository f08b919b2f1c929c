package storagetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

func refuseChecks() []check {
	return []check{
		{"features", nil, features},
		{"not_allowed", nil, notAllowed},
		{"context_done_before", nil, contextDoneBefore},
		{"context_ends_midway", nil, contextEndsMidway},
	}
}

// features checks that features are named, and missing ones refused.
func features(s *stage) {
	f := s.Features()
	if f.Name == "" {
		s.Errorf("Features has no Name")
	}
	if other := s.open().Features(); other != f {
		s.Errorf("two handles have %+v and %+v", f, other)
	}
	key := s.row()
	if !f.Swap {
		_, err := s.Store.Swap(s.ctx, &storage.Swap{Key: key, Column: "c", Absent: true, New: "v"})
		s.wantKind("Swap, which Features does not say", err, storage.ErrInvalid)
		s.want(s, &storage.Slice{Key: key})
	}
	if !f.Clock {
		_, err := s.Clock(s.ctx)
		s.wantKind("Clock, which Features does not say", err, storage.ErrInvalid)
	}
	if !f.Watch {
		err := s.Watch(s.ctx, key, func() {})
		s.wantKind("Watch, which Features does not say", err, storage.ErrInvalid)
	}
}

// notAllowed checks that requests that fail Check are refused without effect.
func notAllowed(s *stage) {
	key := s.row()
	long := strings.Repeat("k", storage.MaxName+1)
	one := []storage.Entry{entry("a", "1")}
	for _, m := range []storage.Mutate{
		{Additions: one},
		{Key: long, Additions: one},
		{Key: key},
		{Key: key, Additions: []storage.Entry{entry("a", "1"), entry("", "2")}},
		{Key: key, Additions: one, Deletions: []string{long}},
		{Key: key, Additions: []storage.Entry{entry("a", "1"), entry("b", "2"), entry("a", "1")}},
		{Key: key, Additions: one, Deletions: []string{"a"}},
		{Key: key, Additions: one, Timestamp: -1},
		{Key: key, Additions: one, TTL: -time.Second},
	} {
		s.wantKind(brief(m), s.Mutate(s.ctx, &m), storage.ErrInvalid)
	}
	for _, r := range []storage.Slice{{}, {Key: long}, {Key: key, Start: "b", End: "a"}, {Key: key, Limit: -1}} {
		_, err := s.Slice(s.ctx, &r)
		s.wantKind(brief(r), err, storage.ErrInvalid)
	}
	f := s.Features()
	for _, w := range []storage.Swap{
		{Column: "c", Absent: true}, {Key: long, Column: "c", Absent: true}, {Key: key, Absent: true},
		{Key: key, Column: long, Absent: true}, {Key: key, Column: "c", Absent: true, Old: "o"},
	} {
		if f.Swap {
			_, err := s.Store.Swap(s.ctx, &w)
			s.wantKind(brief(w), err, storage.ErrInvalid)
		}
	}
	if f.Watch {
		s.wantKind("watch a row without a key", s.Watch(s.ctx, "", func() {}), storage.ErrInvalid)
		s.wantKind("watch a row whose key is too long", s.Watch(s.ctx, long, func() {}), storage.ErrInvalid)
	}
	s.want(s, &storage.Slice{Key: key})
}

// each calls every method that the store has, and passes the error to came.
func (s *stage) each(ctx context.Context, store storage.Store, key string, came func(what string, err error)) {
	f := s.Features()
	came("Mutate", store.Mutate(ctx, &storage.Mutate{Key: key, Additions: []storage.Entry{entry("a", "1")}, Timestamp: 1}))
	_, err := store.Slice(ctx, &storage.Slice{Key: key})
	came("Slice", err)
	if f.Swap {
		_, err := store.Swap(ctx, &storage.Swap{Key: key + "s", Column: "c", Absent: true, New: "v"})
		came("Swap", err)
	}
	if f.Clock {
		_, err := store.Clock(ctx)
		came("Clock", err)
	}
	if f.Watch {
		came("Watch", store.Watch(ctx, key, func() {}))
	}
}

// contextDoneBefore checks that a request under a done context is refused with the context's error and has no effect.
func contextDoneBefore(s *stage) {
	key := s.row()
	canceled, cancel := context.WithCancel(s.ctx)
	cancel()
	late, cancel := context.WithDeadline(s.ctx, time.Now().Add(-time.Second))
	defer cancel()
	for ctx, want := range map[context.Context]error{canceled: context.Canceled, late: context.DeadlineExceeded} {
		s.each(ctx, s, key, func(what string, err error) {
			what += " under a context that has ended"
			s.wantKind(what, err, storage.ErrRefused)
			if !errors.Is(err, want) {
				s.Errorf("%s: %v, want %v in it", what, err, want)
			}
		})
	}
	s.want(s, &storage.Slice{Key: key})
	s.want(s, &storage.Slice{Key: key + "s"})
	s.each(s.ctx, s, key, func(what string, err error) {
		if err != nil {
			s.Errorf("%s, after others whose context had ended: %v", what, err)
		}
	})
}

// contextEndsMidway ends contexts during requests: one reported as refused is never done, one reported as done is, and
// the store serves the next request.
func contextEndsMidway(s *stage) {
	const tries, workers = 40, 4
	key := s.row()
	stores := s.several(2)
	var mu sync.Mutex
	said := map[string]error{}
	count := map[error]int{}
	s.together(workers, func(w int) {
		dice := rand.New(rand.NewPCG(uint64(w), 7))
		for i := range tries {
			column := fmt.Sprintf("%d %02d", w, i)
			ctx, cancel := context.WithTimeout(s.ctx, time.Duration(dice.IntN(1000))*time.Microsecond)
			err := stores[w%2].Mutate(ctx, &storage.Mutate{Key: key, Additions: []storage.Entry{entry(column, "v")}, Timestamp: 1})
			cancel()
			_, readErr := stores[w%2].Slice(s.ctx, &storage.Slice{Key: key, Limit: 1})
			if readErr != nil {
				s.Errorf("a slice after a request that was given up: %v", readErr)
			}
			mu.Lock()
			said[column] = err
			if err != nil {
				count[kind(err)]++
				if k := kind(err); k != storage.ErrRefused && k != storage.ErrUnknown {
					s.Errorf("a mutate whose context ended: %v", err)
				}
			}
			mu.Unlock()
		}
	})
	s.Logf("of %d requests, %d are refused and %d of unknown end", tries*workers, count[storage.ErrRefused], count[storage.ErrUnknown])
	there := map[string]bool{}
	for _, e := range s.read(stores[0], &storage.Slice{Key: key}) {
		there[e.Column] = true
	}
	for column, err := range said {
		switch {
		case err == nil && !there[column]:
			s.Errorf("column %q was added, and is not there", column)
		case kind(err) == storage.ErrRefused && there[column]:
			s.Errorf("column %q is there, and was refused: %v", column, err)
		}
	}
}
