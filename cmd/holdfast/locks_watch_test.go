package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestKnown: of the events around a listing, those that it has are left out, and no other.
func TestKnown(t *testing.T) {
	k := newKnown()
	at := timestamppb.Now()
	for _, e := range []*schema.WatchEvent{
		{Event: "held", Name: "n", Token: 7, Session: "s7", Time: at},
		{Event: "held", Name: "n", Token: 9, Session: "s9", Time: at},
		{Event: "waiting", Name: "n", Session: "s10", Time: at},
	} {
		k.listed(e)
	}
	for i, row := range []struct {
		event, name string
		token       uint64
		session     string
		early, past bool
	}{
		{"waiting", "n", 0, "s9", true, true},    // it holds by now
		{"granted", "n", 8, "s8", true, true},    // it had ended
		{"released", "n", 8, "s8", true, true},   // likewise
		{"granted", "n", 9, "s9", true, true},    // it is listed
		{"waiting", "n", 0, "s10", true, true},   // it is listed
		{"cancelled", "n", 0, "s6", true, true},  // it had ended
		{"released", "m", 3, "s3", true, true},   // it had ended, and the name is free
		{"view", "", 0, "", true, false},         // no fact of a lock
		{"released", "n", 7, "s7", true, false},  // it is listed as held
		{"lost", "n", 9, "s9", true, false},      // likewise
		{"granted", "n", 10, "s10", true, false}, // it is listed as waiting
		{"granted", "n", 8, "s8", false, false},  // no token of the listing is left to compare with
		{"released", "n", 10, "s10", false, false},
		{"waiting", "n", 0, "s9", false, false},
		{"cancelled", "n", 0, "s9", false, false},
		{"released", "m", 4, "s4", false, false},
	} {
		e := &schema.WatchEvent{Event: row.event, Name: row.name, Token: row.token, Session: row.session, Time: at}
		if _, past := k.happened(e, row.early); past != row.past {
			t.Errorf("row %d, %v: past is %v, want %v", i, e, past, row.past)
		}
	}
	if len(k.waits) != 0 {
		t.Errorf("waits are left: %v", k.waits)
	}
}

// TestWatcherWidths: a long name widens the columns of its line and of a few after it.
func TestWatcherWidths(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	must(t, err)
	defer file.Close()
	p := &program{stdout: file}
	w := &watcher{out: p.screen(), known: newKnown(), table: newTable("TIME", "NAME", "WHY")}
	long := strings.Repeat("x", 40)
	for i := range 2*recentRows + 1 {
		name := fmt.Sprintf("n%d", i)
		if i == 1 {
			name = long
		}
		w.row(time.TimeOnly, name, "why")
		must(t, w.show())
	}
	text, err := os.ReadFile(file.Name())
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2*recentRows+2 {
		t.Fatalf("%d lines, want %d", len(lines), 2*recentRows+2)
	}
	short := strings.Index(lines[1], "why")
	for i, want := range map[int]int{2: short + 40 - 12, 3: short + 40 - 12, recentRows: short + 40 - 12, len(lines) - 1: short} {
		if at := strings.Index(lines[i], "why"); at != want {
			t.Errorf("line %d: the last column is at %d, want %d", i, at, want)
		}
	}
}
