package lockertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast"
)

func exclusionChecks() []check {
	return []check{
		{name: "exclusion", run: (*stage).exclusion},
		{name: "exclusion_of_modes", need: needs(needShared, needSlots), run: (*stage).exclusionOfModes},
	}
}

// register is a resource behind a lock: it refuses and counts writes whose token is smaller than an earlier one.
type register struct {
	mu    sync.Mutex
	seen  holdfast.Token
	stale int
}

func (r *register) write(token holdfast.Token) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if token < r.seen {
		r.stale++
		return false
	}
	r.seen = token
	return true
}

// exclusion has hundreds of goroutines of several sessions, fewer if Rounds is small, increment plain counters that
// only the lock guards (P1). The race detector watches the counters, a gauge the number of holders, and a fenced
// register the tokens.
func (s *stage) exclusion() {
	const rounds = 5
	goroutines := min(240, 12*s.caps.Rounds)
	type room struct {
		inside  atomic.Int32
		counter int
		last    holdfast.Token
		fenced  register
	}
	sessions := s.lockers(4)
	rooms := make([]room, 3)
	s.each(goroutines, func(i int) error {
		for round := range rounds {
			at := (i + round) % len(rooms)
			room := &rooms[at]
			lock, err := sessions[i%len(sessions)].Lock(s.ctx, s.name("room", at))
			if err != nil {
				return fmt.Errorf("wait for an exclusive lock: %w", err)
			}
			if n := room.inside.Add(1); n != 1 {
				s.Errorf("%d are inside an exclusive lock", n)
			}
			count := room.counter
			runtime.Gosched() // gives another goroutine the chance to enter at the same time
			room.counter = count + 1
			if lock.Token() <= room.last {
				s.Errorf("token %v was granted after token %v", lock.Token(), room.last)
			}
			room.last = lock.Token()
			room.fenced.write(lock.Token())
			if err := lock.Check(); err != nil {
				s.Errorf("Check while held: %v", err)
			}
			room.inside.Add(-1)
			if err := lock.Unlock(s.ctx); err != nil {
				return fmt.Errorf("release an exclusive lock: %w", err)
			}
		}
		return nil
	})
	total := 0
	for i := range rooms {
		total += rooms[i].counter
		if rooms[i].fenced.stale > 0 {
			s.Errorf("%d writes of a holder were stale", rooms[i].fenced.stale)
		}
	}
	if total != goroutines*rounds && !s.Failed() {
		s.Errorf("counters say %d, want %d: an update was lost", total, goroutines*rounds)
	}
}

// gauge counts the current holders by mode, and reports incompatible ones.
type gauge struct {
	mu                sync.Mutex
	exclusive, shared int
	units             int
}

func (g *gauge) enter(lock *holdfast.Lock, sign int) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch lock.Mode() {
	case holdfast.ModeExclusive:
		g.exclusive += sign
	case holdfast.ModeShared:
		g.shared += sign
	case holdfast.ModeSlots:
		g.units += sign * lock.Units()
	}
	kinds := min(g.exclusive, 1) + min(g.shared, 1) + min(g.units, 1)
	if g.exclusive > 1 || kinds > 1 || g.units > mixCapacity {
		return fmt.Errorf("%d exclusive, %d shared and %d of %d units are inside together",
			g.exclusive, g.shared, g.units, mixCapacity)
	}
	return nil
}

const mixCapacity = 4

// exclusionOfModes mixes all modes, cancelled waits and TryLock on one name.
func (s *stage) exclusionOfModes() {
	const goroutines, rounds = 120, 6
	sessions := s.lockers(3)
	name := s.name()
	var inside gauge
	s.each(goroutines, func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 1))
		for range rounds {
			lock, err := s.lockSomehow(sessions[i%len(sessions)], name, random)
			if err != nil {
				return err
			}
			if lock == nil {
				continue
			}
			if err := inside.enter(lock, +1); err != nil {
				return err
			}
			runtime.Gosched()
			if err := lock.Check(); err != nil {
				return fmt.Errorf("check a lock that is held: %w", err)
			}
			if err := inside.enter(lock, -1); err != nil {
				return err
			}
			if err := lock.Unlock(s.ctx); err != nil {
				return fmt.Errorf("release a lock: %w", err)
			}
		}
		return nil
	})
	s.free(name)
}

// lockSomehow locks in a random mode, by a random method. It returns no lock and no error if that method may end
// without one.
func (s *stage) lockSomehow(locks holdfast.Locker, name string, random *rand.Rand) (*holdfast.Lock, error) {
	var options []holdfast.Option
	switch random.IntN(3) {
	case 0:
		options = append(options, holdfast.Shared())
	case 1:
		options = append(options, holdfast.Slots(1+random.IntN(mixCapacity), mixCapacity))
	}
	var lock *holdfast.Lock
	var err error
	switch random.IntN(4) {
	case 0:
		lock, err = locks.TryLock(s.ctx, name, options...)
		if isHeld(err) {
			return nil, nil
		}
	case 1:
		ctx, cancel := context.WithCancel(s.ctx)
		options = append(options, holdfast.OnQueued(func(int) { cancel() }))
		lock, err = locks.Lock(ctx, name, options...)
		cancel()
		if isCanceled(err) {
			return nil, nil
		}
	default:
		lock, err = locks.Lock(s.ctx, name, options...)
	}
	if err != nil {
		return nil, fmt.Errorf("ask for a lock: %w", err)
	}
	return lock, nil
}
