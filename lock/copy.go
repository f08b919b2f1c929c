package lock

import (
	"fmt"
	"slices"
)

// Copy is a snapshot of a table that is taken step by step while the table continues. It shows the table as of the
// copy's beginning: an entry that changes before its turn is written first.
//
// The cost of a step is that of its output. A change costs, once, the unwritten entries of its name; only those are
// kept for later.
type Copy struct {
	// The table's state at the beginning.
	Reign   uint64
	Count   uint32
	Paused  bool
	Entries int // number of holds and waits

	table  *Table
	now    Time
	write  func([]byte, *Entry) []byte
	at     int32           // the next live name
	within int             // how many of its entries were returned
	top    int32           // the last live name at the beginning
	left   int             // number of entries to come
	kept   map[int32]*kept // names that have changed since and come later, by live name
}

// kept is the written form of a name before it changed.
type kept struct {
	b    []byte
	ends []int // end of each entry, in b
}

// Copy begins a copy as of a time. write encodes an entry; the entries of a name follow one another as in
// [Table.Snapshot]. write is called before the entry changes, and must not change the table.
func (t *Table) Copy(now Time, write func(b []byte, s *Entry) []byte) *Copy {
	c := &Copy{
		Reign: t.reign, Count: t.count, Paused: t.paused, Entries: t.entries.used,
		table: t, now: now, write: write, at: 1, top: t.names.top, left: t.entries.used, kept: map[int32]*kept{},
	}
	t.copies = append(t.copies, c)
	return c
}

// Next appends the next entries, as encoded by write, until they have room bytes or somewhat more. It reports whether
// more follow.
func (c *Copy) Next(b []byte, room int) (_ []byte, more bool) {
	from := len(b)
	full := func() bool { return len(b)-from >= room }
	for c.left > 0 && !full() {
		if c.at > c.top {
			panic(fmt.Sprintf("lock: a copy lacks %d entries of %d", c.left, c.Entries))
		}
		if was := c.kept[c.at]; was != nil {
			for ; c.within < len(was.ends) && !full(); c.within++ {
				b = append(b, was.entry(c.within)...)
				c.left--
			}
			if c.within < len(was.ends) {
				break
			}
			delete(c.kept, c.at)
		} else if !c.visit(func(s *Entry) bool {
			if full() {
				return false
			}
			b = c.write(b, s)
			c.within++
			c.left--
			return true
		}) {
			break
		}
		c.at, c.within = c.at+1, 0
	}
	if c.left == 0 {
		c.Stop()
	}
	return b, c.left > 0
}

func (k *kept) entry(n int) []byte {
	if n == 0 {
		return k.b[:k.ends[0]]
	}
	return k.b[k.ends[n-1]:k.ends[n]]
}

// Stop ends the copy early: the table keeps nothing for it any more.
func (c *Copy) Stop() {
	c.table.copies = slices.DeleteFunc(c.table.copies, func(other *Copy) bool { return other == c })
	c.kept = nil
}

// visit visits the remaining entries of the next live name, until visit stops it, and reports whether all were visited.
func (c *Copy) visit(visit func(s *Entry) bool) bool {
	return c.table.visitEntries(c.at, c.within, func(i int32) bool {
		s := c.table.copyEntry(c.now, i)
		return visit(&s)
	})
}

// keep encodes a live name that is about to change, if its turn is still to come.
func (c *Copy) keep(e int32) {
	if e < c.at || e > c.top || c.kept[e] != nil {
		return
	}
	k := &kept{}
	c.kept[e] = k
	if e == c.at {
		for range c.within {
			k.ends = append(k.ends, 0) // already returned
		}
	}
	c.table.visitEntries(e, len(k.ends), func(i int32) bool {
		s := c.table.copyEntry(c.now, i)
		k.b = c.write(k.b, &s)
		k.ends = append(k.ends, len(k.b))
		return true
	})
}

// visitEntries visits the entries of a live name in order, skipping the first skip, until visit stops it, and reports
// whether all were visited.
func (t *Table) visitEntries(e int32, skip int, visit func(i int32) bool) bool {
	if !t.live(e) {
		return true
	}
	x := t.names.at(e)
	lane, _ := t.lane(e)
	n := 0
	for _, first := range [...]int32{x.holders, x.queue, lane} {
		for i := first; i != 0; i = t.next(ofEntry, first, i) {
			if n++; n > skip && !visit(i) {
				return false
			}
		}
	}
	return true
}

// alter must be called before any change at live name e that a copy shows.
func (t *Table) alter(e int32) {
	for _, c := range t.copies {
		c.keep(e)
	}
}

// Alter is for data that the write function of [Table.Copy] adds about a name: call it before that data changes.
func (t *Table) Alter(name string) {
	if len(t.copies) == 0 {
		return
	}
	if e := t.liveOf(name); e != 0 {
		t.alter(e)
	}
}
