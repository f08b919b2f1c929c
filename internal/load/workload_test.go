package load

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

// measureOne runs one cell against a fake for a second of fake time.
func measureOne(t *testing.T, f *fake, cell Cell) (*Row, *Result) {
	t.Helper()
	var row *Row
	var result *Result
	synctest.Test(t, func(t *testing.T) {
		c := Config{
			Targets: []Target{f}, Workloads: []string{cell.Workload}, Workers: []int{cell.Workers}, Think: []time.Duration{cell.Think},
			Rounds: 1, Duration: time.Second, Waiters: cell.Workers, Locks: 1000,
		}
		var err error
		if result, err = Run(context.Background(), c); err != nil {
			t.Fatal(err)
		}
		if len(result.Rows) != 1 {
			t.Fatalf("%d rows", len(result.Rows))
		}
		row = result.Rows[0]
	})
	if f.starts != f.stops || f.clients != 0 {
		t.Errorf("%d starts, %d stops, %d clients left open", f.starts, f.stops, f.clients)
	}
	return row, result
}

// expect compares figures to within a share; NaN says that there is none.
func expect(t *testing.T, row *Row, within float64, want Figures) {
	t.Helper()
	for metric, value := range want {
		got, ok := row.Figure(metric)
		switch {
		case math.IsNaN(value) && ok:
			t.Errorf("%s is %v; want none", metric, got)
		case !math.IsNaN(value) && (!ok || math.Abs(got-value) > within*math.Abs(value)):
			t.Errorf("%s is %v, %v; want %v", metric, got, ok, value)
		}
	}
}

const bucket = 0.016 // what a histogram knows

// TestUncontended: rates, times and errors of workers on names of their own.
func TestUncontended(t *testing.T) {
	for _, tt := range []struct {
		name string
		fake *fake
		cell Cell
		want Figures
	}{
		{"one worker", &fake{handover: 2 * time.Millisecond, unlock: time.Millisecond}, Cell{Uncontended, 1, 0},
			Figures{OpsPerS: 333, P50: 3000, P99: 3000, Max: 3000, LockP50: 2000, Errors: 0, Violations: math.NaN(), HandoffsPerS: math.NaN(), Fairness: math.NaN(), ServerCPU: 1000}},
		{"many", &fake{handover: 2 * time.Millisecond}, Cell{Uncontended, 50, 0},
			Figures{OpsPerS: 25_000, P50: 2000, LockP50: 2000}},
		{"thinking", &fake{handover: 2 * time.Millisecond}, Cell{Uncontended, 1, 8 * time.Millisecond},
			Figures{OpsPerS: 100, P50: 10_000, LockP50: 2000}},
		{"each fourth call broken", &fake{handover: time.Millisecond, broken: 4}, Cell{Uncontended, 1, 0},
			Figures{OpsPerS: 1000, P50: 1000, Errors: 366}}, // a third of 1,100 with the warming
	} {
		t.Run(tt.name, func(t *testing.T) {
			row, result := measureOne(t, tt.fake, tt.cell)
			expect(t, row, bucket, tt.want)
			if tt.fake.broken > 0 != errors.Is(result.FirstError, errBroken) {
				t.Errorf("the first error is %v", result.FirstError)
			}
		})
	}
}

// TestNames: no two workers share a name, and together they use many of the 10,000.
func TestNames(t *testing.T) {
	f := &fake{handover: time.Millisecond}
	measureOne(t, f, Cell{Uncontended, 64, 0})
	for name, workers := range f.drawn {
		if len(workers) != 1 {
			t.Fatalf("name %s was wanted by workers %v", name, workers)
		}
	}
	if n := len(f.drawn); n < 9_000 || n > nameCount {
		t.Errorf("%d names were used", n)
	}
}

// TestBrokenService: workers whose calls all end with an error give up.
func TestBrokenService(t *testing.T) {
	row, _ := measureOne(t, &fake{handover: time.Millisecond, broken: 1}, Cell{Hot, 3, 0})
	expect(t, row, 0, Figures{OpsPerS: 0, Errors: 3 * maxFailures, Fairness: math.NaN(), P50: math.NaN()})
}

// TestHot: hand-offs, waits, fairness and violations of services that behave in known
// ways.
func TestHot(t *testing.T) {
	for _, tt := range []struct {
		name string
		fake *fake
		cell Cell
		want Figures
	}{
		{"fair", &fake{handover: time.Millisecond}, Cell{Hot, 8, 0},
			Figures{OpsPerS: 1000, HandoffsPerS: 1000, P50: 8000, P99: 8000, Max: 8000, Fairness: 1, Violations: 0, Errors: 0, LockP50: math.NaN()}},
		{"fair, thinking", &fake{handover: time.Millisecond}, Cell{Hot, 8, 4 * time.Millisecond},
			Figures{OpsPerS: 200, HandoffsPerS: 200, P50: 36_000, Fairness: 1, Violations: 0}},
		{"alone", &fake{handover: time.Millisecond}, Cell{Hot, 1, 0},
			Figures{OpsPerS: 1000, HandoffsPerS: 0, P50: 1000, Violations: 0, Fairness: math.NaN()}},
		{"one has it ten times before the next", &fake{handover: time.Millisecond, sticky: 10}, Cell{Hot, 4, 0},
			Figures{OpsPerS: 1000, HandoffsPerS: 100, P50: 1000, Violations: 0}},
		{"one has it always", &fake{handover: time.Millisecond, sticky: 1 << 30}, Cell{Hot, 4, 0},
			Figures{OpsPerS: 1000, HandoffsPerS: 0, P50: 1000, Fairness: 999, Violations: 0}},
		{"all have it", &fake{handover: time.Millisecond, overlaps: true}, Cell{Hot, 2, time.Millisecond},
			Figures{OpsPerS: 1000}},
		{"all have it, but what they have has ended", &fake{handover: time.Millisecond, overlaps: true, lost: true}, Cell{Hot, 2, time.Millisecond},
			Figures{OpsPerS: 1000, Violations: 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			row, result := measureOne(t, tt.fake, tt.cell)
			expect(t, row, bucket, tt.want)
			if got, _ := row.Figure(Violations); tt.fake.overlaps && !tt.fake.lost && got < 500 {
				t.Errorf("%v violations", got)
			}
			if result.FirstError != nil {
				t.Error(result.FirstError)
			}
		})
	}
}

// TestDrain: the time until all have had it, with and without announcements.
func TestDrain(t *testing.T) {
	want := Figures{OpsPerS: 1000, HandoffsPerS: 1000, P50: 50_000, P99: 99_000, Max: 100_000, Violations: 0, Errors: 0}
	for _, silent := range []bool{false, true} {
		row, _ := measureOne(t, &fake{handover: time.Millisecond, silent: silent}, Cell{Drain, 100, 0})
		expect(t, row, bucket, want)
	}
	row, _ := measureOne(t, &fake{handover: time.Millisecond, broken: 51, silent: true}, Cell{Drain, 100, 0})
	expect(t, row, bucket, Figures{Errors: 1, HandoffsPerS: 1000, Max: 99_000})
	row, _ = measureOne(t, &fake{handover: time.Millisecond, overlaps: true, silent: true}, Cell{Drain, 100, 0})
	expect(t, row, bucket, Figures{Errors: 0, HandoffsPerS: math.NaN()}) // all had it before it was released
}

// TestHold: the memory of each lock, of servers that are fresh, and nothing left held.
func TestHold(t *testing.T) {
	f := &fake{handover: time.Millisecond, perLock: 200}
	row, _ := measureOne(t, f, Cell{Hold, 1, 0})
	expect(t, row, bucket, Figures{BytesPerLock: 200, HeapBytesPerLock: 100, OpsPerS: 62_500, Errors: 0, ServerCPU: 1000, P50: math.NaN()})
	if f.held != 0 || f.settled != 2 {
		t.Errorf("%d are left held; memory was looked at %d times", f.held, f.settled)
	}
	f = &fake{handover: time.Millisecond, perLock: 200, broken: 500}
	row, result := measureOne(t, f, Cell{Hold, 1, 0})
	expect(t, row, bucket, Figures{BytesPerLock: 200, Errors: 2})
	if f.held != 0 || !errors.Is(result.FirstError, errBroken) {
		t.Errorf("%d are left held; the first error is %v", f.held, result.FirstError)
	}
}

// TestNeverGranted: a lock that never comes ends the measurement with an error that is
// counted.
func TestNeverGranted(t *testing.T) {
	f := &fake{handover: time.Millisecond, sticky: 1 << 30, strands: true}
	row, result := measureOne(t, f, Cell{Hot, 2, 0})
	expect(t, row, 0, Figures{Errors: 1})
	if !errors.Is(result.FirstError, context.DeadlineExceeded) {
		t.Errorf("the first error is %v", result.FirstError)
	}
}

// TestChecker: what counts as a hand-off, and what as a violation.
func TestChecker(t *testing.T) {
	alive := &fakeHeld{locker: fakeLocker{fake: &fake{}}}
	ended := &fakeHeld{locker: fakeLocker{fake: &fake{lost: true}}}
	var c Checker
	for i, step := range []struct {
		do                   func()
		handoffs, violations uint64
	}{
		{func() { c.Enter(0, alive) }, 0, 0}, // the first
		{func() { c.Leave(0); c.Enter(0, alive) }, 0, 0},
		{func() { c.Leave(0); c.Enter(1, alive) }, 1, 0},
		{func() { c.Enter(2, alive) }, 2, 1}, // while 1 is in
		{func() { c.Leave(2); c.Enter(3, ended) }, 3, 2},
		{func() { c.Leave(1); c.Enter(4, alive) }, 4, 2}, // while 3 is in, whose lock has ended
		{func() { c.Leave(3); c.Leave(4); c.Leave(4); c.Enter(4, alive) }, 4, 2},
	} {
		step.do()
		if handoffs, violations := c.Counts(); handoffs != step.handoffs || violations != step.violations {
			t.Errorf("step %d: %d hand-offs, %d violations; want %d, %d", i, handoffs, violations, step.handoffs, step.violations)
		}
	}
}
