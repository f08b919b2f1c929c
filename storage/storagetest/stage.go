package storagetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// stage is the environment of one check: its handles and assertions.
type stage struct {
	testing.TB
	storage.Store // the first handle
	ctx           context.Context
	opens         func(testing.TB) storage.Store
	opened        []storage.Store
}

// open opens another handle.
func (s *stage) open() storage.Store {
	s.Helper()
	store := s.opens(s.TB)
	s.opened = append(s.opened, store)
	return store
}

// several returns n handles, the first of which is the stage's own.
func (s *stage) several(n int) []storage.Store {
	s.Helper()
	stores := []storage.Store{s.Store}
	for len(stores) < n {
		stores = append(stores, s.open())
	}
	return stores
}

// strike closes everything that the check has opened.
func (s *stage) strike() {
	for _, store := range s.opened {
		if err := store.Close(); err != nil {
			s.Errorf("Close: %v", err)
		}
	}
}

// row returns a key that no other check has.
func (s *stage) row() string { return "row " + rand.Text() }

// entry returns a column with a value.
func entry(column, value string) storage.Entry { return storage.Entry{Column: column, Value: value} }

// add adds one column.
func (s *stage) add(store storage.Store, key string, stamp int64, entries ...storage.Entry) {
	s.Helper()
	s.mutate(store, &storage.Mutate{Key: key, Additions: entries, Timestamp: stamp})
}

// remove deletes columns.
func (s *stage) remove(store storage.Store, key string, stamp int64, columns ...string) {
	s.Helper()
	s.mutate(store, &storage.Mutate{Key: key, Deletions: columns, Timestamp: stamp})
}

func (s *stage) mutate(store storage.Store, m *storage.Mutate) {
	s.Helper()
	if err := store.Mutate(s.ctx, m); err != nil {
		s.Fatalf("%s: %v", brief(m), err)
	}
}

// read reads a row.
func (s *stage) read(store storage.Store, r *storage.Slice) []storage.Entry {
	s.Helper()
	entries, err := store.Slice(s.ctx, r)
	if err != nil {
		s.Fatalf("%s: %v", brief(r), err)
	}
	return entries
}

// want reads a row and compares it.
func (s *stage) want(store storage.Store, r *storage.Slice, want ...storage.Entry) {
	s.Helper()
	if got := s.read(store, r); !slices.Equal(got, want) {
		s.Fatalf("%s: %s, want %s", brief(r), list(got), list(want))
	}
}

// swap makes a swap and compares its result.
func (s *stage) swap(store storage.Store, w *storage.Swap, want storage.Swapped) {
	s.Helper()
	got, err := store.Swap(s.ctx, w)
	if err != nil {
		s.Fatalf("%s: %v", brief(w), err)
	}
	if got != want {
		s.Fatalf("%s: %s, want %s", brief(w), brief(got), brief(want))
	}
}

// brief shortens a long message for an error.
func brief(message fmt.Stringer) string { return cut(message.String()) }

func cut(text string) string {
	const enough = 300
	if len(text) <= enough {
		return text
	}
	return text[:enough] + "…"
}

// list formats entries for errors.
func list(entries []storage.Entry) string {
	text := fmt.Sprintf("%d columns", len(entries))
	for _, e := range entries {
		text += fmt.Sprintf(" %q=%q", cut(e.Column), cut(e.Value))
		if len(text) > 2000 {
			return text + "…"
		}
	}
	return text
}

// kind returns which of the three kinds an error has, and nil if it has none or several.
func kind(err error) error {
	var found []error
	for _, k := range []error{storage.ErrRefused, storage.ErrInvalid, storage.ErrUnknown} {
		if errors.Is(err, k) {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// classified checks that an error has exactly one kind, and returns it.
func (s *stage) classified(what fmt.Stringer, err error) error {
	s.Helper()
	k := kind(err)
	if k == nil {
		s.Errorf("%s: the error %q is of none of the three kinds, or of several", brief(what), err)
	}
	return k
}

// wantKind checks the kind of an error.
func (s *stage) wantKind(what string, err, want error) {
	s.Helper()
	switch {
	case err == nil:
		s.Errorf("%s: no error, want %q", what, want)
	case kind(err) != want:
		s.Errorf("%s: %q, want one of the kind %q alone", what, err, want)
	}
}

// together runs f on n goroutines, and returns when all have ended. A goroutine stops at its first failure by
// returning; it must not call s.Fatal.
func (s *stage) together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// await waits for a notice on a channel.
func (s *stage) await(notified <-chan struct{}, what string) {
	s.Helper()
	select {
	case <-notified:
	case <-s.ctx.Done():
		s.Fatalf("%s: was not notified: %v", what, s.ctx.Err())
	}
}
