package lock_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// successor is a table that begins a reign after others, and has granted nothing yet.
func successor(t interface{ Fatal(...any) }) *lock.Table {
	table, err := lock.New(lock.Config{})
	if err != nil {
		t.Fatal(err)
	}
	table.BeginReign(9, 0)
	table.Pause()
	return table
}

func holdOf(name string, session, request uint64, count uint32, mode holdfast.Mode) *lock.Entry {
	return &lock.Entry{Name: name, Session: lock.SessionID{Member: 1, Number: session}, Request: request, Token: lock.Token(4, count), Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: mode}}}
}

// TestAdoptInAnyOrder checks that the table has all reported holds, in the order of the tokens and regardless of the
// order of the reports, and that each hold can be released.
func TestAdoptInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		table := successor(t)
		var entries []*lock.Entry
		for i := range rapid.IntRange(1, 40).Draw(t, "holds") {
			name := fmt.Sprintf("n%d", rapid.IntRange(0, 2).Draw(t, "name"))
			entries = append(entries, holdOf(name, uint64(i+1), 1, uint32(i+1), holdfast.ModeShared))
		}
		for _, s := range rapid.Permutation(entries).Draw(t, "order") {
			if err := table.Adopt(0, s, lock.Never); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 {
			shown := table.Show(fmt.Sprintf("n%d", i))
			if !slices.IsSortedFunc(shown.Holders, func(a, b lock.Grant) int { return int(a.Token) - int(b.Token) }) {
				t.Fatalf("the holders stand in no order of their tokens: %v", shown.Holders)
			}
		}
		var out []lock.Decision
		for _, s := range rapid.Permutation(entries).Draw(t, "releases") {
			if err := table.Release(0, s.Session, s.Name, s.Token, s.Request, &out); err != nil {
				t.Fatal(err)
			}
		}
		if table.Names() != 0 || table.Sessions() != 0 {
			t.Fatalf("%d names and %d sessions are left", table.Names(), table.Sessions())
		}
	})
}

// TestAdoptRefuses checks that an impossible report is refused, and changes nothing.
func TestAdoptRefuses(t *testing.T) {
	table := successor(t)
	if err := table.Adopt(0, holdOf("X", 1, 1, 7, holdfast.ModeExclusive), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	above := holdOf("Y", 1, 2, 1, holdfast.ModeExclusive)
	above.Token = lock.Token(10, 1)
	waits := holdOf("Y", 1, 2, 1, holdfast.ModeExclusive)
	waits.Token = 0
	for _, refused := range []struct {
		what     string
		entry    *lock.Entry
		conflict bool
	}{
		{"another holder", holdOf("X", 2, 1, 8, holdfast.ModeExclusive), true},
		{"a sharer", holdOf("X", 2, 1, 8, holdfast.ModeShared), true},
		{"another's token", holdOf("X", 2, 1, 7, holdfast.ModeExclusive), true},
		{"the same again", holdOf("X", 1, 1, 7, holdfast.ModeExclusive), false},
		{"a token above the reign", above, false},
		{"a wait", waits, false},
		{"a suspension while another holds", holdOf(lock.SpaceLock, 1, 2, 3, holdfast.ModeExclusive), true},
		{"a shared suspension", holdOf(lock.SpaceLock, 1, 2, 3, holdfast.ModeShared), false},
	} {
		err := table.Adopt(0, refused.entry, lock.Never)
		if err == nil || errors.Is(err, holdfast.ErrConflict) != refused.conflict {
			t.Errorf("%s: %v; want an error, a conflict: %v", refused.what, err, refused.conflict)
		}
	}
	if table.Names() != 1 || table.Holds() != 1 {
		t.Errorf("%d names, %d holds; want 1 of each", table.Names(), table.Holds())
	}
	var out []lock.Decision
	if table.Tick(10*time.Second, &out); len(out) != 1 || out[0].Kind != lock.Lost || out[0].Loss != holdfast.HoldLimit {
		t.Errorf("at the end of its hold limit: %v", out)
	}
}

// TestAdoptReentry checks that the holds of one grant, reported one by one, are one grant.
func TestAdoptReentry(t *testing.T) {
	table := successor(t)
	for request := uint64(3); request > 0; request-- {
		entry := holdOf("X", 1, request, 7, holdfast.ModeExclusive)
		entry.Owner = "o"
		if err := table.Adopt(0, entry, lock.Never); err != nil {
			t.Fatal(err)
		}
	}
	if shown := table.Show("X"); len(shown.Holders) != 1 || shown.Holders[0].Holds != 3 {
		t.Errorf("holders: %+v; want one with three holds", shown.Holders)
	}
}

// TestAdoptReentryEnds checks that the latest end counts: the limit is the grant's, each of its holds knows only its
// own limit, and the order of the reports does not matter.
func TestAdoptReentryEnds(t *testing.T) {
	for _, ends := range [][]lock.Time{{time.Second, 2 * time.Second}, {2 * time.Second, time.Second}, {time.Second, lock.Never}, {lock.Never, time.Second}} {
		table := successor(t)
		for i, end := range ends {
			entry := holdOf("X", 1, uint64(i+1), 7, holdfast.ModeExclusive)
			entry.Owner = "o"
			if err := table.Adopt(0, entry, end); err != nil {
				t.Fatal(err)
			}
		}
		latest := max(ends[0], ends[1])
		if shown := table.Show("X"); len(shown.Holders) != 1 || shown.Holders[0].Until != latest {
			t.Errorf("ends %v: holders %+v; want one until %v", ends, shown.Holders, latest)
		}
		var out []lock.Decision
		table.Tick(time.Second, &out)
		if len(out) != 0 {
			t.Errorf("ends %v: at the earlier one the decisions are %+v", ends, out)
		}
		if latest == lock.Never {
			continue
		}
		table.Tick(latest, &out)
		if len(out) != 2 || out[0].Loss != holdfast.HoldLimit || table.Holds() != 0 {
			t.Errorf("ends %v: at the later one the decisions are %+v, and %d holds are left", ends, out, table.Holds())
		}
	}
}

// TestEndWhere checks that the selected holds end in the order of sessions, and that the next waiters get grants.
func TestEndWhere(t *testing.T) {
	table := successor(t)
	var out []lock.Decision
	table.Resume(0, &out)
	for session := uint64(1); session <= 3; session++ {
		table.Acquire(0, &lock.Request{Session: lock.SessionID{Member: session, Number: 1}, ID: 1, Name: "X", WaitEnd: lock.Never}, &out)
	}
	out = nil
	table.EndWhere(0, holdfast.MemberLost, func(_ string, s lock.SessionID, _ uint64, _ holdfast.Token) bool { return s.Member != 3 }, &out)
	var kinds []string
	for _, d := range out {
		kinds = append(kinds, fmt.Sprintf("%d %v", d.Session.Member, d.Kind))
	}
	if want := []string{"1 lost", "2 refused", "3 granted"}; !slices.Equal(kinds, want) {
		t.Errorf("decided: %v; want %v", kinds, want)
	}
}

// TestProlongNeverShortens checks that a late extension changes nothing.
func TestProlongNeverShortens(t *testing.T) {
	table := successor(t)
	entry := holdOf("X", 1, 1, 7, holdfast.ModeExclusive)
	if err := table.Adopt(0, entry, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	prolong := func(now lock.Time, hold time.Duration) error {
		return table.Prolong(now, entry.Session, "X", entry.Token, 1, hold)
	}
	for _, hold := range []time.Duration{20 * time.Second, time.Second} {
		if err := prolong(time.Second, hold); err != nil {
			t.Fatal(err)
		}
	}
	if want := 22 * time.Second; table.Wake() != want {
		t.Errorf("it ends at %v; want %v", table.Wake(), want)
	}
	if err := prolong(time.Second, 0); err != nil || table.Wake() != lock.Never {
		t.Errorf("without a limit: %v, it ends at %v", err, table.Wake())
	}
	if err := prolong(time.Second, time.Second); err != nil {
		t.Fatal(err)
	}
	if err := table.Prolong(0, entry.Session, "X", entry.Token, 2, 0); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("prolonging another request's hold: %v", err)
	}
}
