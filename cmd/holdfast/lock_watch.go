package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// watch ensures that the command has ended before its lock can go to another.
//
// The locks end at a deadline that each acknowledged heartbeat extends. When the rest is no more than the command's
// grace and a guard, TERM is sent; KILL after the grace, a guard before the deadline. When a lock has been lost (broken
// by an operator, or its session is unknown), TERM is sent at once, and KILL no later than by the known deadline: the
// authority waits for us that long.
//
// The guardian knows each deadline, too, and sends KILL half a guard before it: the command ends in time even if this
// process is stopped or slow.
//
// TERM comes only after three pauses that each ended in time, and in which a heartbeat could be answered. If this
// process and the members were stopped together, as in a virtual machine whose state is saved, the members answer again
// at once.
//
// An end is never reversed: when TERM is sent the lock counts as lost, even if a heartbeat is acknowledged a moment
// later.
type watch struct {
	*locking
	process *supervise.Process
	session func() time.Duration // the session's deadline
	// guardian receives the deadline at which the guardian must kill the command.
	guardian func(time.Duration) error

	renewed <-chan struct{} // receives when the deadline has moved
	timer   clock.Timer
	grace   time.Duration // between TERM and KILL
	guard   time.Duration // between KILL and the deadline
	known   time.Duration // the deadline as last read
	kept    time.Duration // the guardian's deadline
	pauses  int           // number that ended in time before TERM
	tries   int           // total number
	pauseTo time.Duration // end of the present one
	gone    chan int      // locks that have ended, by index
	wanted  chan int      // a lock for which another request waits, by index

	told   bool          // the command has its signal of --on-wanted
	first  error         // why the first of the locks was lost
	dying  bool          // the command is being ended
	killAt time.Duration // time of KILL; clock.Never once it is sent
	ended  chan error    // gets the result of each Terminate
	ending int           // number of them under way
	failed error         // the last one's error
}

// newWatch returns a watch of the locks of l, which live for lease unless they are renewed. Session returns the
// deadline of their session.
func newWatch(l *locking, lease time.Duration, session func() time.Duration) *watch {
	w := &watch{
		locking: l, session: session, renewed: l.renewed,
		gone: make(chan int, len(l.locks)), wanted: make(chan int, len(l.locks)), ended: make(chan error, 2),
	}
	if l.order.hold > 0 {
		lease = min(lease, l.order.hold)
	}
	w.grace = l.grace(lease)
	w.guard = guardOf(lease)
	w.known = l.deadline()
	w.kept = w.lastMoment()
	if l.order.onLost != lostIgnore {
		l.mu.Lock()
		l.lead = w.grace + w.guard
		l.mu.Unlock()
	}
	return w
}

// grace returns how long the command has between TERM and KILL, if its locks end lease after the last renewal, or after
// the grant. It reports, once, that this is less than --kill-after.
func (l *locking) grace(lease time.Duration) time.Duration {
	limit, wanted := "a third of the session's ttl", l.order.killAfter
	fix := fmt.Sprintf("--ttl %v", short(3*wanted))
	switch {
	case l.order.hold > 0 && l.order.hold <= lease:
		lease, limit, fix = l.order.hold, "a third of --hold", fmt.Sprintf("--hold %v", short(3*wanted))
	case l.order.store != nil:
		limit, fix = "a sixth of expiry", fmt.Sprintf("--store-options expiry=%v", short(6*wanted))
	}
	grace := min(wanted, lease/3)
	if grace < wanted && l.order.explicit && !l.saidCut {
		l.saidCut = true
		l.say.printf("--kill-after %v is cut to %v, %s: KILL comes before another client can be granted the name; for %v give %s or more",
			short(wanted), short(grace.Round(time.Millisecond)), limit, short(wanted), fix)
	}
	return grace
}

// lastMoment returns when the guardian must kill the command: half a guard after this process would have done it. With
// --on-lost ignore that is never.
func (w *watch) lastMoment() time.Duration {
	switch {
	case w.order.onLost == lostIgnore:
		return clock.Never
	case w.dying:
		return w.kept
	}
	return w.known - w.guard/2
}

// guardOf returns how long before a deadline the last process must be killed: time for the kernel to end it and for us
// to see that, on a busy machine.
func guardOf(lease time.Duration) time.Duration {
	return min(max(lease/20, 20*time.Millisecond), 250*time.Millisecond)
}

// run watches over a command, and returns how it ended, and why its lock was lost if it was. The error concerns only
// the command. Its guardian may still be ending.
func (w *watch) run(process *supervise.Process) (exit supervise.Exit, lost, err error) {
	w.process = process
	w.timer = w.clock.NewTimer()
	defer w.timer.Stop()
	for i, lock := range w.locks {
		stop := context.AfterFunc(lock.Context(), func() { w.gone <- i })
		defer stop()
	}
	stop := w.heedWaiting()
	defer stop()
	done, left, remains := w.process.Done(), w.process.Left(), (<-chan time.Time)(nil)
	for left != nil || w.ending > 0 {
		w.timer.Reset(w.next())
		select {
		case <-done:
			done, remains = nil, time.After(remainsAfter)
		case <-remains:
			remains = nil
			w.reportRemaining()
		case <-left:
			done, left = nil, nil
		case i := <-w.gone:
			w.onLost(i)
		case i := <-w.wanted:
			w.onWanted(i)
		case <-w.renewed:
			w.onTime()
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
	exit, err = w.process.Dismiss()
	if errors.Is(err, supervise.ErrDeadline) {
		err = nil
		if w.first == nil {
			w.lose()
		}
		if !w.dying {
			w.status.killing(holdfast.Why(w.first))
			w.say.printf("%s did not run until the lock was about to end; its guardian has killed the command", name)
		}
	}
	return exit, w.first, err
}

// heedWaiting observes whether other requests wait for the locks, if the command is to know that, until stop is called.
func (w *watch) heedWaiting() (stop func()) {
	if w.order.onWanted == 0 {
		return func() {}
	}
	over := make(chan struct{})
	var work sync.WaitGroup
	for i, lock := range w.locks {
		work.Go(func() {
			select {
			case <-lock.Wanted():
				w.wanted <- i
			case <-over:
			}
		})
	}
	return func() { close(over); work.Wait() }
}

// onWanted sends the command its signal when the first of its locks is wanted.
func (w *watch) onWanted(i int) {
	w.status.wanted(w.locks[i])
	sig := w.order.onWanted
	if w.told || w.dying {
		return
	}
	w.told = true
	if err := w.process.Signal(sig); err != nil {
		w.say.printf("%v", err)
	}
}

// remainsAfter is how long after the end of a command processes that it has left running are reported. Most commands
// leave none, which is known sooner than a look at all processes takes.
const remainsAfter = 50 * time.Millisecond

// reportRemaining reports why the lock of an ended command is kept.
func (w *watch) reportRemaining() {
	if remaining := w.process.Remaining(); remaining != "" && !w.dying && !w.order.detach {
		w.say.printf("the command has ended; the lock is kept for what it has left running: %s (--detach does not wait for that)", remaining)
	}
}

// next returns when to check again. A deadline usually moves later; it is checked often enough to notice when it moves
// closer.
func (w *watch) next() time.Duration {
	switch {
	case w.order.onLost == lostIgnore:
		return clock.Never
	case w.dying:
		return w.killAt
	}
	now := w.clock.Now()
	w.refresh()
	if w.pauseTo > 0 {
		return w.pauseTo
	}
	return min(w.doubtAt(), now+max(0, w.known-now)/4)
}

// refresh reads the deadline, and informs the guardian when it has moved.
func (w *watch) refresh() {
	w.known = w.deadline()
	w.keep(w.lastMoment())
}

// keep sends the guardian a new deadline.
func (w *watch) keep(at time.Duration) {
	if at == w.kept {
		return
	}
	w.kept = at
	if err := w.guardian(at); err != nil {
		w.say.printf("%v", err)
	}
}

// answerLimit is the maximum time for the answer to a heartbeat before TERM.
const answerLimit = 300 * time.Millisecond

// patience returns how long to wait for the answer to a heartbeat from at on: at most a third of the time left until
// KILL.
func (w *watch) patience(at time.Duration) time.Duration {
	return min(answerLimit, max(0, w.known-w.guard-at)/3)
}

// doubtAt returns when the pauses begin, so that TERM is due when they are over.
func (w *watch) doubtAt() time.Duration {
	at := w.known - w.lead
	if w.limited() {
		return at
	}
	return at - w.patience(at)
}

// limited reports whether the hold limit ends a lock before the session does. The session's deadline is read first: one
// that moves meanwhile must not look like a hold limit.
func (w *watch) limited() bool {
	session := w.session()
	return w.order.hold > 0 && w.deadline() < session
}

// The pauses before TERM. One that ends late means that this process was stopped, and that the client's next heartbeat
// must get its full time again.
const (
	pausesBeforeTerm = 3
	mostPauses       = 9
)

// doubtful reports whether TERM has to wait for a heartbeat that may still be answered. Heartbeats do not move a hold
// limit.
func (w *watch) doubtful(now time.Duration) bool {
	pause := w.patience(now) / pausesBeforeTerm
	if pause <= 0 || w.tries == mostPauses || w.limited() {
		return false
	}
	switch {
	case w.pauseTo > 0 && now < w.pauseTo:
		return true
	case w.pauseTo > 0 && now-w.pauseTo <= pause:
		w.pauses++
	default:
		w.pauses = 0
	}
	if w.pauses == pausesBeforeTerm {
		return false
	}
	w.tries++
	w.pauseTo = now + pause
	return true
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
		w.refresh()
		switch {
		case now < w.doubtAt():
			w.pauses, w.tries, w.pauseTo = 0, 0, 0
		case !w.doubtful(now):
			w.lose()
			w.end()
		}
	}
}

// lose gives up the locks because one is about to end.
func (w *watch) lose() {
	why := holdfast.SessionExpired
	if w.limited() {
		why = holdfast.HoldLimit
	}
	for i, lock := range w.locks {
		err := lock.Check() // the clock advances
		if err == nil {
			err = &holdfast.Error{Op: "lock", Space: lock.Space(), Name: lock.Name(), Err: why}
		}
		w.first = cmp.Or(w.first, err)
		w.reportLost(i, err)
	}
}

// onLost runs when a lock has ended.
func (w *watch) onLost(i int) {
	w.look(i)
	switch {
	case w.order.onLost == lostIgnore:
		w.say.printf("%v; the command goes on", w.first)
	case !w.dying:
		w.end()
	}
}

// look records a lock that has ended.
func (w *watch) look(i int) {
	if err := w.locks[i].Check(); err != nil {
		w.first = cmp.Or(w.first, err)
		w.reportLost(i, err)
	}
}

// end begins to end the command.
func (w *watch) end() {
	now := w.clock.Now()
	w.dying, w.killAt = true, min(now+w.grace, w.known-w.guard)
	w.keep(min(w.kept, w.killAt+w.guard/2))
	if w.killAt <= now {
		w.killAt = clock.Never
		w.terminate(0)
		w.say.printf("%v; the command is killed", w.first)
	} else {
		w.terminate(w.killAt - now)
		w.say.printf("%v; the command gets TERM, and KILL in %v", w.first, (w.killAt - now).Round(time.Millisecond))
	}
	w.status.killing(holdfast.Why(w.first))
}

// terminate ends the command's group. KILL follows the grace here, too, by a clock that runs during sleep.
func (w *watch) terminate(grace time.Duration) {
	w.ending++
	go func() { w.ended <- w.process.Terminate(grace) }()
}
