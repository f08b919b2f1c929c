package lock

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkOrder fails if a live name is missing from the order or misplaced, or a block is empty.
func checkOrder(tb failer, t *Table) {
	tb.Helper()
	found := map[int32]bool{}
	for _, e := range t.order.fresh {
		if t.order.ranks[e] != freshly || found[e] {
			tb.Fatalf("entry %d is kept aside, with rank %d", e, t.order.ranks[e])
		}
		found[e] = true
	}
	before := ""
	for _, block := range t.order.blocks {
		if len(block) == 0 || cap(block) < blockSize {
			tb.Fatalf("a block has %d names and room for %d", len(block), cap(block))
		}
		for _, e := range block {
			name := t.names.at(e).name
			if name <= before || t.order.ranks[e] != sorted || t.byName[name] != e || found[e] {
				tb.Fatalf("%q follows %q, with rank %d", name, before, t.order.ranks[e])
			}
			before, found[e] = name, true
		}
	}
	for name, e := range t.byName {
		if name != SpaceLock && t.live(e) && !found[e] {
			tb.Fatalf("%q is live and has no place", name)
		}
	}
	for e, r := range t.order.ranks {
		if r != unranked && !found[int32(e)] {
			tb.Fatalf("entry %d has rank %d and no place", e, r)
		}
	}
}

// listAll lists names in parts of limit.
func listAll(t *Table, after, prefix string, limit int) (names []string) {
	for more := true; more; {
		more = t.Scan(after, prefix, limit, func(l Lock) bool {
			after = l.Name
			names = append(names, l.Name)
			return true
		})
	}
	return names
}

// TestScanIsInOrder checks that a listing has the live names with a prefix after a name, in the order of their bytes,
// regardless of earlier locks and unlocks. Enough names make several blocks, which are split and joined.
func TestScanIsInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := newTable(rt, Config{})
		table.BeginReign(1, 0)
		live := map[string]uint64{}
		id := uint64(0)
		var out []Decision
		me := SessionID{1, 1}
		take := func(name string) {
			id++
			out = out[:0]
			table.Acquire(0, &Request{Session: me, ID: id, Name: name, WaitEnd: Never}, &out)
			live[name] = id
		}
		give := func(name string) {
			table.Cancel(0, me, name, live[name], &out)
			delete(live, name)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "rounds") {
			width := rapid.SampledFrom([]int{10, 3000}).Draw(rt, "names")
			step := rapid.SampledFrom([]int{1, 7, -1}).Draw(rt, "step")
			gives := rapid.Bool().Draw(rt, "gives")
			for i := range width {
				name := fmt.Sprintf("%c/%06d", 'a'+i%3, ((i*step)%width+width)%width)
				if _, held := live[name]; held && gives {
					give(name)
				} else if !held && !gives {
					take(name)
				}
			}
			prefix := rapid.SampledFrom([]string{"", "a/", "b/0001", "c", "d"}).Draw(rt, "prefix")
			after := rapid.SampledFrom([]string{"", "a", "b/000100", "b/000100x", "z"}).Draw(rt, "after")
			limit := rapid.SampledFrom([]int{1, 5, 256, 10_000}).Draw(rt, "limit")
			var want []string
			for name := range live {
				if strings.HasPrefix(name, prefix) && name > after {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			if got := listAll(table, after, prefix, limit); !slices.Equal(got, want) {
				rt.Fatalf("behind %q with %q, %d at a time: %d names are listed, want %d", after, prefix, limit, len(got), len(want))
			}
			checkTable(rt, table)
		}
	})
}

// TestScanEnds checks that a visit can end the page, and that the rest is reported.
func TestScanEnds(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	holdAll(t, table, numberedNames(10))
	visits := 0
	more := table.Scan("", "", 10, func(Lock) bool { visits++; return visits < 3 })
	if visits != 3 || !more {
		t.Errorf("%d names are visited, and more follow: %t", visits, more)
	}
	more = table.Scan(numberedNames(10)[8], "", 1, func(Lock) bool { visits++; return false })
	if visits != 4 || more {
		t.Errorf("%d names are visited, and more follow: %t", visits, more)
	}
}

// TestPageCostsItsLength checks that a page of ten names costs the same among a hundred names and among a hundred
// thousand.
func TestPageCostsItsLength(t *testing.T) {
	costs := map[int]float64{}
	for _, size := range []int{100, 100_000} {
		table := newTable(t, Config{})
		table.BeginReign(1, 0)
		names := numberedNames(size)
		holdAll(t, table, names)
		visited := 0
		costs[size] = testing.AllocsPerRun(10, func() {
			visited = 0
			table.Scan(names[size/2], "", 10, func(Lock) bool { visited++; return true })
		})
		if visited != 10 {
			t.Errorf("of %d names %d are visited", size, visited)
		}
	}
	if costs[100] != costs[100_000] {
		t.Errorf("allocations a page, by the number of names: %v", costs)
	}
}

// TestShortLocksHaveNoPlace checks that names that are locked and unlocked at once are never sorted into the order.
func TestShortLocksHaveNoPlace(t *testing.T) {
	table := newTable(t, Config{})
	table.BeginReign(1, 0)
	held := numberedNames(2 * maxFresh)
	holdAll(t, table, held)
	for i := range 10 * maxIdle {
		cycleName(t, table, uint64(i+1), fmt.Sprint("short/", i))
	}
	for _, block := range table.order.blocks {
		for _, e := range block {
			if name := table.names.at(e).name; strings.HasPrefix(name, "short/") {
				t.Fatalf("%q has a place", name)
			}
		}
	}
	if got := listAll(table, "", "", 100); !slices.Equal(got, held) {
		t.Errorf("%d names are listed, want %d", len(got), len(held))
	}
	checkTable(t, table)
}
