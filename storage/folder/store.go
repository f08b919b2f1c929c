package folder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast/storage"
)

var _ storage.Attender = (*Store)(nil)

// Store is one handle on a folder. Further ones come from further calls of Open, in this process or in others.
type Store struct {
	path   string
	config Config
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	notices
	living

	mu       sync.Mutex // guards the following field
	closed   bool
	underWay sync.WaitGroup
}

func newStore(path string, config Config) *Store {
	s := &Store{path: path, config: config}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// enter starts a request. On success the caller must call leave. The returned context ends with ctx, and with Close.
func (s *Store) enter(ctx context.Context, what string, check error) (inner context.Context, leave func(), err error) {
	if check != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, check)
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w: %w", what, storage.ErrRefused, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, fmt.Errorf("%s: the store was closed: %w", what, storage.ErrInvalid)
	}
	s.underWay.Add(1)
	inner, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ctx, cancel)
	return inner, func() {
		stop()
		cancel()
		s.underWay.Done()
	}, nil
}

// failed returns the error of a request: of the kind ErrUnknown if the write may be there, and otherwise ErrRefused.
func (s *Store) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	kind := storage.ErrRefused
	if unknown := (isUnknown{}); errors.As(err, &unknown) {
		kind = storage.ErrUnknown
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%s: %w", what, explain(s.path, "use", err))
	}
	return fmt.Errorf("%s in folder %q: %w: %w", what, s.path, kind, err)
}

// outcome is what a request has done to a row.
type outcome uint8

const (
	refused     outcome = iota // nothing, and its answer says so
	alreadyDone                // nothing: an earlier write has, which may not be synced
	changed
	changedSoftly // the write need not be synced
)

// change changes a row under its lock.
func (s *Store) change(ctx context.Context, key string, create bool, change func(*row) outcome) (err error) {
	f, err := s.openRow(ctx, key, unix.LOCK_EX, create)
	if err != nil || f == nil {
		if err == nil {
			change(&row{key: key})
		}
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r, err := decode(f.content)
	if err != nil {
		return err
	}
	r.key = key
	over := r.expire(s.config.Now().UnixMicro())
	done := change(&r)
	switch {
	case len(r.columns) == 0:
		return f.remove(s.config.NoSync)
	case done == changed || over:
		return f.write(r.encode(), s.config.NoSync)
	case done == changedSoftly:
		return f.write(r.encode(), true)
	case done == alreadyDone:
		return syncFile(f.File, s.config.NoSync)
	}
	return nil
}

// Mutate adds and deletes columns of one row.
func (s *Store) Mutate(ctx context.Context, m *storage.Mutate) error {
	ctx, leave, err := s.enter(ctx, "mutate", m.Check())
	if err != nil {
		return err
	}
	defer leave()
	return s.failed("mutate", s.change(ctx, m.Key, len(m.Additions) > 0, func(r *row) outcome { return r.mutate(m, s.config.Now()) }))
}

// Slice reads columns of one row.
func (s *Store) Slice(ctx context.Context, r *storage.Slice) ([]storage.Entry, error) {
	ctx, leave, err := s.enter(ctx, "slice", r.Check())
	if err != nil {
		return nil, err
	}
	defer leave()
	found, err := s.readRow(ctx, r.Key)
	if err != nil {
		return nil, s.failed("slice", err)
	}
	return found.slice(r), nil
}

// readRow returns the columns of a row that are not over.
func (s *Store) readRow(ctx context.Context, key string) (row, error) {
	f, err := s.openRow(ctx, key, unix.LOCK_SH, false)
	if err != nil || f == nil {
		return row{}, err
	}
	r, err := decode(f.content)
	r.expire(s.config.Now().UnixMicro())
	return r, errors.Join(err, f.Close())
}

// Swap replaces a column if it has the expected value.
func (s *Store) Swap(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	ctx, leave, err := s.enter(ctx, "swap", w.Check())
	if err != nil {
		return storage.Swapped{}, err
	}
	defer leave()
	var swapped storage.Swapped
	err = s.change(ctx, w.Key, w.Absent, func(r *row) outcome {
		swapped = r.swap(w)
		switch {
		case !swapped.Done:
			return refused
		case w.Soft:
			return changedSoftly
		}
		return changed
	})
	if err != nil {
		return storage.Swapped{}, s.failed("swap", err)
	}
	return swapped, nil
}

// Clock returns the machine's time.
func (s *Store) Clock(ctx context.Context) (int64, error) {
	_, leave, err := s.enter(ctx, "clock", nil)
	if err != nil {
		return 0, err
	}
	defer leave()
	return s.config.Now().UnixMicro(), nil
}

// Features returns all features, with Durable according to Config.NoSync.
func (s *Store) Features() storage.Features {
	return storage.Features{
		Name: "folder", Consistent: true, Swap: true, Durable: !s.config.NoSync, TTL: true, Clock: true, Watch: true, Ends: true, PrefersSwap: true,
	}
}

// Close ends this handle's requests and watches, and what Attend has begun.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.underWay.Wait()
	if !first {
		return nil
	}
	if err := errors.Join(s.notices.close(), s.living.close()); err != nil {
		return fmt.Errorf("close folder %q: %w", s.path, err)
	}
	return nil
}
