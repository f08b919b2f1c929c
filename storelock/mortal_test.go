package storelock_test

import (
	"context"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast/storage"
)

// mortal is a store that a process cannot reach any more from some moment on, as one that has ended, or
// is cut off.
type mortal struct {
	storage.Store
	dead    atomic.Bool
	refused atomic.Int64
}

func (m *mortal) gone() bool {
	if !m.dead.Load() {
		return false
	}
	m.refused.Add(1)
	return true
}

func (m *mortal) Mutate(ctx context.Context, r *storage.Mutate) error {
	if m.gone() {
		return storage.ErrUnknown
	}
	return m.Store.Mutate(ctx, r)
}

func (m *mortal) Slice(ctx context.Context, r *storage.Slice) ([]storage.Entry, error) {
	if m.gone() {
		return nil, storage.ErrRefused
	}
	return m.Store.Slice(ctx, r)
}

func (m *mortal) Swap(ctx context.Context, r *storage.Swap) (storage.Swapped, error) {
	if m.gone() {
		return storage.Swapped{}, storage.ErrUnknown
	}
	return m.Store.Swap(ctx, r)
}
