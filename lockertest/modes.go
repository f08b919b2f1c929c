package lockertest

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

func modeChecks() []check {
	return []check{
		{name: "modes_fit", run: (*stage).modesFit},
		{name: "modes_wait", need: needs(needShared, needSlots), run: (*stage).modesWait},
		{name: "capacity_conflict", need: needSlots, run: (*stage).capacityConflict},
		{name: "modes_not_offered", run: (*stage).modesNotOffered},
		{name: "lock_tells_its_grant", run: (*stage).lockReportsItsGrant},
	}
}

func isHeld(err error) bool     { return errors.Is(err, holdfast.ErrHeld) }
func isCanceled(err error) bool { return errors.Is(err, context.Canceled) }

// modeRequest is a mode of a request, with its units and capacity.
type modeRequest struct {
	name    string
	mode    holdfast.Mode
	units   int
	options []holdfast.Option
}

const wantedCapacity = 3

// wanted returns the modes that the implementation offers.
func (s *stage) wanted() []modeRequest {
	all := []modeRequest{{name: "exclusive"}}
	if !s.caps.NoShared {
		all = append(all, modeRequest{"shared", holdfast.ModeShared, 0, []holdfast.Option{holdfast.Shared()}})
	}
	if !s.caps.NoSlots {
		for units := 1; units <= wantedCapacity; units++ {
			options := []holdfast.Option{holdfast.Slots(units, wantedCapacity)}
			all = append(all, modeRequest{fmt.Sprintf("slots%d", units), holdfast.ModeSlots, units, options})
		}
	}
	return all
}

// fits implements the table of docs/design/promises.md §3: exclusive fits nothing, shared fits shared, slots fit slots
// while units remain.
func (held modeRequest) fits(wanted modeRequest) bool {
	switch {
	case held.mode != wanted.mode:
		return false
	case held.mode == holdfast.ModeSlots:
		return held.units+wanted.units <= wantedCapacity
	}
	return held.mode == holdfast.ModeShared
}

// modesFit tries every pair of modes, in one session and between two.
func (s *stage) modesFit() {
	one, two := s.locker(), s.locker()
	for _, held := range s.wanted() {
		for _, wanted := range s.wanted() {
			for _, other := range []holdfast.Locker{one, two} {
				name := s.name(held.name, wanted.name, other == one)
				first := s.lock(one, name, held.options...)
				second, err := other.TryLock(s.ctx, name, wanted.options...)
				switch fits := held.fits(wanted); {
				case fits && err != nil:
					s.Errorf("%s together with %s is refused: %v", wanted.name, held.name, err)
				case !fits && err == nil:
					s.Errorf("%s is granted together with %s", wanted.name, held.name)
				case !fits:
					s.want(err, holdfast.ErrHeld)
				}
				if second != nil {
					s.unlock(second)
				}
				s.unlock(first)
				s.unlock(s.lock(two, name, wanted.options...))
			}
		}
	}
}

// modesWait makes an incompatible request wait, and checks that it is granted when the last incompatible holder is
// gone.
func (s *stage) modesWait() {
	one, two := s.locker(), s.locker()
	for _, held := range s.wanted() {
		for _, wanted := range s.wanted() {
			if held.fits(wanted) || held.mode == holdfast.ModeExclusive {
				continue
			}
			name := s.name(held.name, wanted.name)
			locks := []*holdfast.Lock{s.lock(one, name, held.options...)}
			if held.fits(held) {
				locks = append(locks, s.lock(two, name, held.options...))
			}
			w := s.queue(two, name, wanted.options...)
			for _, lock := range locks {
				s.waiting(w)
				s.unlock(lock)
			}
			s.unlock(s.granted(w))
		}
	}
}

// capacityConflict checks that another capacity is refused while the name is live, and accepted when it is not.
func (s *stage) capacityConflict() {
	one, two := s.locker(), s.locker()
	name := s.name()
	held := s.lock(one, name, holdfast.Slots(1, 3))
	lock, err := two.Lock(s.ctx, name, holdfast.Slots(1, 4))
	s.refused(lock, err, holdfast.ErrConflict)
	lock, err = two.TryLock(s.ctx, name, holdfast.Slots(1, 2))
	s.refused(lock, err, holdfast.ErrConflict)
	rest := s.lock(two, name, holdfast.Slots(2, 3))
	s.unlock(held, rest)
	s.free(name)
	s.unlock(s.lock(two, name, holdfast.Slots(4, 4)))
}

// modesNotOffered checks that missing modes are refused, not granted in another mode.
func (s *stage) modesNotOffered() {
	locks := s.locker()
	refuse := func(missing bool, option holdfast.Option) {
		if missing {
			lock, err := locks.Lock(s.ctx, s.name(), option)
			s.refused(lock, err, holdfast.ErrUnsupported)
		}
	}
	refuse(s.caps.NoShared, holdfast.Shared())
	refuse(s.caps.NoSlots, holdfast.Slots(1, 2))
	refuse(s.caps.NoHold, holdfast.Hold(s.caps.Patience))
	s.free(s.name())
}

// lockReportsItsGrant compares the lock's fields with the request.
func (s *stage) lockReportsItsGrant() {
	locks := s.locker()
	for _, wanted := range s.wanted() {
		name := s.name(wanted.name)
		options := append(wanted.options[:len(wanted.options):len(wanted.options)], holdfast.Reason("to be read back"))
		lock := s.lock(locks, name, options...)
		capacity := 0
		if wanted.mode == holdfast.ModeSlots {
			capacity = wantedCapacity
		}
		if lock.Name() != name || lock.Space() != holdfast.DefaultSpace || lock.Mode() != wanted.mode ||
			lock.Units() != wanted.units || lock.Capacity() != capacity {
			s.Errorf("asked for %q in %q as %s, got %q in %q as %v %d/%d", name, holdfast.DefaultSpace,
				wanted.name, lock.Name(), lock.Space(), lock.Mode(), lock.Units(), lock.Capacity())
		}
		if err := lock.Check(); err != nil {
			s.Errorf("Check while held: %v", err)
		}
		s.unlock(lock)
	}
	if s.caps.NoReentry {
		return
	}
	lock := s.lock(locks, s.name("owner"), holdfast.Owner("job-7"))
	if lock.Owner() != "job-7" {
		s.Errorf("the owner is %q, want job-7", lock.Owner())
	}
	s.unlock(lock)
}
