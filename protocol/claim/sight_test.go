package claim

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
)

// sights are looks at one row, one after the other.
type sights struct {
	*testing.T
	options Options
	ended   string
	last    *Sight
}

// at looks at a row at a time, which both clocks show.
func (s *sights) at(now time.Duration, row ...storage.Entry) (seen *Sight, missed bool) {
	s.Helper()
	look := Look{Entries: row, Micros: now.Microseconds(), Begun: now, Done: now, Ended: func(rid string) (bool, error) { return rid == s.ended, nil }}
	seen, err := s.options.See(&look, s.last)
	if err != nil {
		s.Fatal(err)
	}
	missed = s.last != nil && s.options.Missed(s.last, seen)
	s.last = seen
	return seen, missed
}

// columns of claims, and of a mark.
func claimed(stamp int64, rid string, says saying) storage.Entry {
	return storage.Entry{Column: Column(stamp, rid), Value: says.encode(0)}
}

func marked(stamp int64, rid string) storage.Entry {
	return storage.Entry{Column: marks, Value: string(binary.BigEndian.AppendUint64(nil, uint64(stamp))) + rid}
}

func celled(c content) storage.Entry { return storage.Entry{Column: cellColumn, Value: c.encode()} }

// TestSightOfClaims goes through the life of a row of claims.
func TestSightOfClaims(t *testing.T) {
	const ms = int64(1000) // timestamps are in microseconds
	s := &sights{T: t, options: Options{Wait: 100 * time.Millisecond, Expiry: 10 * time.Second, Skew: time.Millisecond, Unit: Micro, Group: "g"}}
	for _, look := range []struct {
		what    string
		at      time.Duration
		row     []storage.Entry
		held    string // "" is free
		token   holdfast.Token
		waiters int
		missed  bool
	}{
		{"nothing", 0, nil, "", 0, 0, false},
		{"a claim that is too young", 50 * time.Millisecond, []storage.Entry{claimed(10*ms, "a", saying{})}, "", 0, 1, false},
		{"it has stood for the wait", 110 * time.Millisecond, []storage.Entry{claimed(10*ms, "a", saying{})}, "a", 10_000, 0, false},
		{"one that is late stands before it", 120 * time.Millisecond, []storage.Entry{claimed(9*ms, "b", saying{}), claimed(10*ms, "a", saying{})}, "a", 10_000, 1, false},
		{"it is renewed, with a value", 3 * time.Second, []storage.Entry{claimed(2500*ms, "a", saying{token: 10_000, revision: 1, value: "v"})}, "a", 10_000, 0, false},
		{"with a later value", 4 * time.Second, []storage.Entry{claimed(2500*ms, "a", saying{token: 10_000, revision: 3, value: "w"})}, "a", 10_000, 0, true},
		{"released", 5 * time.Second, []storage.Entry{marked(2500*ms, "a")}, "", 0, 0, false},
		{"a claim below the mark", 6 * time.Second, []storage.Entry{claimed(2400*ms, "b", saying{}), marked(2500*ms, "a")}, "", 0, 1, false},
		{"a grant", 7 * time.Second, []storage.Entry{claimed(6500*ms, "b", saying{}), marked(2500*ms, "a")}, "b", 6_500_000, 0, false},
		{"its end, and the next", 7100 * time.Millisecond, []storage.Entry{claimed(6600*ms, "c", saying{}), marked(6500*ms, "b")}, "c", 6_600_000, 0, false},
		{"two ends, and the next", 8 * time.Second, []storage.Entry{claimed(7700*ms, "a", saying{}), marked(7600*ms, "b")}, "a", 7_700_000, 0, true},
		{"it is broken", 9 * time.Second, []storage.Entry{claimed(7700*ms, "a", saying{}), marked(7600*ms, "b"), {Column: breakColumn(7700*ms, "a"), Value: "1"}}, "", 7_700_000, 0, false},
		{"it was released under a mark of its own", 9500 * time.Millisecond, []storage.Entry{marked(9*1000*ms, "a")}, "", 0, 0, true},
		{"a claim with a value that was replaced", 10 * time.Second, []storage.Entry{claimed(9500*ms, "b", saying{revision: 2, value: "x"}), marked(9*1000*ms, "a")}, "b", 9_500_000, 0, true},
		{"it has expired", 19600 * time.Millisecond, []storage.Entry{claimed(9500*ms, "b", saying{}), marked(9*1000*ms, "a")}, "", 0, 0, false},
		{"a long time later", 60 * time.Second, []storage.Entry{marked(9*1000*ms, "a")}, "", 0, 0, true},
	} {
		seen, missed := s.at(look.at, look.row...)
		holder := seen.RID
		if !seen.Held {
			holder = ""
		}
		if holder != look.held || seen.Token != look.token || len(seen.Waiters) != look.waiters || missed != look.missed {
			t.Errorf("%s: %+v, missed %t", look.what, seen, missed)
		}
	}
	// A process that has ended holds nothing, and waits for nothing.
	row := []storage.Entry{claimed(61_000*ms, "a", saying{}), claimed(61_001*ms, "b", saying{})}
	if seen, _ := s.at(62*time.Second, row...); seen.RID != "a" || len(seen.Waiters) != 1 {
		t.Errorf("before the end of a: %+v", seen)
	}
	s.ended = "a"
	if seen, missed := s.at(62*time.Second, row...); seen.RID != "b" || !seen.Held || len(seen.Waiters) != 0 || missed {
		t.Errorf("after the end of a: %+v, %t", seen, missed)
	}
}

// TestSightOfAnotherClock: where the clock that dates claims is ahead, a claim is a hold when it was seen for the wait.
func TestSightOfAnotherClock(t *testing.T) {
	s := &sights{T: t, options: Options{Wait: 100 * time.Millisecond, Expiry: 10 * time.Second, Unit: Micro, Group: "g"}}
	row := claimed(time.Hour.Microseconds(), "a", saying{})
	if seen, _ := s.at(time.Second, row); seen.Held || seen.Due != 100*time.Millisecond {
		t.Errorf("at first sight: %+v", seen)
	}
	if seen, _ := s.at(1060*time.Millisecond, row); seen.Held || seen.Due != 40*time.Millisecond {
		t.Errorf("before the wait is over: %+v", seen)
	}
	if seen, missed := s.at(1100*time.Millisecond, row); !seen.Held || seen.Due != 0 || missed {
		t.Errorf("after the wait: %+v, %t", seen, missed)
	}
}

// TestSightOfACell goes through the life of a cell.
func TestSightOfACell(t *testing.T) {
	held := func(rid string, token uint64, more ...func(*content)) content {
		c := content{held: true, rid: rid, token: token, lease: 10 * time.Second, taken: 1}
		for _, change := range more {
			change(&c)
		}
		return c
	}
	renewed := func(c *content) { c.renewals++ }
	value := func(text string, revision uint64) func(*content) {
		return func(c *content) { c.value, c.revision = text, revision }
	}
	flag := func(flags byte) func(*content) { return func(c *content) { c.flags = flags } }
	s := &sights{T: t, options: Options{CAS: true, Expiry: 10 * time.Second, Group: "g"}}
	if seen, _ := s.at(0); seen.Held {
		t.Errorf("an empty row: %+v", seen)
	}
	for _, look := range []struct {
		what    string
		at      time.Duration
		cell    content
		held    string
		token   holdfast.Token
		waiters int
		missed  bool
	}{
		{"the first grant", time.Second, held("a", 1_000_000), "a", 1_000_000, 0, false},
		{"renewed, and waited for", 5 * time.Second, held("a", 1_000_000, renewed, flag(waitedFor)), "a", 1_000_000, 1, false},
		{"its lease runs", 15 * time.Second, held("a", 1_000_000, renewed), "a", 1_000_000, 0, false},
		{"its lease is over", 15501 * time.Millisecond, held("a", 1_000_000, renewed), "", 1_000_000, 0, false},
		{"the next grant", 16 * time.Second, held("b", 1_000_001), "b", 1_000_001, 0, false},
		{"its value", 17 * time.Second, held("b", 1_000_001, value("v", 1)), "b", 1_000_001, 0, false},
		{"two values later", 18 * time.Second, held("b", 1_000_001, value("w", 3)), "b", 1_000_001, 0, true},
		{"broken", 19 * time.Second, held("b", 1_000_001, value("w", 3), flag(broken)), "", 1_000_001, 0, false},
		{"free", 20 * time.Second, content{token: 1_000_001}, "", 1_000_001, 0, false},
		{"free again", 21 * time.Second, content{token: 1_000_002}, "", 1_000_002, 0, true},
		{"two grants later", 22 * time.Second, held("a", 1_000_004), "a", 1_000_004, 0, true},
		{"the next grant of the same process", 23 * time.Second, held("a", 1_000_005), "a", 1_000_005, 0, false},
		{"free, after another grant", 24 * time.Second, content{token: 1_000_006}, "", 1_000_006, 0, true},
		{"a block", 25 * time.Second, held("c", 1_000_006+blockOfTokens), "c", 1_000_007, 0, false},
		{"it is used", 26 * time.Second, held("c", 1_000_006+blockOfTokens, renewed), "c", 1_000_007, 0, false},
		{"free, after some of its tokens", 27 * time.Second, content{token: 1_000_010}, "", 1_000_010, 0, true},
		{"another block", 28 * time.Second, held("c", 1_000_010+blockOfTokens), "c", 1_000_011, 0, false},
		{"free, after one of its tokens", 29 * time.Second, content{token: 1_000_011}, "", 1_000_011, 0, false},
		{"a grant with a value that was replaced", 30 * time.Second, held("a", 1_000_012, value("x", 2)), "a", 1_000_012, 0, true},
	} {
		seen, missed := s.at(look.at, celled(look.cell))
		holder := seen.RID
		if !seen.Held {
			holder = ""
		}
		if holder != look.held || seen.Token != look.token || len(seen.Waiters) != look.waiters || missed != look.missed {
			t.Errorf("%s: %+v, missed %t", look.what, seen, missed)
		}
	}
	if seen, missed := s.at(31*time.Second, storage.Entry{Column: cellColumn, Value: "no cell"}); seen.Held || !missed {
		t.Errorf("a row that is lost: %+v, %t", seen, missed)
	}
	s.options.HoldOn, s.last = time.Second, nil
	if seen, _ := s.at(32*time.Second, celled(held("a", 5_000_000))); seen.Token != 5_000_000-blockOfTokens+1 {
		t.Errorf("at first sight of a process with HoldOn: %+v", seen)
	}
}

// TestSightFails: whether a process has ended is asked once for each, and a failure is the look's.
func TestSightFails(t *testing.T) {
	failure := errors.New("no answer")
	var asked []string
	ended := func(rid string) (bool, error) {
		asked = append(asked, rid)
		return false, failure
	}
	for _, o := range []Options{{CAS: true}, {Unit: Micro, Expiry: time.Second}} {
		row := []storage.Entry{claimed(1, "a", saying{}), claimed(2, "a", saying{}), claimed(3, "b", saying{})}
		want := []string{"a", "b"}
		if o.CAS {
			row, want = []storage.Entry{celled(content{held: true, rid: "a", token: 1})}, []string{"a"}
		}
		asked = nil
		if _, err := o.See(&Look{Entries: row, Ended: ended}, nil); !errors.Is(err, failure) || !slices.Equal(asked, want) {
			t.Errorf("cas %t: %v after the questions for %v", o.CAS, err, asked)
		}
	}
}
