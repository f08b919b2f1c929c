package lockertest

import (
	"context"
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

func lossChecks() []check {
	return []check{
		{name: "killed_session_is_reported", need: needKill, run: (*stage).killedSessionIsReported},
		{name: "killed_session_leaves_the_queue", need: needKill, run: (*stage).killedSessionLeavesQueue},
		{name: "broken_lock_is_reported", need: needBreak, run: (*stage).brokenLockIsReported},
		{name: "broken_holders_in_all_modes", need: needs(needBreak, needShared, needReentry), run: (*stage).brokenHoldersInAllModes},
	}
}

// killedSessionIsReported kills a session that holds several names. Each of its Contexts ends before a waiter is
// granted the name.
func (s *stage) killedSessionIsReported() {
	victim, successor := s.locker(), s.locker()
	var locks []*holdfast.Lock
	var waiters []*waiter
	for i := range 5 {
		locks = append(locks, s.lock(victim, s.name(i)))
	}
	quiet := s.lock(victim, s.name("quiet"))
	for i := range locks {
		waiters = append(waiters, s.queue(successor, s.name(i)))
	}
	s.kill(victim)
	for i, w := range waiters {
		s.unlock(s.passed(locks[i], w))
		s.lost(locks[i], "")
	}
	s.lost(quiet, "")
	s.free(quiet.Name())
}

// killedSessionLeavesQueue kills a session that waits. It does not block later waiters, and passes on what it is
// granted in the meantime. Its own call may wait as long as its context allows.
func (s *stage) killedSessionLeavesQueue() {
	holder, victim, successor := s.locker(), s.locker(), s.locker()
	name := s.name()
	lock := s.lock(holder, name)
	ctx, giveUp := context.WithCancel(s.ctx)
	defer giveUp()
	abandoned := s.queueWith(ctx, victim, name)
	behind := s.queue(successor, name)
	s.kill(victim)
	s.unlock(lock)
	s.unlock(s.granted(behind))
	s.free(name)
	giveUp()
	if got := s.outcome(abandoned); got.err == nil {
		s.ended(got.locks[0], holdfast.ErrLost)
	}
}

// brokenLockIsReported has an operator break a lock that others wait for.
func (s *stage) brokenLockIsReported() {
	one, two := s.locker(), s.locker()
	name := s.name()
	lock := s.lock(one, name)
	w := s.queue(two, name)
	s.caps.Break(s.TB, holdfast.DefaultSpace, name)
	next := s.passed(lock, w)
	s.lost(lock, holdfast.Broken)
	if err := next.Check(); err != nil {
		s.Errorf("the lock of the one who waited: %v", err)
	}
	s.held(one, name)
	s.unlock(next)

	alone := s.lock(one, s.name("alone"))
	s.caps.Break(s.TB, holdfast.DefaultSpace, alone.Name())
	s.ended(alone, holdfast.ErrLost)
	s.lost(alone, holdfast.Broken)
	s.free(name, alone.Name())
}

// brokenHoldersInAllModes breaks shared holders, and an owner that holds twice: each Lock ends.
func (s *stage) brokenHoldersInAllModes() {
	one, two, three := s.locker(), s.locker(), s.locker()
	me := holdfast.Owner("me")
	for i, options := range [][]holdfast.Option{{holdfast.Shared()}, {me}} {
		name := s.name(fmt.Sprintf("case%d", i))
		first := s.lock(one, name, options...)
		second := one
		if i == 0 {
			second = two
		}
		other := s.lock(second, name, options...)
		w := s.queue(three, name)
		s.caps.Break(s.TB, holdfast.DefaultSpace, name)
		lock := s.passed(first, w)
		if other.Context().Err() == nil {
			s.Errorf("%q was granted to another while one of its holders was not notified", name)
		}
		s.lost(first, holdfast.Broken)
		s.lost(other, holdfast.Broken)
		s.unlock(lock)
	}
}
