package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// Config configures a store in memory.
type Config struct {
	// Now returns the store's time, by which columns expire and which Clock returns. It is called while the store is
	// locked and must not call it. Zero means time.Now.
	Now func() time.Time
	// Remember is how long a deletion is remembered. Zero means not at all.
	Remember time.Duration
}

// Store is one handle on a store in memory. Share returns further handles on the same rows.
type Store struct {
	*rows
	hub watch.Hub
}

// rows is the state that handles share.
type rows struct {
	config Config
	mu     sync.Mutex
	table  table // rows of Mutate
	swaps  table // rows of Swap: not visible in a slice of the other kind
	open   map[*Store]struct{}
}

// New returns a handle on a new, empty store.
func New(config Config) *Store {
	if config.Now == nil {
		config.Now = time.Now
	}
	first := &Store{rows: &rows{config: config, table: table{rows: map[string][]column{}}, swaps: table{rows: map[string][]column{}}, open: map[*Store]struct{}{}}}
	first.open[first] = struct{}{}
	return first
}

// Share returns another handle on the same rows, which acts as another process. It also works after s was closed.
func (s *Store) Share() *Store {
	other := &Store{rows: s.rows}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[other] = struct{}{}
	return other
}

// enter locks the rows for a request, unless it must fail. On success the caller must call s.mu.Unlock.
func (s *Store) enter(ctx context.Context, what, key string, check error) error {
	if check != nil {
		return fmt.Errorf("%s row %q: %w", what, shorten(key), check)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s row %q: %w: %w", what, shorten(key), storage.ErrRefused, err)
	}
	s.mu.Lock()
	if _, open := s.open[s]; !open {
		s.mu.Unlock()
		return fmt.Errorf("%s row %q: the store was closed: %w", what, shorten(key), storage.ErrInvalid)
	}
	return nil
}

// shorten keeps errors readable if keys are long.
func shorten(key string) string {
	const enough = 100
	if len(key) <= enough {
		return key
	}
	return key[:enough] + "…"
}

// Mutate adds and deletes columns of one row.
func (s *Store) Mutate(ctx context.Context, m *storage.Mutate) error {
	if err := s.enter(ctx, "mutate", m.Key, m.Check()); err != nil {
		return err
	}
	defer s.mu.Unlock()
	s.table.mutate(m, s.config.Now(), s.config.Remember)
	s.notify(m.Key)
	return nil
}

// Slice reads columns of one row.
func (s *Store) Slice(ctx context.Context, r *storage.Slice) ([]storage.Entry, error) {
	if err := s.enter(ctx, "slice", r.Key, r.Check()); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if r.Serial {
		return s.swaps.slice(r, s.config.Now()), nil
	}
	return s.table.slice(r, s.config.Now()), nil
}

// Swap replaces a column if it has the expected value.
func (s *Store) Swap(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	if err := s.enter(ctx, "swap in", w.Key, w.Check()); err != nil {
		return storage.Swapped{}, err
	}
	defer s.mu.Unlock()
	swapped := s.swaps.swap(w, s.config.Now())
	if swapped.Done {
		s.notify(w.Key)
	}
	return swapped, nil
}

// Clock returns the time of Config.Now.
func (s *Store) Clock(ctx context.Context) (int64, error) {
	if err := s.enter(ctx, "read the clock of", "", nil); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.config.Now().UnixMicro(), nil
}

// Watch calls changed after every change of the row, through any handle.
func (s *Store) Watch(ctx context.Context, key string, changed func()) error {
	return s.hub.Watch(ctx, key, changed)
}

// notify notifies the watchers of all handles.
func (s *rows) notify(key string) {
	for handle := range s.open {
		handle.hub.Notify(key)
	}
}

// Features returns all features, as long as the process runs.
func (s *Store) Features() storage.Features {
	return storage.Features{Name: "memory", Consistent: true, Swap: true, Durable: true, TTL: true, Clock: true, Watch: true}
}

// Close ends the watches of this handle. The rows stay, for the others.
func (s *Store) Close() error {
	s.mu.Lock()
	delete(s.open, s)
	s.mu.Unlock()
	s.hub.Close()
	return nil
}
