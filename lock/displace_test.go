package lock

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast"
)

// drawnEntry is a grant of one of two names by another table, in any mode.
func drawnEntry(rt *rapid.T, session uint64) *Entry {
	s := &Entry{
		Name: "a", Session: SessionID{session%3 + 1, session}, Request: 1, Left: Never,
		Token:      Token(rapid.Uint64Range(1, 3).Draw(rt, "reign"), rapid.Uint32Range(1, 3).Draw(rt, "count")),
		Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: rapid.SampledFrom([]holdfast.Mode{holdfast.ModeExclusive, holdfast.ModeShared, holdfast.ModeSlots, holdfast.ModeSlots}).Draw(rt, "mode")}},
	}
	if s.Mode == holdfast.ModeSlots {
		s.Capacity = rapid.SampledFrom([]int{5, 5, 5, 6}).Draw(rt, "capacity")
		s.Units = rapid.IntRange(1, s.Capacity).Draw(rt, "units")
	}
	return s
}

// compatibleWith reports whether c is compatible with the holders that are not revoked.
func compatibleWith(c *Entry, l Lock, spared func(Grant) bool) bool {
	requests := []Request{{Attributes: holdfast.Attributes{Shape: c.Shape}}}
	for _, g := range l.Holders {
		if !g.Revoked || spared(g) {
			requests = append(requests, Request{Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: g.Mode, Units: g.Units, Capacity: c.Capacity}}})
		}
	}
	return compatible(requests)
}

// TestDisplace checks that no more holders than necessary are revoked, only allowed ones, and only if that makes enough
// room. Regardless of the order of arrival, the staying holders fit, no request is granted the name before enough of
// the others have stopped, and nothing is left over.
func TestDisplace(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := newTable(rt, Config{})
		table.BeginReign(9, 0)
		var out []Decision
		n := rapid.Uint64Range(1, 25).Draw(rt, "grants")
		for session := uint64(1); session <= n; session++ {
			c := drawnEntry(rt, session)
			if table.Adopt(0, c, Never) == nil {
				continue
			}
			before := table.Show("a")
			below := slices.DeleteFunc(slices.Clone(before.Holders), func(g Grant) bool { return g.Revoked || rapid.IntRange(0, 3).Draw(rt, "above") == 0 })
			out = out[:0]
			fits := table.Displace(c, below, holdfast.Duplicate, &out)
			checkDisplaced(rt, table, c, below, fits, out)
			if c.Revoked = !fits; table.Adopt(0, c, Never) != nil {
				rt.Fatalf("%+v does not fit after what was displaced: %v", c, out)
			}
			checkTable(rt, table)
			checkExclusion(rt, table.Show("a"))
		}
		checkDrained(rt, table, n)
	})
}

func checkDisplaced(rt *rapid.T, table *Table, c *Entry, below []Grant, fits bool, out []Decision) {
	after := table.Show("a")
	if !fits {
		if len(out) != 0 {
			rt.Fatalf("revoked in vain: %v", out)
		}
		for i := range after.Holders {
			g := &after.Holders[i]
			g.Revoked = g.Revoked || slices.ContainsFunc(below, func(b Grant) bool { return b.Session == g.Session })
		}
		if (after.Capacity == 0 || after.Capacity == c.Capacity) && compatibleWith(c, after, func(Grant) bool { return false }) {
			rt.Fatalf("%+v would fit with %+v, without %+v", c, after.Holders, below)
		}
		return
	}
	for _, d := range out {
		if d.Kind != Revoked || d.Loss != holdfast.Duplicate || !slices.ContainsFunc(below, func(g Grant) bool { return g.Session == d.Session }) {
			rt.Fatalf("decided %+v, where %+v may be revoked", d, below)
		}
		if compatibleWith(c, after, func(g Grant) bool { return g.Session == d.Session }) {
			rt.Fatalf("%+v fits without the end of %+v", c, d)
		}
	}
}

// checkDrained makes a request wait for the name, and then every holder stop.
func checkDrained(rt *rapid.T, table *Table, n uint64) {
	var out []Decision
	waiter := SessionID{9, 9}
	table.Acquire(0, &Request{Session: waiter, ID: 1, Name: "a", WaitEnd: Never}, &out)
	for session := uint64(1); session <= n; session++ {
		if table.Held(waiter, "a", Token(9, 1)) {
			rt.Fatalf("the waiter is granted while %+v hold", table.Show("a").Holders)
		}
		table.EndSession(0, SessionID{session%3 + 1, session}, holdfast.SessionExpired, &out)
		checkTable(rt, table)
	}
	if !table.Held(waiter, "a", Token(9, 1)) {
		rt.Fatalf("no holder is left, and the waiter waits: %+v", table.Show("a"))
	}
	table.EndSession(0, waiter, "", &out)
	if table.Names() != 0 {
		rt.Fatalf("%d names are left", table.Names())
	}
}
