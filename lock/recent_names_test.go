package lock

import (
	"fmt"
	"testing"
)

// cycleName locks and unlocks a name, and returns its record.
func cycleName(tb testing.TB, t *Table, id uint64, name string) int32 {
	tb.Helper()
	var out []Decision
	t.Acquire(0, &Request{Session: SessionID{1, 1}, ID: id, Name: name, WaitEnd: Never}, &out)
	if len(out) != 1 || out[0].Kind != Granted {
		tb.Fatalf("%q is answered %v", name, out)
	}
	e := t.liveOf(name)
	if err := t.Release(0, SessionID{1, 1}, name, out[0].Token, id, &out); err != nil {
		tb.Fatal(err)
	}
	return e
}

// TestIdleEntriesAreBounded checks that a bounded number of names keep their records, and that beyond it the record
// that became idle first is dropped.
func TestIdleEntriesAreBounded(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	name := func(i int) string { return fmt.Sprint("n", i) }
	id := uint64(0)
	entries := make([]int32, maxIdle)
	for round := range 3 {
		for i := range entries {
			id++
			e := cycleName(t, table, id, name(i))
			if round > 0 && e != entries[i] {
				t.Fatalf("%q had entry %d and has %d", name(i), entries[i], e)
			}
			entries[i] = e
		}
	}
	checkTable(t, table)
	if table.Names() != 0 || len(table.byName) != maxIdle {
		t.Errorf("%d names are live and %d are known", table.Names(), len(table.byName))
	}
	cycleName(t, table, id+1, "one more")
	checkTable(t, table)
	if _, known := table.byName[name(0)]; known || len(table.byName) != maxIdle {
		t.Errorf("%d names are known, the first is: %v", len(table.byName), known)
	}
	if shown := table.Show(name(1)); len(shown.Holders)+len(shown.Waiters) != 0 {
		t.Errorf("an idle name is shown as %+v", shown)
	}
	if listed := listAll(table, "", "", 10); len(listed) != 0 {
		t.Errorf("idle names are visited: %q", listed)
	}
	if c := table.Snapshot(0, 0, 10); len(c.Entries) != 0 || c.Next != 0 {
		t.Errorf("a table without entries is copied as %+v", c)
	}
}

// TestIdleNamesTakeNoRoom checks that the bound on names only counts live ones.
func TestIdleNamesTakeNoRoom(t *testing.T) {
	table := newTable(t, Config{Names: 2})
	table.BeginReign(1, 0)
	for i := range 10 {
		cycleName(t, table, uint64(i)+1, fmt.Sprint("n", i))
	}
	checkTable(t, table)
}

// TestReleaseByGuess checks that a hold found by its token is released only if the rest of the release matches.
func TestReleaseByGuess(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	one, two := SessionID{1, 1}, SessionID{1, 2}
	var out []Decision
	table.Acquire(0, &Request{Session: one, ID: 1, Name: "a", WaitEnd: Never}, &out)
	table.Acquire(0, &Request{Session: two, ID: 2, Name: "b", WaitEnd: Never}, &out)
	token := out[0].Token
	for _, wrong := range []struct {
		session SessionID
		name    string
		request uint64
	}{{two, "a", 1}, {one, "b", 1}, {one, "a", 2}} {
		if i := table.findHold(wrong.session, wrong.name, token, wrong.request); i != 0 {
			t.Errorf("%+v is found at entry %d", wrong, i)
		}
	}
	if err := table.Release(0, one, "a", token, 1, &out); err != nil {
		t.Error(err)
	}
	if err := table.Release(0, one, "a", token, 1, &out); err == nil {
		t.Error("a hold was released twice")
	}
	table.Acquire(0, &Request{Session: one, ID: 3, Name: "a", WaitEnd: Never}, &out) // the same entry
	if i := table.findHold(one, "a", token, 1); i != 0 {
		t.Errorf("a former hold is found at entry %d", i)
	}
	checkTable(t, table)
}
