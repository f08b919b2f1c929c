package storelock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storelock"
)

// counted is a store that counts its conditional writes.
type counted struct {
	storage.Store
	swaps atomic.Int64
}

func (c *counted) Swap(ctx context.Context, s *storage.Swap) (storage.Swapped, error) {
	c.swaps.Add(1)
	return c.Store.Swap(ctx, s)
}

// TestHoldOn: what was released is had again without a write, under higher tokens, by this process alone; and a
// Locker that is closed leaves nothing behind that others would have to wait for.
func TestHoldOn(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	store := &counted{Store: newStore()}
	keeper := opened(t, store, storelock.CAS(), storelock.HoldOn(time.Second))
	other := opened(t, store.Store, storelock.CAS())
	take := func(locks holdfast.Locker) holdfast.Token {
		t.Helper()
		lock, err := locks.Lock(ctx, "x")
		if err != nil {
			t.Fatal(err)
		}
		token := lock.Token()
		if err := lock.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
		return token
	}
	// Where the machine was away for so long that the time has passed, it is written again.
	const locks = 1000
	last := take(keeper)
	for range locks {
		token := take(keeper)
		if token <= last {
			t.Fatalf("token %d after %d", token, last)
		}
		last = token
	}
	if swaps := store.swaps.Load(); swaps > locks/2 {
		t.Errorf("%d locks took %d conditional writes", locks, swaps)
	}
	if settings := keeper.Settings(); settings.HoldOn != time.Second {
		t.Errorf("the settings are %+v", settings)
	}
	// The machine may be away for so long that it was given back.
	for kept := false; !kept; {
		last = take(keeper)
		lock, err := other.TryLock(ctx, "x")
		switch {
		case errors.Is(err, holdfast.ErrHeld):
			kept = true
		case err != nil:
			t.Fatal(err)
		default:
			if err := lock.Unlock(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := time.Now()
	if token := take(other); token <= last {
		t.Errorf("the other has token %d after %d", token, last)
	}
	if waited := time.Since(began); waited > 15*time.Second {
		t.Errorf("the other has waited %v", waited)
	}
	take(keeper)
	if err := keeper.Close(); err != nil {
		t.Fatal(err)
	}
	lock, err := other.TryLock(ctx, "x") // at once
	if err != nil {
		t.Fatalf("after the keeper is closed: %v", err)
	}
	if err := lock.Unlock(ctx); err != nil {
		t.Fatal(err)
	}
}
