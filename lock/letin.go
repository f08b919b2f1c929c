package lock

// Several tables may be suspended together. Then who has passed the gate of one of them may need a name of another one to
// give back what a suspension waits for there; and that one's gate, which does not know of it, is closed for him.

// OwnerAtGate is what a named owner has on either side of the gate.
type OwnerAtGate struct {
	Passed bool // it holds or waits at a name
	Parked bool // something of it waits in the gate
}

// OwnerAtGate tells what a named owner of a session has on either side of the gate.
func (t *Table) OwnerAtGate(s SessionID, owner string) (at OwnerAtGate) {
	session := t.sessionOf(s)
	if session == 0 || owner == "" {
		return at
	}
	if t.gate != nil {
		if x := t.standing(party{session, owner}); x != nil {
			at = OwnerAtGate{x.passed() > 0, len(x.parked) > 0}
		}
		return at
	}
	first := t.sessions.at(session).first
	for i := first; i != 0 && !at.Passed; i = t.next(ofSession, first, i) {
		at.Passed = t.owner(t.seats.at(i)) == owner
	}
	return at
}

// Parked visits the named owners that have something in the gate, an owner as often as it has something there, in
// the gate's order. visit may not change the table.
func (t *Table) Parked(visit func(s SessionID, owner string)) {
	if t.gate == nil {
		return
	}
	for i := t.gate.first; i != 0; i = t.gate.turns[i].after {
		if s := t.seats.at(i); s.entry != t.gate.whole && t.owner(s) != "" {
			visit(t.sessions.at(s.session).id, t.owner(s))
		}
	}
}

// LetIn lets all that a named owner of session s has parked through the gate, although a suspension keeps that closed, and
// the owner has nothing here that has passed: it has, in another table that the same suspension waits for. r is that
// suspension's request, as it was asked with, and counts its limits from now on where it does not wait yet: one that
// is granted waits again, before all others, and Queued is appended for it. It reports whether that was done. It is not where
// the owner has nothing parked, r neither waits nor suspends the table, or someone else does, or r is not its only hold.
func (t *Table) LetIn(now Time, r *Request, s SessionID, owner string, out *[]Decision) bool {
	e, suspender, p := t.entryOf(Whole), t.sessionOf(r.Session), party{t.sessionOf(s), owner}
	if e == 0 || suspender == 0 || !t.OwnerAtGate(s, owner).Parked {
		return false
	}
	i := t.findRequest(e, suspender, r.ID)
	if i == 0 || t.partyOf(t.seats.at(i)) == p {
		return false
	}
	if x := t.entries.at(e); x.holders != 0 {
		if t.holdsOf(x) > 1 || x.holders != i || t.seats.at(i).revoked {
			return false
		}
		t.recede(i, r)
		*out = append(*out, t.queued(i))
	}
	t.letOwner(p)
	t.settleTouched(now, out)
	return true
}

// recede makes the only holder of Whole, seat i, the first that waits for it.
func (t *Table) recede(i int32, r *Request) {
	s := t.seats.at(i)
	x := t.entries.at(s.entry)
	order := append([]int32{i}, t.gate.inTurn()...)
	t.leaveGrant(i, s, x)
	s.token, s.since = 0, r.Arrived
	if s.detail != 0 || r.Hold != 0 || r.WaitEnd != Never {
		t.detailOf(i).hold = r.Hold
		t.setDeadline(s.detail, r.WaitEnd)
	}
	t.enqueue(i, false)
	x.queue = i // which was its last: it is a ring
	if index := t.indexOf(s.entry); index != nil {
		t.renumber(x, index)
	}
	t.lineUp(order)
}
