package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// columns lists the visible columns of a row, as "column=value".
func (t table) columns(s storage.Slice, now instant) string {
	var all []string
	for _, e := range t.slice(&s, now) {
		all = append(all, e.Column+"="+e.Value)
	}
	return strings.Join(all, " ")
}

// put is a Mutate: "a=1" adds a column to row k, "-a" deletes it.
func put(stamp int64, entries string) *storage.Mutate {
	m := &storage.Mutate{Key: "k", Timestamp: stamp}
	for _, cell := range strings.Fields(entries) {
		if name, deleted := strings.CutPrefix(cell, "-"); deleted {
			m.Deletions = append(m.Deletions, name)
			continue
		}
		name, value, _ := strings.Cut(cell, "=")
		m.Additions = append(m.Additions, storage.Entry{Column: name, Value: value})
	}
	return m
}

// TestWhoseWriteWins checks that the higher timestamp wins, in a store with tombstones and in one without.
func TestWhoseWriteWins(t *testing.T) {
	type write struct {
		stamp   int64
		entries string
	}
	for _, c := range []struct {
		what                    string
		writes                  []write
		remembering, forgetting string
	}{
		{"one write", []write{{1, "b=1 a=1"}}, "a=1 b=1", "a=1 b=1"},
		{"a later stamp", []write{{1, "a=1"}, {2, "a=2"}}, "a=2", "a=2"},
		{"an earlier stamp that comes later", []write{{2, "a=2"}, {1, "a=1"}}, "a=2", "a=2"},
		{"equal stamps", []write{{1, "a=2"}, {1, "a=1"}}, "a=2", "a=2"},
		{"equal stamps the other way", []write{{1, "a=1"}, {1, "a=2"}}, "a=2", "a=2"},
		{"a deletion", []write{{1, "a=1 b=1"}, {2, "-a c=1"}}, "b=1 c=1", "b=1 c=1"},
		{"a deletion of the same stamp", []write{{1, "a=1"}, {1, "-a"}}, "", ""},
		{"an addition of the same stamp as the deletion before", []write{{1, "-a"}, {1, "a=1"}}, "", "a=1"},
		{"a deletion that is dated back", []write{{2, "a=1"}, {1, "-a"}}, "a=1", "a=1"},
		{"an addition that lands after its deletion", []write{{2, "-a"}, {1, "a=1"}}, "", "a=1"},
		{"an addition above a deletion", []write{{1, "-a"}, {2, "a=1"}}, "a=1", "a=1"},
	} {
		for quick, want := range map[forgets]string{false: c.remembering, true: c.forgetting} {
			all := table{}
			for i, w := range c.writes {
				all.mutate(put(w.stamp, w.entries), instant(i), 0, quick)
			}
			if got := all.columns(storage.Slice{Key: "k"}, time.Second); got != want {
				t.Errorf("%s, forgetting %v: %q, want %q", c.what, quick, got, want)
			}
		}
	}
}

// TestSlicesAreInOrder checks that slices are in order, and as wide as requested.
func TestSlicesAreInOrder(t *testing.T) {
	all := table{}
	all.mutate(put(1, "b=2 a=1 \xff=5 ab=3 c=4"), 0, 0, false)
	for want, s := range map[string]storage.Slice{
		"a=1 ab=3 b=2 c=4 \xff=5": {Key: "k"},
		"ab=3 b=2":                {Key: "k", Start: "ab", End: "c"},
		"b=2 c=4":                 {Key: "k", Start: "b", Limit: 2},
		"\xff=5":                  {Key: "k", Start: "d"},
		"a=1":                     {Key: "k", Limit: 1},
		"":                        {Key: "other"},
	} {
		if got := all.columns(s, 1); got != want {
			t.Errorf("%v: %q, want %q", s, got, want)
		}
	}
}

// TestColumnsAreForgotten checks that expired columns count as deleted at that time.
func TestColumnsAreForgotten(t *testing.T) {
	all := table{}
	all.mutate(put(5, "a=1"), 0, time.Second, false)
	for now, want := range map[instant]string{time.Second - 1: "a=1", time.Second: ""} {
		if got := all.columns(storage.Slice{Key: "k"}, now); got != want {
			t.Errorf("at %v: %q, want %q", now, got, want)
		}
	}
	all.mutate(put(5, "a=2"), 2*time.Second, 0, false)
	if got := all.columns(storage.Slice{Key: "k"}, 3*time.Second); got != "" {
		t.Errorf("a column is back under the timestamp at which it was forgotten: %q", got)
	}
	all.mutate(put(6, "a=2"), 2*time.Second, 0, false)
	if got := all.columns(storage.Slice{Key: "k"}, 3*time.Second); got != "a=2" {
		t.Errorf("a column that is written again: %q", got)
	}
}

// TestRowsStaySmall checks that old tombstones are dropped, and recent ones are kept.
func TestRowsStaySmall(t *testing.T) {
	all := table{}
	for i := range 1000 {
		now := instant(i) * 10 * time.Second
		name := fmt.Sprint("c", i)
		all.mutate(put(1, name), now, 0, false)
		all.mutate(put(1, "-"+name), now+1, 0, false)
	}
	if n := len(all["k"]); n > 70 || !slices.ContainsFunc(all["k"], func(c column) bool { return c.Column == "c998" && c.deleted }) {
		t.Errorf("%d columns are kept of a row that has none", n)
	}
}
