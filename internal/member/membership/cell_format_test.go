package membership_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

var rewriteCells = flag.Bool("rewrite-cells", false, "write testdata/cells.hex anew")

// cells are a cell of each form.
func cells() []membership.Cell {
	full, ordered := recorded(), recorded()
	full.Accepted.Installed, full.Accepted.Open = true, true
	full.Accepted.Members[0].Since, full.Accepted.Members[1].Kept = 1<<50+3, false
	ordered.Accepted.Order = election.Order{Reason: "a site is lost", By: "ü"}
	ordered.Accepted.Terms, ordered.Accepted.Base, ordered.Pledges, ordered.Clean = nil, nil, nil, false
	ordered.Accepted.Members[0].Name = strings.Repeat("long", 1200)
	return []membership.Cell{
		{}, {Cluster: 1 << 63, ID: 1, Incarnation: 1, Promised: 3, Candidate: 1, Floor: 3, Owed: 7, Clean: true}, recorded(), full, ordered,
		{Accepted: &election.View{}}, {Pledges: &election.Pledges{Limits: election.Limits{Top: 9, Durable: 8}}},
	}
}

// TestCellsStay: cells are written as they were, byte for byte, and those of former versions are read.
func TestCellsStay(t *testing.T) {
	const path = "testdata/cells.hex"
	var b strings.Builder
	for _, c := range cells() {
		data := c.Encode()
		fmt.Fprintf(&b, "%x\n", data)
		got, err := membership.DecodeCell(data)
		if diff := cmp.Diff(c, got); err != nil || diff != "" {
			t.Errorf("%v %s", err, diff)
		}
	}
	if *rewriteCells {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.String() != string(want) {
		t.Errorf("%s is not what is written now:\n%s", path, b.String())
	}
}

// TestSecondCellIsRead: version 2 had one horizon where there are a reach and pledges now.
func TestSecondCellIsRead(t *testing.T) {
	third := cells()[4].Encode()
	head := len("holdfast cell 3\n") + 6*8
	second := func(horizon, flags string) []byte {
		b, err := hex.DecodeString(horizon + flags)
		if err != nil {
			t.Fatal(err)
		}
		content := append([]byte("holdfast cell 2\n"), third[len("holdfast cell 3\n"):head]...)
		return summed(append(append(content, b...), third[head+2:len(third)-sumBytes]...))
	}
	want := cells()[4]
	reach := protocol.ReachOf(time.Hour)
	want.Owed, want.Pledges = reach, &election.Pledges{Of: []election.Pledge{{Version: 1, Reach: reach}}, Limits: election.Limits{Top: reach}}
	got, err := membership.DecodeCell(second(fmt.Sprintf("%016x", uint64(time.Hour)), "22"))
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	want.Owed, want.Clean = 0, true
	if got, err = membership.DecodeCell(second(fmt.Sprintf("%016x", uint64(time.Hour)), "23")); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	want.Pledges = nil
	if got, err = membership.DecodeCell(second("0000000000000000", "23")); err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v %s", err, cmp.Diff(want, got))
	}
	for what, b := range map[string][]byte{"a horizon below 0": second("ffffffffffffffff", "22"), "the flag of pledges": second("0000000000000000", "62")} {
		if c, err := membership.DecodeCell(b); err == nil {
			t.Errorf("%s is read: %+v", what, c)
		}
	}
}

// TestCellsAreRefused whose checksum is right, and that no member writes.
func TestCellsAreRefused(t *testing.T) {
	zero := "holdfast cell 3\n" + strings.Repeat("\x00", 6*8)
	view, member, none := strings.Repeat("\x00", 4*8), strings.Repeat("\x00", 3*8), "\x00\x00"
	for what, content := range map[string]string{
		"an eighth flag":              zero + "\x00\x80",
		"installed without a view":    zero + "\x00\x04",
		"open without a view":         zero + "\x00\x08",
		"terms without a view":        zero + "\x00\x10\x01\x01a",
		"an order without a view":     zero + "\x00\x20\x01a\x00",
		"bytes behind it":             zero + "\x00\x00\x00",
		"no view where one is due":    zero + "\x00\x02",
		"a view that ends early":      zero + "\x00\x02" + view + "\x00",
		"more members than bytes":     zero + "\x00\x02" + view + "\x02" + member + "\x00\x00\x00\x00" + "\x00",
		"a count in more bytes":       zero + "\x00\x02" + view + "\x80\x00\x00",
		"a count beyond 64 bits":      zero + "\x00\x02" + view + "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00",
		"a fifth flag of a member":    zero + "\x00\x02" + view + "\x01" + member + "\x10\x00\x00\x00" + "\x00",
		"a member since no view":      zero + "\x00\x02" + view + "\x01" + member + "\x08" + strings.Repeat("\x00", 8) + "\x00\x00\x00" + "\x00",
		"a text beyond the bytes":     zero + "\x00\x02" + view + "\x01" + member + "\x00\x00\x00\x09" + "\x00",
		"more views than bytes":       zero + "\x00\x02" + view + "\x00\x01",
		"more voters than bytes":      zero + "\x00\x02" + view + "\x00\x01" + member + "\x01",
		"terms that are none":         zero + "\x00\x12" + view + none + "\x00",
		"more terms than bytes":       zero + "\x00\x12" + view + none + "\x02\x00",
		"an order that says nothing":  zero + "\x00\x22" + view + none + "\x00\x00",
		"pledges that are none":       zero + "\x00\x40\x00\x00\x00",
		"more pledges than bytes":     zero + "\x00\x40\x00\x00\x01",
		"a first cell that is longer": "holdfast cell 1\n" + strings.Repeat("\x00", 42),
		"a flag of a first cell":      "holdfast cell 1\n" + strings.Repeat("\x00", 40) + "\x02",
		"a horizon below 0":           "holdfast cell 1\n" + strings.Repeat("\x00", 32) + strings.Repeat("\xff", 8) + "\x00",
		"a fourth version":            "holdfast cell 4\n" + strings.Repeat("\x00", 60),
	} {
		if c, err := membership.DecodeCell(summed([]byte(content))); err == nil {
			t.Errorf("%s is read: %+v", what, c)
		}
	}
}
