package lock

import (
	"cmp"

	"github.com/holdfast-locks/holdfast"
)

// Tick applies the passing of time up to now: waiters whose wait limit has passed are Refused, with a *HeldBy or, while
// the table grants nothing, with ErrUnavailable; grants whose hold limit plus drift has passed are Lost with HoldLimit.
// Then the next ones are granted. An early or extra Tick does no harm.
func (t *Table) Tick(now Time, out *[]Decision) {
	for len(t.deadlines) > 0 {
		d := t.details.at(t.deadlines[0])
		if d.end > now {
			break
		}
		t.touch(t.entries.at(d.last).live)
		if t.entries.at(d.last).token == 0 {
			t.giveUp(now, d.last, out)
			continue
		}
		t.endGrant(now, d, out)
	}
	t.settleTouched(now, out)
}

// endGrant ends all holds of a grant whose hold limit has passed.
func (t *Table) endGrant(now Time, d *detail, out *[]Decision) {
	i := d.last
	for range d.holds - 1 {
		i = t.entries.at(i).links[ofEntry].prev
	}
	for left := d.holds; left > 0; left-- {
		following := t.entries.at(i).links[ofEntry].next
		lost := t.decision(Lost, i)
		lost.Loss = holdfast.HoldLimit
		*out = append(*out, lost)
		t.endEntry(now, i)
		i = following
	}
}

// Wake returns when the next time limit passes, or Never: call Tick then if nothing comes first.
func (t *Table) Wake() Time {
	if len(t.deadlines) == 0 {
		return Never
	}
	return t.details.at(t.deadlines[0]).end
}

// setDeadline makes end the time at which detail i ends: it inserts, moves or, with Never, removes it in the heap of
// deadlines.
func (t *Table) setDeadline(i int32, end Time) {
	d := t.details.at(i)
	at := int(d.heap) - 1
	d.end = end
	switch {
	case at < 0 && end == Never:
		return
	case at < 0:
		t.deadlines = append(t.deadlines, i)
		d.heap = int32(len(t.deadlines))
		t.rise(len(t.deadlines) - 1)
	case end == Never:
		d.heap = 0
		last := len(t.deadlines) - 1
		moved := t.deadlines[last]
		t.deadlines = t.deadlines[:last]
		if at < last {
			t.place(at, moved)
			t.sink(t.rise(at))
		}
	default:
		t.sink(t.rise(at))
	}
}

// place puts detail i at a position of the heap.
func (t *Table) place(at int, i int32) {
	t.deadlines[at] = i
	t.details.at(i).heap = int32(at) + 1
}

// rise moves the element at a position up to where it belongs, and returns its new position.
func (t *Table) rise(at int) int {
	i := t.deadlines[at]
	for at > 0 {
		above := (at - 1) / 2
		if !t.earlier(i, t.deadlines[above]) {
			break
		}
		t.place(at, t.deadlines[above])
		at = above
	}
	t.place(at, i)
	return at
}

// sink moves the element at a position down to where it belongs.
func (t *Table) sink(at int) {
	i := t.deadlines[at]
	for {
		below := 2*at + 1
		if below >= len(t.deadlines) {
			break
		}
		if other := below + 1; other < len(t.deadlines) && t.earlier(t.deadlines[other], t.deadlines[below]) {
			below = other
		}
		if !t.earlier(t.deadlines[below], i) {
			break
		}
		t.place(at, t.deadlines[below])
		at = below
	}
	t.place(at, i)
}

// earlier orders deadlines. Equal ones are ordered: waits first, then grants by token, and equal tokens, which sides of
// a partition may have given, by session. A restored copy of the table has the same order, and reentry does not change
// it.
func (t *Table) earlier(a, b int32) bool {
	x, y := t.details.at(a), t.details.at(b)
	if x.end != y.end {
		return x.end < y.end
	}
	s, u := t.entries.at(x.last), t.entries.at(y.last)
	if s.token != u.token {
		return s.token < u.token
	}
	p, q := t.sessions.at(s.session).id, t.sessions.at(u.session).id
	request := 0 // of the latest hold, which changes
	if s.token == 0 {
		request = cmp.Compare(s.request, u.request)
	}
	return cmp.Or(
		cmp.Compare(p.Member, q.Member),
		cmp.Compare(p.Number, q.Number),
		request,
		cmp.Compare(t.names.at(s.live).name, t.names.at(u.live).name),
	) < 0
}
