package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// bound limits how long the grant with token may be believed: by the last extend sent before the answer to a request of
// the same owner came.
type bound struct {
	token holdfast.Token
	end   time.Duration
}

// limit is the hold limit of an unanswered extend. It may reach the authority after a request that was sent later, and
// that re-enters the grant with token: so that request believes no longer than hold after it was sent, or less if the
// answer says so.
type limit struct {
	token holdfast.Token // 0 for none
	hold  time.Duration
}

// Extension is a call for a new hold limit.
type Extension struct {
	Caller any // its maker's own data

	hold   time.Duration
	unsent bool
	sent   time.Duration
	before time.Duration // the end of the old limit
}

// armHoldEnd sets the guard of a lock to the end of its hold limit.
func (m *Machine) armHoldEnd(r *Request) {
	r.guard.Ring = func() { m.onHoldEnd(r) }
	m.alarms.Set(&r.guard, r.holdEnd)
}

// onHoldEnd ends a lock whose hold limit, or whose session, has ended by the clock.
func (m *Machine) onHoldEnd(r *Request) {
	switch {
	case r.state != Held:
	case !m.session.Alive(m.now):
		m.endHold(r, holdfast.SessionExpired)
	case m.now >= r.holdEnd:
		m.endHold(r, holdfast.HoldLimit)
	}
}

// endHold ends a lock at its hold limit and lets the authority know, so that the
// name is free as soon as it can be: at once, unless it has a grace in which its holder can
// stop. Then the authority ends it, and begins the grace.
func (m *Machine) endHold(r *Request, why error) {
	m.out.of(End, r, why)
	m.finishChanges(r, why)
	if !r.grace || holdfast.Why(why) != holdfast.HoldLimit {
		m.concede(r)
		return
	}
	r.state = Ended
	// The confirmation may be lost with the stream. After twice the limit, by any clock, the authority has ended it.
	r.guard.Ring = func() { m.settle(r) }
	m.alarms.Set(&r.guard, After(r.holdEnd, r.holdEnd-r.sent))
}

// onUnheld handles a lock that has already ended for its holder, which has read a later clock, or is just unlocking it.
func (m *Machine) onUnheld(r *Request, why error) {
	switch {
	case r.state == Held:
		m.endHold(r, why)
	case r.state == Ended && r.grace && holdfast.Why(why) != holdfast.HoldLimit:
		m.concede(r)
	}
}

// askExtend requests a new hold limit. It belongs to the grant, so it applies to every lock that an owner has under it.
func (m *Machine) askExtend(r *Request, wanted *Extension, hold time.Duration) {
	m.extends = true
	wanted.hold, wanted.unsent, wanted.before = hold, true, r.holdEnd
	r.extend = wanted
	// A shorter limit applies from now on: the authority may act on it before its answer is here.
	if end := After(m.now, hold); hold > 0 {
		for _, mate := range m.mates(r) {
			if end < mate.holdEnd {
				m.setHoldEnd(mate, end)
			}
		}
		m.bind(r, min(end, wanted.before))
	}
	m.push(sendExtend, r)
}

// finishExtend ends an Extend call.
func (m *Machine) finishExtend(r *Request, err error) {
	if r.extend != nil {
		m.out.add(Effect{Kind: AnswerExtend, Request: r, Err: err, Detail: &Detail{Extension: r.extend}})
		r.extend = nil
	}
}

// onExtended handles a new hold limit, which counts from the sending of the extend.
func (m *Machine) onExtended(r *Request, hold time.Duration) {
	r.behind, r.limit = false, limit{}
	if r.state != Held || r.extend == nil || r.extend.unsent {
		return
	}
	end := holdfast.Forever
	if hold > 0 {
		end = After(r.extend.sent, hold)
	}
	m.setHoldEnds(r, end)
	for _, mate := range m.mates(r) {
		mate.limit = limit{} // earlier requests have been executed before
	}
	if r.state == Held {
		m.finishExtend(r, nil)
	}
}

// onExtendRefused restores the old limit.
func (m *Machine) onExtendRefused(r *Request, refused error) {
	r.behind, r.limit = false, limit{}
	if r.state != Held || r.extend == nil {
		return
	}
	m.setHoldEnds(r, r.extend.before)
	if r.state == Held {
		m.finishExtend(r, refused)
	}
}

// mates returns the requests by which the grant of r is held, in the order of their ids: more than one if a named owner
// has re-entered it.
func (m *Machine) mates(r *Request) []*Request {
	if r.Want.Owner == "" {
		return []*Request{r}
	}
	var mates []*Request
	//tidy:unordered they are sorted below
	for _, mate := range m.requests {
		if mate.state == Held && mate.Space == r.Space && mate.Want.Name == r.Want.Name && mate.token == r.token {
			mates = append(mates, mate)
		}
	}
	slices.SortFunc(mates, func(a, b *Request) int { return cmp.Compare(a.ID, b.ID) })
	return mates
}

// ExtendingMate returns the unanswered extend of any request by which the grant of r is held, or nil.
func (m *Machine) ExtendingMate(r *Request) *Extension {
	for _, mate := range m.mates(r) {
		if mate.extend != nil {
			return mate.extend
		}
	}
	return nil
}

// setHoldEnds moves the end of the hold limit of the grant of r.
func (m *Machine) setHoldEnds(r *Request, end time.Duration) {
	for _, mate := range m.mates(r) {
		m.setHoldEnd(mate, end)
	}
	m.bind(r, end)
}

// bind limits the belief of the owner's unanswered requests in the grant of r: they may have re-entered it before its
// limit was moved, and get an answer later with the old remaining time, even if r itself has ended meanwhile.
func (m *Machine) bind(r *Request, end time.Duration) {
	if r.Want.Owner == "" {
		return
	}
	//tidy:unordered each is bound by itself
	for _, other := range m.requests {
		if other.state == Requested && other.Space == r.Space && other.Want.Name == r.Want.Name && other.Want.Owner == r.Want.Owner {
			other.bound = bound{r.token, end}
		}
	}
}

// inherit applies to a new request the owner's unanswered extends, which it may overtake.
func (m *Machine) inherit(r *Request) {
	//tidy:unordered the latest token counts, and its shortest hold limit
	for _, other := range m.requests {
		if other.limit.token == 0 || other.Space != r.Space || other.Want.Name != r.Want.Name || other.Want.Owner != r.Want.Owner {
			continue
		}
		if l := other.limit; l.token > r.limit.token || l.token == r.limit.token && l.hold < r.limit.hold {
			r.limit = l
		}
	}
}

// setHoldEnd moves the end of a hold limit. A lock that has already ended by the old one stays ended, and is released.
func (m *Machine) setHoldEnd(r *Request, end time.Duration) {
	if m.now >= r.holdEnd {
		m.onHoldEnd(r)
		return
	}
	r.holdEnd = end
	m.out.add(Effect{Kind: Move, Request: r, At: end})
	if end == holdfast.Forever {
		m.alarms.Stop(&r.guard)
	} else {
		m.armHoldEnd(r)
	}
	m.onHoldEnd(r)
}
