package target

import (
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// figure is one of a target in a cell.
func figure(t *testing.T, r *load.Result, target string, cell load.Cell, m load.Metric) float64 {
	t.Helper()
	i := slices.IndexFunc(r.Rows, func(row *load.Row) bool { return row.Target == target && row.Cell == cell })
	if i < 0 {
		t.Fatalf("no row of %s, %v", target, cell)
	}
	value, ok := r.Rows[i].Figure(m)
	if !ok {
		t.Fatalf("%s, %v: no %s", target, cell, m)
	}
	return value
}

// TestSpread: members in this process are measured, and cost the messages of their formulas.
func TestSpread(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	b := harness(t)
	targets, err := b.Targets(spreadNames()[:5])
	if err != nil {
		t.Fatal(err)
	}
	duration := 400 * time.Millisecond
	if testing.Short() {
		duration = 50 * time.Millisecond
	}
	result, err := load.Run(limitedContext(t), load.Config{
		Targets: targets, Workloads: []string{load.Uncontended, load.Hot}, Workers: []int{1, 2, 3}, Think: []time.Duration{0},
		Rounds: 1, Duration: duration, Machine: b,
	})
	if err != nil || result.FirstError != nil {
		t.Fatal(err, result)
	}
	if n := result.Sum(load.Violations) + result.Sum(load.Errors); n > 0 {
		t.Errorf("%v violations and errors", n)
	}
	if testing.Short() {
		return // the figures are those of a machine without the race detector
	}
	one, again := load.Cell{Workload: load.Uncontended, Workers: 1}, load.Cell{Workload: load.Hot, Workers: 1}
	two := load.Cell{Workload: load.Hot, Workers: 2}
	for _, tt := range []struct {
		target      string
		cell        load.Cell
		least, most float64
	}{
		{"central-3-coordinator", one, 0, 0.01}, {"central-3-coordinator", two, 0, 0.01},
		// Messages of a lock that is under way at either end may be counted on the other side of it: one of
		// some 50 locks where the machine is slow.
		{"central-3", one, 2.85, 3.15}, {"central-3", two, 2.85, 4.3}, // 4: a member that waits gets an answer
		{"permission-3", one, 3.8, 4.2}, {"permission-3", two, 3.8, 4.2},
		{"bakery-3", one, 9.5, 13}, {"bakery-3", two, 9.5, 20}, // 8 and 2 Drops; and acknowledgements where nothing else is sent
		{"permission-3-retain", again, 0, 0.1}, {"permission-3-retain", two, 0.001, 2.1}, // the third is not asked again; how often it changes hands is open
	} {
		if got := figure(t, result, tt.target, tt.cell, load.MessagesPerLock); got < tt.least || got > tt.most {
			t.Errorf("%s, %v: %v messages a lock, want %v to %v", tt.target, tt.cell, got, tt.least, tt.most)
		}
	}
}

// TestPlaces: as many workers as members have one each, fewer and more leave the
// coordinator alone, and all sit at it where that is measured.
func TestPlaces(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	b := harness(t)
	spreads := b.spreads(3)
	at, away := spreads[0], spreads[1]
	for _, s := range []*spread{at, away} {
		if err := s.Start(limitedContext(t)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		}()
	}
	for _, tt := range []struct {
		target       *spread
		workers      int
		members      int
		coordinators int
	}{{away, 1, 2, 0}, {away, 2, 2, 0}, {away, 3, 3, 1}, {away, 64, 2, 0}, {at, 3, 1, 1}} {
		client, err := tt.target.Connect(t.Context(), load.Cell{Workers: tt.workers})
		if err != nil {
			t.Fatal(err)
		}
		nodes, coordinators := client.(lockers), 0
		for _, n := range nodes {
			if n := n.(*host.Member); n.View().Coordinator == n.Identity().ID {
				coordinators++
			}
		}
		if len(nodes) != tt.members || coordinators != tt.coordinators {
			t.Errorf("%s, %d workers: %d members, %d of them coordinate; want %d and %d",
				tt.target.Name(), tt.workers, len(nodes), coordinators, tt.members, tt.coordinators)
		}
	}
}

// TestDelay: where messages take a while, a hand-off takes two of them through a coordinator,
// and one between peers.
func TestDelay(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	b := harness(t)
	const delay = 20 * time.Millisecond
	b.config.Delay = delay
	targets, err := b.Targets([]string{"central-3", "permission-3"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := load.Run(limitedContext(t), load.Config{
		Targets: targets, Workloads: []string{load.Hot}, Workers: []int{2}, Think: []time.Duration{0},
		Rounds: 1, Duration: time.Second, Machine: b,
	})
	if err != nil || result.FirstError != nil {
		t.Fatal(err, result)
	}
	cell := load.Cell{Workload: load.Hot, Workers: 2}
	central, direct := figure(t, result, "central-3", cell, load.HandoffsPerS), figure(t, result, "permission-3", cell, load.HandoffsPerS)
	hops := float64(time.Second / delay)
	// One more may fall into the window.
	if central <= 0 || central > hops/2+1 || direct > hops+1 || direct <= central {
		t.Errorf("%v hand-offs a second with central, %v with permission; %v hops fit", central, direct, hops)
	}
	if ping := figure(t, result, "central-3", cell, load.PingMicros); ping < float64((2 * delay).Microseconds()) {
		t.Errorf("a ping-pong takes %v µs", ping)
	}
}
