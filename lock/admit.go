package lock

import "slices"

// Several tables may be suspended together. An owner that has passed the gate of one of them may then need a name of
// another one to release what a suspension waits for there. The other table's gate, which does not know of this, is
// closed to it.

// OwnerAtGate is what a named owner has on either side of the gate.
type OwnerAtGate struct {
	Passed bool // it holds or waits at a name
	Parked bool // a request of it waits in the gate
}

// OwnerAtGate returns what a named owner of a session has on either side of the gate.
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
		at.Passed = t.owner(t.entries.at(i)) == owner
	}
	return at
}

// Parked visits the named owners with requests in the gate, each once per request, in the gate's order. visit must not
// change the table.
func (t *Table) Parked(visit func(s SessionID, owner string)) {
	if t.gate == nil {
		return
	}
	for i := t.gate.first; i != 0; i = t.gate.turns[i].after {
		if s := t.entries.at(i); s.live != t.gate.spaceLock && t.owner(s) != "" {
			visit(t.sessions.at(s.session).id, t.owner(s))
		}
	}
}

// LetIn lets all parked requests of a named owner of session s through the gate, although a suspension keeps it closed
// and the owner has passed nothing here: it has in another table that the same suspension waits for. r is that
// suspension's original request. If it is granted, it waits again, before all others, and so does every request that
// has entered its grant; Queued is appended for each. From then on they have r's limits, except the wait limit, which
// is r's alone. LetIn reports whether the owner was let in. It is not if it has nothing parked, if r neither waits nor
// suspends the table, if another owner suspends it, or if r's grant is to end.
func (t *Table) LetIn(now Time, r *Request, s SessionID, owner string, out *[]Decision) bool {
	e, suspender, p := t.liveOf(SpaceLock), t.sessionOf(r.Session), party{t.sessionOf(s), owner}
	if e == 0 || suspender == 0 || !t.OwnerAtGate(s, owner).Parked {
		return false
	}
	i := t.findRequest(e, suspender, r.ID)
	if i == 0 || t.partyOf(t.entries.at(i)) == p {
		return false
	}
	if x := t.names.at(e); x.holders != 0 {
		at := t.entries.at(i)
		if at.token == 0 || at.revoked || x.crowd != 0 && t.crowds.at(x.crowd).grants > 1 {
			return false
		}
		t.recede(x, r, out)
	}
	t.letOwner(p)
	t.settleTouched(now, out)
	return true
}

// recede makes the holds of SpaceLock, live name x, which are one grant, its first waiters.
func (t *Table) recede(x *record, r *Request, out *[]Decision) {
	t.alter(t.gate.spaceLock)
	var holds []int32
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		holds = append(holds, i)
	}
	order := append(slices.Clone(holds), t.gate.inTurn()...)
	for _, i := range holds {
		s := t.entries.at(i)
		again := Request{Attributes: t.attributes(s), Client: t.client(s)}
		again.Hold = r.Hold
		t.leaveGrant(i, s, x)
		t.forgetDetail(i)
		s.token = 0
		end := Never
		if s.request == r.ID {
			s.since, end = r.Arrived, r.WaitEnd
		}
		t.describe(i, &again, end)
		t.enqueue(i, false)
	}
	x.queue = holds[0] // they are its last: it is a ring
	if index := t.indexOf(t.gate.spaceLock); index != nil {
		t.renumber(x, index)
	}
	t.lineUp(order)
	for _, i := range holds {
		*out = append(*out, t.queued(i))
	}
}
