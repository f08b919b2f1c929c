package lockertest

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
)

func adapterChecks() []check {
	return []check{
		{name: "mutex", run: (*stage).mutex},
		{name: "mutex_panics", run: (*stage).mutexPanics},
		{name: "mutex_of_a_lost_lock_panics", need: needHold, run: (*stage).mutexLostPanics},
		{name: "rwmutex", need: needShared, run: (*stage).rwmutex},
	}
}

// panicOf runs f, which must panic with an error, and returns the error.
func panicOf(f func()) (err error) {
	defer func() {
		switch value := recover().(type) {
		case nil:
			err = errors.New("it did not panic")
		case error:
			err = value
		default:
			err = fmt.Errorf("it panicked with %v, which is no error", value)
		}
	}()
	f()
	return nil
}

// mutex guards a plain counter with Mutexes of several sessions, each used as a sync.Locker.
func (s *stage) mutex() {
	const goroutines, rounds = 40, 5
	sessions := s.lockers(2)
	mutexes := []*holdfast.Mutex{holdfast.NewMutex(sessions[0], s.name()), holdfast.NewMutex(sessions[1], s.name())}
	counter := 0
	s.each(goroutines, func(i int) error {
		var locker sync.Locker = mutexes[i%2]
		for range rounds {
			locker.Lock()
			counter++
			locker.Unlock()
		}
		return nil
	})
	if counter != goroutines*rounds {
		s.Errorf("the counter says %d, want %d", counter, goroutines*rounds)
	}
	s.free(s.name())

	first, second := mutexes[0], mutexes[1]
	s.do(first.Lock)
	if held := first.Held(); held == nil || held.Check() != nil || held.Name() != s.name() {
		s.Errorf("Held while locked: %v", held)
	}
	if second.TryLock() || first.TryLock() {
		s.Errorf("TryLock of a locked Mutex succeeded")
	}
	first.Unlock()
	if first.Held() != nil {
		s.Errorf("Held after Unlock is not nil")
	}
	s.do(second.Lock)
	second.Unlock()
	other := holdfast.NewMutex(sessions[0], s.name("free"))
	if !other.TryLock() {
		s.Fatal("TryLock of a free Mutex failed")
	}
	other.Unlock()
}

// mutexPanics checks that an error that cannot be returned becomes a panic.
func (s *stage) mutexPanics() {
	locks := s.locker()
	mutex := holdfast.NewMutex(locks, s.name())
	s.want(panicOf(mutex.Unlock), holdfast.ErrNotHeld)
	bad := holdfast.NewMutex(locks, "")
	s.want(panicOf(bad.Lock), holdfast.ErrName)
	s.want(panicOf(func() { bad.TryLock() }), holdfast.ErrName)
	s.close(locks)
	s.want(panicOf(mutex.Lock), holdfast.ErrClosed)
}

// mutexLostPanics checks that Unlock of a lost lock panics, and that the Mutex can be locked again.
func (s *stage) mutexLostPanics() {
	locks := s.locker()
	var mutex *holdfast.Mutex
	s.briefly(func(hold time.Duration) error {
		mutex = holdfast.NewMutex(locks, s.name(), holdfast.Hold(hold))
		return s.lockMutex(mutex)
	})
	s.ended(mutex.Held(), holdfast.ErrLost)
	s.want(panicOf(mutex.Unlock), holdfast.ErrLost)
	s.briefly(func(time.Duration) error { return s.lockMutex(mutex) })
	s.ended(mutex.Held(), holdfast.ErrLost)
	s.free(s.name())
}

// lockMutex locks a Mutex, and returns the error with which it panics.
func (s *stage) lockMutex(mutex *holdfast.Mutex) (err error) {
	s.Helper()
	s.do(func() {
		if why := panicOf(mutex.Lock); mutex.Held() == nil {
			err = why
		}
	})
	return err
}

// rwmutex checks that readers share and a writer is exclusive.
func (s *stage) rwmutex() {
	sessions := s.lockers(2)
	one, two := holdfast.NewRWMutex(sessions[0], s.name()), holdfast.NewRWMutex(sessions[1], s.name())
	s.do(one.RLock)
	if !two.TryRLock() || !one.TryRLock() {
		s.Fatal("TryRLock while another reads failed")
	}
	if one.TryLock() || two.TryLock() {
		s.Errorf("TryLock while others read succeeded")
	}
	one.RUnlock()
	one.RUnlock()
	two.RUnlock()
	s.do(two.Lock)
	if one.TryRLock() || two.TryRLock() || one.TryLock() {
		s.Errorf("a try while another writes succeeded")
	}
	if held := two.Held(); held == nil || held.Mode() != holdfast.ModeExclusive {
		s.Errorf("Held of a writer: %v", held)
	}
	two.Unlock()
	reader := one.RLocker()
	s.do(reader.Lock)
	reader.Unlock()
	s.want(panicOf(one.RUnlock), holdfast.ErrNotHeld)
	s.want(panicOf(one.Unlock), holdfast.ErrNotHeld)

	values := map[int]int{}
	s.each(40, func(i int) error {
		rw := one
		if i%2 == 0 {
			rw = two
		}
		if i%4 == 0 {
			rw.Lock()
			values[i]++
			rw.Unlock()
			return nil
		}
		rw.RLock()
		_ = len(values)
		rw.RUnlock()
		return nil
	})
	if len(values) != 10 {
		s.Errorf("%d writes are in the map, want 10", len(values))
	}
	s.free(s.name())
}
