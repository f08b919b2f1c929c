package sim

import "time"

// instant is a point of real time, counted from the beginning of the run. No process of the run can read it: each has
// its own clock.
type instant = time.Duration

// taskKind is the kind of a task, which determines its handler.
type taskKind uint8

const (
	taskAct       taskKind = iota // a fault, or another rare event
	taskMessage                   // a message arrives at a member
	taskSaved                     // a member's storage answers
	taskTick                      // a member's machine wants to be woken
	taskWake                      // a client wants to be woken
	taskOperation                 // a client's operation arrives at its member
	taskEvents                    // a member's events arrive at its client
	taskBreak                     // one end of a link learns that it is broken
	taskLeave                     // a member drops a stream
	taskStored                    // the store's answer arrives at a member
	taskSynced                    // a member's journal has written a group
	taskFetched                   // it answers a request that needs no group
)

// arrives reports whether a task is a delivery. After a late one many may arrive at one instant, because links keep
// their order.
func (k taskKind) arrives() bool {
	return k == taskMessage || k == taskOperation || k == taskEvents
}

// task is a future event. The meaning of its fields depends on its kind.
type task struct {
	kind    taskKind
	end     end    // taskBreak: which end
	to      int32  // place of a member, number of a client
	life    uint32 // of the member; of the wake-up request
	eventID uint32 // number of the delivered message in the timeline, or 0
	id      uint64 // taskMessage: the id it is addressed to, taskSaved: the write, taskStored, taskFetched: the act, taskLeave: the sink
	from    uint64 // taskMessage: who sent it
	port    uint16
	fact    any
	link    *link
	act     func()
}

// entry orders tasks by time, and those of one time by the order of scheduling.
type entry struct {
	at    instant
	order uint64
	slot  int32
}

// engine is the future: a heap of tasks, each in a slot that is reused, so that scheduling does not allocate.
type engine struct {
	now   instant
	order uint64
	heap  []entry
	slots []task
	free  []int32
}

// at schedules t. A task in the past happens now.
func (e *engine) at(when instant, t task) {
	var slot int32
	if n := len(e.free); n > 0 {
		slot = e.free[n-1]
		e.free = e.free[:n-1]
	} else {
		e.slots = append(e.slots, task{})
		slot = int32(len(e.slots) - 1)
	}
	e.slots[slot] = t
	e.order++
	e.push(entry{max(when, e.now), e.order, slot})
}

// do schedules a function: for rare events.
func (e *engine) do(when instant, act func()) { e.at(when, task{kind: taskAct, act: act}) }

// next takes the next task and moves time to it. It returns false if there is no task, or none before limit.
func (e *engine) next(limit instant, t *task) bool {
	if len(e.heap) == 0 || e.heap[0].at > limit {
		return false
	}
	first := e.pop()
	e.now = first.at
	*t = e.slots[first.slot]
	e.slots[first.slot] = task{}
	e.free = append(e.free, first.slot)
	return true
}

func (x entry) before(y entry) bool { return x.at < y.at || x.at == y.at && x.order < y.order }

func (e *engine) push(x entry) {
	e.heap = append(e.heap, x)
	i := len(e.heap) - 1
	for i > 0 {
		above := (i - 1) / 4
		if !x.before(e.heap[above]) {
			break
		}
		e.heap[i] = e.heap[above]
		i = above
	}
	e.heap[i] = x
}

func (e *engine) pop() entry {
	first := e.heap[0]
	last := len(e.heap) - 1
	x := e.heap[last]
	e.heap = e.heap[:last]
	if last == 0 {
		return first
	}
	i := 0
	for {
		least := 4*i + 1
		if least >= last {
			break
		}
		beyond := min(least+4, last) // its children end here
		for other := least + 1; other < beyond; other++ {
			if e.heap[other].before(e.heap[least]) {
				least = other
			}
		}
		if !e.heap[least].before(x) {
			break
		}
		e.heap[i] = e.heap[least]
		i = least
	}
	e.heap[i] = x
	return first
}
