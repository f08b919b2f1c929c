package certmagic

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/caddyserver/certmagic"

	"github.com/holdfast-locks/holdfast"
)

// Storage is a storage of certmagic whose locks are Holdfast's. What it stores is in the embedded one, whose own locks
// are not used.
type Storage struct {
	certmagic.Storage
	locks holdfast.Locker

	mu   sync.Mutex
	held map[string][]*holdfast.Lock // by name, until Unlock, in the order of their grants
}

var (
	_ certmagic.Storage          = (*Storage)(nil)
	_ certmagic.TryLocker        = (*Storage)(nil)
	_ certmagic.LockLeaseRenewer = (*Storage)(nil)
)

// New returns a storage over the locks of one lockspace. The names of locks are those of certmagic, for example
// issue_cert_example.com; give it a space of its own if other programs use the default one.
func New(storage certmagic.Storage, locks holdfast.Locker) *Storage {
	return &Storage{Storage: storage, locks: locks, held: map[string][]*holdfast.Lock{}}
}

// Lock waits for the lock on a name, until ctx ends.
func (s *Storage) Lock(ctx context.Context, name string) error {
	lock, err := s.locks.Lock(ctx, name)
	if err == nil {
		s.keep(lock)
	}
	return err
}

// TryLock takes the lock on a name if it is free, and reports whether it was.
func (s *Storage) TryLock(ctx context.Context, name string) (bool, error) {
	lock, err := s.locks.TryLock(ctx, name)
	switch {
	case errors.Is(err, holdfast.ErrHeld):
		return false, nil
	case err != nil:
		return false, err
	}
	s.keep(lock)
	return true, nil
}

func (s *Storage) keep(lock *holdfast.Lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[lock.Name()] = append(s.held[lock.Name()], lock)
}

// Unlock releases the lock on a name. The error is an ErrLost with its reason if the lock was lost before: the task ran
// without it for a while. It is an ErrNotHeld if this storage has no lock on the name.
//
// certmagic does not say whose lock it releases. If a task has lost the lock on a name and another one of the same
// process has it now, the first of them that calls Unlock is taken for the one that has lost it, and the lock is released
// when the other one calls: no lock is released before its task has ended.
func (s *Storage) Unlock(ctx context.Context, name string) error {
	lock := s.drop(name)
	if lock == nil {
		return &holdfast.Error{Op: "unlock", Name: name, Err: holdfast.ErrNotHeld}
	}
	return lock.Unlock(ctx)
}

// drop forgets the oldest lock on a name, and returns it; nil if there is none.
func (s *Storage) drop(name string) *holdfast.Lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	locks := s.held[name]
	switch len(locks) {
	case 0:
		return nil
	case 1:
		delete(s.held, name)
	default:
		s.held[name] = locks[1:]
	}
	return locks[0]
}

// RenewLockLease returns nil while the lock on a name is held: its session is renewed all the time, and the duration does
// not matter. After a loss it returns an ErrLost with its reason, and certmagic ends the task; without a lock, an
// ErrNotHeld.
func (s *Storage) RenewLockLease(_ context.Context, name string, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.held[name]) == 0 {
		return &holdfast.Error{Op: "renew", Name: name, Err: holdfast.ErrNotHeld}
	}
	return s.held[name][0].Check()
}
