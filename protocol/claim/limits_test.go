package claim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestRememberedCells checks that beyond the limit, the cell that was released longest ago is forgotten, and read
// again.
func TestRememberedCells(t *testing.T) {
	m, err := New(Config{
		Self: 1, Options: Options{RID: "a", Group: "g", CAS: true},
		Store: storage.Features{Name: "test", Consistent: true, Swap: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	give := func(text string) { m.remember(&name{text: text, cell: cell{known: true, content: content{token: 7}}}) }
	for i := range remembered + 1 {
		give(fmt.Sprint(i))
	}
	give("2") // which makes it no younger, and is not counted twice
	if len(m.memory.tokens) != remembered || len(m.memory.order) != remembered {
		t.Errorf("%d cells in %d places are remembered, want %d", len(m.memory.tokens), len(m.memory.order), remembered)
	}
	if m.recall("0").known || !m.recall("1").known || m.recall(fmt.Sprint(remembered)).token != 7 {
		t.Error("another one than the first was forgotten")
	}
}

// TestLimitOfStandingClaims checks that a claim after 32 others stays in the row; after 33 it is deleted, and written
// again when fewer are left.
func TestLimitOfStandingClaims(t *testing.T) {
	for _, before := range []int{line, line + 1} {
		var lines strings.Builder
		lines.WriteString(one)
		for i := range before {
			fmt.Fprintf(&lines, "quietly foreign X z%d -%dms\n", i, 200-i)
		}
		lines.WriteString("lock a1 #1 X\nat 101ms\n")
		said := play(t, lines.String())
		if left := strings.Contains(said, "write X −a@"); left != (before > line) {
			t.Errorf("behind %d claims, left is %v:\n%s", before, left, said)
		}
		if before == line {
			continue
		}
		lines.WriteString("quietly erase X z0 -200ms\nquietly erase X z1 -199ms\nat 4s\n")
		_, after, _ := strings.Cut(play(t, lines.String()), "write X −a@")
		if !strings.Contains(after, "write X +a@") {
			t.Errorf("with 31 claims before it, it is not written again:\n%s", after)
		}
	}
}

// TestLimitOfKeptCells checks that a bounded number of cells is kept, and that one more is given up when it is
// released.
func TestLimitOfKeptCells(t *testing.T) {
	var lines strings.Builder
	lines.WriteString("quietly members cas hold_on=1s a\nquietly view epoch=4 open\n")
	for i := range mostKept {
		fmt.Fprintf(&lines, "quietly lock a1 #%d X%d\nquietly unlock a1 #%d X%d\n", i+1, i, i+1, i)
	}
	lines.WriteString("quietly lock a2 #1 more\n")
	if said := play(t, lines.String()+"unlock a2 #1 more\n"); !strings.Contains(said, "swap more: held") {
		t.Errorf("one more is kept, too:\n%s", said)
	}
	lines.WriteString("quietly lock a2 #2 X7\nunlock a2 #1 more\n") // what is held is not kept
	if said := play(t, lines.String()); strings.Contains(said, "swap more") {
		t.Errorf("one that takes the place of another is given back:\n%s", said)
	}
}

// TestLimitOfTokens checks that a cell is good for a bounded number of grants, after which another write is needed.
func TestLimitOfTokens(t *testing.T) {
	var lines strings.Builder
	lines.WriteString("quietly members cas hold_on=1s a\nquietly view epoch=4 open\n")
	for i := range blockOfTokens - 1 {
		fmt.Fprintf(&lines, "quietly lock a1 #%d X\nquietly unlock a1 #%d X\n", i+1, i+1)
	}
	lines.WriteString("lock a1 #5000 X\nunlock a1 #5000 X\nlock a1 #5001 X\n")
	said := play(t, lines.String())
	for _, want := range []string{
		"call a1 #5000 granted X token=1:4095\n", "swap X: held 4.095ms by a renewals=0 lease=30s ⇒ free 4.095ms\n",
		"swap X: free 4.095ms ⇒ held 8.191ms by a", "told a1 #5001 granted X token=1:4096\n",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in the conversation:\n%s", want, said)
		}
	}
}
