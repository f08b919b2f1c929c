package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// Config is what a store in memory is like.
type Config struct {
	// Now tells the store's time, by which columns are forgotten and which Clock answers. It is
	// called while the store is locked and must not call it. Zero means time.Now.
	Now func() time.Time
	// Remember is how long a deletion is remembered. Zero means not at all.
	Remember time.Duration
}

// Store is one handle on a store in memory. Others that share its rows come from Share.
type Store struct {
	*rows
	hub watch.Hub
}

// rows is what handles share.
type rows struct {
	config Config
	mu     sync.Mutex
	table  table // rows of Mutate
	swaps  table // rows of Swap: nothing shows in a slice of the other kind
	open   map[*Store]struct{}
}

// New makes a store without rows, and a handle on it.
func New(config Config) *Store {
	if config.Now == nil {
		config.Now = time.Now
	}
	first := &Store{rows: &rows{config: config, table: table{rows: map[string][]column{}}, swaps: table{rows: map[string][]column{}}, open: map[*Store]struct{}{}}}
	first.open[first] = struct{}{}
	return first
}

// Share makes another handle on the same rows: another process, as it were. It works also
// after s was closed.
func (s *Store) Share() *Store {
	other := &Store{rows: s.rows}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[other] = struct{}{}
	return other
}

// enter locks the rows for a request, unless it cannot be done any more. A caller that
// gets no error calls s.mu.Unlock.
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

// shorten keeps errors readable where keys are long.
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

// Swap replaces a column if it is what is expected.
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

// Clock returns what Config.Now says.
func (s *Store) Clock(ctx context.Context) (int64, error) {
	if err := s.enter(ctx, "read the clock of", "", nil); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return s.config.Now().UnixMicro(), nil
}

// Watch has changed called after every change of the row, through whichever handle.
func (s *Store) Watch(ctx context.Context, key string, changed func()) error {
	return s.hub.Watch(ctx, key, changed)
}

// notify tells the watchers of all handles.
func (s *rows) notify(key string) {
	for handle := range s.open {
		handle.hub.Notify(key)
	}
}

// Features says that it can do everything, as long as its process runs.
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
