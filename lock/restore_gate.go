package lock

import (
	"errors"
	"fmt"

	"github.com/holdfast-locks/holdfast"
)

// contradicts returns why c, a hold that another table has granted and that is to stay, excludes others' holds other
// than by its name: it is a suspension, or the table is suspended. It is nil if c or everything it excludes is revoked.
func (t *Table) contradicts(c *Entry) error {
	if c.Revoked {
		return nil
	}
	session := t.sessionOf(c.Session)
	if c.Name != SpaceLock {
		e := t.liveOf(SpaceLock)
		if i := t.stays(e); i != 0 && !t.owns(session, c.Owner, t.entries.at(i)) {
			return fmt.Errorf("%w: another owner suspends the table", holdfast.ErrConflict)
		}
		return nil
	}
	if t.Holds() == 0 {
		return nil
	}
	for i := int32(1); i <= t.entries.top; i++ {
		s := t.entries.at(i)
		if s.session != 0 && s.token != 0 && !s.revoked && t.names.at(s.live).name != SpaceLock && !t.owns(session, c.Owner, s) {
			return fmt.Errorf("%w: it suspends a table in which another owner holds %q", holdfast.ErrConflict, t.names.at(s.live).name)
		}
	}
	return nil
}

// stays returns the first unrevoked hold of live name e, or 0. Entry 0 has none.
func (t *Table) stays(e int32) int32 {
	if e == 0 {
		return 0
	}
	x := t.names.at(e)
	for i := x.holders; i != 0; i = t.next(ofEntry, x.holders, i) {
		if !t.entries.at(i).revoked {
			return i
		}
	}
	return 0
}

// owns reports whether entry s belongs to a named owner of a session.
func (t *Table) owns(session int32, owner string, s *entry) bool {
	return owner != "" && s.session == session && t.owner(s) == owner
}

// checkTurn returns why an entry cannot have its place in the gate, or lacks one.
func checkTurn(c *Entry) error {
	switch {
	case c.Turn != 0 && c.Token != 0:
		return errors.New("it is held and waits in the gate")
	case c.Turn > maxTurn:
		return fmt.Errorf("its turn in the gate is %d; at most %d is possible", c.Turn, uint64(maxTurn))
	case c.Name == SpaceLock && c.Token == 0 && c.Turn == 0:
		return errors.New("it waits to suspend the table and has no turn in the gate")
	}
	return nil
}

// restoreWait makes entry i a waiter at c's place. Its turn has no neighbours before restoreGate.
func (t *Table) restoreWait(i int32, c *Entry) {
	if c.Turn == 0 {
		t.enqueue(i, c.Try)
		return
	}
	if c.Name == SpaceLock {
		t.enqueue(i, c.Try)
	} else {
		t.closeGate()
		t.park(i, c.Try)
	}
	t.gate.turns[i].number = c.Turn
}

// restoreGate orders the entries that wait in the gate, once all entries are there, and returns why their places are
// impossible.
func (t *Table) restoreGate() error {
	g := t.gate
	if g.spaceLock == 0 {
		return fmt.Errorf("%d requests are parked, and the table is not suspended", len(g.turns))
	}
	order := g.inTurn()
	for n, i := range order {
		if x := g.turns[i]; n > 0 && x.number == g.turns[order[n-1]].number {
			return fmt.Errorf("two requests have turn %d in the gate", x.number)
		}
	}
	g.line(order)
	for _, i := range order {
		s := t.entries.at(i)
		if behind := t.next(ofEntry, t.firstInLine(s), i); behind != 0 && g.turns[behind].number < g.turns[i].number {
			return fmt.Errorf("turn %d at %q follows turn %d", g.turns[behind].number, t.names.at(s.live).name, g.turns[i].number)
		}
	}
	return t.checkGate()
}

// firstInLine returns the first entry in the gate that waits for the same as entry s.
func (t *Table) firstInLine(s *entry) int32 {
	if t.gated(s.live) {
		return t.names.at(s.live).queue
	}
	first, _ := t.lane(s.live)
	return first
}

// checkGate returns an error if an entry is at a name or parked that must not be, given the gate's state.
func (t *Table) checkGate() error {
	g := t.gate
	suspended := t.names.at(g.spaceLock).holders != 0
	if !suspended && t.entries.at(g.first).live != g.spaceLock {
		return fmt.Errorf("request %d is parked, and no suspension is before it", t.entries.at(g.first).request)
	}
	if !suspended {
		return nil
	}
	stays := t.stays(g.spaceLock)
	for i := int32(1); i <= t.entries.top; i++ {
		s := t.entries.at(i)
		if s.session == 0 || s.live == g.spaceLock || t.parked(i, s) {
			continue
		}
		name := t.names.at(s.live).name
		if s.token == 0 && !t.suspends(t.partyOf(s)) {
			return fmt.Errorf("request %d waits at %q, and another owner suspends the table", s.request, name)
		}
		if h := stays; s.token != 0 && !s.revoked && h != 0 && !t.owns(t.entries.at(h).session, t.owner(t.entries.at(h)), s) {
			return fmt.Errorf("request %d holds %q, and another owner suspends the table", s.request, name)
		}
	}
	return nil
}
