package holdfast

import (
	"context"
	"errors"
	"sync"
)

// Mutex is a [sync.Locker] for a name, for code that needs that interface. Lock and Unlock cannot return errors, so
// they panic: use it if a lost lock should end the goroutine, and a [Locker] if the code should handle the loss.
//
// A Mutex is one owner at a time, as a sync.Mutex is: while one goroutine holds it, Lock in another goroutine waits, in
// this process as in any other.
type Mutex struct {
	locker  Locker
	name    string
	options []Option

	mu   sync.Mutex
	held []*Lock // one for an exclusive lock; one per reader for a shared one
}

var _ sync.Locker = (*Mutex)(nil)

// NewMutex returns a Mutex for name. The options apply to every Lock. They must not include Owner: the same owner would
// reenter instead of waiting.
func NewMutex(locker Locker, name string, options ...Option) *Mutex {
	return &Mutex{locker: locker, name: name, options: options}
}

// Lock waits until the name is granted. It panics with the error on failure.
func (m *Mutex) Lock() {
	lock, err := m.locker.Lock(context.Background(), m.name, m.options...)
	if err != nil {
		panic(err)
	}
	m.push(lock)
}

// TryLock reports whether the name was granted at once. It panics on any error but ErrHeld.
func (m *Mutex) TryLock() bool {
	lock, err := m.locker.TryLock(context.Background(), m.name, m.options...)
	if errors.Is(err, ErrHeld) {
		return false
	}
	if err != nil {
		panic(err)
	}
	m.push(lock)
	return true
}

// Unlock releases the name, and returns when the authority has accepted the release. It panics with ErrLost if the lock
// was lost while held or its session ended before the release was acknowledged, and with ErrNotHeld if it was not
// locked.
func (m *Mutex) Unlock() {
	lock := m.pop()
	if lock == nil {
		panic(&Error{Op: "unlock", Name: m.name, Err: ErrNotHeld})
	}
	if err := lock.Unlock(context.Background()); err != nil {
		panic(err)
	}
}

// Held returns the held lock, for its Context and Token, or nil.
func (m *Mutex) Held() *Lock {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.held) == 0 {
		return nil
	}
	return m.held[len(m.held)-1]
}

func (m *Mutex) push(lock *Lock) {
	m.mu.Lock()
	m.held = append(m.held, lock)
	m.mu.Unlock()
}

func (m *Mutex) pop() *Lock {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.held) - 1
	if last < 0 {
		return nil
	}
	lock := m.held[last]
	m.held[last] = nil
	m.held = m.held[:last]
	return lock
}

// RWMutex has the methods of a [sync.RWMutex]: Lock is exclusive, RLock shared. A waiting Lock blocks later RLocks, so
// that readers cannot starve a writer. It panics in the same cases as [Mutex].
type RWMutex struct {
	write, read *Mutex
}

// NewRWMutex returns an RWMutex for name. The options apply to every lock and must not include a mode.
func NewRWMutex(locker Locker, name string, options ...Option) *RWMutex {
	shared := append(append([]Option(nil), options...), Shared())
	return &RWMutex{
		write: NewMutex(locker, name, options...),
		read:  NewMutex(locker, name, shared...),
	}
}

// Lock waits for the exclusive lock.
func (m *RWMutex) Lock() { m.write.Lock() }

// TryLock reports whether the exclusive lock was granted at once.
func (m *RWMutex) TryLock() bool { return m.write.TryLock() }

// Unlock releases the exclusive lock.
func (m *RWMutex) Unlock() { m.write.Unlock() }

// RLock waits for a shared lock.
func (m *RWMutex) RLock() { m.read.Lock() }

// TryRLock reports whether a shared lock was granted at once.
func (m *RWMutex) TryRLock() bool { return m.read.TryLock() }

// RUnlock releases one shared lock; if there are several, it does not matter which.
func (m *RWMutex) RUnlock() { m.read.Unlock() }

// RLocker returns a [sync.Locker] whose Lock and Unlock are RLock and RUnlock.
func (m *RWMutex) RLocker() sync.Locker { return m.read }

// Held returns the held exclusive lock, for its Context and Token, or nil.
func (m *RWMutex) Held() *Lock { return m.write.Held() }
