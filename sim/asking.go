package sim

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What a client says about its requests and makes of the answers: package internal/client/session.

// tryLimit is how long a try waits for a decision; waitGrace how long the authority's own
// refusal may take to arrive after the wait limit (package client has the same).
const (
	tryLimit  = 5 * time.Second
	waitGrace = 400 * time.Millisecond
)

var errUnanswered = fmt.Errorf("%w: no member has answered", holdfast.ErrUnavailable)

// acquire enters a request.
func (s *stream) acquire(want wantedLock, who asker) *request {
	now := s.client.now()
	s.lastID++
	r := &request{client: s.client, id: s.lastID, want: want, asker: who, unsent: true, waitEnd: protocol.Never, guard: protocol.Never, holdEnd: protocol.Never}
	s.inherit(r)
	switch {
	case want.try:
		r.guard = now + tryLimit
		r.waitEnd = r.guard - waitGrace
	case want.wait > 0:
		r.waitEnd = now + want.wait
		r.guard = r.waitEnd
	}
	s.requests = append(s.requests, r)
	s.sayAcquire(r, now)
	return r
}

// sayAcquire asks for a lock. Its hold limit counts from the first sending; what
// remains of its wait limit, from this one.
func (s *stream) sayAcquire(r *request, now time.Duration) {
	if !s.connected() {
		return
	}
	if r.unsent {
		r.unsent, r.sent = false, now
		s.client.world.judge.requested(requestKey{s.session.id, r.id}, s.client, r.want)
	}
	op := operation{
		kind: opAcquire, id: r.id, name: r.want.name, owner: r.want.owner, mode: r.want.mode, units: r.want.units,
		capacity: r.want.capacity, try: r.want.try, hold: r.want.hold,
	}
	if r.waitEnd != protocol.Never {
		op.wait = max(1, r.waitEnd-now)
	}
	s.say(op)
}

// refill says all that is not settled on a new stream, regardless of what was said of it on the
// one before (Machine.refill).
func (s *stream) refill(now time.Duration) {
	if s.closing {
		s.sayEnd()
		return
	}
	s.squander()
	for _, r := range s.requests {
		r.behind = false
		switch {
		case r.state == requested:
			s.sayAcquire(r, now)
		case r.state == releasing:
			s.sayRelease(r)
		case r.state == cancelling:
			s.say(operation{kind: opCancel, id: r.id, name: r.want.name})
		case r.extend != nil:
			s.sayExtend(r, now)
		}
	}
}

// cancelRefused cancels what the hello has listed and was refused before its welcome (Machine.cancelRefused).
func (s *stream) cancelRefused(listed []*request) {
	if s.closing {
		return
	}
	for _, r := range listed {
		if !r.refused || r.state != settled || s.find(r.id) != nil {
			continue
		}
		s.client.world.count.hits[deafRefused]++
		if !protocol.Mutated("what is refused behind a hello is cancelled") {
			s.requests = append(s.requests, &request{
				client: s.client, id: r.id, want: wantedLock{name: r.want.name}, state: cancelling,
				waitEnd: protocol.Never, guard: protocol.Never, holdEnd: protocol.Never,
			})
		}
	}
	slices.SortStableFunc(s.requests, func(x, y *request) int { return cmp.Compare(x.id, y.id) })
}

// sayEnd ends the session.
func (s *stream) sayEnd() {
	s.lastID++
	s.say(operation{kind: opEnd, id: s.lastID})
}

// onEvent takes one event of the stream that is served.
func (s *stream) onEvent(now time.Duration, ev *event) {
	r := s.find(ev.id)
	switch ev.kind {
	case evBeat:
		s.onBeaten(now, ev)
	case evRefused:
		s.onRefused(r, ev.err)
	case evReleased:
		if r != nil {
			s.onReleased(r, ev.err)
		}
	case evGranted:
		if r != nil {
			s.onGranted(now, r, ev)
		}
	case evQueued:
		if r != nil && r.state == requested {
			r.waiting = ev.position >= 0
		}
	case evLost:
		if r != nil {
			s.onLost(r, ev)
		}
	case evExtended:
		if r != nil {
			s.onExtended(now, r, ev)
		}
	case evGoodbye: // Client.onStatus
		if s.session != nil && errors.Is(ev.err, session.ErrTakenOver) {
			s.client.world.count.hits[inheritedNotified]++
			s.onTakenOver()
			return
		}
		s.lose()
	}
}

// onGranted makes the lock.
func (s *stream) onGranted(now time.Duration, r *request, ev *event) {
	if r.state != requested || r.unsent {
		return
	}
	r.state, r.waiting, r.token, r.session, r.guard = held, false, ev.token, s.session, protocol.Never
	if ev.span > 0 {
		r.holdEnd, r.grace = after(r.sent, ev.span), ev.grace
	}
	if r.bound.token == r.token {
		r.holdEnd = min(r.holdEnd, r.bound.end)
	}
	if r.limit.token == r.token {
		r.holdEnd = min(r.holdEnd, after(r.sent, r.limit.hold))
	} else {
		r.limit = limit{}
	}
	r.guard = r.holdEnd
	c := s.client
	if r.believes(now) {
		c.world.judge.noteHolder(grantOf(c, r))
	}
	r.asker.granted(r)
}

// onGuard is called at a wait limit, the limit of a try, or a hold limit.
func (s *stream) onGuard(r *request, now time.Duration) {
	switch {
	case r.state == held:
		r.guard = protocol.Never
		if !r.believes(now) {
			s.end(r, holdfast.HoldLimit)
			s.finishExtend(r, holdfast.HoldLimit)
			if r.over = r.grace; !r.grace {
				s.concede(r)
				return
			}
			// The word of that may be lost: after twice the limit it is not waited for any more.
			r.state, r.guard = limited, after(r.holdEnd, r.holdEnd-r.sent)
		}
	case r.state == limited:
		s.settle(r)
	case r.state != requested:
		r.guard = protocol.Never
	case r.want.try, r.late, !s.connected():
		err := errUnanswered
		if r.waiting {
			err = holdfast.ErrHeld
		}
		s.cancel(r)
		r.asker.failed(r, err)
	default:
		r.late = true
		r.guard = r.waitEnd + waitGrace
	}
}

// cancel ends a request for good; one that was never sent is just forgotten.
func (s *stream) cancel(r *request) {
	r.guard = protocol.Never
	if r.unsent {
		s.settle(r)
		return
	}
	r.state = cancelling
	s.say(operation{kind: opCancel, id: r.id, name: r.want.name})
}

// abandon is called when the user that asked does not want the lock any more.
func (s *stream) abandon(r *request) {
	switch r.state {
	case requested:
		s.cancel(r)
	case held:
		r.quiet = true
		s.unlock(r)
	}
}

// unlock ends the lock here, then lets the authority know.
func (s *stream) unlock(r *request) {
	if r.state != held {
		return
	}
	s.end(r, "")
	s.release(r)
}

// abandonOrUnlock is what a user's last word about a lock comes to: it does not want
// it any more, or unlocks it. What has ended by the clock is left to the guard, but for a hold limit after
// which its name has a grace.
func (s *stream) abandonOrUnlock(r *request) {
	switch {
	case r.state == requested:
		s.cancel(r)
	case r.believes(s.client.now()):
		s.unlock(r)
	case r.over && r.session == s.session && (r.state == limited || r.state == settled):
		s.stopped(r)
	}
}

// stopped says of a lock in its grace that its holder has stopped (Machine.stopped).
func (s *stream) stopped(r *request) {
	if s.find(r.id) == nil {
		s.requests = append(s.requests, r)
	}
	r.over = false
	s.concede(r)
}

func (s *stream) release(r *request) {
	r.guard = protocol.Never
	s.finishExtend(r, holdfast.ErrNotHeld)
	r.state = releasing
	s.sayRelease(r)
}

func (s *stream) sayRelease(r *request) {
	if s.connected() {
		r.copies++
		s.say(operation{kind: opRelease, id: r.id, name: r.want.name, token: r.token})
	}
}

// concede tells the authority that a lock has ended which no user has unlocked.
func (s *stream) concede(r *request) {
	r.quiet = true
	s.release(r)
}

// end ends the lock of a request because of why.
func (s *stream) end(r *request, why holdfast.Loss) {
	if r.ended {
		return
	}
	r.ended = true
	s.client.world.judge.ended(grantOf(s.client, r), why)
}

func (s *stream) settle(r *request) {
	r.guard, r.state, s.spent = protocol.Never, settled, true
}

// onLost ends a lock, then says that it has stopped if the authority waits for that.
func (s *stream) onLost(r *request, ev *event) {
	if ev.why == holdfast.SessionExpired {
		s.lose()
		return
	}
	switch r.state {
	case requested:
		// It was granted, and the word of that was lost. A copy of the request may be on
		// its way: what that comes to is not wanted any more.
		s.cancel(r)
		r.asker.failed(r, ev.why)
	case held:
		s.end(r, ev.why)
		s.finishExtend(r, ev.why)
		r.over = r.grace && ev.why == holdfast.HoldLimit
		if ev.mustRelease {
			s.concede(r)
		} else {
			s.settle(r)
		}
	case limited:
		if !ev.mustRelease {
			s.settle(r)
		}
	case releasing:
		r.loss = ev.why
	}
}

// onReleased takes the answer to a release or to a cancel. That a release which was
// sent twice is of something not held means that its first copy has acted.
func (s *stream) onReleased(r *request, err error) {
	if unknownSession(err) {
		s.lose()
		return
	}
	if r.state == releasing || r.state == cancelling {
		r.refused = r.state == releasing && err != nil
		if err != nil && r.state == releasing && !r.quiet && r.copies == 1 && r.loss == "" && r.holdEnd == protocol.Never && !r.outlived {
			s.client.world.judge.unlockRefused(grantOf(s.client, r), err)
		}
		s.settle(r)
	}
}

// onRefused takes a refusal of anything that an id can name.
func (s *stream) onRefused(r *request, err error) {
	switch {
	case unknownSession(err):
		s.lose()
	case r == nil:
	case r.state == requested:
		r.refused = true
		s.client.world.judge.histories.refused(requestKey{s.session.id, r.id}, err)
		s.settle(r)
		r.asker.failed(r, err)
	case r.behind:
		r.behind, r.limit = false, limit{}
		if r.state == held && r.extend != nil {
			s.setHoldEnds(r, r.extend.before)
			if r.believes(s.client.now()) {
				s.finishExtend(r, err)
			}
		}
	default:
		s.onReleased(r, err)
	}
}

func unknownSession(err error) bool {
	return errors.Is(err, session.ErrUnknown) || holdfast.Why(err) == holdfast.SessionExpired
}

// extendTo asks for another hold limit. A shorter one holds from here on.
func (s *stream) extendTo(r *request, hold time.Duration) {
	if r.state != held || r.extend != nil {
		return
	}
	now := s.client.now()
	r.extend = &extension{hold: hold, unsent: true, before: r.holdEnd}
	if end := after(now, hold); hold > 0 {
		for _, mate := range s.mates(r) {
			if end < mate.holdEnd {
				mate.holdEnd, mate.guard = end, end
			}
		}
		s.bind(r, min(end, r.extend.before))
		s.outlive(r)
	}
	s.sayExtend(r, now)
}

// outlive notes of what its owner has unlocked already of the grant of r that the grant may end by the limit that is asked for before
// that unlock arrives: then the unlock is refused, rightly.
func (s *stream) outlive(r *request) {
	//tidy:unordered each is noted by itself
	for _, left := range s.requests {
		if left.state == releasing && left.want.name == r.want.name && left.token == r.token {
			left.outlived = true
		}
	}
}

func (s *stream) sayExtend(r *request, now time.Duration) {
	if !s.connected() || r.extend == nil || r.state != held {
		return
	}
	if r.extend.unsent {
		r.extend.unsent, r.extend.sent = false, now
	}
	if r.behind, r.limit = true, (limit{}); r.extend.hold > 0 {
		r.limit = limit{r.token, r.extend.hold}
	}
	s.say(operation{kind: opExtend, id: r.id, name: r.want.name, token: r.token, hold: r.extend.hold})
}

// onExtended takes a new hold limit, which counts from the sending of the extend.
func (s *stream) onExtended(now time.Duration, r *request, ev *event) {
	r.behind, r.limit = false, limit{}
	if r.state != held || r.extend == nil || r.extend.unsent {
		return
	}
	end := protocol.Never
	if ev.span > 0 {
		end = after(r.extend.sent, ev.span)
	}
	s.setHoldEnds(r, end)
	for _, mate := range s.mates(r) {
		mate.limit = limit{}
	}
	if r.believes(now) {
		s.finishExtend(r, nil)
	}
}

// mates returns the requests by which the grant of r is held: more than one where a
// named owner has entered it again (Machine.mates).
func (s *stream) mates(r *request) []*request {
	if r.want.owner == "" {
		return []*request{r}
	}
	var mates []*request
	for _, mate := range s.requests {
		if mate.state == held && mate.want.name == r.want.name && mate.token == r.token {
			mates = append(mates, mate)
		}
	}
	return mates
}

// setHoldEnds moves the end of the hold limit of the grant of r. What has ended by the
// old one stays ended (Machine.setHoldEnds).
func (s *stream) setHoldEnds(r *request, end time.Duration) {
	now := s.client.now()
	for _, mate := range s.mates(r) {
		if mate.believes(now) {
			mate.holdEnd, mate.guard = end, end
		}
	}
	s.bind(r, end)
}

// bind lets the owner's requests that are not answered yet know until when the grant of r
// may be believed in (Machine.bind).
func (s *stream) bind(r *request, end time.Duration) {
	if r.want.owner == "" {
		return
	}
	for _, other := range s.requests {
		if other.state == requested && other.want.name == r.want.name && other.want.owner == r.want.owner {
			other.bound = bound{r.token, end}
		}
	}
}

// inherit lets a new request know of the extends that its owner has asked for, and that it
// may overtake (Machine.inherit).
func (s *stream) inherit(r *request) {
	if r.want.owner == "" {
		return
	}
	for _, other := range s.requests {
		if other.limit.token == 0 || other.want.name != r.want.name || other.want.owner != r.want.owner {
			continue
		}
		if l := other.limit; l.token > r.limit.token || l.token == r.limit.token && l.hold < r.limit.hold {
			r.limit = l
		}
	}
}

func (s *stream) finishExtend(r *request, err error) {
	if r.extend != nil {
		r.extend = nil
		r.asker.extended(r, err)
	}
}
