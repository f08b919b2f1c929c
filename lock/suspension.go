package lock

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

// SpaceLock is the name of the table itself. A request for it, in mode exclusive, suspends the table (Apache Geode's
// suspendLocking): it is granted when no other owner holds or waits at a name, and while it is held no other owner is
// granted one. Otherwise it is a lock like any other, with an owner, a token, a wait limit and a hold limit.
//
// No user has a lock of this name: code that lets users name locks refuses the empty name (holdfast.CheckName).
const SpaceLock = ""

// notSpaceLock returns an error if the mode is invalid for SpaceLock.
func notSpaceLock(mode holdfast.Mode) error {
	return fmt.Errorf("%w: the whole table is asked for in mode %v; it is suspended in mode %v only", holdfast.ErrConflict, mode, holdfast.ModeExclusive)
}

// Suspension returns the grant that suspends the table, and whether there is one. Sides of a partition may each have
// suspended it: then it is the grant of the one that is to stay.
func (t *Table) Suspension() (Grant, bool) {
	e := t.liveOf(SpaceLock)
	if e == 0 || t.names.at(e).holders == 0 {
		return Grant{}, false
	}
	return t.viewGrant(t.firstOf(e, t.names.at(e))), true
}

// Suspending returns the number of waiting suspensions.
func (t *Table) Suspending() int {
	if e := t.liveOf(SpaceLock); e != 0 {
		return int(t.names.at(e).waiting)
	}
	return 0
}

// ready reports whether only the holders of its own name keep the head of a queue from being granted. A suspension
// waits for its turn in the gate, and must exclude no owner.
func (t *Table) ready(e, i int32, s *entry) bool {
	return !t.gated(e) || t.gate.first == i && t.alone(t.partyOf(s))
}

// obstacle returns why the waiter at entry i, which is s, is not granted.
func (t *Table) obstacle(now Time, i int32, s *entry) error {
	if t.gated(s.live) || t.parked(i, s) {
		return t.barred(now, i)
	}
	return t.held(now, s.live)
}

// barred returns why entry i has to wait in the gate: the owner that suspends the table, or else the first waiting
// suspension other than i. If a suspension waits only for those at the names, its error names none of them.
func (t *Table) barred(now Time, i int32) error {
	if !t.serving() {
		return holdfast.ErrUnavailable
	}
	if e := t.gate.spaceLock; e != 0 {
		x := t.names.at(e)
		switch {
		case x.holders != 0:
			return t.heldBy(now, x)
		case x.queue != 0 && x.queue != i:
			s := t.entries.at(x.queue)
			return t.keptBy(now, s)
		}
	}
	return &HeldBy{}
}

// keptBy returns the HeldBy that names the owner of entry s.
func (t *Table) keptBy(now Time, s *entry) *HeldBy {
	err := &HeldBy{Owner: t.owner(s), Holder: t.sessions.at(s.session).id, Age: now - s.since}
	if err.Owner == "" {
		err.Owner = t.client(s)
	}
	if err.Suspended = t.names.at(s.live).name == SpaceLock; err.Suspended && s.detail != 0 {
		err.Reason = t.details.at(s.detail).Reason
	}
	return err
}

// settleGate lets each request through the gate that may pass now, grants the next suspension, and drops the gate when
// no request needs it. Every operation that may have ended something ends with it, after the names that it touched are
// settled: no request is granted a name before earlier ones, and no suspension waits for longer than those that have
// passed (P4).
func (t *Table) settleGate(now Time, out *[]Decision) {
	if t.gate == nil {
		return
	}
	for {
		for t.letThrough() {
			t.settleNames(now, out)
		}
		before := len(*out)
		t.settleQueue(now, t.gate.spaceLock, out)
		if len(*out) == before {
			break
		}
	}
	t.refuseParkedTries(now, out)
	t.openGate()
}

// letThrough lets the requests before the first suspension through the gate, and reports whether there were any. While
// the table is suspended, only those of the suspending owner may pass: they overtake no other owner, and an owner need
// not wait for itself.
func (t *Table) letThrough() (any bool) {
	g := t.gate
	suspended := t.names.at(g.spaceLock).holders != 0
	for g.first != 0 && t.entries.at(g.first).live != g.spaceLock {
		p := t.partyOf(t.entries.at(g.first))
		switch {
		case suspended && !t.suspends(p):
			return any
		case suspended || p.owner == "":
			t.let(g.first)
		default:
			t.letOwner(p)
		}
		any = true
	}
	return any
}

// refuseParkedTries refuses parked requests that wait only for an authority: there is one, and they would wait for a
// suspension. There are such entries only after a time without an authority, so usually there is no gate to walk.
func (t *Table) refuseParkedTries(now Time, out *[]Decision) {
	if t.tries == 0 || !t.serving() {
		return
	}
	g := t.gate
	for i := g.first; i != 0; {
		behind := g.turns[i].after
		if s := t.entries.at(i); s.try && s.live != g.spaceLock {
			t.touch(s.live)
			t.giveUp(now, i, out)
		}
		i = behind
	}
	t.settleNames(now, out)
}
