package pebble

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// Store is one handle on an open folder. Share returns further handles.
type Store struct {
	*folder
	hub      watch.Hub
	mu       sync.Mutex // guards the following fields
	closed   bool
	underWay sync.WaitGroup
}

// folder is the state that handles share.
type folder struct {
	config  Config
	db      *pebble.DB
	lock    *pebble.Lock
	seed    maphash.Seed
	stripes [256]stripe
	syncs   sync.WaitGroup // goroutines that wait for the disk

	handles sync.Mutex // guards the following field
	open    map[*Store]struct{}
}

// stripe is a lock for a part of the rows, and the latest write to one of them.
type stripe struct {
	sync.Mutex
	last atomic.Pointer[commit]
}

// commit is a batch that all readers see and that may not be on disk yet.
type commit struct {
	synced chan struct{} // closed when it is on disk
	err    error         // why it is not; read only after that
}

func newStore(db *pebble.DB, lock *pebble.Lock, config Config) *Store {
	first := &Store{folder: &folder{config: config, db: db, lock: lock, seed: maphash.MakeSeed(), open: map[*Store]struct{}{}}}
	first.open[first] = struct{}{}
	return first
}

// Share returns another handle on the same folder, which stays open until the last handle is closed. After that Share
// is an ErrInvalid.
func (s *Store) Share() (*Store, error) {
	s.handles.Lock()
	defer s.handles.Unlock()
	if len(s.open) == 0 {
		return nil, fmt.Errorf("share a store that was closed: %w", storage.ErrInvalid)
	}
	other := &Store{folder: s.folder}
	s.open[other] = struct{}{}
	return other, nil
}

// enter starts a request. On success the caller must call s.underWay.Done.
func (s *Store) enter(ctx context.Context, what string, check error) error {
	if check != nil {
		return fmt.Errorf("%s: %w", what, check)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s: %w: %w", what, storage.ErrRefused, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("%s: the store was closed: %w", what, storage.ErrInvalid)
	}
	s.underWay.Add(1)
	return nil
}

func (f *folder) stripe(key string) *stripe {
	return &f.stripes[maphash.String(f.seed, key)%uint64(len(f.stripes))]
}

// Mutate adds and deletes columns of one row.
func (s *Store) Mutate(ctx context.Context, m *storage.Mutate) error {
	if err := s.enter(ctx, "mutate", m.Check()); err != nil {
		return err
	}
	defer s.underWay.Done()
	notify := len(m.Deletions) > 0
	err := s.write(ctx, m.Key, notify, func(b *pebble.Batch) error { return change(s.db, b, m, s.config.Now()) })
	if err != nil {
		return fmt.Errorf("mutate: %w", err)
	}
	return nil
}

// write applies the batch that fill builds, under the lock of a row, and waits until the batch and everything fill has
// read are on disk. Then it notifies watchers, if notify is set.
func (s *Store) write(ctx context.Context, key string, notify bool, fill func(*pebble.Batch) error) error {
	stripe := s.stripe(key)
	b := s.db.NewBatch()
	stripe.Lock()
	err := fill(b)
	if err != nil || b.Empty() {
		stripe.Unlock()
		if err = errors.Join(err, b.Close()); err != nil {
			return fmt.Errorf("%w: %w", storage.ErrRefused, err)
		}
		// The change is already there. The write that made it may be recent.
		return stripe.wait(ctx, storage.ErrRefused)
	}
	done := &commit{synced: make(chan struct{})}
	// Set before the batch is visible, so that every reader of the batch finds it.
	stripe.last.Store(done)
	if s.config.NoSync {
		err = s.db.Apply(b, pebble.NoSync)
	} else {
		err = s.db.ApplyNoSyncWait(b, pebble.Sync)
	}
	stripe.Unlock()
	end := func() {
		done.err = errors.Join(err, b.Close())
		close(done.synced)
		if notify {
			s.notify(key)
		}
	}
	if err != nil || s.config.NoSync {
		end()
		return unknown(done.err)
	}
	// The caller may give up before the write is on disk. The batch does not.
	s.syncs.Go(func() {
		err = b.SyncWait()
		end()
	})
	select {
	case <-done.synced:
		return unknown(done.err)
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", storage.ErrUnknown, ctx.Err())
	}
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", storage.ErrUnknown, err)
}

// wait returns when the stripe's earlier writes are on disk, so that no answer shows a state that a crash may undo.
func (s *stripe) wait(ctx context.Context, kind error) error {
	last := s.last.Load()
	if last == nil {
		return nil
	}
	select {
	case <-last.synced:
		if last.err != nil {
			return fmt.Errorf("wait for a write that was under way: %w: %w", kind, last.err)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for a write that was under way: %w: %w", kind, ctx.Err())
	}
}

// Slice reads columns of one row.
func (s *Store) Slice(ctx context.Context, r *storage.Slice) ([]storage.Entry, error) {
	if err := s.enter(ctx, "slice", r.Check()); err != nil {
		return nil, err
	}
	defer s.underWay.Done()
	entries, err := read(s.db, r, s.config.Now().UnixMicro())
	if err != nil {
		return nil, fmt.Errorf("slice: %w: %w", storage.ErrRefused, err)
	}
	if err := s.stripe(r.Key).wait(ctx, storage.ErrRefused); err != nil {
		return nil, fmt.Errorf("slice: %w", err)
	}
	return entries, nil
}

// Swap replaces a column if it has the expected value.
func (s *Store) Swap(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	if err := s.enter(ctx, "swap", w.Check()); err != nil {
		return storage.Swapped{}, err
	}
	defer s.underWay.Done()
	var swapped storage.Swapped
	err := s.write(ctx, w.Key, w.Notify, func(b *pebble.Batch) error {
		at := within(prefix(w.Key), w.Column)
		err := find(s.db, at, s.config.Now().UnixMicro(), func(h *held) {
			swapped.Present, swapped.Value = true, string(h.value)
		})
		if err != nil || swapped.Present == w.Absent || swapped.Present && swapped.Value != w.Old {
			return err
		}
		swapped = storage.Swapped{Done: true}
		return b.Set(at, encode(0, 0, w.New), nil)
	})
	if err != nil {
		return storage.Swapped{}, fmt.Errorf("swap: %w", err)
	}
	return swapped, nil
}

// Clock returns the machine's time.
func (s *Store) Clock(ctx context.Context) (int64, error) {
	if err := s.enter(ctx, "clock", nil); err != nil {
		return 0, err
	}
	defer s.underWay.Done()
	return s.config.Now().UnixMicro(), nil
}

// Watch calls changed after the row has changed, through any handle.
func (s *Store) Watch(ctx context.Context, key string, changed func()) error {
	return s.hub.Watch(ctx, key, changed)
}

// notify notifies the watchers of all handles.
func (f *folder) notify(key string) {
	f.handles.Lock()
	defer f.handles.Unlock()
	for handle := range f.open {
		handle.hub.Notify(key)
	}
}

// Features returns all features, with Durable according to Config.NoSync.
func (s *Store) Features() storage.Features {
	return storage.Features{Name: "pebble", Consistent: true, Swap: true, Durable: !s.config.NoSync, TTL: true, Clock: true, Watch: true}
}

// Close waits for this handle's requests in progress, limited by the disk, and ends its watches. With the last handle
// it closes the folder.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.underWay.Wait()
	s.hub.Close()
	s.handles.Lock()
	_, open := s.open[s]
	delete(s.open, s)
	last := open && len(s.open) == 0
	s.handles.Unlock()
	if !last {
		return nil
	}
	s.syncs.Wait() // writes that were given up before they were on disk
	if err := errors.Join(s.db.Close(), s.lock.Close()); err != nil {
		return fmt.Errorf("close the folder: %w", err)
	}
	return nil
}

var _ storage.Store = (*Store)(nil)
