package demo

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// TestVerdict: the last line is what docs/design/formats.md §3 says, and what should have happened and
// did not is no success.
func TestVerdict(t *testing.T) {
	good := clustertest.Verdict{Grants: 1184, Handoffs: 1170, Gap: 3214 * time.Millisecond, Stale: 1, Lost: 1}
	for _, tt := range []struct {
		name   string
		change func(*demo, *clustertest.Verdict)
		want   string
	}{
		{"all well", func(*demo, *clustertest.Verdict) {}, "demo: ok grants=1184 handoffs=1170 failover_gap=3.21s stale_refused=1 violations=0\n"},
		{"a violation", func(_ *demo, v *clustertest.Verdict) { v.Violations = []string{"two had it"} }, "two had it\ndemo: FAILED "},
		{"nothing changed hands", func(_ *demo, v *clustertest.Verdict) { v.Handoffs = 0 }, "no lock changed hands\ndemo: FAILED "},
		{"no stale write", func(_ *demo, v *clustertest.Verdict) { v.Stale = 0 }, "no stale write was refused\ndemo: FAILED "},
		{"no member was killed", func(d *demo, _ *clustertest.Verdict) { d.killed = false }, "the coordinator was not killed\ndemo: FAILED "},
		{"no member stood still", func(d *demo, _ *clustertest.Verdict) { d.stopped = lease }, "no member stood still for more than its lease of 2s, but 2s\ndemo: FAILED "},
		{"nothing was lost", func(d *demo, _ *clustertest.Verdict) { d.lost = false }, "did not find its lock lost\ndemo: FAILED "},
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
		s.hear(clustertest.Event{Kind: clustertest.Entered, Worker: worker, Name: name, Member: member})
	}
	entered(1, clustertest.PoolName, "a")
	entered(2, clustertest.PoolName, "b")
	entered(3, clustertest.RegisterName, "c")
	now = time.Second
	entered(4, clustertest.PoolName, "a")
	s.hear(clustertest.Event{Kind: clustertest.Left, Worker: 1, Name: clustertest.PoolName})
	s.hear(clustertest.Event{Kind: clustertest.Lost, Worker: 3, Name: clustertest.RegisterName})
	now = 2 * time.Second
	s.hear(clustertest.Event{Kind: clustertest.Left, Worker: 2, Name: clustertest.PoolName})
	s.say("that is %s", "all")
	want := "  1.0s    register: worker 3 via c  pool: 2 via b, 4 via a  grants: 4\n" +
		"  2.0s    register: -               pool: 4 via a           grants: 4\n" +
		"  2.0s  that is all\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
