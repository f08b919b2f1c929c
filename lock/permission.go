package lock

import (
	"cmp"
	"slices"
)

// While the gate is closed, an owner's other entries determine whether its request may queue at a name. The table must
// therefore know, without a walk, which entries of an owner have passed. It determines that for a session when one of
// its named owners first asks, by a walk of the session's entries, and keeps it until the gate is opened: while it is
// open nothing is kept. The parked entries are a set, so that none can be subtracted twice.

// party is a named owner.
type party struct {
	session int32
	owner   string
}

// owners are the named owners of the counted sessions.
type owners struct {
	counted   map[int32]bool // sessions; a reused record has nothing at first
	standings map[party]*standing
}

// standing is an owner's entries in a table; it is never empty.
type standing struct {
	entries int            // at names and in the gate: increased with each new entry, decreased when one is freed
	parked  map[int32]bool // entries that wait in the gate
}

// passed returns how many entries of an owner hold or wait at a name.
func (x *standing) passed() int { return x.entries - len(x.parked) }

// partyOf returns the owner of entry s.
func (t *Table) partyOf(s *entry) party { return party{s.session, t.owner(s)} }

// sit counts a new entry of an owner.
func (o *owners) sit(p party) {
	if p.owner == "" || !o.counted[p.session] {
		return
	}
	x := o.standings[p]
	if x == nil {
		x = &standing{parked: make(map[int32]bool)}
		o.standings[p] = x
	}
	x.entries++
}

// leave removes a freed entry i of an owner.
func (o *owners) leave(p party, i int32) {
	if x := o.standings[p]; x != nil {
		delete(x.parked, i)
		if x.entries--; x.entries == 0 {
			delete(o.standings, p)
		}
	}
}

// park records that entry i of an owner waits in the gate.
func (o *owners) park(p party, i int32) {
	if x := o.standings[p]; x != nil {
		x.parked[i] = true
	}
}

// pass records that entry i of an owner no longer waits in the gate.
func (o *owners) pass(p party, i int32) {
	if x := o.standings[p]; x != nil {
		delete(x.parked, i)
	}
}

// standing returns a named owner's entries at names and in the gate, or nil. It counts the session if needed.
func (t *Table) standing(p party) *standing {
	g := t.gate
	if !g.owners.counted[p.session] {
		g.owners.counted[p.session] = true
		first := t.sessions.at(p.session).first
		for i := first; i != 0; i = t.next(ofSession, first, i) {
			s := t.entries.at(i)
			if s.live == g.spaceLock {
				continue
			}
			g.owners.sit(t.partyOf(s))
			if t.parked(i, s) {
				g.owners.park(t.partyOf(s), i)
			}
		}
	}
	return g.owners.standings[p]
}

// passes reports whether an owner's request for a name may queue there, rather than be parked. A session of 0 has
// nothing.
func (t *Table) passes(session int32, owner string) bool {
	g := t.gate
	switch {
	case g == nil || g.spaceLock == 0:
		return true
	case owner == "" || session == 0:
		return false
	case t.names.at(g.spaceLock).holders != 0:
		return t.suspends(party{session, owner})
	}
	x := t.standing(party{session, owner})
	return x != nil && x.passed() > 0
}

// suspends reports whether the table is suspended by this named owner alone: if sides of a partition have each
// suspended it, no owner passes until all but one have stopped.
func (t *Table) suspends(p party) bool {
	x := t.names.at(t.gate.spaceLock)
	if x.holders == 0 || p.owner == "" || x.crowd != 0 && t.crowds.at(x.crowd).grants > 1 {
		return false
	}
	return t.partyOf(t.entries.at(x.holders)) == p
}

// excluded reports whether an owner other than that of entry s, which is at a name, suspends the table: then it must
// not be granted.
func (t *Table) excluded(s *entry) bool {
	e := t.gate.spaceLock
	return e != 0 && s.live != e && t.names.at(e).holders != 0 && !t.suspends(t.partyOf(s))
}

// alone reports whether all unparked entries at names belong to this owner: then its suspension excludes no other
// owner. It requires a gate.
func (t *Table) alone(p party) bool {
	g := t.gate
	passed := t.entries.used - len(g.turns)
	if g.spaceLock != 0 {
		passed -= t.holdsOf(t.names.at(g.spaceLock))
	}
	if passed == 0 || p.owner == "" || p.session == 0 {
		return passed == 0
	}
	x := t.standing(p)
	return x != nil && x.passed() == passed
}

// holdsOf returns the number of holds of live name x.
func (t *Table) holdsOf(x *record) int {
	switch {
	case x.crowd != 0:
		return int(t.crowds.at(x.crowd).entries - x.waiting)
	case x.holders != 0:
		return 1
	}
	return 0
}

// letOwner lets all parked requests of a named owner through the gate, in order. An owner passes as a whole: a
// suspension may wait for its holds at one name, and so must not block its requests at another.
func (t *Table) letOwner(p party) {
	x := t.standing(p)
	entries := make([]int32, 0, len(x.parked))
	//tidy:unordered they are sorted below
	for i := range x.parked {
		entries = append(entries, i)
	}
	slices.SortFunc(entries, func(a, b int32) int {
		return cmp.Compare(t.gate.turns[a].number, t.gate.turns[b].number)
	})
	for _, i := range entries {
		t.let(i)
	}
}

// let lets entry i, which is parked, queue at its name; settle the name next.
func (t *Table) let(i int32) {
	s := t.entries.at(i)
	try := s.try
	t.unpark(i)
	t.enqueue(i, try)
	t.touch(s.live)
}

// bar parks all waiters at names that may no longer wait there, because a suspension granted by another table was
// adopted. They come before all that wait in the gate, in the order of their names and within a name in that of its
// queue.
func (t *Table) bar() {
	g := t.gate
	if t.waiters == len(g.turns) {
		return
	}
	var barred []int32
	for e := int32(1); e <= t.names.top; e++ {
		x := t.names.at(e)
		if e == g.spaceLock || !t.live(e) {
			continue
		}
		for i := x.queue; i != 0; i = t.next(ofEntry, x.queue, i) {
			if s := t.entries.at(i); !t.passes(s.session, t.owner(s)) {
				barred = append(barred, i)
			}
		}
	}
	slices.SortStableFunc(barred, func(a, b int32) int {
		return cmp.Compare(t.names.at(t.entries.at(a).live).name, t.names.at(t.entries.at(b).live).name)
	})
	order := append(barred, g.inTurn()...)
	for _, i := range barred {
		try := t.entries.at(i).try
		t.dequeue(i)
		t.park(i, try)
	}
	t.lineUp(order)
}

// lineUp puts all that wait in the gate in this order, and renumbers them.
func (t *Table) lineUp(order []int32) {
	g := t.gate
	for _, i := range order {
		t.alter(t.entries.at(i).live)
	}
	g.line(order)
	for n, i := range order {
		g.turns[i].number = uint64(n) + 1
		if s := t.entries.at(i); s.live != g.spaceLock {
			l := g.lanes[s.live]
			t.unlink(ofEntry, &l.first, i, s)
			t.join(ofEntry, &l.first, i, s)
		}
	}
	for _, i := range order {
		if l := g.lanes[t.entries.at(i).live]; l != nil && l.first == i && l.tickets.tree != nil {
			t.renumberLane(l)
		}
	}
}
