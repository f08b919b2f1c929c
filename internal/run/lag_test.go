package run

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestLag: a driver has fallen behind when it was late twice in a row, and has caught up when it is late by
// less than half of the limit. To have stood still once is none.
func TestLag(t *testing.T) {
	l := &lag{limit: time.Second}
	for i, look := range []struct {
		late   time.Duration
		behind bool
	}{
		{0, false}, {time.Minute, false}, {0, false}, // the process stood still
		{time.Second, false}, {999 * time.Millisecond, false}, {time.Second, true},
		{500 * time.Millisecond, true}, {499 * time.Millisecond, false},
		{500 * time.Millisecond, false}, {2 * time.Second, true}, {2 * time.Second, true}, {0, false},
	} {
		before := l.behind.Load()
		if changed := l.note(look.late); l.behind.Load() != look.behind || changed != (before != look.behind) {
			t.Errorf("look %d, late by %v: behind %v, changed %v; want %v", i, look.late, l.behind.Load(), changed, look.behind)
		}
	}
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	said chan struct{} // closed when it has the sentence
	of   string
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := strings.Contains(l.text.String(), l.of)
	l.text.Write(p)
	if !before && strings.Contains(l.text.String(), l.of) {
		close(l.said)
	}
	return len(p), nil
}

// idle does nothing, at once.
type idle struct{}

func (idle) Step(protocol.Time, protocol.Event, *protocol.Effects) {}
func (idle) Wake() protocol.Time                                   { return protocol.Never }

// TestLagIsMeasured: a driver whose machine is busy notices that it has fallen behind, says so once, and
// notices that it has caught up.
func TestLagIsMeasured(t *testing.T) {
	log := &lines{of: "is overloaded", said: make(chan struct{})}
	d, err := New(Config{Machine: idle{}, LagLimit: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for range restBelow { // it may rest
		d.Step(protocol.Event{})
	}
	for said := false; !said; {
		select {
		case <-log.said:
			said = true
		default:
			d.Step(protocol.Event{})
		}
	}
	if late, overloaded := d.Lag(); late <= 0 || !overloaded || d.LagLimit() != time.Nanosecond {
		t.Errorf("late by %v of %v, overloaded %v", late, d.LagLimit(), overloaded)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.text.String(), "is overloaded"); n != 1 {
		t.Errorf("%d lines say that the member is overloaded:\n%s", n, log.text.String())
	}
}
