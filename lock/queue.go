package lock

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
)

// enqueue appends entry i to its live name's queue. With try it waits only for an authority: settling the live name
// under one always grants or refuses it.
func (t *Table) enqueue(i int32, try bool) {
	s := t.entries.at(i)
	t.alter(s.live)
	x := t.names.at(s.live)
	t.join(ofEntry, &x.queue, i, s)
	x.waiting++
	t.unsearched = true
	t.expect(s, try)
	t.number(i)
	if t.gated(s.live) {
		t.arrive(i)
	}
}

// expect counts an entry that starts to wait.
func (t *Table) expect(s *entry, try bool) {
	t.waiters++
	t.sessions.at(s.session).waits++
	if try {
		s.try = true
		t.tries++
	}
	if t.willing(s) {
		t.waitsWilling++
	}
}

// unexpect uncounts an entry that stops waiting.
func (t *Table) unexpect(s *entry) {
	t.waiters--
	t.sessions.at(s.session).waits--
	if s.try {
		s.try = false
		t.tries--
	}
	if t.willing(s) {
		t.waitsWilling--
	}
}

// dequeue removes entry i from its live name's queue.
func (t *Table) dequeue(i int32) {
	s := t.entries.at(i)
	t.alter(s.live)
	x := t.names.at(s.live)
	t.unlink(ofEntry, &x.queue, i, s)
	x.waiting--
	t.unexpect(s)
	t.unnumber(i)
	if t.gated(s.live) {
		t.depart(i)
	}
}

// fits reports whether a grant would be compatible with the holders of live name x, including revoked ones.
func (t *Table) fits(x *record, mode holdfast.Mode, units int32) bool {
	return x.holders == 0 || t.fitsHolders(x, mode, units)
}

// fitsHolders is fits for a live name that has holders.
func (t *Table) fitsHolders(x *record, mode holdfast.Mode, units int32) bool {
	if mode == holdfast.ModeExclusive || mode != t.entries.at(x.holders).mode {
		return false
	}
	if x.crowd == 0 {
		return true // the one holder shares
	}
	c := t.crowds.at(x.crowd)
	return !c.excess && (mode == holdfast.ModeShared || units <= c.capacity-c.units)
}

// grant makes entry i, which is in no ring of its live name, a holder with a new token.
func (t *Table) grant(now Time, i int32, out *[]Decision) {
	s := t.entries.at(i)
	x := t.names.at(s.live)
	if !t.serving() || !t.fits(x, s.mode, t.units(s)) || t.gate != nil && t.excluded(s) {
		panic(fmt.Sprintf("lock: %q is granted %v to request %d of %v, which does not fit", x.name, s.mode, s.request, t.sessions.at(s.session).id))
	}
	token := Token(t.reign, t.count+1)
	if token <= t.last {
		panic(fmt.Sprintf("lock: token %d would follow token %d", token, t.last))
	}
	t.count++
	t.last = token
	t.grantUnder(now, token, i, s, x, out)
}

// grantUnder is grant under a token that is the highest of its name.
func (t *Table) grantUnder(now Time, token holdfast.Token, i int32, s *entry, x *record, out *[]Decision) {
	t.given[token%givenEntries] = i
	t.alter(s.live)

	arrived := s.since
	s.token, s.since = token, now
	t.admit(i, s, x)
	if s.detail != 0 {
		d := t.details.at(s.detail)
		end := Never
		if d.Hold != 0 {
			end = after(now, t.drift.stretch(d.Hold))
		}
		d.Hold = 0
		t.setDeadline(s.detail, end)
	}
	t.granted(now, i, arrived, out)
}

// admit adds entry i, which is s and whose token is set and the highest of its name, to the holders of its live name x.
func (t *Table) admit(i int32, s *entry, x *record) {
	t.join(ofEntry, &x.holders, i, s)
	t.sessions.at(s.session).holds++
	if x.crowd == 0 {
		return
	}
	c := t.crowds.at(x.crowd)
	c.grants++
	c.units += t.units(s)
	if c.units > c.capacity && !c.excess {
		panic(fmt.Sprintf("lock: %q has %d units held of %d", x.name, c.units, c.capacity))
	}
	if c.index != nil {
		t.indexGrant(c.index, i)
	}
}

// settle grants requests after an end at live name e: there and, if it was the last entry that a suspension waited for,
// everywhere. Every operation that may have made room ends with it, so that no wake-up is lost (P4). Entries that wait
// only for an authority have found it here: none is left in the queue, unless the reign's tokens are used up on the
// way.
func (t *Table) settle(now Time, e int32, out *[]Decision) {
	if t.gate == nil {
		t.settleQueue(now, e, out)
		t.breakCycles(now, out)
		return
	}
	t.touch(e)
	t.settleTouched(now, out)
}

// settleQueue grants the head of live name e's queue as long as it fits, and removes the live name if no request is
// left.
func (t *Table) settleQueue(now Time, e int32, out *[]Decision) {
	x := t.names.at(e)
	for x.queue != 0 && t.serving() {
		i := x.queue
		s := t.entries.at(i)
		if t.end(s) <= now {
			t.giveUp(now, i, out)
			continue
		}
		if held := t.findOwnerOf(s); held != 0 {
			t.reenterQueued(now, held, i, out)
			continue
		}
		if t.limits.Permitted {
			return // for Permit
		}
		if t.fits(x, s.mode, t.units(s)) && t.ready(e, i, s) {
			t.dequeue(i)
			t.grant(now, i, out)
			continue
		}
		if !s.try {
			t.refuseTries(now, e, out)
			return
		}
		// The next one may fit.
		t.giveUp(now, i, out)
	}
	// openGate frees the record of SpaceLock.
	if x.queue == 0 && x.holders == 0 && (t.gate == nil || t.empty(e, x) && !t.gated(e)) {
		t.makeIdle(e)
	}
}

// refuseTries refuses the waiters for an authority behind the head of live name e's queue, which continues to wait for
// holders. There are such entries only after a time without an authority, so usually there is no queue to walk.
func (t *Table) refuseTries(now Time, e int32, out *[]Decision) {
	if t.tries == 0 {
		return
	}
	head := t.names.at(e).queue
	for i := t.next(ofEntry, head, head); i != 0; {
		behind := t.next(ofEntry, head, i)
		if t.entries.at(i).try {
			t.giveUp(now, i, out)
		}
		i = behind
	}
}

// giveUp refuses a waiter that no longer waits: its wait limit has passed, or it waited only for an authority and now
// finds the name taken.
func (t *Table) giveUp(now Time, i int32, out *[]Decision) {
	d := t.refusal(now, i, t.obstacle(now, i, t.entries.at(i)))
	t.drop(i)
	*out = append(*out, d)
}

// reenterQueued lets a waiter into the grant that its owner received while it waited, or refuses it if it has another
// shape.
func (t *Table) reenterQueued(now Time, held, i int32, out *[]Decision) {
	s := t.entries.at(i)
	h := t.entries.at(held)
	if err := t.otherShape(h, s.mode, int(t.units(s)), int(t.capacity(s))); err != nil {
		d := t.refusal(now, i, err)
		t.drop(i)
		*out = append(*out, d)
		return
	}
	arrived := s.since
	t.dequeue(i)
	t.forgetDetail(i)
	t.share(held, i)
	t.granted(now, i, arrived, out)
}

// touch records that live name e must be settled.
func (t *Table) touch(e int32) { t.touched = append(t.touched, e) }

// settleTouched settles the touched live names, in the order of touching, and then the gate.
func (t *Table) settleTouched(now Time, out *[]Decision) {
	t.settleNames(now, out)
	t.settleGate(now, out)
	t.breakCycles(now, out)
}

// settleNames is settleTouched without the gate.
func (t *Table) settleNames(now Time, out *[]Decision) {
	for _, e := range t.touched {
		// A name that was touched twice may have become idle the first time.
		if t.live(e) && !t.gated(e) {
			t.settleQueue(now, e, out)
		}
	}
	t.touched = emptied(t.touched)
}

// settleAll settles every live name that a request waits for, in the order of the names, because the order of the
// records differs between a table and its restored copy.
func (t *Table) settleAll(now Time, out *[]Decision) {
	for e := int32(1); e <= t.names.top; e++ {
		if x := t.names.at(e); x.queue != 0 && !x.idle() {
			t.touch(e)
		}
	}
	slices.SortFunc(t.touched, func(a, b int32) int {
		return cmp.Compare(t.names.at(a).name, t.names.at(b).name)
	})
	t.settleTouched(now, out)
}

// emptied returns s for reuse, without keeping much memory for it.
func emptied(s []int32) []int32 {
	if cap(s) > 4*chunkSize {
		return nil
	}
	return s[:0]
}
