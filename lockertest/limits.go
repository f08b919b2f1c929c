package lockertest

import (
	"context"
	"errors"

	"github.com/holdfast-locks/holdfast"
)

func limitChecks() []check {
	return []check{
		{name: "limit_of_waiters", need: func(c Caps) string {
			return when(c.MaxWaitersPerName == 0, "no small limit of waiters is configured")
		}, run: (*stage).limitOfWaiters},
		{name: "limit_of_locks", need: func(c Caps) string {
			return when(c.LocksPerSession == 0, "no small limit of locks is configured")
		}, run: (*stage).limitOfLocks},
	}
}

// limited checks for an ErrLimit that names its limit (P8).
func (s *stage) limited(err error, limit string, value int) {
	s.Helper()
	s.want(err, holdfast.ErrLimit)
	var exceeded *holdfast.LimitError
	if !errors.As(err, &exceeded) || exceeded.Limit != limit || exceeded.Value != int64(value) {
		s.Errorf("the error %v does not name the limit %s of %d", err, limit, value)
	}
}

// limitOfWaiters fills a name's queue. The next request is refused and harms no other; when one has left the queue
// there is room again.
func (s *stage) limitOfWaiters() {
	sessions := s.lockers(8)
	name, limit := s.name(), s.caps.MaxWaitersPerName
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	held := s.lock(sessions[0], name)
	first := s.queue(sessions[1], name)
	var waiters []*waiter
	for i := range limit - 1 {
		waiters = append(waiters, s.queueWith(ctx, sessions[i%len(sessions)], name))
	}
	lock, err := sessions[2].Lock(s.ctx, name)
	if lock != nil {
		s.Errorf("a lock came with the error %v", err)
	}
	s.limited(err, "waiters_per_name", limit)
	s.unlock(held)
	lock = s.granted(first)
	last := s.queue(sessions[3], name)
	cancel()
	for _, w := range waiters {
		if got := s.outcome(w); got.err == nil {
			s.unlock(got.locks...)
		} else {
			s.want(got.err, context.Canceled)
		}
	}
	s.unlock(lock)
	s.unlock(s.granted(last))
	s.free(name)
}

// limitOfLocks fills a session. Other sessions are unaffected; when one lock is released there is room again; LockAll
// beyond the limit holds nothing.
func (s *stage) limitOfLocks() {
	one := s.locker()
	limit := s.caps.LocksPerSession
	var locks []*holdfast.Lock
	for i := range limit {
		locks = append(locks, s.lock(one, s.name(i)))
	}
	over, err := one.Lock(s.ctx, s.name("over"))
	if over != nil {
		s.Errorf("a lock came with the error %v", err)
	}
	s.limited(err, "locks_per_session", limit)
	s.free(s.name("over"))
	s.unlock(locks[0])
	s.free(s.name(0)) // the release is complete
	s.unlock(s.lock(one, s.name("again")))
	s.free(s.name("again"))

	names := []string{s.name("all/a"), s.name("all/b")}
	all, err := one.LockAll(s.ctx, names)
	if len(all) != 0 {
		s.Errorf("%d locks came with the error %v", len(all), err)
	}
	s.limited(err, "locks_per_session", limit)
	s.free(names...)
	s.unlock(locks[1:]...)
}
