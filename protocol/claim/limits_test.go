package claim

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/storage"
)

// TestRememberedCells: where there is one more than are remembered, the one that was given back
// longest ago is forgotten, and asked for again.
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

// TestLimitOfStandingClaims: behind 32 claims one stands in the row; behind 33 it is deleted, and written
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
