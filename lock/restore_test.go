package lock

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"pgregory.net/rapid"
)

// populated is a table with every kind of entry. It is paused.
func populated(tb failer) *Table {
	t := newTable(tb, Config{})
	t.BeginReign(2, 10)
	var out []Decision
	s1, s2, s3 := SessionID{1, 1}, SessionID{1, 2}, SessionID{2, 1}
	for _, r := range []Request{
		{Session: s1, ID: 1, Name: "db", Attributes: holdfast.Attributes{Owner: "x", Hold: time.Minute}, Client: "web-1"},
		{Session: s1, ID: 2, Name: "db", Attributes: holdfast.Attributes{Owner: "x"}},
		{Session: s2, ID: 1, Name: "db", Attributes: holdfast.Attributes{Reason: "deploy", Hold: time.Second}},
		{Session: s3, ID: 1, Name: "db", WaitEnd: time.Hour},
		{Session: s2, ID: 2, Name: "printers", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 5}}},
		{Session: s1, ID: 3, Name: "printers", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 3, Capacity: 5}, Owner: "x"}},
		{Session: s3, ID: 2, Name: "printers", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 1, Capacity: 5}}},
		{Session: s1, ID: 4, Name: "page", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}}},
		{Session: s2, ID: 3, Name: "page", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}}},
		{Session: s3, ID: 3, Name: "single"},
	} {
		if r.WaitEnd == 0 {
			r.WaitEnd = Never
		}
		t.Acquire(0, &r, &out)
	}
	if _, err := t.Break(0, "page", Token(2, 14), &out); err != nil {
		tb.Fatal(err)
	}
	t.Pause()
	t.Acquire(0, &Request{Session: s1, ID: 5, Name: "single", Try: true, WaitEnd: time.Minute}, &out)
	return t
}

// entryAt returns the index of the first entry of name in c.
func entryAt(c *Chunk, name string) int {
	return slices.IndexFunc(c.Entries, func(s Entry) bool { return s.Name == name })
}

func TestRestoreRefusesWhatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(c *Chunk)
		want  string
	}{
		{"a chunk that is not the first", func(c *Chunk) { c.From = 7 }, "comes where that from 0 is due"},
		{"too high a reign", func(c *Chunk) { c.Reign = MaxReign + 1 }, "reign 2147483648"},
		{"too high a count", func(c *Chunk) { c.Count = MaxCount + 1 }, "count 2147483649"},
		{"a token that was not given", func(c *Chunk) { c.Count = 11 }, "whose last token is"},
		{"a shared suspension", func(c *Chunk) { c.Entries[0].Name, c.Entries[0].Mode = SpaceLock, holdfast.ModeShared }, "suspended in mode exclusive only"},
		{"a suspension while others hold", func(c *Chunk) { c.Entries[0].Name = SpaceLock }, "another owner suspends the table"},
		{"no session", func(c *Chunk) { c.Entries[0].Session = SessionID{} }, "neither may be zero"},
		{"no request", func(c *Chunk) { c.Entries[0].Request = 0 }, "neither may be zero"},
		{"the same twice", func(c *Chunk) { c.Entries = append(c.Entries, c.Entries[0]) }, "it is there already"},
		{"a hold after a wait", func(c *Chunk) { c.Entries[entryAt(c, "db")].Token = 0 }, "follows a waiter"},
		{"a hold that waits for a limit", func(c *Chunk) { c.Entries[0].Hold = time.Second }, "wanted hold limit"},
		{"a hold that waits for an authority", func(c *Chunk) { c.Entries[0].Try = true }, "it is held and waits for an authority"},
		{"a wait that is revoked", func(c *Chunk) { c.Entries[2].Revoked = true }, "it waits and is revoked"},
		{"another owner's token", func(c *Chunk) { c.Entries[1].Owner = "y" }, "belongs to another owner"},
		{"a reentry without an owner", func(c *Chunk) { c.Entries[0].Owner, c.Entries[1].Owner = "", "" }, "belongs to another owner"},
		{"half a revocation", func(c *Chunk) { c.Entries[1].Revoked = true }, "belongs to another owner"},
		{"a reentry of another shape", func(c *Chunk) { c.Entries[1].Mode = holdfast.ModeShared }, "release it first"},
		{"two grants of one owner", func(c *Chunk) {
			i := entryAt(c, "printers")
			c.Entries[i].Owner, c.Entries[i].Session, c.Entries[i].Request = "x", SessionID{1, 1}, 99
		}, "its owner holds it already"},
		{"tokens out of order", func(c *Chunk) {
			i := entryAt(c, "page")
			c.Entries[i], c.Entries[i+1] = c.Entries[i+1], c.Entries[i]
		}, "follows token"},
		{"two exclusive holders", func(c *Chunk) {
			i := entryAt(c, "page")
			c.Entries[i].Mode, c.Entries[i+1].Mode = 0, 0
			c.Entries[i].Revoked, c.Entries[i+1].Revoked = false, false
		}, "not compatible with the holders"},
		{"too many units", func(c *Chunk) { c.Entries[entryAt(c, "printers")].Units = 3 }, "not compatible with the holders"},
		{"another capacity", func(c *Chunk) { c.Entries[entryAt(c, "printers")].Capacity = 6 }, "capacity 5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			chunk := populated(t).Snapshot(0, 0, 1000)
			c.spoil(&chunk)
			err := newTable(t, Config{}).Restore(0, chunk)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "restore lock table: ") {
				t.Errorf("restored with %v, want %q", err, c.want)
			}
		})
	}
}

func TestRestoreWantsANewTableAndTheChunksInOrder(t *testing.T) {
	table := populated(t)
	first := table.Snapshot(0, 0, 4)
	second := table.Snapshot(0, first.Next, 100)
	if second.Next != 0 {
		t.Fatalf("the second chunk is not the last: %d", second.Next)
	}
	if err := table.Restore(0, first); err == nil || !strings.Contains(err.Error(), "not a new one") {
		t.Errorf("restored into itself: %v", err)
	}
	copied := newTable(t, Config{})
	if err := copied.Restore(0, first); err != nil {
		t.Fatal(err)
	}
	if err := copied.Restore(0, first); err == nil {
		t.Error("the first chunk is taken twice")
	}
	later := second
	later.Count++
	if err := copied.Restore(0, later); err == nil {
		t.Error("a chunk with another count is taken")
	}
	if err := copied.Restore(0, second); err != nil {
		t.Error(err)
	}
	checkTable(t, copied)
	if a, b := table.Snapshot(0, 0, 100), copied.Snapshot(0, 0, 100); !reflect.DeepEqual(a, b) {
		t.Errorf("copied\n%v\nas\n%v", a, b)
	}
}

// TestRestoreOfAnything checks that the table refuses any chunk or is consistent afterwards (P10).
func TestRestoreOfAnything(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := rapid.SampledFrom([]func(failer) *Table{populated, suspended, awaited}).Draw(rt, "table")(rt)
		c := table.Snapshot(0, 0, 1000)
		for range rapid.IntRange(1, 3).Draw(rt, "changes") {
			s := &c.Entries[rapid.IntRange(0, len(c.Entries)-1).Draw(rt, "entry")]
			other := c.Entries[rapid.IntRange(0, len(c.Entries)-1).Draw(rt, "other")]
			switch rapid.IntRange(0, 12).Draw(rt, "change") {
			case 0:
				s.Name = other.Name
			case 1:
				s.Session, s.Request = other.Session, other.Request
			case 2:
				s.Owner = other.Owner
			case 3:
				s.Mode, s.Units, s.Capacity = other.Mode, other.Units, other.Capacity
			case 4:
				s.Units = rapid.IntRange(-1, 6).Draw(rt, "units")
			case 5:
				s.Token = other.Token
			case 6:
				s.Revoked = !s.Revoked
			case 7:
				s.Left = time.Duration(rapid.Int64().Draw(rt, "left"))
			case 8:
				s.Age = time.Duration(rapid.Int64().Draw(rt, "age"))
			case 9:
				s.Try = !s.Try
			case 10:
				*s = other
			case 11:
				s.Turn = rapid.SampledFrom([]uint64{0, 1, 2, 7, maxTurn, maxTurn + 1, other.Turn}).Draw(rt, "turn")
			case 12:
				s.Turn, s.Token, s.Revoked = max(1, other.Turn), 0, false
			}
		}
		table = newTable(rt, Config{})
		if err := table.Restore(time.Hour, c); err != nil {
			return
		}
		checkTable(rt, table)
		checkListed(rt, table)
		var out []Decision
		if rapid.IntRange(0, 3).Draw(rt, "resume") != 0 {
			table.Resume(time.Hour, &out)
			checkTable(rt, table)
			if table.tries != 0 {
				rt.Fatalf("%d wait for an authority that is there", table.tries)
			}
			checkWakeUp(rt, table)
		}
		table.Tick(Never-1, &out)
		for _, s := range c.Entries {
			table.EndSession(Never-1, s.Session, "", &out)
		}
		checkTable(rt, table)
		if table.Names() != 0 {
			rt.Fatalf("%d names are left", table.Names())
		}
	})
}

// checkListed fails if a listing lacks a name, or a name has more holders than fit.
func checkListed(rt *rapid.T, table *Table) {
	names := 0
	table.Scan("", "", 1000, func(l Lock) bool {
		names++
		checkExclusion(rt, l)
		return true
	})
	if names != table.Names() {
		rt.Fatalf("%d of %d names are visited", names, table.Names())
	}
}

// TestScanIsStable checks that a name that is live throughout a scan is visited exactly once, regardless of changes of
// others.
func TestScanIsStable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := newTable(rt, Config{})
		table.BeginReign(1, 0)
		var out []Decision
		id := uint64(0)
		s := SessionID{1, 1}
		name := rapid.SampledFrom(numberedNames(40))
		stayed := map[string]bool{}
		acquire := func(name string) {
			id++
			table.Acquire(0, &Request{Session: s, ID: id, Name: name, Try: true, WaitEnd: Never}, &out)
		}
		for range rapid.IntRange(0, 60).Draw(rt, "start") {
			acquire(name.Draw(rt, "name"))
		}
		for _, name := range listAll(table, "", "", 1000) {
			stayed[name] = true
		}
		if len(stayed) != table.Names() {
			rt.Fatalf("%d of %d names are visited", len(stayed), table.Names())
		}
		visits := map[string]int{}
		after := ""
		for more := true; more; {
			limit := rapid.IntRange(1, 7).Draw(rt, "limit")
			visited := 0
			more = table.Scan(after, "", limit, func(l Lock) bool {
				visits[l.Name]++
				visited++
				after = l.Name
				return true
			})
			if visited > limit || visited < limit && more {
				rt.Fatalf("%d names are visited, of at most %d", visited, limit)
			}
			for range rapid.IntRange(0, 9).Draw(rt, "changes") {
				changed := name.Draw(rt, "changed")
				if table.Show(changed).Holders == nil {
					acquire(changed)
				} else if err := table.Release(0, s, changed, table.Show(changed).Token, 0, &out); err != nil {
					rt.Fatal(err)
				} else {
					delete(stayed, changed)
				}
			}
		}
		for name := range stayed {
			if visits[name] != 1 {
				rt.Fatalf("%q is visited %d times", name, visits[name])
			}
		}
	})
}
