package main

import (
	"cmp"
	"context"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// watch sees to it that the command has ended before its lock can go to another.
//
// The locks end at a deadline that each acknowledged heartbeat moves on. When no
// more is left of it than the command's grace and a guard, TERM is sent; the grace
// later, and a guard before the deadline, KILL. When a lock has been lost (broken by
// an operator, or its session is unknown), TERM is sent at once, and KILL no later
// than it would have been by the deadline that was known: that is how long the
// authority waits for us.
//
// What was begun is not taken back: when TERM is sent the lock counts as lost, even
// if a heartbeat is acknowledged a moment later.
type watch struct {
	*locking
	process *supervise.Process
	session func() time.Duration // the session's deadline
	timer   clock.Timer
	grace   time.Duration // between TERM and KILL
	guard   time.Duration // between KILL and the deadline
	known   time.Duration // the deadline as last read
	gone    chan int      // the locks that have ended, by their place

	first  error         // why the first of the locks was lost
	dying  bool          // the command is being ended
	killAt time.Duration // KILL is due; clock.Never once it is sent
	ended  chan error    // gets what each Terminate returns
	ending int           // how many of them are under way
	failed error         // what the last of them returned
}

// newWatch returns a watch of a command whose locks live for lease unless they are
// renewed. Session returns the deadline of their session.
func newWatch(l *locking, process *supervise.Process, lease time.Duration, session func() time.Duration) *watch {
	w := &watch{
		locking: l, process: process, session: session,
		gone: make(chan int, len(l.locks)), ended: make(chan error, 2),
	}
	if l.order.hold > 0 {
		lease = min(lease, l.order.hold)
	}
	w.grace = min(l.order.killAfter, lease/3)
	w.guard = guardOf(lease)
	w.known = l.deadline()
	if l.order.onLost != lostIgnore {
		l.telling.Lock()
		l.lead = w.grace + w.guard
		l.telling.Unlock()
	}
	if w.grace < l.order.killAfter && l.order.explicit {
		w.tellCut()
	}
	return w
}

// guardOf returns how long before a deadline the last process is to be killed:
// time for the kernel to end it and for us to see that, on a busy machine.
func guardOf(lease time.Duration) time.Duration {
	return min(max(lease/20, 20*time.Millisecond), 250*time.Millisecond)
}

// tellCut says that the grace is shorter than what was asked for. Where it was not
// asked for, that is said when it matters.
func (w *watch) tellCut() {
	w.say.tell("--kill-after %v is cut to %v, a third of how long the lock may go unrenewed or be held",
		short(w.order.killAfter), short(w.grace.Round(time.Millisecond)))
}

// run returns how the command ended, and why its lock was lost if it was. The error
// is about the command alone.
func (w *watch) run() (exit supervise.Exit, lost, err error) {
	w.timer = w.clock.NewTimer()
	defer w.timer.Stop()
	for i, lock := range w.locks {
		stop := context.AfterFunc(lock.Context(), func() { w.gone <- i })
		defer stop()
	}
	done := w.process.Done()
	for done != nil || w.ending > 0 {
		w.timer.Reset(w.next())
		select {
		case <-done:
			done = nil
		case i := <-w.gone:
			w.onLost(i)
		case <-w.timer.C():
			w.onTime()
		case w.failed = <-w.ended:
			w.ending--
		}
		if w.failed != nil && w.ending == 0 {
			return exit, w.first, w.failed // it may never end
		}
	}
	for i := range w.locks {
		w.look(i)
	}
	exit, err = w.process.Wait()
	return exit, w.first, err
}

// next is when to look again. A deadline moves, mostly on; it is looked at often
// enough to notice when it comes nearer.
func (w *watch) next() time.Duration {
	switch {
	case w.order.onLost == lostIgnore:
		return clock.Never
	case w.dying:
		return w.killAt
	}
	now := w.clock.Now()
	w.known = w.deadline()
	return min(w.known-w.lead, now+max(0, w.known-now)/4)
}

// onTime ends the command if its time has come.
func (w *watch) onTime() {
	now := w.clock.Now()
	switch {
	case w.order.onLost == lostIgnore:
	case w.dying:
		if now >= w.killAt {
			w.killAt = clock.Never
			w.terminate(0)
		}
	default:
		w.known = w.deadline()
		if w.due(now) {
			w.giveUp()
		}
	}
}

// giveUp ends the command because a lock is about to end.
func (w *watch) giveUp() {
	why := holdfast.SessionExpired
	// The session's deadline first: one that is moved on meanwhile must not look like a
	// hold limit.
	if session := w.session(); w.order.hold > 0 && w.deadline() < session {
		why = holdfast.HoldLimit
	}
	for i, lock := range w.locks {
		err := lock.Check() // the clock goes on
		if err == nil {
			err = &holdfast.Error{Op: "lock", Space: lock.Space(), Name: lock.Name(), Err: why}
		}
		w.first = cmp.Or(w.first, err)
		w.tellLost(i, err)
	}
	w.end()
}

// onLost is called when a lock has ended.
func (w *watch) onLost(i int) {
	w.look(i)
	switch {
	case w.order.onLost == lostIgnore:
		w.say.tell("%v; the command goes on", w.first)
	case !w.dying:
		w.end()
	}
}

// look takes note of a lock that has ended.
func (w *watch) look(i int) {
	if err := w.locks[i].Check(); err != nil {
		w.first = cmp.Or(w.first, err)
		w.tellLost(i, err)
	}
}

// end begins to end the command.
func (w *watch) end() {
	now := w.clock.Now()
	w.dying, w.killAt = true, min(now+w.grace, w.known-w.guard)
	if w.killAt <= now {
		w.killAt = clock.Never
		w.terminate(0)
		w.say.tell("%v; the command is killed", w.first)
	} else {
		w.terminate(w.killAt - now)
		w.say.tell("%v; the command gets TERM, and KILL in %v", w.first, (w.killAt - now).Round(time.Millisecond))
	}
	w.status.killing(holdfast.Why(w.first))
	if w.grace < w.order.killAfter && !w.order.explicit {
		w.tellCut()
	}
}

// terminate ends the command's group. KILL follows the grace here, too, by a clock
// that runs while the machine sleeps.
func (w *watch) terminate(grace time.Duration) {
	w.ending++
	go func() { w.ended <- w.process.Terminate(grace) }()
}
