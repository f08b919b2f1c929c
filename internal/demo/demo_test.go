package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/trial"
)

// TestVerdict: the last line is what docs/design/formats.md §3 says, and what should have happened and
// did not is no success.
func TestVerdict(t *testing.T) {
	good := trial.Verdict{Grants: 1184, Handoffs: 1170, Gap: 3214 * time.Millisecond, Stale: 1, Lost: 1}
	for _, tt := range []struct {
		name   string
		change func(*demo, *trial.Verdict)
		want   string
	}{
		{"all well", func(*demo, *trial.Verdict) {}, "demo: ok grants=1184 handoffs=1170 failover_gap=3.21s stale_refused=1 violations=0\n"},
		{"a violation", func(_ *demo, v *trial.Verdict) { v.Violations = []string{"two had it"} }, "two had it\ndemo: FAILED "},
		{"nothing changed hands", func(_ *demo, v *trial.Verdict) { v.Handoffs = 0 }, "no lock changed hands\ndemo: FAILED "},
		{"no stale write", func(_ *demo, v *trial.Verdict) { v.Stale = 0 }, "no stale write was refused\ndemo: FAILED "},
		{"nobody was killed", func(d *demo, _ *trial.Verdict) { d.killed = false }, "the coordinator was not killed\ndemo: FAILED "},
		{"nobody stood still", func(d *demo, _ *trial.Verdict) { d.stopped = lease }, "no member stood still for more than its lease of 2s, but 2s\ndemo: FAILED "},
		{"nothing was lost", func(d *demo, _ *trial.Verdict) { d.lost = false }, "did not find its lock lost\ndemo: FAILED "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			v := good
			d := &demo{Config: Config{Out: &out}, killed: true, stopped: lease + time.Millisecond, lost: true}
			tt.change(d, &v)
			err := d.print(v)
			if got := out.String(); !strings.Contains(got, tt.want) || (err == nil) != strings.Contains(tt.want, ": ok") {
				t.Errorf("got %q and %v, want %q", got, err, tt.want)
			}
		})
	}
}

// TestScreen: words of several workers may come in another order than the one in which
// things happened, and the screen must not show more holders than there were.
func TestScreen(t *testing.T) {
	var out strings.Builder
	now := time.Duration(0)
	s := newScreen(&out, false, func() time.Duration { return now })
	entered := func(worker int, name, member string) {
		s.hear(trial.Event{Kind: trial.Entered, Worker: worker, Name: name, Member: member})
	}
	entered(1, trial.PoolName, "a")
	entered(2, trial.PoolName, "b")
	entered(3, trial.RegisterName, "c")
	now = time.Second
	entered(4, trial.PoolName, "a")
	s.hear(trial.Event{Kind: trial.Left, Worker: 1, Name: trial.PoolName})
	s.hear(trial.Event{Kind: trial.Lost, Worker: 3, Name: trial.RegisterName})
	now = 2 * time.Second
	s.hear(trial.Event{Kind: trial.Left, Worker: 2, Name: trial.PoolName})
	s.say("that is %s", "all")
	want := "  1.0s    register: worker 3 through c  pool: 2 through b, 4 through a  grants: 4\n" +
		"  2.0s    register: -                   pool: 4 through a               grants: 4\n" +
		"  2.0s  that is all\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
