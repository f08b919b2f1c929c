package lock

import (
	"reflect"
	"testing"
	"time"
)

// TestCopyIsOfItsBeginning checks a copy at each place at which it may be when everything ends: within a name, between
// two, or not begun.
func TestCopyIsOfItsBeginning(t *testing.T) {
	all := populated(t).Snapshot(time.Second, 0, 100).Entries
	for before := range len(all) + 1 {
		table := populated(t)
		var entries []Entry
		write := func(b []byte, s *Entry) []byte {
			entries = append(entries, *s)
			return append(b, byte(len(entries)-1))
		}
		c, stopped := table.Copy(time.Second, write), table.Copy(time.Second, write)
		var order []byte
		for range before {
			order, _ = c.Next(order, 1) // an entry
		}
		stopped.Stop()
		var out []Decision
		table.Resume(time.Second, &out)
		for _, s := range []SessionID{{1, 1}, {1, 2}, {2, 1}} {
			table.EndSession(2*time.Second, s, "", &out)
		}
		table.Acquire(2*time.Second, &Request{Session: SessionID{9, 9}, ID: 1, Name: "db", WaitEnd: Never}, &out)
		for more := c.Entries > before; more; {
			order, more = c.Next(order, 2)
		}
		var got []Entry
		for _, i := range order {
			got = append(got, entries[i])
		}
		if !reflect.DeepEqual(got, all) {
			t.Errorf("after %d entries: it has %+v, want %+v", before, got, all)
		}
		if c.Reign != 2 || !c.Paused || c.Entries != len(all) || len(table.copies) != 0 {
			t.Errorf("reign %d, paused %t, %d entries, and %d copies are under way at the end", c.Reign, c.Paused, c.Entries, len(table.copies))
		}
	}
}
