package session

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// WaitGrace is how long a call waits, beyond its wait limit, for the refusal of the authority,
// which says why nothing was granted. A wait limit is kept to within half a second: members
// allow their authority less than this (lock.WaitGrace), and the rest is for what runs late. A
// context whose deadline has passed is returned sooner.
const WaitGrace = 400 * time.Millisecond

// LaterPause is after how long a release is sent again that came too soon.
const LaterPause = time.Second

// State says what a request is about, and so what to send after a break.
type State uint8

// The states.
const (
	Requested  State = iota // a call waits for the answer
	Held                    // the caller has the lock
	Ended                   // the lock has ended here; Close tells the authority
	Releasing               // the lock has ended here; the authority must hear of it
	Cancelling              // the call gave up; a grant that crosses that is released
	Settled                 // nothing is left to do; it is no longer in the table
)

// Request is one acquire and what became of it. Its maker sets the fields that are exported.
type Request struct {
	ID      uint64 // set by Lock
	Space   string
	Want    holdfast.Request
	WaitEnd time.Duration // clock.Never without a wait limit
	Bounded bool          // that is the end of its caller's context, which ends the call by itself
	Caller  any           // what its maker knows of it

	state   State
	unsent  bool          // no stream of the present session has taken the acquire
	sent    time.Duration // when the first one took it
	waiting bool          // the authority has queued it behind a holder, as far as known
	token   holdfast.Token
	holdEnd time.Duration // the end of its hold limit, or holdfast.Forever
	grace   bool          // its name stays taken for a while after that
	bound   bound         // while it is asked: of the grant that it may turn out to enter
	limit   limit         // of its own extend, or of the one that it may have overtaken
	loss    holdfast.Loss // the authority has ended the grant while it was released
	copies  int           // how often the release was sent
	quiet   bool          // no caller asked for the release: its result is no news
	awaited bool          // a call waits for the result of the release
	refused bool          // a member has refused the acquire, or its release
	extend  *Extension
	behind  bool        // the present stream owes the answer to an extend
	guard   clock.Alarm // wait limit or limit of a try, then hold limit
}

// State returns what the request is about.
func (r *Request) State() State { return r.state }

// Token returns the token of its grant.
func (r *Request) Token() holdfast.Token { return r.token }

// HoldEnd returns the end of its hold limit, or holdfast.Forever.
func (r *Request) HoldEnd() time.Duration { return r.holdEnd }

// Grace reports whether its name stays taken for a while after its hold limit.
func (r *Request) Grace() bool { return r.grace }

// Waiting reports whether the authority has queued it behind a holder, as far as known.
func (r *Request) Waiting() bool { return r.waiting }

// Awaited reports whether a call waits for the result of its release.
func (r *Request) Awaited() bool { return r.awaited }

// Quiet reports whether no caller has asked for its release.
func (r *Request) Quiet() bool { return r.quiet }

// Unsent reports whether no stream of the present session has taken its acquire.
func (r *Request) Unsent() bool { return r.unsent }

// Extending returns its extend that is not answered, or nil.
func (r *Request) Extending() *Extension { return r.extend }

// Guard returns when its limit ends that is kept here, if one is kept: of its wait, then of its hold.
func (r *Request) Guard() time.Duration { return r.guard.At() }

// enter puts a new request into the table and its acquire into the queue.
func (m *Machine) enter(r *Request) {
	r.unsent = true
	if m.extends && r.Want.Owner != "" {
		m.inherit(r)
	}
	m.lastID++
	r.ID = m.lastID
	m.requests[r.ID] = r
	m.unsent++
	m.limitWait(r)
	m.push(sendAcquire, r)
}

// limitWait sets the guard of a call, at its wait limit.
func (m *Machine) limitWait(r *Request) {
	switch {
	case r.Bounded:
	case r.Want.Try && r.Want.Wait == 0:
		// The limit is ours, and its end here comes behind the authority's word.
		m.timeOutAt(r, r.WaitEnd)
		r.WaitEnd -= WaitGrace
	case r.WaitEnd != clock.Never:
		r.guard.Ring = func() { m.onWaitEnd(r) }
		m.alarms.Set(&r.guard, r.WaitEnd)
	}
}

// timeOutAt lets the call that waits for a request end at the time at.
func (m *Machine) timeOutAt(r *Request, at time.Duration) {
	r.guard.Ring = func() { m.timeOut(r) }
	m.alarms.Set(&r.guard, at)
}

// onWaitEnd ends a call whose wait limit has passed: at once where no member is connected
// that could say why nothing was granted.
func (m *Machine) onWaitEnd(r *Request) {
	if m.MayAnswer(r) {
		m.timeOutAt(r, After(r.WaitEnd, WaitGrace))
		return
	}
	m.timeOut(r)
}

// timeOut ends a call that still waits at its limit, and cancels its request.
func (m *Machine) timeOut(r *Request) {
	if r.state == Requested {
		m.out.of(TimeOut, r, nil)
		m.cancel(r)
	}
}

// MayAnswer reports whether a member that is connected has the request, or is about to.
func (m *Machine) MayAnswer(r *Request) bool { return m.stream != nil && r.state == Requested }

// giveUp is called when the call has ended by itself. A grant that has come
// already is released.
func (m *Machine) giveUp(r *Request) {
	switch r.state {
	case Requested:
		m.cancel(r)
	case Held:
		m.out.of(End, r, holdfast.ErrNotHeld)
		r.quiet = true
		m.release(r)
	case Ended:
		r.quiet = true
		m.release(r)
	}
}

// cancel ends a request for good. One that no stream has taken is just forgotten.
func (m *Machine) cancel(r *Request) {
	m.alarms.Stop(&r.guard)
	if r.unsent {
		m.settle(r)
		return
	}
	r.state = Cancelling
	m.push(sendCancel, r)
}

// cancelRefused cancels each request that a hello has listed and that another member has refused before its welcome.
// The member that answers takes the request for one that this client still wants. What the other one had asked for may be granted
// later, and no client would give the lock back. The table keeps such a request until the cancel is acknowledged, so each later
// hello lists it, and each stream begins with its cancel.
func (m *Machine) cancelRefused(listed []*Request) {
	if mutation.Off("what is refused behind a hello is cancelled") {
		return
	}
	for _, r := range listed {
		if r.refused && r.state == Settled && m.requests[r.ID] == nil && !m.closing {
			m.requests[r.ID] = &Request{ID: r.ID, Space: r.Space, Want: holdfast.Request{Name: r.Want.Name}, state: Cancelling}
		}
	}
}

// unlock gives back a lock that has just ended for its holder.
func (m *Machine) unlock(r *Request, ev *Event) {
	if ev.Stopped {
		// Its hold limit has ended it, and its name has a grace: its holder says that it has stopped. Whether that was in time is no news.
		m.requests[r.ID] = r
		r.quiet, r.token = true, ev.Token
	}
	r.awaited = ev.Awaited
	m.release(r)
}

// release tells the authority that a lock has ended.
func (m *Machine) release(r *Request) {
	m.alarms.Stop(&r.guard)
	m.finishExtend(r, holdfast.ErrNotHeld)
	r.state = Releasing
	if !r.quiet {
		m.releases++
	}
	m.push(sendRelease, r)
}

// concede tells the authority that a lock has ended which the caller has not
// unlocked; it may be left to Close.
func (m *Machine) concede(r *Request) {
	if m.config.Keep {
		m.alarms.Stop(&r.guard)
		r.state = Ended
		return
	}
	r.quiet = true
	m.release(r)
}

// settle forgets a request.
func (m *Machine) settle(r *Request) {
	if r.state == Settled {
		return
	}
	m.alarms.Stop(&r.guard)
	if r.unsent {
		r.unsent = false
		m.unsent--
	}
	if r.state == Releasing && !r.quiet {
		m.releases--
		if m.releases == 0 {
			m.out.add(Effect{Kind: Quiet})
		}
	}
	r.state = Settled
	delete(m.requests, r.ID)
	m.out.of(Settle, r, nil)
}

// After adds without passing the end of time.
func After(now, d time.Duration) time.Duration {
	if d > clock.Never-now {
		return clock.Never
	}
	return now + d
}

// tryLimit is how long a call that does not wait for holders waits for a decision.
const tryLimit = 5 * time.Second

// WaitEnd is when the wait of a call made at the time now ends, by its own limit: one moment,
// even if the connection or the authority is lost before then, and for all the names of a
// LockAll together.
func WaitEnd(now time.Duration, want *holdfast.Request) time.Duration {
	switch {
	case want.Wait > 0:
		return After(now, want.Wait)
	case want.Try:
		return After(now, tryLimit)
	}
	return clock.Never
}
