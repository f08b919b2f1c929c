package sim

import "time"

// instant is a point of real time, counted from the beginning of the run. No process
// of the run can read it: each has a clock of its own.
type instant = time.Duration

// taskKind says what a task is about, and so who takes it.
type taskKind uint8

const (
	taskAct       taskKind = iota // a fault, or another thing that is rare
	taskMessage                   // a message arrives at a member
	taskSaved                     // a member's storage answers
	taskTick                      // a member's machine wants to be woken
	taskWake                      // a client wants to be woken
	taskOperation                 // what a client has sent arrives at its member
	taskEvents                    // a member's events arrive at its client
	taskBreak                     // one end of a link learns that it is broken
	taskLeave                     // a member lets go of a stream
	taskStored                    // the store's answer arrives at a member
	taskSynced                    // a member's journal has done a group
	taskFetched                   // it answers what needs no group
)

// arrives reports whether a task has been on its way for a time. Behind one that was late many may arrive in one instant, because
// links keep their order.
func (k taskKind) arrives() bool {
	return k == taskMessage || k == taskOperation || k == taskEvents
}

// task is something that will happen. Its fields mean what its kind says.
type task struct {
	kind    taskKind
	end     end    // taskBreak: which end
	to      int32  // place of a member, number of a client
	life    uint32 // of the member; of the request to be woken
	eventID uint32 // of what is on its way: its number in the timeline, or 0
	id      uint64 // taskMessage: the id it is addressed to, taskSaved: the write, taskStored, taskFetched: the act, taskLeave: the sink
	from    uint64 // taskMessage: who sent it
	port    uint16
	fact    any
	link    *link
	act     func()
}

// entry orders tasks: by time, and those of one time by when they were scheduled.
type entry struct {
	at    instant
	order uint64
	slot  int32
}

// engine is the future: a heap of what will happen, each task in a slot that is used
// again, so that scheduling allocates nothing.
type engine struct {
	now   instant
	order uint64
	heap  []entry
	slots []task
	free  []int32
}

// at schedules t. What lies in the past happens now.
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

// do schedules what is rare enough to be a function.
func (e *engine) do(when instant, act func()) { e.at(when, task{kind: taskAct, act: act}) }

// next takes the next task and moves time to it; false when nothing will happen, or
// nothing before limit.
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
		beyond := min(least+4, last) // its children end here, whichever of them is the least
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
