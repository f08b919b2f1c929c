package holdfast_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast"
)

// localLocker is a Locker for one process that never waits: what cannot be granted now is
// ErrHeld. It is as much as the adapters and the examples need.
type localLocker struct {
	mu      sync.Mutex
	holders map[string][]*holdfast.Lock
	token   holdfast.Token
	err     error // what every call returns instead
}

func newLocalLocker() *localLocker { return &localLocker{holders: map[string][]*holdfast.Lock{}} }

func (d *localLocker) Lock(ctx context.Context, name string, options ...holdfast.Option) (*holdfast.Lock, error) {
	request, err := holdfast.NewRequest(name, options...)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		err = d.err
	}
	for _, held := range d.holders[name] {
		if err == nil && (request.Mode != holdfast.ModeShared || held.Mode() != holdfast.ModeShared) {
			err = &holdfast.HeldError{Owner: held.Owner()}
		}
	}
	if err != nil {
		return nil, &holdfast.Error{Op: "lock", Name: name, Err: err}
	}
	d.token++
	grant := holdfast.Grant{Space: holdfast.DefaultSpace, Name: name, Owner: request.Owner, Shape: holdfast.Shape{Mode: request.Mode}, Token: d.token}
	lock := holdfast.NewLock(grant, uint64(d.token), holdfast.Forever, localSession{newBacking(holdfast.Forever), d}, ctx)
	d.holders[name] = append(d.holders[name], lock)
	return lock, nil
}

func (d *localLocker) TryLock(ctx context.Context, name string, options ...holdfast.Option) (*holdfast.Lock, error) {
	return d.Lock(ctx, name, options...)
}

func (d *localLocker) LockAll(ctx context.Context, names []string, options ...holdfast.Option) ([]*holdfast.Lock, error) {
	var locks []*holdfast.Lock
	for _, name := range names {
		lock, err := d.Lock(ctx, name, options...)
		if err != nil {
			for _, lock := range locks {
				err = errors.Join(err, lock.Unlock(ctx))
			}
			return nil, err
		}
		locks = append(locks, lock)
	}
	return locks, nil
}

func (d *localLocker) Space(string) holdfast.Locker { return d }
func (d *localLocker) Close() error                 { return nil }

// breakAll takes a name from its holders.
func (d *localLocker) breakAll(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, lock := range d.holders[name] {
		lock.End(holdfast.Broken)
	}
	delete(d.holders, name)
}

type localSession struct {
	*backing
	locker *localLocker
}

func (s localSession) UnlockLock(_ context.Context, l *holdfast.Lock) error { return s.QueueUnlock(l) }

func (s localSession) QueueUnlock(l *holdfast.Lock) error {
	s.locker.mu.Lock()
	defer s.locker.mu.Unlock()
	held := s.locker.holders[l.Name()]
	for i, lock := range held {
		if lock == l {
			s.locker.holders[l.Name()] = append(held[:i:i], held[i+1:]...)
			return nil
		}
	}
	return holdfast.ErrNotHeld
}

// panics returns the error that f panics with; nil if it does not.
func panics(f func()) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = value.(error)
		}
	}()
	f()
	return nil
}

func TestMutex(t *testing.T) {
	d := newLocalLocker()
	m := holdfast.NewMutex(d, "a", holdfast.Owner("worker"))
	if m.Held() != nil {
		t.Error("Held before Lock is not nil")
	}
	m.Lock()
	if held := m.Held(); held == nil || held.Name() != "a" || held.Owner() != "worker" || held.Token() != 1 {
		t.Errorf("Held is %v", held)
	}
	if m.TryLock() {
		t.Error("TryLock of a locked Mutex succeeded")
	}
	m.Unlock()
	if !m.TryLock() || m.Held().Token() != 2 {
		t.Error("TryLock of a free Mutex failed")
	}
	m.Unlock()
	if m.Held() != nil {
		t.Error("Held after Unlock is not nil")
	}
}

func TestMutexPanicsWithTheError(t *testing.T) {
	d := newLocalLocker()
	m := holdfast.NewMutex(d, "a")
	if err := panics(m.Unlock); !errors.Is(err, holdfast.ErrNotHeld) || err.Error() != `unlock "a": not held` {
		t.Errorf("Unlock of what is not locked: %v", err)
	}
	m.Lock()
	if err := panics(m.Lock); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("Lock that is refused: %v", err)
	}
	d.breakAll("a")
	if err := panics(m.Unlock); holdfast.Why(err) != holdfast.Broken {
		t.Errorf("Unlock of a lost lock: %v", err)
	}
	if err := panics(m.Unlock); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("a second Unlock of a lost lock: %v", err)
	}
	d.err = holdfast.ErrClosed
	if err := panics(m.Lock); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("Lock of a closed Locker: %v", err)
	}
	if err := panics(func() { m.TryLock() }); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("TryLock of a closed Locker: %v", err)
	}
	if err := panics(holdfast.NewMutex(newLocalLocker(), "").Lock); !errors.Is(err, holdfast.ErrName) {
		t.Errorf("Lock of no name: %v", err)
	}
}

func TestRWMutex(t *testing.T) {
	d := newLocalLocker()
	options := make([]holdfast.Option, 1, 8) // room that the adapter must not write to
	options[0] = holdfast.Reason("report")
	m := holdfast.NewRWMutex(d, "a", options...)
	m.RLock()
	m.RLocker().Lock()
	if m.TryLock() || !m.TryRLock() {
		t.Error("next to readers a writer was let in, or a reader was not")
	}
	for range 3 {
		m.RUnlock()
	}
	if err := panics(m.RUnlock); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("RUnlock of what is not locked: %v", err)
	}
	m.Lock()
	if held := m.Held(); held == nil || held.Mode() != holdfast.ModeExclusive {
		t.Errorf("Held by a writer is %v", held)
	}
	if m.TryRLock() || m.TryLock() {
		t.Error("a second caller was let in next to a writer")
	}
	if err := panics(m.RUnlock); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("RUnlock of a writer's lock: %v", err)
	}
	m.Unlock()
	if m.Held() != nil {
		t.Error("Held after Unlock is not nil")
	}
	if full := options[:cap(options)]; full[1] != nil {
		t.Error("NewRWMutex wrote into the caller's options")
	}
}

func TestRWMutexRefusesAMode(t *testing.T) {
	m := holdfast.NewRWMutex(newLocalLocker(), "a", holdfast.Slots(1, 2))
	if err := panics(m.RLock); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("RLock with another mode among the options: %v", err)
	}
}
