package lock

import "slices"

// checkGate checks the table's records while it is suspended or a suspension waits: the order of the gate, the lanes
// and the queue of SpaceLock have the same entries; the records of owners match a walk of all entries; and every entry
// is where it may be.
func checkGate(tb failer, t *Table) {
	tb.Helper()
	e := t.liveOf(SpaceLock)
	if g := t.gate; (g != nil) != (e != 0) || g != nil && g.spaceLock != e {
		tb.Fatalf("the gate is %+v, and Whole is entry %d", g, e)
	}
	if t.gate == nil {
		return
	}
	checkTurns(tb, t)
	checkOwners(tb, t)
	g, x := t.gate, t.names.at(e)
	if x.holders == 0 && t.entries.at(g.first).live != e {
		tb.Fatalf("request %d is parked, and nothing is before it", t.entries.at(g.first).request)
	}
	for i := int32(1); i <= t.entries.top && x.holders != 0; i++ {
		s := t.entries.at(i)
		if s.session != 0 && s.token == 0 && s.live != e && !t.parked(i, s) && !t.suspends(t.partyOf(s)) {
			tb.Fatalf("request %d waits at %q of a suspended table", s.request, t.names.at(s.live).name)
		}
	}
}

// checkWakeUp checks that a table that has just granted everything possible has not left a suspension waiting for
// nothing (P4). It uses the entries, and not the records of owners.
func checkWakeUp(tb failer, t *Table) {
	tb.Helper()
	if t.gate == nil || !t.serving() || t.names.at(t.gate.spaceLock).holders != 0 {
		return
	}
	first := t.entries.at(t.gate.first)
	for i := int32(1); i <= t.entries.top; i++ {
		s := t.entries.at(i)
		if s.session != 0 && s.live != t.gate.spaceLock && !t.parked(i, s) && (t.owner(s) == "" || t.partyOf(s) != t.partyOf(first)) {
			return
		}
	}
	tb.Fatalf("request %d waits to suspend the table, and nothing is in its way", first.request)
}

// checkTurns checks the order of the gate.
func checkTurns(tb failer, t *Table) {
	tb.Helper()
	g := t.gate
	var order []int32
	before := int32(0)
	for i := g.first; i != 0 && len(order) <= len(g.turns); i = g.turns[i].after {
		if g.turns[i].before != before || g.turns[i].number == 0 {
			tb.Fatalf("turn %+v of entry %d follows entry %d", *g.turns[i], i, before)
		}
		order, before = append(order, i), i
	}
	if before != g.last || !slices.Equal(order, g.inTurn()) {
		tb.Fatalf("%v wait in the gate, up to %d; by their numbers %v", order, g.last, g.inTurn())
	}
	var waits, parked []int32
	for _, i := range order {
		if s := t.entries.at(i); s.live == g.spaceLock {
			waits = append(waits, i)
		} else {
			parked = append(parked, i)
		}
	}
	var queue []int32
	x := t.names.at(g.spaceLock)
	for i := x.queue; i != 0; i = t.next(ofEntry, x.queue, i) {
		queue = append(queue, i)
	}
	if !slices.Equal(waits, queue) {
		tb.Fatalf("suspensions %v wait in the gate, %v in their queue", waits, queue)
	}
	lanes := map[int32][]int32{}
	for _, i := range parked {
		e := t.entries.at(i).live
		lanes[e] = append(lanes[e], i)
	}
	if len(lanes) != len(g.lanes) {
		tb.Fatalf("there are %d lanes, want %d", len(g.lanes), len(lanes))
	}
	for e, want := range lanes {
		var lane []int32
		first, waiting := t.lane(e)
		for i := first; i != 0; i = t.next(ofEntry, first, i) {
			lane = append(lane, i)
		}
		if !slices.Equal(lane, want) || int(waiting) != len(want) {
			tb.Fatalf("%v are parked at %q, %d are counted, want %v", lane, t.names.at(e).name, waiting, want)
		}
	}
}

// checkOwners checks the records of owners against their entries.
func checkOwners(tb failer, t *Table) {
	tb.Helper()
	g := t.gate
	want := map[party]*standing{}
	for i := int32(1); i <= t.entries.top; i++ {
		s := t.entries.at(i)
		if s.session == 0 || s.live == g.spaceLock || t.owner(s) == "" || !g.owners.counted[s.session] {
			continue
		}
		p := t.partyOf(s)
		if want[p] == nil {
			want[p] = &standing{parked: map[int32]bool{}}
		}
		want[p].entries++
		if t.parked(i, s) {
			want[p].parked[i] = true
		}
	}
	if len(want) != len(g.owners.standings) {
		tb.Fatalf("%d owners are known, want %d", len(g.owners.standings), len(want))
	}
	for p, standing := range want {
		got := g.owners.standings[p]
		if got == nil || got.entries != standing.entries || !equalSets(got.parked, standing.parked) {
			tb.Fatalf("owner %+v has %+v, want %+v", p, got, standing)
		}
	}
}

func equalSets(a, b map[int32]bool) bool {
	for i := range a {
		if !a[i] || !b[i] {
			return false
		}
	}
	return len(a) == len(b)
}
