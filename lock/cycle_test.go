package lock

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast"
)

// cycles is a table with a few requests, for tests of cycles.
type cycles struct {
	t     *testing.T
	table *Table
	out   []Decision
	now   Time
	ids   uint64
}

func newCycles(t *testing.T) *cycles {
	table, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	table.BeginReign(1, 0)
	return &cycles{t: t, table: table}
}

// ask requests name for session number s, and returns the decisions.
func (c *cycles) ask(s uint64, name string, change ...func(*Request)) []Decision {
	c.t.Helper()
	c.ids++
	r := Request{
		Session: SessionID{Member: 1, Number: s}, ID: c.ids, Name: name, Client: fmt.Sprintf("c%d", s), Arrived: c.now, WaitEnd: Never,
	}
	for _, f := range change {
		f(&r)
	}
	c.out = c.out[:0]
	c.table.Acquire(c.now, &r, &c.out)
	c.now++
	return slices.Clone(c.out)
}

// want checks that the decisions have these kinds.
func (c *cycles) want(got []Decision, kinds ...Kind) {
	c.t.Helper()
	var have []Kind
	for i := range got {
		have = append(have, got[i].Kind)
	}
	if !slices.Equal(have, kinds) {
		c.t.Fatalf("decisions %v, want %v: %+v", have, kinds, got)
	}
}

// refused checks that the last decision is a refusal with the sentence.
func (c *cycles) refused(got []Decision, session uint64, sentence string) {
	c.t.Helper()
	d := got[len(got)-1]
	if d.Kind != Refused || d.Session.Number != session || !errors.Is(d.Err, holdfast.ErrDeadlock) || d.Err.Error() != sentence {
		c.t.Fatalf("got %v to session %d: %v, want a refusal of session %d: %s", d.Kind, d.Session.Number, d.Err, session, sentence)
	}
}

func willing(r *Request)                   { r.Deadlock = holdfast.Fail }
func shared(r *Request)                    { r.Mode = holdfast.ModeShared }
func owner(id string) func(r *Request)     { return func(r *Request) { r.Owner = id } }
func waitsUntil(end Time) func(r *Request) { return func(r *Request) { r.WaitEnd = end } }
func slots(units, capacity int) func(r *Request) {
	return func(r *Request) { r.Shape = holdfast.Shape{Mode: holdfast.ModeSlots, Units: units, Capacity: capacity} }
}

func TestClosingRequestIsRefused(t *testing.T) {
	c := newCycles(t)
	c.want(c.ask(1, "a"), Granted)
	c.want(c.ask(2, "b"), Granted)
	c.want(c.ask(1, "b"), Queued)
	got := c.ask(2, "a", willing)
	c.want(got, Refused)
	c.refused(got, 2, `deadlock: this session holds "b", for which client "c1" waits, which holds "a"`)
	if _, waits := c.table.Session(SessionID{1, 2}); waits != 0 || c.table.Waiters() != 1 {
		t.Fatalf("the refused request still waits")
	}
}

func TestCycleOfThree(t *testing.T) {
	c := newCycles(t)
	c.ask(1, "a", owner("x"))
	c.ask(1, "b", owner("y"))
	c.ask(2, "c")
	c.want(c.ask(1, "b", owner("x"), willing), Queued)
	c.want(c.ask(1, "c", owner("y"), willing), Queued)
	c.refused(c.ask(2, "a", willing), 2, `deadlock: this session holds "c", for which owner "y" waits, which holds "b", for which owner "x" waits, which holds "a"`)
}

// A request that waits regardless closes the cycle, and the one that does not mind to fail makes room.
func TestWillingWaiterIsRefusedLater(t *testing.T) {
	c := newCycles(t)
	c.ask(1, "a")
	c.ask(2, "b")
	c.want(c.ask(1, "b", willing), Queued)
	got := c.ask(2, "a")
	c.want(got, Queued, Refused)
	c.refused(got, 1, `deadlock: this session holds "a", for which client "c2" waits, which holds "b"`)
}

// noCycles end with a decision that refuses no request because of a deadlock.
var noCycles = map[string]func(c *cycles) []Decision{
	"a wait alone": func(c *cycles) []Decision {
		c.ask(1, "a")
		return c.ask(2, "a", willing)
	},
	"branches that converge": func(c *cycles) []Decision {
		c.ask(1, "a")
		c.ask(2, "b", shared)
		c.ask(3, "b", shared)
		c.ask(2, "a")
		c.ask(3, "a")
		c.ask(4, "c")
		c.ask(1, "c")
		c.ask(5, "e")
		return c.ask(5, "b", willing)
	},
	"an owner that has just been granted": func(c *cycles) []Decision {
		c.ask(1, "a")
		c.ask(2, "b")
		c.ask(1, "b")
		if err := c.table.Release(c.now, SessionID{1, 2}, "b", Token(1, 2), 0, &c.out); err != nil {
			c.t.Fatal(err)
		}
		c.ask(3, "c")
		c.ask(3, "b")
		return c.ask(1, "c", func(r *Request) { willing(r); r.Session.Number = 2 })
	},
	"a goroutine of the same session": func(c *cycles) []Decision {
		c.ask(1, "a")
		c.ask(2, "a")
		return c.ask(1, "a", willing)
	},
	"two owners of one session": func(c *cycles) []Decision {
		c.ask(1, "a", owner("x"))
		c.ask(2, "b")
		c.ask(2, "a")
		return c.ask(1, "b", owner("y"), willing)
	},
	"slots with room from others": func(c *cycles) []Decision {
		c.ask(1, "s", slots(1, 2))
		c.ask(2, "s", slots(1, 2))
		c.ask(3, "b")
		c.ask(1, "b")
		return c.ask(3, "s", slots(1, 2), willing)
	},
	"a wait that has passed": func(c *cycles) []Decision {
		c.ask(1, "a")
		c.ask(2, "b")
		c.ask(1, "b", waitsUntil(c.now+5))
		c.now += 10
		return c.ask(2, "a", willing)
	},
	"a broken hold": func(c *cycles) []Decision {
		c.ask(1, "a")
		c.ask(2, "b")
		c.ask(1, "b")
		if _, err := c.table.Break(c.now, "a", 0, &c.out); err != nil {
			c.t.Fatal(err)
		}
		return c.ask(2, "a", willing)
	},
	"a request that is parked": func(c *cycles) []Decision {
		c.ask(1, "a")
		c.ask(2, "b")
		c.ask(3, SpaceLock, owner("o"))
		c.ask(1, "b")
		return c.ask(2, "a", willing)
	},
}

func TestNoCycle(t *testing.T) {
	for name, play := range noCycles {
		t.Run(name, func(t *testing.T) {
			for _, d := range play(newCycles(t)) {
				if d.Kind == Refused {
					t.Fatalf("refused: %v", d.Err)
				}
			}
		})
	}
}

func TestCycleThroughTheQueue(t *testing.T) {
	c := newCycles(t)
	c.ask(1, "a", shared)
	c.ask(2, "b")
	c.want(c.ask(3, "a"), Queued) // exclusive, behind 1
	c.want(c.ask(3, "c"), Granted)
	c.want(c.ask(2, "c"), Queued)
	// 3 waits for 1, which waits for 2, which waits for 3.
	got := c.ask(1, "b", willing)
	c.refused(got, 1, `deadlock: this session holds "a", for which client "c3" waits, which holds "c", for which client "c2" waits, which holds "b"`)
	// A shared request would fit next to the holder, and waits behind the exclusive one.
	c.want(c.ask(3, "d"), Granted)
	c.want(c.ask(4, "e"), Granted)
	c.want(c.ask(3, "e"), Queued)
	got = c.ask(4, "a", shared, willing)
	c.refused(got, 4, `deadlock: this session holds "e", for which client "c3" waits, which waits earlier for "a"`)
}

func TestCycleOfSlots(t *testing.T) {
	c := newCycles(t)
	c.ask(1, "s", slots(3, 4))
	c.ask(2, "b")
	c.ask(1, "b")
	c.refused(c.ask(2, "s", slots(2, 4), willing), 2, `deadlock: this session holds "b", for which client "c1" waits, which holds "s"`)
}

// Requests that an authority finds when it begins are searched when it grants again, and their holds with them.
func TestCycleAtResume(t *testing.T) {
	c := newCycles(t)
	c.table.Pause()
	c.want(c.ask(1, "b", willing), Queued)
	c.want(c.ask(2, "a", willing), Queued)
	c.table.BeginReign(1, 10)
	for n, name := range []string{"a", "b"} {
		hold := &Entry{Name: name, Session: SessionID{1, uint64(n + 1)}, Request: 90 + uint64(n), Token: Token(1, uint32(n+1))}
		if err := c.table.Adopt(c.now, hold, Never); err != nil {
			t.Fatal(err)
		}
	}
	c.out = c.out[:0]
	c.table.Resume(c.now, &c.out)
	c.want(c.out, Refused)
	c.refused(c.out, 2, `deadlock: this session holds "b", for which client "c1" waits, which holds "a"`)
}

// A wait of a session for itself becomes a wait for another one when the session releases the name.
func TestCycleAfterARelease(t *testing.T) {
	c := newCycles(t)
	c.ask(1, "a")
	c.ask(1, "b")
	c.want(c.ask(2, "a"), Queued)
	c.want(c.ask(1, "a", willing), Queued)
	c.want(c.ask(2, "b"), Queued)
	c.out = c.out[:0]
	if err := c.table.Release(c.now, SessionID{1, 1}, "a", 0, 1, &c.out); err != nil {
		t.Fatal(err)
	}
	c.want(c.out, Released, Granted, Refused)
	c.refused(c.out, 1, `deadlock: this session holds "b", for which client "c2" waits, which holds "a"`)
}

func TestLongCycle(t *testing.T) {
	c := newCycles(t)
	const owners = 3 * holdfast.MaxCycle
	name := func(n uint64) string { return fmt.Sprintf("n%d", n%owners) }
	for n := range uint64(owners) {
		c.ask(n+1, name(n))
	}
	for n := range uint64(owners - 1) {
		c.want(c.ask(n+1, name(n+1)), Queued)
	}
	got := c.ask(owners, name(0), willing)
	c.want(got, Refused)
	var cycle *holdfast.DeadlockError
	if !errors.As(got[0].Err, &cycle) || len(cycle.Cycle) != holdfast.MaxCycle || cycle.More != owners-holdfast.MaxCycle {
		t.Fatalf("got %#v", got[0].Err)
	}
}

// owed is an owner of the model: a session, or a named owner of one.
type owed struct {
	session SessionID
	owner   string
}

// edgesOf draws the edges of a table without a gate from its public view, by the definition: each wait against each hold
// and each wait ahead.
func edgesOf(table *Table, now Time) (edges map[owed][]owed, waits []edgeWait) {
	edges = map[owed][]owed{}
	table.Scan("", "", 1<<30, func(l Lock) bool {
		for n, w := range l.Waiters {
			from := owed{w.Session, w.Owner}
			if w.Until <= now {
				continue
			}
			row := []Wait{}
			for _, ahead := range l.Waiters[:n] {
				if ahead.Until > now && !slices.ContainsFunc(l.Holders, func(g Grant) bool {
					return ahead.Owner != "" && !g.Revoked && g.Session == ahead.Session && g.Owner == ahead.Owner
				}) {
					row = append(row, ahead)
				}
			}
			row = append(row, w)
			var to []owed
			for i := range row {
				for _, behind := range row[i+1:] {
					if !together(row[i].Shape, behind.Shape) {
						to = append(to, owed{row[i].Session, row[i].Owner})
					}
				}
				for _, g := range l.Holders {
					if !g.Revoked && g.Until > now && !together(row[i].Shape, g.Shape) {
						to = append(to, owed{g.Session, g.Owner})
					}
				}
			}
			has := slices.ContainsFunc(l.Holders, func(g Grant) bool { return from == owed{g.Session, g.Owner} }) ||
				slices.ContainsFunc(l.Waiters[:n], func(w Wait) bool { return from == owed{w.Session, w.Owner} })
			if has {
				to = nil // it would wait for itself
			}
			edges[from] = append(edges[from], to...)
			waits = append(waits, edgeWait{w, from, to})
		}
		return true
	})
	return edges, waits
}

type edgeWait struct {
	wait Wait
	from owed
	to   []owed
}

// closed reports whether the wait is in a cycle.
func (w *edgeWait) closed(edges map[owed][]owed) bool {
	reached := map[owed]bool{}
	var visit func(owed)
	visit = func(o owed) {
		if reached[o] {
			return
		}
		reached[o] = true
		for _, next := range edges[o] {
			visit(next)
		}
	}
	for _, o := range w.to {
		visit(o)
	}
	return reached[w.from]
}

func together(a, b holdfast.Shape) bool {
	switch {
	case a.Mode != b.Mode, a.Mode == holdfast.ModeExclusive:
		return false
	case a.Mode == holdfast.ModeShared:
		return true
	}
	return a.Units+b.Units <= a.Capacity
}

// TestCyclesProperty compares each refusal, and each wait that stays, with a search over all waits that Scan shows.
func TestCyclesProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table, err := New(Config{})
		if err != nil {
			rt.Fatal(err)
		}
		table.BeginReign(1, 0)
		var asked []Request
		for now := Time(1); now < 60; now++ {
			var out []Decision
			deadline := func() Time { return rapid.SampledFrom([]Time{Never, Never, Never, now + 7}).Draw(rt, "end") }
			switch rapid.IntRange(0, 9).Draw(rt, "step") {
			case 0:
				table.Tick(now, &out)
			case 1:
				s := SessionID{1, rapid.Uint64Range(1, 4).Draw(rt, "ended")}
				table.EndSession(now, s, holdfast.SessionExpired, &out)
			case 2, 3:
				if len(asked) > 0 {
					r := rapid.SampledFrom(asked).Draw(rt, "cancelled")
					table.Cancel(now, r.Session, r.Name, r.ID, &out)
				}
			case 4:
				_, err := table.Break(now, rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "broken"), 0, &out)
				if err != nil && !errors.Is(err, holdfast.ErrNotHeld) {
					rt.Fatal(err)
				}
			default:
				r := Request{
					Session: SessionID{1, rapid.Uint64Range(1, 4).Draw(rt, "session")}, ID: uint64(now), Arrived: now, WaitEnd: deadline(),
					Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(rt, "name"),
				}
				r.Mode = holdfast.Mode(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(rt, "mode"))
				if r.Mode == holdfast.ModeSlots {
					r.Capacity, r.Units = 3, rapid.IntRange(1, 3).Draw(rt, "units")
				}
				r.Owner = rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(rt, "owner")
				r.Deadlock = holdfast.DeadlockPolicy(rapid.IntRange(0, 1).Draw(rt, "policy"))
				asked = append(asked, r)
				refusedOnlyInCycles(rt, table, now, &r, &out)
			}
			edges, waits := edgesOf(table, now)
			for _, w := range waits {
				if w.wait.Deadlock == holdfast.Fail && w.closed(edges) {
					rt.Fatalf("request %d of %v is left waiting for %v in a cycle: %v", w.wait.Request, w.from, w.to, edges)
				}
			}
			checkCopy(rt, table, now)
		}
	})
}

// refusedOnlyInCycles makes a request, and compares a refusal with a table in which the request waits regardless.
func refusedOnlyInCycles(rt *rapid.T, table *Table, now Time, r *Request, out *[]Decision) {
	regardless := copyOf(rt, table, now)
	plain := *r
	plain.Deadlock = holdfast.Ignore
	all := []Decision{}
	regardless.waitsWilling = -1 << 20 // it refuses no request for a cycle
	regardless.Acquire(now, &plain, &all)
	table.Acquire(now, r, out)
	for _, d := range *out {
		if !errors.Is(d.Err, holdfast.ErrDeadlock) {
			continue
		}
		edges, waits := edgesOf(regardless, now)
		i := slices.IndexFunc(waits, func(w edgeWait) bool { return w.wait.Request == d.Request && w.wait.Session == d.Session })
		if i < 0 || !waits[i].closed(edges) {
			rt.Fatalf("request %d of %v is refused without a cycle: %v; %v", d.Request, d.Session, d.Err, edges)
		}
		regardless.Cancel(now, d.Session, d.Name, d.Request, &all) // a further refusal is for what is left
		if d.Request == r.ID && len(*out) != 1 {
			rt.Fatalf("the refusal of the request that closes the cycle comes with more: %v", *out)
		}
	}
}

func copyOf(rt *rapid.T, table *Table, now Time) *Table {
	again, err := New(Config{})
	if err != nil {
		rt.Fatal(err)
	}
	if err := again.Restore(now, table.Snapshot(now, 0, 1<<30)); err != nil {
		rt.Fatal(err)
	}
	return again
}

// checkCopy checks that a restored copy finds no cycle that the table has not found.
func checkCopy(rt *rapid.T, table *Table, now Time) {
	var out []Decision
	copyOf(rt, table, now).breakCycles(now, &out)
	if len(out) != 0 {
		rt.Fatalf("a restored copy refuses %v", out)
	}
}
