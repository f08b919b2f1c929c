package lock

import (
	"cmp"
	"maps"
	"slices"
)

// gate is the state of a table that is suspended or has a waiting suspension. It exists only then.
//
// An entry that holds or waits at a name has passed the gate, unless it is parked. The entries that wait in the gate,
// suspensions and parked requests, are ordered by arrival. A waiting suspension is also in the queue of SpaceLock. A
// parked request is in a lane of its name, after the waiters in the name's queue.
type gate struct {
	spaceLock int32           // the record of SpaceLock; 0 while it is not live
	first     int32           // the entry that has waited longest in the gate, or 0
	last      int32           // the latest one, or 0
	turns     map[int32]*turn // of the entries that wait in the gate
	lanes     map[int32]*lane // of the live names with parked requests
	owners    owners
}

// turn is the place of an entry in the order of the gate.
type turn struct {
	number        uint64 // the lower, the earlier; never 0
	before, after int32  // entries
	ticket        int32  // among those parked at the same name, if there are many
}

// maxTurn is the highest turn number in a restore: counting on from it cannot overflow.
const maxTurn = 1 << 62

// lane is the parked requests of one name, in the order of the gate.
type lane struct {
	first   int32 // ring of entries, in place of the live name's queue
	waiting int32
	tickets tickets // unused until there are many
}

// closeGate returns the table's gate, and creates it if needed.
func (t *Table) closeGate() *gate {
	if t.gate == nil {
		t.gate = &gate{
			turns:  make(map[int32]*turn),
			lanes:  make(map[int32]*lane),
			owners: owners{counted: make(map[int32]bool), standings: make(map[party]*standing)},
		}
	}
	return t.gate
}

// openGate drops the gate of a table that is not suspended and has no waiting suspension. Then no request is parked
// either.
func (t *Table) openGate() {
	g := t.gate
	if g == nil {
		return
	}
	if g.spaceLock != 0 {
		if x := t.names.at(g.spaceLock); x.holders != 0 || x.queue != 0 {
			return
		}
		t.makeIdle(g.spaceLock)
	}
	if len(g.turns) != 0 {
		panic("lock: the gate is opened, and requests wait in it")
	}
	t.gate = nil
}

// gated reports whether live name e is that of SpaceLock.
func (t *Table) gated(e int32) bool { return t.gate != nil && t.gate.spaceLock == e && e != 0 }

// parked reports whether entry i, which is s, waits in the gate to queue at its name.
func (t *Table) parked(i int32, s *entry) bool {
	return t.gate != nil && s.token == 0 && s.live != t.gate.spaceLock && t.gate.turns[i] != nil
}

// lane returns the first entry parked at live name e, or 0, and the number of parked entries.
func (t *Table) lane(e int32) (first, waiting int32) {
	if t.gate == nil {
		return 0, 0
	}
	if l := t.gate.lanes[e]; l != nil {
		return l.first, l.waiting
	}
	return 0, 0
}

// waiting returns how many requests wait at live name e, including parked ones.
func (t *Table) waiting(e int32) int {
	_, parked := t.lane(e)
	return int(t.names.at(e).waiting) + int(parked)
}

// empty reports whether no request holds, waits or is parked at live name e, which is x.
func (t *Table) empty(e int32, x *record) bool {
	return x.holders == 0 && x.queue == 0 && (t.gate == nil || t.gate.lanes[e] == nil)
}

// park puts entry i, which is in no ring of its live name, at the end of the gate. With try it waits only for an
// authority.
func (t *Table) park(i int32, try bool) {
	t.alter(t.entries.at(i).live)
	t.joinLane(i)
	t.arrive(i)
	s := t.entries.at(i)
	t.expect(s, try)
	t.gate.owners.park(t.partyOf(s), i)
}

// unpark removes entry i from the gate.
func (t *Table) unpark(i int32) {
	s := t.entries.at(i)
	t.alter(s.live)
	t.leaveLane(i, s)
	t.depart(i)
	t.unexpect(s)
	t.gate.owners.pass(t.partyOf(s), i)
}

// joinLane appends entry i to the lane of its name.
func (t *Table) joinLane(i int32) {
	s := t.entries.at(i)
	l := t.gate.lanes[s.live]
	if l == nil {
		l = &lane{}
		t.gate.lanes[s.live] = l
	}
	t.join(ofEntry, &l.first, i, s)
	l.waiting++
}

// leaveLane removes entry i, which is s, from the lane of its name.
func (t *Table) leaveLane(i int32, s *entry) {
	l := t.gate.lanes[s.live]
	t.unlink(ofEntry, &l.first, i, s)
	l.waiting--
	if ticket := t.gate.turns[i].ticket; ticket != 0 {
		l.tickets.add(ticket, -1)
	}
	if l.waiting == 0 {
		delete(t.gate.lanes, s.live)
	}
}

// arrive appends entry i to the gate's order. A parked one is already in its lane.
func (t *Table) arrive(i int32) {
	g := t.gate
	x := &turn{number: 1, before: g.last}
	if g.last != 0 {
		// The number depends only on the current waiters, so that a restored copy of the table gives the same.
		x.number = g.turns[g.last].number + 1
		g.turns[g.last].after = i
	} else {
		g.first = i
	}
	g.turns[i], g.last = x, i
	if l := g.lanes[t.entries.at(i).live]; l != nil {
		t.drawTurn(l, x)
	}
}

// depart removes entry i from the gate's order.
func (t *Table) depart(i int32) {
	g := t.gate
	x := g.turns[i]
	if x.before != 0 {
		g.turns[x.before].after = x.after
	} else {
		g.first = x.after
	}
	if x.after != 0 {
		g.turns[x.after].before = x.before
	} else {
		g.last = x.before
	}
	delete(g.turns, i)
}

// drawTurn gives turn x, the last of lane l, its ticket if that lane has tickets.
func (t *Table) drawTurn(l *lane, x *turn) {
	switch {
	case l.tickets.tree == nil && l.waiting <= indexAbove:
	case l.tickets.full():
		t.renumberLane(l)
	default:
		x.ticket = l.tickets.draw()
	}
}

// renumberLane reissues all tickets of lane l.
func (t *Table) renumberLane(l *lane) {
	l.tickets.reset(l.waiting)
	for i := l.first; i != 0; i = t.next(ofEntry, l.first, i) {
		t.gate.turns[i].ticket = l.tickets.draw()
	}
}

// rank returns how many requests are parked before entry i at its name.
func (t *Table) rank(i int32) int {
	l := t.gate.lanes[t.entries.at(i).live]
	if l.tickets.tree != nil {
		return l.tickets.before(t.gate.turns[i].ticket)
	}
	n := 0
	for at := l.first; at != i; at = t.next(ofEntry, l.first, at) {
		n++
	}
	return n
}

// inTurn returns the entries that wait in the gate, in order, even if their links are not set yet.
func (g *gate) inTurn() []int32 {
	return slices.SortedFunc(maps.Keys(g.turns), func(a, b int32) int {
		return cmp.Compare(g.turns[a].number, g.turns[b].number)
	})
}

// line arranges entries, which are all that wait in the gate, in this order.
func (g *gate) line(entries []int32) {
	g.first, g.last = 0, 0
	for _, i := range entries {
		x := g.turns[i]
		x.before, x.after = g.last, 0
		if g.last != 0 {
			g.turns[g.last].after = i
		} else {
			g.first = i
		}
		g.last = i
	}
}
