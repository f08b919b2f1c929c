package load

import (
	"bytes"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHistogram: quantiles of known distributions, to within a bucket.
func TestHistogram(t *testing.T) {
	var h, other Histogram
	if h.Quantile(0.5) != 0 || h.Mean() != 0 || h.Max() != 0 {
		t.Error("an empty one has values")
	}
	random := rand.New(rand.NewPCG(1, 2))
	var all []time.Duration
	for i := range 20_000 {
		d := time.Duration(math.Exp(random.Float64() * 27)) // 1 ns to 9 min, evenly in its logarithm
		all = append(all, d)
		if i%2 == 0 {
			h.Record(d)
		} else {
			other.Record(d)
		}
	}
	h.Add(&other)
	slices.Sort(all)
	for _, share := range []float64{0, 0.01, 0.5, 0.9, 0.99, 0.999, 1} {
		want := all[max(int(math.Ceil(share*float64(len(all))))-1, 0)]
		if got := h.Quantile(share); math.Abs(float64(got-want)) > bucket*float64(want) {
			t.Errorf("quantile %v is %v, want %v", share, got, want)
		}
	}
	if h.Count() != 20_000 || h.Max() != all[len(all)-1] {
		t.Errorf("%d values to %v", h.Count(), h.Max())
	}
	h.Record(time.Hour) // beyond the last bucket
	h.Record(-time.Second)
	if h.Quantile(1) > time.Hour || h.Quantile(1) < 18*time.Minute || h.Max() != time.Hour || h.Quantile(0) != 0 {
		t.Errorf("from %v to %v", h.Quantile(0), h.Quantile(1))
	}
}

// TestBuckets: every bucket's middle lies in it, and buckets follow each other.
func TestBuckets(t *testing.T) {
	for bucket := range buckets - 1 {
		middle := middleOf(bucket)
		if bucketOf(middle) != bucket || bucketOf(middle) > bucketOf(middle+1) {
			t.Fatalf("bucket %d has its middle %v in bucket %d", bucket, middle, bucketOf(middle))
		}
	}
}

// TestPredict: the course's formulas.
func TestPredict(t *testing.T) {
	const ping = 20 * time.Microsecond // two messages
	for _, tt := range []struct {
		cell  Cell
		sends Messages
		ping  time.Duration
		kept  time.Duration
		want  float64
		known bool
	}{
		{Cell{Uncontended, 1, 0}, Centralized, ping, 0, 1e6 / 30, true}, // 1/(W+3T)
		{Cell{Hot, 1, 0}, Centralized, ping, 0, 1e6 / 30, true},
		{Cell{Uncontended, 1, time.Millisecond}, Centralized, ping, time.Millisecond, 1e6 / 1030, true},
		{Cell{Hot, 8, 0}, Centralized, ping, 0, 1e6 / 20, true}, // 1/(W+2T)
		{Cell{Hot, 8, time.Millisecond}, Centralized, ping, 1100 * time.Microsecond, 1e6 / 1120, true},
		{Cell{Drain, 1000, 0}, Centralized, ping, 0, 1e6 / 20, true},
		{Cell{Uncontended, 64, 0}, Centralized, ping, 0, 0, false},
		{Cell{Hold, 64, 0}, Centralized, ping, 0, 0, false},
		{Cell{Uncontended, 1, 0}, Broadcast, ping, 0, 1e6 / 20, true}, // 1/(W+2T)
		{Cell{Hot, 8, 0}, Broadcast, ping, 0, 1e6 / 10, true},         // 1/(W+T)
		{Cell{Hot, 8, time.Millisecond}, Broadcast, ping, time.Millisecond, 1e6 / 1010, true},
		{Cell{Uncontended, 1, 0}, TwoPhase, ping, 0, 1e6 / 40, true}, // 1/(W+4T)
		{Cell{Hot, 8, 0}, TwoPhase, ping, 0, 1e6 / 30, true},         // 1/(W+3T)
		{Cell{Hot, 8, 0}, NoMessages, ping, 0, 0, false},             // without messages and use there is no bound
		{Cell{Hot, 8, time.Millisecond}, NoMessages, ping, time.Millisecond, 1000, true},
		{Cell{Hot, 8, 0}, NoLocks, ping, 0, 0, false},
	} {
		got, known := Predict(tt.cell, tt.sends, tt.ping, tt.kept)
		if known != tt.known || math.Abs(got.PerSecond-tt.want) > 0.001 || math.Abs(got.Utilisation-tt.want*tt.kept.Seconds()) > 0.001 {
			t.Errorf("%v, sends %v, ping %v: %v, %v; want %v, %v", tt.cell, tt.sends, tt.ping, got, known, tt.want, tt.known)
		}
	}
}

// TestFairness: the lock that the window's edges can add is not counted.
func TestFairness(t *testing.T) {
	for _, tt := range []struct {
		busiest, idlest int64
		want            float64
	}{{100, 100, 1}, {101, 100, 1}, {103, 100, 1.02}, {11, 5, 2}, {1, 0, 1}, {50, 0, 49}} {
		if got := fairness(tt.busiest, tt.idlest); got != tt.want {
			t.Errorf("%d to %d is %v, want %v", tt.busiest, tt.idlest, got, tt.want)
		}
	}
}

// TestRounds: cell by cell, in each target after target, and all of it round by round;
// then hold, each time with servers that are fresh. One CPU is shared with one worker only.
func TestRounds(t *testing.T) {
	fakes := []*fake{{name: "a", handover: time.Millisecond}, {name: "b", handover: 2 * time.Millisecond}, {name: "none", noCells: true}}
	m := &machine{ping: 40 * time.Microsecond}
	var said note
	var result *Result
	synctest.Test(t, func(t *testing.T) {
		var err error
		result, err = Run(context.Background(), Config{
			Targets: []Target{fakes[0], fakes[1], fakes[2]}, Workers: []int{1, 4}, Think: []time.Duration{0, 5 * time.Millisecond},
			Rounds: 3, HoldRounds: 2, Waiters: 10, Locks: 100, Machine: m, Progress: said.record,
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	var rows []string
	for _, row := range result.Rows {
		rounds := 3
		if row.Cell.Workload == Hold {
			rounds = 2
		}
		if len(row.Rounds) != rounds {
			t.Errorf("%s, %v has %d rounds", row.Target, row.Cell, len(row.Rounds))
		}
		rows = append(rows, row.Target+" "+row.Cell.String())
	}
	wantRows := []string{
		"a uncontended, 1 worker", "b uncontended, 1 worker", "a uncontended, 4 workers", "b uncontended, 4 workers",
		"a hot, 1 worker", "b hot, 1 worker", "a hot, 4 workers", "b hot, 4 workers", "a drain, 10 waiters", "b drain, 10 waiters",
		"a uncontended, 1 worker, each lock kept for 5ms", "b uncontended, 1 worker, each lock kept for 5ms",
		"a hot, 4 workers, each lock kept for 5ms", "b hot, 4 workers, each lock kept for 5ms",
		"a hold, 64 workers", "b hold, 64 workers",
	}
	if !slices.Equal(rows, wantRows) {
		t.Errorf("rows %q, want %q", rows, wantRows)
	}
	for i, starts := range []int{3, 3, 0} {
		if fakes[i].starts != starts || fakes[i].stops != starts {
			t.Errorf("%s was started %d times and stopped %d times, want %d", fakes[i].name, fakes[i].starts, fakes[i].stops, starts)
		}
	}
	if want := slices.Repeat([]string{"a", "b"}, 9); !slices.Equal(m.shared, want) || m.shares != 0 {
		t.Errorf("shared by %v, want %v", m.shared, want)
	}
	if said.steps[2] != "round 1 of 3: uncontended, 1 worker" || said.steps[len(said.steps)-1] != "round 2 of 2: hold, 100 locks of b" {
		t.Errorf("got %q", said.steps)
	}
	expect(t, result.Rows[0], bucket, Figures{PingMicros: 40, PredictedOpsPerS: 1e6 / 60})
	expect(t, result.Rows[6], bucket, Figures{PredictedOpsPerS: 1e6 / 40})
	expect(t, result.Rows[10], bucket, Figures{PredictedOpsPerS: 1e6 / 5060, PredictedBy: 3, PredictedUtilisation: 5000.0 / 5060})
	expect(t, result.Rows[12], bucket, Figures{PredictedBy: 2, PredictedUtilisation: 5000.0 / 5040, Utilisation: 5.0 / 6})
	expect(t, result.Rows[2], bucket, Figures{PredictedOpsPerS: math.NaN()})
}

// TestMessages: a target without messages is bounded by the use alone, one without locks
// by nothing.
func TestMessages(t *testing.T) {
	for _, tt := range []struct {
		messages Messages
		want     float64
	}{{NoMessages, 100}, {NoLocks, math.NaN()}} {
		row, _ := measureOne(t, &fake{handover: time.Millisecond, messages: tt.messages}, Cell{Hot, 3, 10 * time.Millisecond})
		expect(t, row, bucket, Figures{PredictedOpsPerS: tt.want})
	}
}

// TestStartFails: what was started is stopped, and the error names the target.
func TestStartFails(t *testing.T) {
	good, bad := &fake{name: "good", handover: time.Millisecond}, &fake{name: "bad", refuse: errBroken}
	_, err := Run(context.Background(), Config{Targets: []Target{good, bad}})
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "start bad") || good.stops != 1 {
		t.Errorf("%v; %d stops", err, good.stops)
	}
}

// TestCancelled: a run that is ended stops what it has started.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(1300*time.Millisecond, func() { cancel(errBroken) })
		f := &fake{name: "a", handover: time.Millisecond}
		_, err := Run(ctx, Config{Targets: []Target{f}})
		if !errors.Is(err, errBroken) || f.stops != 1 || f.clients != 0 {
			t.Errorf("%v; %d stops, %d clients left open", err, f.stops, f.clients)
		}
	})
}

// TestRefused: what a configuration may not have.
func TestRefused(t *testing.T) {
	f := []Target{&fake{}}
	for want, c := range map[string]Config{
		"Targets is empty":     {},
		`Workloads has "cold"`: {Targets: f, Workloads: []string{"cold"}},
		"Workers has 0":        {Targets: f, Workers: []int{1, 0}},
		"Think has -1ns":       {Targets: f, Think: []time.Duration{-1}},
		"Rounds is -1":         {Targets: f, Rounds: -1},
		"Duration is 1ns":      {Targets: f, Duration: 1},
		"Waiters -1":           {Targets: f, Waiters: -1},
		"nothing to measure":   {Targets: []Target{&fake{noCells: true}}},
	} {
		if _, err := Run(context.Background(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// sample is a result with all kinds of rows.
func sample() *Result {
	rounds := func(metric Metric, values ...float64) (all []Figures) {
		for i, value := range values {
			all = append(all, Figures{metric: value, P50: 18.9, P99: 40, Max: 1000 + float64(i), Errors: float64(i), PingMicros: 17.55})
		}
		return all
	}
	hot := rounds(HandoffsPerS, 20_000, 10_000)
	hot[0][OpsPerS], hot[0][Fairness], hot[0][Violations], hot[1][Violations], hot[0][PredictedOpsPerS] = 20_000, 1.0049, 2, 1, 56_980.0569
	hot[0][PredictedBy], hot[0][Utilisation], hot[0][PredictedUtilisation] = 2, 0.9, 0.966
	return &Result{Rows: []*Row{
		{"limit", Cell{Uncontended, 1, 0}, rounds(OpsPerS, 20_000, 40_000, 30_000)},
		{"remote", Cell{Uncontended, 1, 0}, rounds(OpsPerS, 15_000.1239, 9_000)},
		{"remote", Cell{Uncontended, 1, time.Millisecond}, []Figures{{OpsPerS: 940, Errors: 0, ClientCPU: 12, ServerCPU: 13}}},
		{"remote", Cell{Hot, 64, 0}, hot},
		{"limit", Cell{Drain, 1000, 0}, []Figures{{HandoffsPerS: 26_000, Max: 38_400, Errors: 0, Violations: 0}}},
		{"limit", Cell{Hold, 64, 0}, []Figures{{BytesPerLock: 101, HeapBytesPerLock: 90, OpsPerS: 539_100, Errors: 0}}},
	}}
}

// TestJSON: the document is the one that scripts read.
func TestJSON(t *testing.T) {
	var got bytes.Buffer
	host := Host{System: "linux", Machine: "amd64", CPUs: 2, Go: "go1.26", Version: "devel", Pinned: true}
	if err := sample().WriteJSON(&got, host); err != nil {
		t.Fatal(err)
	}
	compare(t, "testdata/figures.json", got.String())
}

// TestTables: the tables are those that people read.
func TestTables(t *testing.T) {
	var got strings.Builder
	for _, table := range sample().Tables() {
		for _, row := range append([][]string{table.Header}, table.Rows...) {
			got.WriteString(strings.Join(row, "|") + "\n")
		}
		got.WriteString("\n")
	}
	compare(t, "testdata/tables.txt", got.String())
}

// compare holds a text against a file, which HOLDFAST_REWRITE=1 writes anew.
func compare(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("HOLDFAST_REWRITE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}
