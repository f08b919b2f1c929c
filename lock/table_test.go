package lock

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"pgregory.net/rapid"
)

func TestNewRefusesBadConfig(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string // "" if it is allowed
	}{
		{Config{}, ""},
		{Config{Drift: 0.99, WaitersPerName: 1, Names: 1, LocksPerSession: 1, History: 1}, ""},
		{Config{Drift: -0.1}, "Drift -0.1: want at least 0 and less than 1"},
		{Config{Drift: 1}, "Drift 1: want at least 0 and less than 1"},
		{Config{Drift: math.NaN()}, "Drift NaN"},
		{Config{WaitersPerName: -1}, "WaitersPerName -1: want 0 (its default) to 2147483647"},
		{Config{Names: -2}, "Names -2"},
		{Config{LocksPerSession: -3}, "LocksPerSession -3"},
		{Config{History: math.MaxInt32 + 1}, "History 2147483648"},
	} {
		table, err := New(c.config)
		switch {
		case c.want == "" && (err != nil || table == nil):
			t.Errorf("New(%+v): %v", c.config, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("New(%+v): %v, want %q", c.config, err, c.want)
		}
	}
}

func TestToken(t *testing.T) {
	for _, c := range []struct {
		reign uint64
		count uint32
		want  holdfast.Token
	}{
		{0, 1, 1},
		{1, 1, 1<<32 + 1},
		{3, MaxCount, 3<<32 + 1<<31},
		{MaxReign, MaxCount, (1<<31-1)<<32 + 1<<31},
	} {
		if got := Token(c.reign, c.count); got != c.want || int64(got) < 0 {
			t.Errorf("Token(%d, %d) is %d, want %d", c.reign, c.count, got, c.want)
		}
	}
}

// TestTokensNeverGoBack checks that a table panics if its tokens would go back (P2).
func TestTokensNeverGoBack(t *testing.T) {
	type begin struct {
		reign uint64
		count uint32
	}
	for _, c := range []struct {
		name   string
		begins []begin // the last one is tested
		grants int
		panics bool
	}{
		{"first", []begin{{1, 0}}, 0, false},
		{"reign none", []begin{{0, 0}}, 0, true},
		{"reign too high", []begin{{MaxReign + 1, 0}}, 0, true},
		{"count too high", []begin{{1, MaxCount + 1}}, 0, true},
		{"lower reign", []begin{{2, 0}, {1, 7}}, 0, true},
		{"same again", []begin{{2, 5}, {2, 5}}, 0, false},
		{"lower count", []begin{{2, 5}, {2, 4}}, 0, true},
		{"count that was given", []begin{{2, 5}, {2, 5}}, 1, true},
		{"next reign", []begin{{2, 5}, {3, 0}}, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := newTable(t, Config{})
			for n, b := range c.begins {
				if n == len(c.begins)-1 {
					defer func() {
						if r := recover(); (r != nil) != c.panics {
							t.Errorf("BeginReign(%d, %d): %v", b.reign, b.count, r)
						}
					}()
				}
				table.BeginReign(b.reign, b.count)
				if n < len(c.begins)-1 {
					holdAll(t, table, numberedNames(c.grants))
				}
			}
		})
	}
}

func TestSessionIDText(t *testing.T) {
	for _, id := range []SessionID{{}, {1, 2}, {math.MaxUint64, 35}} {
		if got, ok := ParseSessionID(id.String()); !ok || got != id {
			t.Errorf("%v is read as %v, %v", id, got, ok)
		}
	}
	for _, text := range []string{"", "-", "1", "1-", "-1", "01-1", "1-1-1", "A-1", "+1-1", "1-zzzzzzzzzzzzzz"} {
		if id, ok := ParseSessionID(text); ok {
			t.Errorf("%q is read as %v", text, id)
		}
	}
}

func TestKindText(t *testing.T) {
	if got, want := fmt.Sprint(Kind(0), Granted, Queued, Refused, Lost, Revoked, Released), "none granted queued refused lost revoked released"; got != want {
		t.Errorf("the kinds are %s, want %s", got, want)
	}
}

// TestUnknownMode checks that a mode that no edge lets through is refused.
func TestUnknownMode(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	var out []Decision
	table.Acquire(0, &Request{Session: SessionID{1, 1}, ID: 1, Name: "a", Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: 3}}, WaitEnd: Never}, &out)
	if len(out) != 1 || out[0].Kind != Refused || table.Names() != 0 {
		t.Errorf("decided %v, %d names", out, table.Names())
	}
}

// TestDriftIsSafe checks that counting stretch(d) on any clock within the drift lasts at least d on every other, and
// that shrinking undoes stretching.
func TestDriftIsSafe(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		by := rapid.Float64Range(0, 0.999).Draw(rt, "drift")
		d := time.Duration(rapid.Int64Range(0, 1<<60).Draw(rt, "d"))
		f := newDrift(by)
		long := f.stretch(d)
		if long < d || float64(long) < float64(d)*(1+by)*(1-1e-12) {
			rt.Fatalf("%v stretched by %v is %v", d, by, long)
		}
		if back := f.shrink(long); back != d {
			rt.Fatalf("%v stretched and shrunk by %v is %v", d, by, back)
		}
	})
}

// TestTimeWithoutEnd checks that limits beyond all times count as none, and that nothing overflows.
func TestTimeWithoutEnd(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	var out []Decision
	s := SessionID{1, 1}
	for id, hold := range []time.Duration{Never, Never / 2, Never - 1} {
		table.Acquire(Never/2+1000, &Request{Session: s, ID: uint64(id) + 1, Name: fmt.Sprint(id), WaitEnd: Never, Attributes: holdfast.Attributes{Hold: hold}, Arrived: Never/2 + 1000}, &out)
		if d := out[id]; d.Kind != Granted || d.Hold != 0 {
			t.Errorf("a hold limit of %v is answered with %v", hold, d)
		}
	}
	if err := table.Extend(Never/2+1000, s, "0", out[0].Token, Never-1); err != nil || table.Wake() != Never {
		t.Errorf("extended: %v, wake at %v", err, table.Wake())
	}
	if low, high := newDrift(0).stretch(-1), newDrift(0.5).stretch(Never); low != 0 || high != Never {
		t.Errorf("stretched: %v and %v", low, high)
	}
}

// TestHoldLimitThatPassedIsReported checks that a request repeated after the limit of its grant, but before a Tick,
// gets the shortest limit and not none.
func TestHoldLimitThatPassedIsReported(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	var out []Decision
	r := Request{Session: SessionID{1, 1}, ID: 1, Name: "a", WaitEnd: Never, Attributes: holdfast.Attributes{Hold: time.Second}}
	table.Acquire(0, &r, &out)
	r.Arrived = time.Hour
	table.Acquire(time.Hour, &r, &out)
	if out[1].Kind != Granted || out[1].Hold != 1 {
		t.Errorf("decided %+v", out[1])
	}
}

// TestNameGivenBackIsNotLive checks that the record kept for the last unlocked name is visible to no caller, counts for
// no bound, and serves the name when it is locked again.
func TestNameGivenBackIsNotLive(t *testing.T) {
	table := newTable(t, Config{Names: 1})
	table.BeginReign(1, 0)
	me := SessionID{1, 1}
	var out []Decision
	for request, name := range []string{"a", "a", "b", "a"} {
		id := uint64(request + 1)
		out = out[:0]
		table.Acquire(0, &Request{Session: me, ID: id, Name: name, WaitEnd: Never}, &out)
		if len(out) != 1 || out[0].Kind != Granted {
			t.Fatalf("request %d of %q: %+v", id, name, out)
		}
		checkTable(t, table)
		if err := table.Release(0, me, name, out[0].Token, id, &out); err != nil {
			t.Fatal(err)
		}
		checkTable(t, table)
		if table.Names() != 0 {
			t.Errorf("%d names are live after all was given back", table.Names())
		}
		if listed := listAll(table, "", "", 10); len(listed) != 0 {
			t.Errorf("a listing has %q", listed)
		}
		if c := table.Snapshot(0, 0, 10); len(c.Entries) != 0 {
			t.Errorf("the snapshot has %+v", c.Entries)
		}
		if shown := table.Show(name); len(shown.Holders) != 0 || len(shown.History) == 0 {
			t.Errorf("%q is shown as %+v", name, shown)
		}
	}
}
