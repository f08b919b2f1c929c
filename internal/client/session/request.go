package session

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// WaitGrace is how long a call waits, beyond its wait limit, for the authority's refusal, which has the reason. A wait
// limit is kept to within half a second: members allow their authority less than this (lock.WaitGrace), and the rest is
// for delays. The call returns sooner if its context's deadline has passed.
const WaitGrace = 400 * time.Millisecond

// LaterPause is the pause before a rate-limited release is repeated.
const LaterPause = time.Second

// State is the state of a request, which determines what to send after a broken stream.
type State uint8

// The states.
const (
	Requested  State = iota // a call waits for the answer
	Held                    // the caller has the lock
	Ended                   // the lock has ended here; Close informs the authority
	Releasing               // the lock has ended here; the authority must be informed
	Cancelling              // the call gave up; a grant in transit is released
	Settled                 // nothing is left to do; removed from the table
)

// Request is one acquire and its outcome. Its maker sets the exported fields.
type Request struct {
	ID      uint64 // set by Lock
	Space   string
	Want    holdfast.Request
	WaitEnd time.Duration // clock.Never without a wait limit
	Bounded bool          // it is the end of its caller's context, which ends the call by itself
	Caller  any           // its maker's own data

	state   State
	unsent  bool          // the acquire was not sent in the present session
	sent    time.Duration // when it was first sent
	waiting bool          // the authority has queued it behind a holder, as far as known
	token   holdfast.Token
	holdEnd time.Duration // end of its hold limit, or holdfast.Forever
	grace   bool          // its name stays taken for a while after that
	bound   bound         // while unanswered: of the grant that it may re-enter
	limit   limit         // of its own extend, or of one that it may have overtaken
	loss    holdfast.Loss // the authority has ended the grant during its release
	copies  int           // number of times the release was sent
	quiet   bool          // no caller requested the release: its result is ignored
	awaited bool          // a call waits for the result of the release
	refused bool          // a member has refused the acquire, or its release
	extend  *Extension
	amend   *Amending
	behind  bool        // the present stream still owes the answer to an extend
	guard   clock.Alarm // wait limit or limit of a try, then hold limit
}

// State returns the state of the request.
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

// Quiet reports whether no caller has requested its release.
func (r *Request) Quiet() bool { return r.quiet }

// Unsent reports whether its acquire was not sent in the present session.
func (r *Request) Unsent() bool { return r.unsent }

// Extending returns its unanswered extend, or nil.
func (r *Request) Extending() *Extension { return r.extend }

// Amending returns its unanswered amendment, or nil.
func (r *Request) Amending() *Amending { return r.amend }

// Guard returns the end of the limit kept here, if any: of its wait, then of its hold.
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

// limitWait sets a call's guard to its wait limit.
func (m *Machine) limitWait(r *Request) {
	switch {
	case r.Bounded:
	case r.Want.Try && r.Want.Wait == 0:
		// The limit is local, and takes effect here after the authority's answer.
		m.timeOutAt(r, r.WaitEnd)
		r.WaitEnd -= WaitGrace
	case r.WaitEnd != clock.Never:
		r.guard.Ring = func() { m.onWaitEnd(r) }
		m.alarms.Set(&r.guard, r.WaitEnd)
	}
}

// timeOutAt ends the call that waits for a request at at.
func (m *Machine) timeOutAt(r *Request, at time.Duration) {
	r.guard.Ring = func() { m.timeOut(r) }
	m.alarms.Set(&r.guard, at)
}

// onWaitEnd ends a call whose wait limit has passed: at once if no connected member could give the reason.
func (m *Machine) onWaitEnd(r *Request) {
	if m.MayAnswer(r) {
		m.timeOutAt(r, After(r.WaitEnd, WaitGrace))
		return
	}
	m.timeOut(r)
}

// timeOut ends a call still waiting at its limit, and cancels its request.
func (m *Machine) timeOut(r *Request) {
	if r.state == Requested {
		m.out.of(TimeOut, r, nil)
		m.cancel(r)
	}
}

// MayAnswer reports whether a connected member has the request, or is about to.
func (m *Machine) MayAnswer(r *Request) bool { return m.stream != nil && r.state == Requested }

// giveUp runs when the call has ended by itself. A grant that has already come is released.
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

// cancel ends a request permanently. One that was never sent is simply forgotten.
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
// The answering member believes that this client still wants the request. The other member's request may be granted
// later, and no client would release the lock. The table keeps such a request until the cancel is acknowledged, so each
// later hello lists it, and each stream begins with its cancel.
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

// unlock releases a lock that has just ended for its holder.
func (m *Machine) unlock(r *Request, ev *Event) {
	if ev.Stopped {
		// Its hold limit has ended it, and its name has a grace: its holder confirms that it has stopped. Whether that
		// was in time does not matter.
		m.requests[r.ID] = r
		r.quiet, r.token = true, ev.Token
	}
	r.awaited = ev.Awaited
	m.release(r)
}

// release informs the authority that a lock has ended.
func (m *Machine) release(r *Request) {
	m.alarms.Stop(&r.guard)
	m.finishChanges(r, holdfast.ErrNotHeld)
	r.state = Releasing
	if !r.quiet {
		m.releases++
	}
	m.push(sendRelease, r)
}

// concede informs the authority that a lock has ended that the caller has not unlocked; this may be left to Close.
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

// After adds without overflow.
func After(now, d time.Duration) time.Duration {
	if d > clock.Never-now {
		return clock.Never
	}
	return now + d
}

// tryLimit is how long a call that does not wait for holders waits for a decision.
const tryLimit = 5 * time.Second

// WaitEnd returns when the wait of a call made at now ends, by its own limit: a fixed time, even if the connection or
// the authority is lost before then, and the same for all the names of a LockAll.
func WaitEnd(now time.Duration, want *holdfast.Request) time.Duration {
	switch {
	case want.Wait > 0:
		return After(now, want.Wait)
	case want.Try:
		return After(now, tryLimit)
	}
	return clock.Never
}
