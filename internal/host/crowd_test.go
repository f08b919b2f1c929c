package host_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// TestManySessions: many sessions in turn hold one name, alone, with tokens that rise.
func TestManySessions(t *testing.T) {
	const sessions, turns = 40, 25
	n := start(t, host.Config{})
	var group sync.WaitGroup
	var last holdfast.Token // guarded by the lock itself, which the race detector checks
	holders := 0
	for range sessions {
		locks := another(t, n)
		group.Go(func() {
			for range turns {
				l, err := locks.Lock(context.Background(), "x")
				if err != nil {
					t.Error(err)
					return
				}
				if holders++; holders != 1 || l.Token() <= last {
					t.Errorf("%d holders, token %v after %v", holders, l.Token(), last)
				}
				last = l.Token()
				holders--
				if err := l.Unlock(context.Background()); err != nil {
					t.Error(err)
				}
			}
			if err := locks.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	free(t, n)
	if open := host.Sessions(n); open != 1 {
		t.Errorf("%d sessions are still known", open)
	}
}

// TestCancelRace: requests that are cancelled at any moment, before, at and after
// their grant, leave nothing behind (P6).
func TestCancelRace(t *testing.T) {
	const goroutines, rounds = 8, 300
	n := start(t, host.Config{})
	two := another(t, n)
	var group sync.WaitGroup
	for i := range goroutines {
		locks := holdfast.Locker(n)
		if i%2 == 1 {
			locks = two
		}
		random := rand.New(rand.NewPCG(7, uint64(i)))
		group.Go(func() {
			for range rounds {
				cancelled(t, locks, fmt.Sprintf("x%d", random.IntN(2)), random.IntN(3))
			}
		})
	}
	group.Wait()
	free(t, n)
	for _, locks := range []holdfast.Locker{n, two} {
		if waiting, held, early := host.Kept(locks); waiting+held+early != 0 {
			t.Errorf("%d waiting, %d held, %d early are still kept", waiting, held, early)
		}
	}
}

// cancelled asks for a name and cancels the request somehow.
func cancelled(t *testing.T, locks holdfast.Locker, name string, how int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var options []holdfast.Option
	switch how {
	case 0: // as soon as it waits
		options = append(options, holdfast.OnQueued(func(int) { cancel() }))
	case 1: // some time
		go cancel()
	}
	l, err := locks.Lock(ctx, name, options...)
	switch {
	case err == nil:
		if err := l.Unlock(context.Background()); err != nil {
			t.Error(err)
		}
	case !errors.Is(err, context.Canceled):
		t.Error(err)
	}
}

// TestCloseRace: sessions that close while they ask, hold and wait leave nothing behind.
func TestCloseRace(t *testing.T) {
	n := start(t, host.Config{})
	for range 60 {
		locks := another(t, n)
		var group sync.WaitGroup
		for i := range 4 {
			group.Go(func() {
				for {
					l, err := locks.Lock(context.Background(), fmt.Sprintf("x%d", i/2))
					if err != nil {
						if !errors.Is(err, holdfast.ErrClosed) {
							t.Error(err)
						}
						return
					}
					if err := l.Unlock(context.Background()); err != nil && !errors.Is(err, holdfast.ErrClosed) {
						t.Error(err)
					}
				}
			})
		}
		give(t, take(t, n, "x0"))
		if err := locks.Close(); err != nil {
			t.Fatal(err)
		}
		group.Wait()
	}
	free(t, n)
}
