package lockertest

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holdfast-locks/holdfast"
)

func orderChecks() []check {
	return []check{
		{name: "fifo", need: needFIFO, run: (*stage).fifo},
		{name: "waiting_exclusive_blocks_later_shared", need: needs(needFIFO, needShared), run: (*stage).exclusiveBlocksLaterShared},
		{name: "large_slots_wish_is_not_starved", need: needs(needFIFO, needSlots), run: (*stage).largeRequestNotStarved},
		{name: "release_grants_all_that_fit", need: needShared, run: (*stage).releaseGrantsAllThatFit},
		{name: "no_lost_wakeup", need: needs(needShared, needSlots), run: (*stage).noLostWakeup},
	}
}

// fifo queues requests of several sessions in a known order and checks that they are granted in that order (P5), each
// with the number of requests before it.
func (s *stage) fifo() {
	const requests = 24
	sessions := s.lockers(3)
	name := s.name()
	held := s.lock(sessions[0], name)

	var mu sync.Mutex
	var order []int
	var waiters []*waiter
	for i := range requests {
		locks := sessions[i%len(sessions)]
		w := s.wait(name, func(queued holdfast.Option) outcome {
			lock, err := locks.Lock(s.ctx, name, queued)
			if err != nil {
				return outcome{err: err}
			}
			mu.Lock()
			order = append(order, i)
			mu.Unlock()
			return outcome{[]*holdfast.Lock{lock}, lock.Unlock(s.ctx)}
		})
		if w.position != i {
			s.Errorf("request %d was queued behind %d", i, w.position)
		}
		waiters = append(waiters, w)
	}
	s.unlock(held)
	for _, w := range waiters {
		s.granted(w)
	}
	if !slices.IsSorted(order) || len(order) != requests {
		s.Errorf("granted in the order %v", order)
	}
}

// exclusiveBlocksLaterShared checks that later shared requests, compatible with the holder, do not overtake a waiting
// exclusive request.
func (s *stage) exclusiveBlocksLaterShared() {
	one, two := s.locker(), s.locker()
	name := s.name()
	reader := s.lock(one, name, holdfast.Shared())
	writer := s.queue(two, name)
	s.held(one, name, holdfast.Shared())
	late := s.queue(one, name, holdfast.Shared())
	later := s.queue(two, name, holdfast.Shared())
	s.unlock(reader)
	lock := s.granted(writer)
	s.waiting(late)
	s.waiting(later)
	s.unlock(lock)
	a, b := s.granted(late), s.granted(later)
	s.unlock(a, b)
}

// largeRequestNotStarved requests all units while small requests keep coming.
func (s *stage) largeRequestNotStarved() {
	one, two := s.locker(), s.locker()
	name := s.name()
	first := s.lock(one, name, holdfast.Slots(1, 3))
	second := s.lock(two, name, holdfast.Slots(1, 3))
	large := s.queue(one, name, holdfast.Slots(3, 3))
	s.held(two, name, holdfast.Slots(1, 3))
	small := s.queue(two, name, holdfast.Slots(1, 3))
	s.unlock(first)
	s.settle(one)
	s.waiting(large)
	s.waiting(small)
	s.unlock(second)
	lock := s.granted(large)
	s.waiting(small)
	s.unlock(lock)
	s.unlock(s.granted(small))
}

// releaseGrantsAllThatFit queues shared, shared, exclusive, shared behind a holder. The first two are granted together,
// the exclusive one after both, the last one last.
func (s *stage) releaseGrantsAllThatFit() {
	one, two := s.locker(), s.locker()
	name := s.name()
	held := s.lock(one, name)
	a := s.queue(one, name, holdfast.Shared())
	b := s.queue(two, name, holdfast.Shared())
	if s.caps.NoFIFO {
		s.unlock(held)
		s.unlock(s.granted(a), s.granted(b))
		return
	}
	writer := s.queue(two, name)
	c := s.queue(one, name, holdfast.Shared())
	s.unlock(held)
	reader1, reader2 := s.granted(a), s.granted(b)
	s.waiting(writer)
	s.waiting(c)
	s.unlock(reader1)
	s.settle(one)
	s.waiting(writer)
	s.unlock(reader2)
	lock := s.granted(writer)
	s.waiting(c)
	s.unlock(lock)
	s.unlock(s.granted(c))
}

// noLostWakeup keeps many more waiters than can hold, in all modes, and checks that each is granted in the end (P4). A
// holder lets the others queue up first.
func (s *stage) noLostWakeup() {
	const requests = 60
	sessions := s.lockers(3)
	name := s.name()
	held := s.lock(sessions[0], name)
	wanted := s.wanted()
	var granted atomic.Int32
	var waiters []*waiter
	for i := range requests {
		locks, options := sessions[i%len(sessions)], wanted[i%len(wanted)].options
		waiters = append(waiters, s.wait(name, func(queued holdfast.Option) outcome {
			lock, err := locks.Lock(s.ctx, name, append(options[:len(options):len(options)], queued)...)
			if err != nil {
				return outcome{err: err}
			}
			granted.Add(1)
			return outcome{[]*holdfast.Lock{lock}, lock.Unlock(s.ctx)}
		}))
	}
	s.unlock(held)
	for _, w := range waiters {
		s.granted(w)
	}
	if n := granted.Load(); n != requests {
		s.Errorf("%d of %d requests were granted", n, requests)
	}
}
