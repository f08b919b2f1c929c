package lock

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
)

// A wait of one owner for a name that another has is an edge from the first to the second. A cycle of edges is a
// deadlock: no release of its owners comes while they wait. A request with holdfast.Fail is refused rather than left in
// one.
//
// The owner of a wait waits for each owner that must release the name first: those whose holds do not fit next to it or
// to a waiter ahead of it, and the waiters ahead that do not fit next to one another or to it. A wait
// whose owner has the name already, or waits for it ahead, has no edge: without an owner id all requests of a session are
// one owner's, and it would wait for itself. Nor has one that waits in the gate, only for an authority, or beyond its wait
// limit; and no edge leads to a hold that is to end. Edges are drawn only while the table grants: before that some requests that it queues may be granted already.
//
// Only new waits add edges; so do adopted holds, and an end after which the owner of a wait has no more of its name.
// Table.unsearched marks that there may be a cycle through a willing waiter.

// willing reports whether entry s is to be refused rather than left in a cycle.
func (t *Table) willing(s *entry) bool {
	return s.detail != 0 && t.details.at(s.detail).Deadlock == holdfast.Fail
}

// closes refuses the request of the new waiter i if it is willing and its wait closes a cycle, and reports whether it
// did.
func (t *Table) closes(now Time, i int32, out *[]Decision) bool {
	if !t.searches() || !t.willing(t.entries.at(i)) {
		return false
	}
	cycle := t.cycleOf(now, i)
	if cycle == nil {
		return false
	}
	t.refuseFor(now, i, cycle, out)
	return true
}

// searches reports whether a cycle matters now.
func (t *Table) searches() bool {
	return t.waitsWilling > 0 && t.serving() && !t.limits.Permitted && !t.limits.LeavesCycles
}

// refuseFor refuses the waiter at entry i for a cycle.
func (t *Table) refuseFor(now Time, i int32, cycle *holdfast.DeadlockError, out *[]Decision) {
	d := t.refusal(now, i, cycle)
	t.drop(i)
	*out = append(*out, d)
}

// breakCycles refuses willing waiters until none is in a cycle. Every operation that may have added an edge ends with
// it.
func (t *Table) breakCycles(now Time, out *[]Decision) {
	if !t.unsearched || !t.serving() {
		return // until the table grants again
	}
	for t.searches() {
		i, cycle := t.standingCycle(now)
		if i == 0 {
			break
		}
		e := t.entries.at(i).live
		t.refuseFor(now, i, cycle, out)
		t.touch(e)
		t.settleNames(now, out)
		t.settleGate(now, out)
	}
	t.unsearched = false
}

// standingCycle returns the latest willing waiter that is in a cycle, or 0. Its order is the same in a restored copy of
// the table.
func (t *Table) standingCycle(now Time) (int32, *holdfast.DeadlockError) {
	var waiters []int32
	for i := int32(1); i <= t.entries.top; i++ {
		if s := t.entries.at(i); s.session != 0 && s.token == 0 && t.willing(s) {
			waiters = append(waiters, i)
		}
	}
	slices.SortFunc(waiters, func(a, b int32) int {
		x, y := t.entries.at(a), t.entries.at(b)
		p, q := t.sessions.at(x.session).id, t.sessions.at(y.session).id
		return cmp.Or(
			cmp.Compare(y.since, x.since),
			cmp.Compare(q.Member, p.Member),
			cmp.Compare(q.Number, p.Number),
			cmp.Compare(y.request, x.request),
			cmp.Compare(t.names.at(x.live).name, t.names.at(y.live).name),
		)
	})
	for _, i := range waiters {
		if cycle := t.cycleOf(now, i); cycle != nil {
			return i, cycle
		}
	}
	return 0, nil
}

// clears notes that entry s, which is about to end, may be ahead of a wait of its own owner: that wait then has edges.
func (t *Table) clears(i int32, s *entry) {
	if t.waitsWilling == 0 || t.unsearched || t.sessions.at(s.session).waits == 0 {
		return
	}
	head := t.names.at(s.live).queue
	for at := head; at != 0; at = t.next(ofEntry, head, at) {
		if w := t.entries.at(at); at != i && w.session == s.session && t.owner(w) == t.owner(s) {
			t.unsearched = true
			return
		}
	}
}

// step is one owner that a search has come to.
type step struct {
	party party
	from  int   // the step of the owner that waits for it
	wait  int32 // that owner's wait
	by    int32 // the entry in its way
}

// search is a breadth-first search for a cycle through one wait.
type search struct {
	table    *Table
	now      Time
	steps    []step
	seen     map[party]bool
	sessions map[int32]map[string][]int32 // the waits of the sessions that were come to, by owner
	covered  map[int32]bool               // waits that are ahead of a searched one: they wait for nothing else
}

// cycleOf returns a shortest cycle through the wait at entry i, or nil.
func (t *Table) cycleOf(now Time, i int32) *holdfast.DeadlockError {
	at := t.entries.at(i)
	if t.sessions.at(at.session).entries() == 1 && at.links[ofEntry].next == t.names.at(at.live).queue {
		return nil // no owner waits for this one: it holds nothing, and none is behind it
	}
	s := &search{
		table: t, now: now, seen: map[party]bool{}, sessions: map[int32]map[string][]int32{}, covered: map[int32]bool{},
		steps: []step{{party: t.partyOf(at)}},
	}
	if !s.counts(i) {
		return nil
	}
	if last := s.expand(0, i); last != nil {
		return s.chain(last)
	}
	for n := 1; n < len(s.steps); n++ {
		for _, wait := range s.waitsOf(s.steps[n].party) {
			if s.covered[wait] {
				continue
			}
			if last := s.expand(n, wait); last != nil {
				return s.chain(last)
			}
		}
	}
	return nil
}

// counts reports whether the wait at entry i is one that may be part of a cycle.
func (s *search) counts(i int32) bool {
	t, at := s.table, s.table.entries.at(i)
	return at.token == 0 && !at.try && t.end(at) > s.now && !t.gated(at.live) && !t.parked(i, at)
}

// expand adds the owners for which the wait at entry i, of step n, waits; it returns the step back to the first owner, if
// that is one of them.
func (s *search) expand(n int, i int32) *step {
	t, p := s.table, s.steps[n].party
	if s.hasAlready(p, i) {
		return nil
	}
	for _, by := range s.blockers(i) {
		next := step{t.partyOf(t.entries.at(by)), n, i, by}
		if next.party == s.steps[0].party {
			return &next
		}
		if !s.seen[next.party] {
			s.seen[next.party] = true
			s.steps = append(s.steps, next)
		}
	}
	at := t.entries.at(i)
	for head := t.names.at(at.live).queue; i != head; {
		i = t.entries.at(i).links[ofEntry].prev
		if s.covered[i] {
			break
		}
		s.covered[i] = true
	}
	return nil
}

// hasAlready reports whether the owner of the wait at entry i holds the name, or waits for it ahead.
func (s *search) hasAlready(p party, i int32) bool {
	t := s.table
	x := t.names.at(t.entries.at(i).live)
	if t.sessions.at(p.session).entries() == 1 {
		return false
	}
	for at := x.holders; at != 0; at = t.next(ofEntry, x.holders, at) {
		if t.partyOf(t.entries.at(at)) == p {
			return true
		}
	}
	for at := x.queue; at != i; at = t.next(ofEntry, x.queue, at) {
		if t.partyOf(t.entries.at(at)) == p {
			return true
		}
	}
	return false
}

// blockers returns the entries that must end before the wait at entry i is granted, the nearest first.
func (s *search) blockers(i int32) (found []int32) {
	t := s.table
	x := t.names.at(t.entries.at(i).live)
	var wanted wants
	wanted.add(t, t.entries.at(i))
	for at := i; at != x.queue; {
		at = t.entries.at(at).links[ofEntry].prev
		ahead := t.entries.at(at)
		if !s.counts(at) || t.findOwnerOf(ahead) != 0 {
			continue // it ends by itself, or enters the grant that its owner has
		}
		if wanted.clash(t, ahead) {
			found = append(found, at)
		}
		wanted.add(t, ahead)
	}
	for at := x.holders; at != 0; at = t.next(ofEntry, x.holders, at) {
		if hold := t.entries.at(at); !hold.revoked && t.end(hold) > s.now && wanted.clash(t, hold) {
			found = append(found, at)
		}
	}
	return found
}

// waitsOf returns the waits of an owner, in the order of the requests: the order of a session's ring differs between a
// table and its restored copy.
func (s *search) waitsOf(p party) []int32 {
	t := s.table
	owners := s.sessions[p.session]
	if owners == nil {
		owners = map[string][]int32{}
		s.sessions[p.session] = owners
		of := t.sessions.at(p.session)
		for i := of.first; i != 0 && of.waits > 0; i = t.next(ofSession, of.first, i) {
			if s.counts(i) {
				owner := t.owner(t.entries.at(i))
				owners[owner] = append(owners[owner], i)
			}
		}
		//tidy:unordered each list is put in order by itself
		for _, waits := range owners {
			slices.SortFunc(waits, func(a, b int32) int {
				x, y := t.entries.at(a), t.entries.at(b)
				return cmp.Or(cmp.Compare(x.request, y.request), cmp.Compare(t.names.at(x.live).name, t.names.at(y.live).name))
			})
		}
	}
	return owners[p.owner]
}

// chain returns the cycle that ends with a step back to the first owner.
func (s *search) chain(last *step) *holdfast.DeadlockError {
	t := s.table
	e := &holdfast.DeadlockError{}
	for at := last; ; at = &s.steps[at.from] {
		wait := t.entries.at(at.wait)
		e.Cycle = append(e.Cycle, holdfast.DeadlockStep{
			Session: t.sessions.at(wait.session).id.String(), Owner: t.owner(wait), Client: t.client(wait), Name: t.names.at(wait.live).name, Ahead: t.entries.at(at.by).token == 0,
		})
		if at.from == 0 {
			break
		}
	}
	slices.Reverse(e.Cycle)
	if n := len(e.Cycle); n > holdfast.MaxCycle {
		e.More = n - holdfast.MaxCycle
		e.Cycle = append(e.Cycle[:holdfast.MaxCycle-1], e.Cycle[n-1])
	}
	return e
}

// wants is what a row of waiters wants: the last of them is granted only after everything that clashes with one of them.
type wants struct {
	exclusive, shared bool
	units, capacity   int32 // of slots: the most units; 0 if none wants slots
	capacities        bool  // they want slots of different capacities
}

func (w *wants) add(t *Table, s *entry) {
	switch s.mode {
	case holdfast.ModeExclusive:
		w.exclusive = true
	case holdfast.ModeShared:
		w.shared = true
	default:
		w.capacities = w.capacities || w.units != 0 && w.capacity != t.capacity(s)
		w.units, w.capacity = max(w.units, t.units(s)), t.capacity(s)
	}
}

// clash reports whether a hold of entry s would not fit next to that of one of the waiters.
func (w *wants) clash(t *Table, s *entry) bool {
	switch {
	case w.exclusive || s.mode == holdfast.ModeExclusive:
		return true
	case s.mode == holdfast.ModeShared:
		return w.units != 0
	case w.shared || w.capacities:
		return true
	}
	return w.units != 0 && (w.capacity != t.capacity(s) || w.units > w.capacity-t.units(s))
}
