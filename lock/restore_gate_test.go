package lock

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// suspended is a table suspended by an owner that also holds a name. Others are parked, and wait to suspend it. It is
// paused.
func suspended(tb failer) *Table {
	t := newTable(tb, Config{})
	t.BeginReign(2, 10)
	var out []Decision
	s1, s2, s3 := SessionID{1, 1}, SessionID{1, 2}, SessionID{2, 1}
	for _, r := range []Request{
		{Session: s1, ID: 1, Name: SpaceLock, Attributes: holdfast.Attributes{Owner: "ops", Hold: time.Minute}},
		{Session: s1, ID: 2, Name: SpaceLock, Attributes: holdfast.Attributes{Owner: "ops"}},
		{Session: s1, ID: 3, Name: "db", Attributes: holdfast.Attributes{Owner: "ops"}},
		{Session: s2, ID: 1, Name: "db", WaitEnd: time.Minute},
		{Session: s3, ID: 1, Name: SpaceLock, Attributes: holdfast.Attributes{Owner: "x"}},
		{Session: s2, ID: 2, Name: "db", Attributes: holdfast.Attributes{Owner: "y"}},
		{Session: s2, ID: 3, Name: "page", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}, Owner: "y"}},
		{Session: s3, ID: 2, Name: "page", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeShared}}},
		{Session: s3, ID: 3, Name: SpaceLock},
		{Session: s2, ID: 4, Name: "printers", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 2, Capacity: 5}}},
	} {
		if r.WaitEnd == 0 {
			r.WaitEnd = Never
		}
		t.Acquire(0, &r, &out)
	}
	t.Pause()
	return t
}

// awaited is a table with several holders that others wait to suspend. It is paused.
func awaited(tb failer) *Table {
	t := newTable(tb, Config{})
	t.BeginReign(2, 10)
	var out []Decision
	s1, s2, s3 := SessionID{1, 1}, SessionID{1, 2}, SessionID{2, 1}
	for _, r := range []Request{
		{Session: s1, ID: 1, Name: "db", Attributes: holdfast.Attributes{Owner: "x"}},
		{Session: s2, ID: 1, Name: "db", Attributes: holdfast.Attributes{Owner: "y"}},
		{Session: s1, ID: 2, Name: SpaceLock, Attributes: holdfast.Attributes{Owner: "x"}},
		{Session: s1, ID: 3, Name: "page", Attributes: holdfast.Attributes{Owner: "x"}},
		{Session: s3, ID: 1, Name: "page"},
		{Session: s3, ID: 2, Name: "free", Attributes: holdfast.Attributes{Owner: "z"}},
		{Session: s3, ID: 3, Name: SpaceLock, Attributes: holdfast.Attributes{Owner: "z"}},
	} {
		r.WaitEnd = Never
		t.Acquire(0, &r, &out)
	}
	t.Pause()
	t.Acquire(0, &Request{Session: s2, ID: 5, Name: "single", Try: true, WaitEnd: time.Minute}, &out)
	return t
}

func TestRestoreRefusesAGateThatCannotBe(t *testing.T) {
	at := func(c *Chunk, session, request uint64) *Entry {
		i := slices.IndexFunc(c.Entries, func(s Entry) bool {
			return s.Session == SessionID{1, session} && s.Request == request
		})
		return &c.Entries[i]
	}
	without := func(c *Chunk, name string) {
		c.Entries = slices.DeleteFunc(c.Entries, func(s Entry) bool { return s.Name == name })
	}
	for _, c := range []struct {
		name  string
		spoil func(c *Chunk)
		want  string
	}{
		{"no suspension", func(c *Chunk) { without(c, SpaceLock) }, "the table is not suspended"},
		{"a parked holder", func(c *Chunk) { at(c, 1, 3).Turn = 9 }, "it is held and waits in the gate"},
		{"a turn twice", func(c *Chunk) { at(c, 2, 1).Turn = at(c, 2, 3).Turn }, "two requests have turn"},
		{"a turn too high", func(c *Chunk) { at(c, 2, 2).Turn = maxTurn + 1 }, "at most 4611686018427387904 is possible"},
		{"a suspension without a turn", func(c *Chunk) {
			i := slices.IndexFunc(c.Entries, func(s Entry) bool { return s.Name == SpaceLock && s.Token == 0 })
			c.Entries[i].Turn = 0
		}, "no turn in the gate"},
		{"turns out of order", func(c *Chunk) {
			a, b := at(c, 2, 1), at(c, 2, 2)
			a.Turn, b.Turn = b.Turn, a.Turn
		}, "follows turn"},
		{"one who waits while another suspends", func(c *Chunk) { at(c, 2, 4).Turn = 0 }, "waits at \"printers\", and another owner suspends"},
		{"one who holds while another suspends", func(c *Chunk) {
			s := at(c, 2, 4)
			s.Turn, s.Token = 0, Token(2, 1)
		}, "holds \"printers\", and another owner suspends"},
		{"one who is parked for no suspension", func(c *Chunk) {
			c.Entries = slices.DeleteFunc(c.Entries, func(s Entry) bool { return s.Name == SpaceLock && s.Token != 0 })
		}, "no suspension is before it"},
		{"a hold behind one who is parked", func(c *Chunk) {
			held, parked := at(c, 1, 3), at(c, 2, 1)
			*held, *parked = *parked, *held
		}, "follows a waiter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			chunk := suspended(t).Snapshot(0, 0, 1000)
			c.spoil(&chunk)
			err := newTable(t, Config{}).Restore(0, chunk)
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "restore lock table: ") {
				t.Errorf("restored with %v, want %q", err, c.want)
			}
		})
	}
}

// TestRestoreOfAGateInChunks checks that for chunks of any size, the copy has the same gate, and gives the next request
// in it the same turn.
func TestRestoreOfAGateInChunks(t *testing.T) {
	for limit := 1; limit <= 12; limit++ {
		for _, make := range []func(failer) *Table{suspended, awaited} {
			table, copied := make(t), newTable(t, Config{})
			for cursor, more := uint64(0), true; more; more = cursor != 0 {
				c := table.Snapshot(0, cursor, limit)
				if err := copied.Restore(0, c); err != nil {
					t.Fatal(err)
				}
				cursor = c.Next
			}
			checkTable(t, copied)
			for _, both := range []*Table{table, copied} {
				var out []Decision
				both.Acquire(0, &Request{Session: SessionID{9, 9}, ID: 1, Name: "db", WaitEnd: Never}, &out)
				both.Resume(0, &out)
				both.EndSession(0, SessionID{1, 1}, "", &out)
			}
			if a, b := table.Snapshot(0, 0, 100), copied.Snapshot(0, 0, 100); !reflect.DeepEqual(a, b) {
				t.Errorf("copied in chunks of %d\n%v\nas\n%v", limit, a, b)
			}
		}
	}
}
