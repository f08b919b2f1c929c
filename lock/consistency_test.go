package lock

import (
	"github.com/holdfast-locks/holdfast"
)

// failer is the common part of *testing.T and *rapid.T.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// checkTable walks the whole table and fails if two parts of it disagree.
func checkTable(tb failer, t *Table) {
	tb.Helper()
	named, live, idle, entries, waiting, tries := 0, 0, 0, 0, 0, 0
	sessions := map[int32][2]int32{}
	details := map[int32]int32{}
	for e := int32(1); e <= t.names.top; e++ {
		x := t.names.at(e)
		if x.name == "" && t.byName[SpaceLock] != e {
			continue
		}
		if x.idle() {
			if x.crowd != 0 || t.byName[x.name] != e || t.liveOf(x.name) != 0 {
				tb.Fatalf("%q is kept as idle and is not: %+v", x.name, *x)
			}
			idle++
			continue
		}
		named++
		if x.name != SpaceLock {
			live++
		}
		if t.byName[x.name] != e {
			tb.Fatalf("%q is record %d and is found as %d", x.name, e, t.byName[x.name])
		}
		own := checkEntry(tb, t, e, sessions, details)
		entries += own
		waiting += t.waiting(e)
		tries += checkTries(tb, t, e)
	}
	checkOrder(tb, t)
	if tries != t.tries {
		tb.Fatalf("%d wait for an authority, %d are counted", tries, t.tries)
	}
	if v := &t.recentNames; idle != v.count || idle > maxIdle || idle != chained(t) {
		tb.Fatalf("%d records are idle, %d are counted, %d are chained", idle, v.count, chained(t))
	}
	if live != t.Names() || named != len(t.byName)-idle || entries != t.entries.used || waiting != t.waiters {
		tb.Fatalf("%d names, %d entries, %d waiters; %d, %d, %d are counted", live, entries, waiting, t.Names(), t.entries.used, t.waiters)
	}
	if t.idle != 0 {
		if s := t.sessions.at(t.idle); s.entries() != 0 || s.first != 0 || t.bySession[s.id] != t.idle {
			tb.Fatalf("the idle session %v is not idle", s.id)
		}
		sessions[t.idle] = [2]int32{}
	}
	if t.recent != 0 && t.bySession[t.sessions.at(t.recent).id] != t.recent {
		tb.Fatalf("the session looked up last is gone")
	}
	if len(sessions) != t.sessions.used || len(sessions) != len(t.bySession) {
		tb.Fatalf("%d sessions, %d are counted", len(sessions), t.sessions.used)
	}
	for n, counts := range sessions {
		s := t.sessions.at(n)
		ring := 0
		for i := s.first; i != 0; i = t.next(ofSession, s.first, i) {
			ring++
		}
		if counts != [2]int32{s.holds, s.waits} || ring != s.entries() || t.bySession[s.id] != n {
			tb.Fatalf("session %v has %v, counts %d and %d, its ring %d", s.id, counts, s.holds, s.waits, ring)
		}
	}
	checkDeadlines(tb, t, details)
	checkGate(tb, t)
	if t.details.used != len(details) {
		tb.Fatalf("%d details, %d are counted", len(details), t.details.used)
	}
}

// chained counts the idle records in the order in which they became idle, from either end.
func chained(t *Table) int {
	n, newest := 0, int32(0)
	for e := t.recentNames.oldest; e != 0; e = t.names.at(e).holders {
		if x := t.names.at(e); !x.idle() || x.queue != newest || n > t.names.used {
			return -1
		}
		n, newest = n+1, e
	}
	if newest != t.recentNames.newest {
		return -1
	}
	return n
}

// checkEntry checks one name and returns its number of entries.
func checkEntry(tb failer, t *Table, e int32, sessions map[int32][2]int32, details map[int32]int32) int {
	tb.Helper()
	x := t.names.at(e)
	var grants, holds, waits, units, slots, detail int32
	var token holdfast.Token
	lane, parked := t.lane(e)
	for _, first := range [...]int32{x.holders, x.queue, lane} {
		for i := first; i != 0; i = t.next(ofEntry, first, i) {
			s := t.entries.at(i)
			counts := sessions[s.session]
			if s.token == 0 {
				waits++
				counts[1]++
			} else {
				holds++
				counts[0]++
			}
			sessions[s.session] = counts
			if s.token != 0 && (detail == 0 || s.detail != detail) {
				grants++
				units += t.units(s)
			}
			if s.token < token && s.token != 0 {
				tb.Fatalf("token %d at %q follows token %d", s.token, x.name, token)
			}
			token, detail = s.token, s.detail
			if s.mode == holdfast.ModeSlots {
				slots++
			}
			if s.detail != 0 {
				details[s.detail]++
			}
			if s.live != e || t.findRequest(e, s.session, s.request) != i {
				tb.Fatalf("request %d at %q is entry %d and is found as %d", s.request, x.name, i, t.findRequest(e, s.session, s.request))
			}
			checkFound(tb, t, e, i, int(waits)-1)
		}
	}
	if holds+waits == 0 || waits != x.waiting+parked || x.crowd == 0 && (holds+waits != 1 || slots != 0) {
		tb.Fatalf("%q has %d holds and %d waits, and counts %d", x.name, holds, waits, x.waiting)
	}
	if x.crowd != 0 {
		c := t.crowds.at(x.crowd)
		if c.entries != holds+waits || c.grants != grants || c.units != units || c.slots != slots {
			tb.Fatalf("%q has %d entries, %d grants, %d units, %d slots; its crowd is %+v", x.name, holds+waits, grants, units, slots, *c)
		}
		checkIndex(tb, t, x, c, grants)
		checkExcess(tb, t, e)
	}
	return int(holds + waits)
}

// checkExcess checks that a name is marked if and only if its holders do not all fit, and that the staying ones do.
func checkExcess(tb failer, t *Table, e int32) {
	tb.Helper()
	x := t.names.at(e)
	c := t.crowds.at(x.crowd)
	if want := t.exceeds(x, c); c.excess != want {
		tb.Fatalf("%q is marked as having an excess: %v, want %v", x.name, c.excess, want)
	}
	if c.slots > 0 && c.capacity != t.capacityOf(e, x) {
		tb.Fatalf("%q has capacity %d, want %d", x.name, c.capacity, t.capacityOf(e, x))
	}
	for i := x.queue; i != 0; i = t.next(ofEntry, x.queue, i) {
		if s := t.entries.at(i); s.mode == holdfast.ModeSlots && t.capacity(s) != c.capacity {
			tb.Fatalf("a waiter for %q counts on capacity %d, and it has %d", x.name, t.capacity(s), c.capacity)
		}
	}
}

// checkTries returns how many of the waiters of x wait only for an authority. No holder does.
func checkTries(tb failer, t *Table, e int32) (tries int) {
	tb.Helper()
	x := t.names.at(e)
	lane, _ := t.lane(e)
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		if t.entries.at(i).try {
			tb.Fatalf("request %d holds %q and waits for an authority", t.entries.at(i).request, x.name)
		}
	}
	for _, first := range [...]int32{x.queue, lane} {
		for i := first; i != 0; i = t.next(ofEntry, first, i) {
			if t.entries.at(i).try {
				tries++
			}
		}
	}
	return tries
}

// checkFound checks that every index finds entry i.
func checkFound(tb failer, t *Table, e, i int32, position int) {
	tb.Helper()
	s := t.entries.at(i)
	if s.token == 0 {
		if got := t.position(i); got != position {
			tb.Fatalf("request %d has position %d, and was given %d", s.request, position, got)
		}
		return
	}
	found := t.findToken(e, s.session, s.token)
	if found == 0 || t.entries.at(found).token != s.token {
		tb.Fatalf("token %d is found as entry %d", s.token, found)
	}
	if owner := t.owner(s); owner != "" && !s.revoked {
		found := t.findOwner(e, s.session, owner)
		if found == 0 || t.entries.at(found).token != s.token {
			tb.Fatalf("owner %q of token %d is found as entry %d", owner, s.token, found)
		}
	}
}

func checkIndex(tb failer, t *Table, x *record, c *crowd, grants int32) {
	tb.Helper()
	if c.index == nil {
		if c.entries > indexAbove {
			tb.Fatalf("%q has %d entries and no index", x.name, c.entries)
		}
		return
	}
	if c.entries < indexBelow {
		tb.Fatalf("%q has %d entries and an index", x.name, c.entries)
	}
	owners, detail := int32(0), int32(0)
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		if s := t.entries.at(i); detail == 0 || s.detail != detail {
			detail = s.detail
			if t.owner(s) != "" && !s.revoked {
				owners++
			}
		}
	}
	if want := int(c.entries + grants + owners); len(c.index.places) != want {
		tb.Fatalf("the index of %q has %d places, want %d", x.name, len(c.index.places), want)
	}
}

// checkDeadlines checks that the heap has exactly the details with an end.
func checkDeadlines(tb failer, t *Table, details map[int32]int32) {
	tb.Helper()
	limits := 0
	for i, holds := range details {
		d := t.details.at(i)
		if d.holds != holds || t.entries.at(d.last).detail != i {
			tb.Fatalf("detail %d has %d entries, counts %d, the latest is %d", i, holds, d.holds, d.last)
		}
		if (d.end == Never) != (d.heap == 0) {
			tb.Fatalf("detail %d ends at %v and has place %d", i, d.end, d.heap)
		}
		if d.heap != 0 {
			limits++
			if t.deadlines[d.heap-1] != i {
				tb.Fatalf("detail %d has place %d of %v", i, d.heap, t.deadlines)
			}
		}
	}
	if limits != len(t.deadlines) {
		tb.Fatalf("%d limits, %d deadlines", limits, len(t.deadlines))
	}
	for at := 1; at < len(t.deadlines); at++ {
		if t.earlier(t.deadlines[at], t.deadlines[(at-1)/2]) {
			tb.Fatalf("deadline %d is earlier than the one above it", at)
		}
	}
}
