package lock

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Release releases one hold: that of the request or, if request is 0, the latest of the owner that holds token. Token 0
// with a request means any token of the request. Released is appended, then the Granted of the next ones.
//
// The error is ErrNotHeld if session s has no such hold, and then nothing has changed (P7).
func (t *Table) Release(now Time, s SessionID, name string, token holdfast.Token, request uint64, out *[]Decision) error {
	i := t.findHold(s, name, token, request)
	if i == 0 {
		return holdfast.ErrNotHeld
	}
	t.release(now, i, out)
	return nil
}

// Cancel ends a request permanently: a waiting one leaves the queue; one granted in the meantime is released (P6).
// Released is appended either way, then the Granted of the next ones. It reports whether the request was known; if not,
// nothing changes.
func (t *Table) Cancel(now Time, s SessionID, name string, request uint64, out *[]Decision) bool {
	e, known := t.liveOf(name), t.sessionOf(s)
	if e == 0 || known == 0 {
		return false
	}
	i := t.findRequest(e, known, request)
	if i == 0 {
		return false
	}
	t.release(now, i, out)
	return true
}

func (t *Table) release(now Time, i int32, out *[]Decision) {
	s := t.entries.at(i)
	e := s.live
	t.decide(room(out), Released, s)
	t.endEntry(now, i)
	t.settle(now, e, out)
}

// givenEntries is the number of the latest grants that are found by their tokens: a briefly held lock is released
// without a search for its name.
const givenEntries = 256

// findGiven returns the entry of a recently granted hold of session s, or 0.
func (t *Table) findGiven(s SessionID, name string, token holdfast.Token, request uint64) int32 {
	i := t.given[token%givenEntries]
	if i == 0 || token == 0 || request == 0 {
		return 0
	}
	at := t.entries.at(i)
	if at.token != token || at.request != request || t.sessions.at(at.session).id != s || t.names.at(at.live).name != name {
		return 0
	}
	return i
}

// findHold returns the entry of a hold of session s, or 0.
func (t *Table) findHold(s SessionID, name string, token holdfast.Token, request uint64) int32 {
	if i := t.findGiven(s, name, token, request); i != 0 {
		return i
	}
	e, known := t.liveOf(name), t.sessionOf(s)
	if e == 0 || known == 0 {
		return 0
	}
	var i int32
	switch {
	case request != 0:
		i = t.findRequest(e, known, request)
	case token != 0:
		i = t.findToken(e, known, token)
	}
	if i == 0 {
		return 0
	}
	at := t.entries.at(i)
	if at.session != known || at.token == 0 || token != 0 && at.token != token {
		return 0
	}
	if request == 0 && at.detail != 0 {
		return t.details.at(at.detail).last
	}
	return i
}

// Break revokes the grant with token, or with token 0 every grant of name: Revoked is appended for each of its holds,
// with the Loss Broken. The name stays taken until the holders release, their session ends or their hold limit passes.
// A second Break appends the same again. It returns the revoked grants; the error is ErrNotHeld if there are none.
func (t *Table) Break(now Time, name string, token holdfast.Token, out *[]Decision) ([]Grant, error) {
	e := t.liveOf(name)
	if e == 0 {
		return nil, holdfast.ErrNotHeld
	}
	var broken []Grant
	detail := int32(0) // of the previous hold
	first := t.names.at(e).holders
	for i := first; i != 0; i = t.next(ofEntry, first, i) {
		s := t.entries.at(i)
		if token != 0 && s.token != token {
			continue
		}
		t.revoke(i, holdfast.Broken)
		*out = append(*out, t.revocation(i, holdfast.Broken))
		if detail == 0 || s.detail != detail {
			broken = append(broken, t.viewGrant(i))
		}
		detail = s.detail
	}
	if broken == nil {
		return nil, holdfast.ErrNotHeld
	}
	return broken, nil
}

// Extend replaces the hold limit of a grant: it may live for hold from now, on its holder's clock. Zero removes the
// limit. The error is ErrNotHeld if session s does not hold name under token, a [holdfast.Loss] if the grant has ended
// or is to end (an ended grant is not revived), and ErrConflict if hold is negative.
func (t *Table) Extend(now Time, s SessionID, name string, token holdfast.Token, hold time.Duration) error {
	return t.extend(now, t.findHold(s, name, token, 0), hold)
}

// extend is Extend for the hold at entry i.
func (t *Table) extend(now Time, i int32, hold time.Duration) error {
	if hold < 0 {
		return holdfast.ErrConflict
	}
	if i == 0 {
		return holdfast.ErrNotHeld
	}
	at := t.entries.at(i)
	switch {
	case at.revoked:
		return losses[at.why]
	case t.end(at) <= now:
		return holdfast.HoldLimit
	case hold == 0 && at.detail == 0:
		return nil
	}
	end := Never
	if hold != 0 {
		end = after(now, t.drift.stretch(hold))
	}
	t.alter(at.live)
	t.detailOf(i)
	t.setDeadline(at.detail, end)
	return nil
}

// endEntry drops entry i; if it was the last hold of its grant, the grant has ended now.
func (t *Table) endEntry(now Time, i int32) {
	s := t.entries.at(i)
	if s.token != 0 && (s.detail == 0 || t.details.at(s.detail).holds == 1) {
		ended := t.history.add(t.names.at(s.live).name)
		t.copyGrant(ended, s)
		ended.Until, ended.Value = now, "" // a value would stay in memory long after its grant
	}
	t.drop(i)
}

// drop removes entry i from all structures and frees it. Its live name stays, to be settled.
func (t *Table) drop(i int32) {
	s := t.entries.at(i)
	t.alter(s.live)
	t.clears(i, s)
	x := t.names.at(s.live)
	switch {
	case s.token != 0:
		t.leaveGrant(i, s, x)
	case t.gate != nil && t.parked(i, s):
		t.unpark(i)
	default:
		t.dequeue(i)
	}
	if t.gate != nil && !t.gated(s.live) {
		t.gate.owners.leave(t.partyOf(s), i)
	}
	if x.crowd != 0 {
		t.unregister(i)
		c := t.crowds.at(x.crowd)
		c.entries--
		if s.mode == holdfast.ModeSlots {
			c.slots--
		}
		t.thinOut(c)
		if c.excess {
			t.recount(s.live)
		}
	}
	if s.detail != 0 {
		t.forgetDetail(i)
	}
	t.leave(i, s)
	t.entries.give(i)
}

// leaveGrant removes the hold at entry i, which is s, from its grant, and the grant from its live name x if that was
// its last hold.
func (t *Table) leaveGrant(i int32, s *entry, x *record) {
	before := s.links[ofEntry].prev
	t.unlink(ofEntry, &x.holders, i, s)
	t.sessions.at(s.session).holds--
	if s.detail != 0 {
		d := t.details.at(s.detail)
		if d.holds > 1 {
			if d.last == i {
				d.last = before
			}
			t.reindexGrant(i, d.last)
			return
		}
	}
	if x.crowd != 0 {
		c := t.crowds.at(x.crowd)
		c.grants--
		c.units -= t.units(s)
		t.unindexGrant(i)
	}
}

// forgetDetail removes entry i from its detail, which ends with its last entry.
func (t *Table) forgetDetail(i int32) {
	s := t.entries.at(i)
	if s.detail == 0 {
		return
	}
	d := t.details.at(s.detail)
	d.holds--
	if d.holds == 0 {
		t.setDeadline(s.detail, Never)
		t.details.give(s.detail)
	}
	s.detail = 0
}
