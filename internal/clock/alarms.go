package clock

import (
	"container/heap"
	"sync"
	"time"
)

// Alarm rings once at its set time. The zero Alarm is not set.
type Alarm struct {
	// Ring is called at that time.
	Ring  func()
	at    time.Duration
	place int // in the heap, counted from 1; 0 is not set
}

// At returns the time that a was last set to.
func (a *Alarm) At() time.Duration { return a.at }

// IsSet reports whether a will ring.
func (a *Alarm) IsSet() bool { return a.place != 0 }

// Queue orders alarms by time. The zero Queue is empty. One goroutine at a time may use it.
type Queue struct{ set alarmHeap }

// Set makes a ring at at, instead of any earlier setting.
func (q *Queue) Set(a *Alarm, at time.Duration) {
	a.at = at
	if a.place == 0 {
		heap.Push(&q.set, a)
	} else {
		heap.Fix(&q.set, a.place-1)
	}
}

// Stop cancels a.
func (q *Queue) Stop(a *Alarm) {
	if a.place != 0 {
		heap.Remove(&q.set, a.place-1)
	}
}

// First returns when the next alarm rings, or Never.
func (q *Queue) First() time.Duration {
	if len(q.set) == 0 {
		return Never
	}
	return q.set[0].at
}

// Due removes and returns the next alarm if it is due by now, otherwise nil.
func (q *Queue) Due(now time.Duration) *Alarm {
	if q.First() > now {
		return nil
	}
	return heap.Pop(&q.set).(*Alarm)
}

// Alarms rings a Queue of alarms on one timer, which is made for the first alarm.
type Alarms struct {
	clock Clock

	mu     sync.Mutex
	queue  Queue
	timer  Timer
	closed chan struct{}
	rings  sync.WaitGroup
}

// NewAlarms returns alarms on c. Close it.
func NewAlarms(c Clock) *Alarms { return &Alarms{clock: c, closed: make(chan struct{})} }

// Set makes a ring at at, instead of any earlier setting. It rings on the alarms' own goroutine, one at a time, and
// must not block. After Close nothing rings.
func (s *Alarms) Set(a *Alarm, at time.Duration, ring func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return
	default:
	}
	if s.timer == nil {
		s.timer = s.clock.NewTimer()
		s.rings.Go(s.keep)
	}
	a.Ring = ring
	s.queue.Set(a, at)
	if s.queue.First() == at {
		s.timer.Reset(at) // if set to earlier, it rings in vain
	}
}

// Stop cancels a. It may already be ringing.
func (s *Alarms) Stop(a *Alarm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Stop(a)
}

// Close cancels all alarms. It returns when none is ringing.
func (s *Alarms) Close() {
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		return
	default:
	}
	close(s.closed)
	timer := s.timer
	s.mu.Unlock()
	s.rings.Wait()
	if timer != nil {
		timer.Stop()
	}
}

func (s *Alarms) keep() {
	for {
		select {
		case <-s.timer.C():
		case <-s.closed:
			return
		}
		for ring := s.due(); ring != nil; ring = s.due() {
			ring()
		}
	}
}

// due removes one alarm that is due, or sets the timer to the next.
func (s *Alarms) due() (ring func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.queue.Due(s.clock.Now()); a != nil {
		return a.Ring
	}
	s.timer.Reset(s.queue.First())
	return nil
}

// alarmHeap has the earliest alarm first.
type alarmHeap []*Alarm

func (h alarmHeap) Len() int           { return len(h) }
func (h alarmHeap) Less(i, j int) bool { return h[i].at < h[j].at }

func (h alarmHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *alarmHeap) Push(x any) {
	a := x.(*Alarm)
	*h = append(*h, a)
	a.place = len(*h)
}

func (h *alarmHeap) Pop() any {
	last := len(*h) - 1
	a := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	a.place = 0
	return a
}
