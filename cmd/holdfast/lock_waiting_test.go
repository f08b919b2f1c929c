//go:build linux || darwin

package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// testWait is a wait for the second of two locks, held for three minutes.
func testWait() *waiting {
	now := time.Now()
	return &waiting{
		names: []string{"db", "deploy"}, at: 1, limit: time.Minute, position: 2, began: now.Add(-14 * time.Second),
		finding: finding{name: "deploy", lock: &schema.Lock{Name: "deploy", Holders: []*schema.Grant{{
			Owner: "ann", Member: "m1", Reason: "release 7", Token: 7, Since: timestamppb.New(now.Add(-192 * time.Second)),
		}}}},
	}
}

// TestWaitingFits: a narrow terminal gets the parts of the line that matter most.
func TestWaitingFits(t *testing.T) {
	w := testWait()
	for width, want := range map[int]string{
		200: `holdfast: waiting 14s of 1m for lock "deploy" (2 of 2): held by ann on m1 for 3m12s (release 7); 2 before it`,
		98:  `waiting 14s of 1m for lock "deploy" (2 of 2): held by ann for 3m12s (release 7); 2 before it`,
		79:  `waiting 14s for lock "deploy" (2 of 2): held by ann for 3m12s; 2 before it`,
		60:  `waiting 14s for lock "deploy": held by ann; 2 before it`,
		50:  `waiting 14s for lock "deploy": held by ann`,
		20:  `waiting 14s for loc…`,
		1:   `…`,
	} {
		if got := w.sentence(w.describe()).fit(width); got != want {
			t.Errorf("width %d: %s\nwant %s", width, got, want)
		}
	}
	want := `waiting for lock "deploy" (2 of 2): held by ann on m1 for 3m12s (release 7); 2 before it`
	if got := w.sentence(w.describe()).line(); got != want {
		t.Errorf("line %s\nwant %s", got, want)
	}
}

// TestWaitingSaysWhy: without a holder, the cause is the member's.
func TestWaitingSaysWhy(t *testing.T) {
	view := &schema.View{}
	for want, f := range map[string]finding{
		"no quorum without m2 and m3":                        {status: &schema.Status{View: &schema.View{Why: "the quorum is lost"}, Missing: []*schema.MissingMember{{Name: "m2"}, {Name: "m3"}}}},
		"suspended by ann":                                   {status: &schema.Status{View: view, Spaces: []*schema.Space{{Name: "jobs", State: "suspended", Why: "suspended by ann"}}}},
		`space "jobs" is recovering`:                         {status: &schema.Status{View: view, Spaces: []*schema.Space{{Name: "jobs", State: "recovering"}}}},
		"not held; it waits for the permission of m2 and m3": {lock: &schema.Lock{Waiters: []*schema.Wait{{For: []string{"m2", "m3"}}}}},
		"": {lock: &schema.Lock{}, status: &schema.Status{View: view, Spaces: []*schema.Space{{Name: "jobs", State: spaceReady}}}},
	} {
		f.name = "n"
		w := &waiting{names: []string{"n"}, space: "jobs", finding: f}
		if got := w.cause(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestWaitingForAStore: a store that has not answered yet is the cause.
func TestWaitingForAStore(t *testing.T) {
	w := testWait()
	w.answers = make(chan finding, 1)
	w.ask(t.Context())
	w.take(<-w.answers)
	want := `waiting 14s of 1m for lock "deploy" (2 of 2): the store has not answered yet`
	if got := w.sentence(w.describe()).fit(80); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestWaitingLooksChange: a change of the holder, the queue or the cause is a line; the passing of time is none.
func TestWaitingLooksChange(t *testing.T) {
	r, end := testPipe(t)
	w := testWait()
	w.say, w.verbose = newLineWriter(end, 1), true
	w.report()
	w.finding.lock.Holders[0].Since = timestamppb.New(time.Now().Add(-3 * time.Second)) // clocks are not exact
	w.report()
	w.position = 1
	w.report()
	must(t, w.say.close())
	must(t, end.Close())
	written, err := io.ReadAll(r)
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(written)), "\n")
	if len(lines) != 2 || !strings.HasSuffix(lines[0], "2 before it") || !strings.HasSuffix(lines[1], "1 before it") {
		t.Errorf("got:\n%s", written)
	}
}

// TestLineOfANarrowedTerminal: a line that has become several rows is removed with all of them.
func TestLineOfANarrowedTerminal(t *testing.T) {
	screen, terminal, err := pty.Open()
	must(t, err)
	defer screen.Close()
	must(t, pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 80}))
	s := newLineWriter(terminal, 1)
	s.replace(strings.Repeat("x", 79))
	s.replace(strings.Repeat("y", 70))
	must(t, pty.Setsize(terminal, &pty.Winsize{Rows: 24, Cols: 30}))
	s.replace("z")
	s.replace("")
	s.replace("")
	must(t, s.close())
	want := strings.Repeat("x", 79) + "\r\x1b[J" + strings.Repeat("y", 70) + "\x1b[A\x1b[A\r\x1b[Jz\r\x1b[J"
	got := make([]byte, len(want))
	_, err = io.ReadFull(screen, got)
	must(t, err)
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	must(t, terminal.Close())
}
