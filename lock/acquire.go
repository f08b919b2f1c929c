package lock

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

// Acquire processes a request and appends its outcome: Granted, Queued or Refused. A Granted or Refused follows later
// for a Queued one. The table keeps only r's texts.
//
//   - A known request (same session, ID and name) is Granted again with the same token, or
//     Queued again with its present position. If its grant is to end, Revoked follows.
//   - A named owner that holds the name reenters it under the same token, even while the
//     table is paused. The hold limit is that of the grant: the answer to a reentry has the
//     remaining time, and changes nothing. Another mode, units or capacity is an
//     ErrConflict. A grant that is to end cannot be reentered.
//   - Slots of another capacity than the one in use are an ErrConflict.
//   - With Try, or with a wait limit that has passed, a request that cannot be granted at
//     once is refused with a *HeldBy. It never overtakes: a request that does not wait is
//     refused if any other one waits.
//   - While the table grants nothing, a request whose wait limit has passed is refused with
//     ErrUnavailable. Any other request is Queued, and one with Try waits only for an
//     authority: when the table grants again (Resume), it is Granted in its turn if it fits
//     at that moment, and otherwise refused with a *HeldBy. If its WaitEnd passes first, it
//     is refused with ErrUnavailable. With a WaitEnd of Never it waits for as long as there
//     is no authority.
//   - At a limit of Config the refusal is a *LimitError named waiters_per_name, names or
//     locks_per_session.
//   - A malformed request is an ErrConflict; so is one for [SpaceLock] in another mode than
//     exclusive.
//   - While the table is suspended or a suspension waits, a request whose owner may not pass
//     is parked: Queued, behind all unparked waiters of its name. With Try, or with a wait
//     limit that has passed, it is refused with a *HeldBy that names the owner that suspends
//     the table or, if there is none, the one that is first to do so.
//   - A request with holdfast.Fail that would close a cycle of waits is refused with a *holdfast.DeadlockError; see
//     cycle.go. Another one is Queued, and then the waiters with holdfast.Fail in the cycle are refused.
//   - A suspension is Queued at the number of suspensions before it. One that is refused
//     because others hold or wait at names has a *HeldBy that names no holder.
func (t *Table) Acquire(now Time, r *Request, out *[]Decision) {
	if err := malformed(r); err != nil {
		t.refuse(now, r, err, out)
		return
	}
	idle := int32(0)
	e, live := t.look(r.Name)
	if !live {
		idle, e = e, 0
	}
	s := t.sessionOf(r.Session)
	if e != 0 && s != 0 {
		if known := t.findRequest(e, s, r.ID); known != 0 {
			t.repeat(now, known, r, out)
			return
		}
		if r.Owner != "" {
			if held := t.findOwner(e, s, r.Owner); held != 0 {
				t.reenter(now, held, r, out)
				return
			}
		}
	}
	if err := t.otherCapacity(e, r.Mode, r.Capacity); err != nil {
		t.refuse(now, r, err, out)
		return
	}
	passes := t.gate == nil && r.Name != SpaceLock || t.permits(s, r)
	free := passes && t.serving() && (e == 0 || t.names.at(e).queue == 0 && t.fits(t.names.at(e), r.Mode, int32(r.Units)))
	atOnce := free && !t.limits.Permitted
	if !free && (r.WaitEnd <= now || r.Try && t.serving()) {
		t.turnAway(now, e, passes, r, out)
		return
	}
	if err := t.overLimit(e, s, r, !atOnce); err != nil {
		t.refuse(now, r, err, out)
		t.openGate()
		return
	}
	if e == 0 {
		e = t.enter(r.Name, idle)
	}
	i := t.sit(e, r)
	if atOnce {
		t.describe(i, r, Never)
		t.grant(now, i, out)
		return
	}
	t.describe(i, r, r.WaitEnd)
	if passes || r.Name == SpaceLock {
		t.enqueueNew(now, i, r.Try, out)
		return
	}
	t.park(i, r.Try)
	*out = append(*out, t.queued(i))
}

// enqueueNew appends entry i of a new request to its live name's queue, unless its wait would close a cycle.
func (t *Table) enqueueNew(now Time, i int32, try bool, out *[]Decision) {
	searched := !t.unsearched
	t.enqueue(i, try)
	if t.closes(now, i, out) {
		t.unsearched = !searched
		return
	}
	*out = append(*out, t.queued(i))
	if searched && t.serving() && (!t.searches() || t.willing(t.entries.at(i)) || t.cycleOf(now, i) == nil) {
		t.unsearched = false // every new edge is one of this wait
		return
	}
	t.breakCycles(now, out)
}

// malformed returns the error of a request that no honest edge lets through.
func malformed(r *Request) error {
	switch {
	case r.Session == SessionID{} || r.ID == 0:
		return fmt.Errorf("%w: request %d of session %v: neither may be zero", holdfast.ErrConflict, r.ID, r.Session)
	case r.Name == SpaceLock && r.Mode != holdfast.ModeExclusive:
		return notSpaceLock(r.Mode)
	case r.Hold < 0:
		return fmt.Errorf("%w: hold limit %v is negative", holdfast.ErrConflict, r.Hold)
	}
	if err := holdfast.CheckDeadlock(r.Deadlock); err != nil {
		return err
	}
	return r.CheckShape()
}

// refuse refuses a request that has no entry.
func (t *Table) refuse(now Time, r *Request, err error, out *[]Decision) {
	d := r.Decision(Refused)
	d.Waited, d.Err = max(0, now-r.Arrived), err
	*out = append(*out, d)
}

// repeat repeats the decision about the request at entry i (P6).
func (t *Table) repeat(now Time, i int32, r *Request, out *[]Decision) {
	s := t.entries.at(i)
	if s.token == 0 {
		*out = append(*out, t.queued(i))
		return
	}
	t.granted(now, i, r.Arrived, out)
	if s.revoked {
		*out = append(*out, t.revocation(i, losses[s.why]))
	}
}

// reenter gives the request a separate hold in the grant of entry held.
func (t *Table) reenter(now Time, held int32, r *Request, out *[]Decision) {
	s := t.entries.at(held)
	if err := t.otherShape(s, r.Mode, r.Units, r.Capacity); err != nil {
		t.refuse(now, r, err, out)
		return
	}
	if err := t.overSession(s.session); err != nil {
		t.refuse(now, r, err, out)
		return
	}
	i := t.sit(s.live, r)
	t.share(held, i)
	t.granted(now, i, r.Arrived, out)
}

// share adds entry i, which is in no ring of its live name and has no detail, as a further hold to the grant of entry
// held.
func (t *Table) share(held, i int32) {
	h, s := t.entries.at(held), t.entries.at(i)
	d := t.details.at(h.detail)
	s.token, s.since, s.detail, s.revoked, s.why = h.token, h.since, h.detail, h.revoked, h.why
	t.follow(ofEntry, d.last, i)
	d.holds++
	d.last = i
	t.sessions.at(s.session).holds++
}

// otherShape returns the conflict of an owner that requests a name it holds in another mode or with other units: it
// would wait for itself.
func (t *Table) otherShape(s *entry, mode holdfast.Mode, units, capacity int) error {
	if s.mode == mode && int(t.units(s)) == units && int(t.capacity(s)) == capacity {
		return nil
	}
	return fmt.Errorf("%w: owner %q holds it %s and asks for it %s; release it first", holdfast.ErrConflict,
		t.owner(s), shape(s.mode, int(t.units(s)), int(t.capacity(s))), shape(mode, units, capacity))
}

func shape(mode holdfast.Mode, units, capacity int) string {
	if mode != holdfast.ModeSlots {
		return mode.String()
	}
	return fmt.Sprintf("in slots %d/%d", units, capacity)
}

// otherCapacity returns the conflict of slots with those of the live name.
func (t *Table) otherCapacity(e int32, mode holdfast.Mode, capacity int) error {
	if e == 0 || mode != holdfast.ModeSlots || t.names.at(e).crowd == 0 {
		return nil
	}
	c := t.crowds.at(t.names.at(e).crowd)
	if c.slots == 0 || int(c.capacity) == capacity {
		return nil
	}
	return fmt.Errorf("%w: capacity %d is asked for, and the name has capacity %d", holdfast.ErrConflict, capacity, c.capacity)
}

// permits reports whether the gate lets a new request of session s queue at its name. A suspension may pass if it may
// be granted; otherwise it waits in the gate, which exists from here on.
func (t *Table) permits(s int32, r *Request) bool {
	if r.Name == SpaceLock {
		t.closeGate()
		return t.alone(party{s, r.Owner})
	}
	return t.passes(s, r.Owner)
}

// turnAway refuses a new request for live name e that would have to wait and does not.
func (t *Table) turnAway(now Time, e int32, passes bool, r *Request, out *[]Decision) {
	if passes && r.Name != SpaceLock {
		t.refuse(now, r, t.held(now, e), out)
		return
	}
	t.refuse(now, r, t.barred(now, 0), out)
	t.openGate()
}

// overLimit returns the limit that a new request would exceed, or nil.
func (t *Table) overLimit(e, s int32, r *Request, waits bool) error {
	if e == 0 && t.limits.Names != 0 && t.Names() >= t.limits.Names && r.Name != SpaceLock {
		return &holdfast.LimitError{Limit: "names", Value: int64(t.limits.Names)}
	}
	if err := t.overSession(s); err != nil {
		return err
	}
	if e != 0 && waits && t.waiting(e) >= t.limits.WaitersPerName {
		return &holdfast.LimitError{Limit: "waiters_per_name", Value: int64(t.limits.WaitersPerName)}
	}
	return nil
}

func (t *Table) overSession(s int32) error {
	if s == 0 || t.sessions.at(s).entries() < t.limits.LocksPerSession {
		return nil
	}
	return &holdfast.LimitError{Limit: "locks_per_session", Value: int64(t.limits.LocksPerSession)}
}

// held returns why a request for live name e is not granted: no authority decides now, or an owner holds it. There is
// no holder if others wait and are about to be granted.
func (t *Table) held(now Time, e int32) error {
	if !t.serving() {
		return holdfast.ErrUnavailable
	}
	x := t.names.at(e)
	if x.holders == 0 {
		return &HeldBy{}
	}
	return t.heldBy(now, x)
}

// heldBy is held for a live name that has holders.
func (t *Table) heldBy(now Time, x *record) error {
	err := t.keptBy(now, t.entries.at(x.holders))
	if x.crowd != 0 {
		err.Others = int(t.crowds.at(x.crowd).grants) - 1
	}
	return err
}
