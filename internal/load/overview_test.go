package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// slow is a fake that cannot be measured with as many as wanted.
type slow struct {
	*fake
	most int
}

func (s slow) Bound(_ string, wanted int) int { return min(wanted, s.most) }

// TestBounded: a target that is bounded is measured with so many, and says so where that
// is fewer.
func TestBounded(t *testing.T) {
	f := slow{&fake{name: "slow", handover: time.Millisecond}, 5}
	synctest.Test(t, func(t *testing.T) {
		result, err := Run(context.Background(), Config{
			Targets: []Target{f}, Workloads: []string{Uncontended, Hot, Drain}, Workers: []int{1, 8}, Think: []time.Duration{0},
			Rounds: 1, Duration: time.Second, Waiters: 10,
		})
		if err != nil {
			t.Fatal(err)
		}
		none := math.NaN()
		for i, want := range []float64{none, 5, none, 5, 5} {
			expect(t, result.Rows[i], 0, Figures{Count: want})
		}
		expect(t, result.Rows[1], 2*bucket, Figures{OpsPerS: 5000}) // as of five workers
		var counts []string
		for _, row := range result.Overview().Rows {
			counts = append(counts, row[1])
		}
		if got := strings.Join(counts, ", "); got != "1, 5 of 8, 1, 5 of 8, 5 of 10" {
			t.Errorf("counted %s", got)
		}
	})
}

// TestPatience: a worker that waits for ever is given up after the time and the patience, and that
// is an error.
func TestPatience(t *testing.T) {
	f := &fake{handover: time.Millisecond, sticky: 10, strands: true}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		result, err := Run(context.Background(), Config{
			Targets: []Target{f}, Workloads: []string{Hot}, Workers: []int{4}, Think: []time.Duration{0},
			Rounds: 1, Duration: time.Second, Patience: 2 * time.Second,
		})
		if err != nil || !errors.Is(result.FirstError, context.DeadlineExceeded) {
			t.Fatal(err, result)
		}
		if took := time.Since(begun); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestHoldLimit: a target that grants slowly is measured with the locks that it has granted in time.
func TestHoldLimit(t *testing.T) {
	f := &fake{handover: 100 * time.Millisecond, perLock: 50}
	synctest.Test(t, func(t *testing.T) {
		result, err := Run(context.Background(), Config{
			Targets: []Target{f}, Workloads: []string{Hold}, Rounds: 1, HoldLimit: 950 * time.Millisecond,
		})
		if err != nil || result.FirstError != nil {
			t.Fatal(err, result)
		}
		expect(t, result.Rows[0], 0, Figures{Count: 10 * holders, OpsPerS: 10 * holders, BytesPerLock: 50, Errors: 0})
		if row := result.Overview().Rows[0]; row[1] != "640" {
			t.Errorf("counted %s", row[1])
		}
	})
}

// stuck is a fake of which one lock is never granted.
type stuck struct{ *fake }

func (s stuck) Connect(ctx context.Context, c Cell) (Client, error) {
	_, err := s.fake.Connect(ctx, c)
	return s, err
}

func (s stuck) Worker(_ context.Context, number int) (Locker, error) {
	return stuckLocker{fakeLocker{s.fake, number}}, nil
}

type stuckLocker struct{ fakeLocker }

func (l stuckLocker) Lock(ctx context.Context, name string) (Held, error) {
	if name == "bench/hold/100" {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return l.fakeLocker.Lock(ctx, name)
}

// TestHoldGivesUp: a lock that is never granted is given up after twice the limit, and the
// memory of the others is still looked at while they are held.
func TestHoldGivesUp(t *testing.T) {
	f := stuck{&fake{handover: time.Millisecond, perLock: 50}}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		result, err := Run(context.Background(), Config{
			Targets: []Target{f}, Workloads: []string{Hold}, Rounds: 1, Locks: holders * 4, HoldLimit: 3 * time.Second,
		})
		if err != nil || !errors.Is(result.FirstError, context.Canceled) {
			t.Fatal(err, result)
		}
		// Behind the lock that is never granted its worker has taken two more too late.
		expect(t, result.Rows[0], 0, Figures{Count: holders*4 - 3, BytesPerLock: 50, Errors: 1})
		if took := time.Since(begun); took < 6*time.Second || took > 7*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestRelate: ratios are those of rounds, of the figure that a cell is judged by.
func TestRelate(t *testing.T) {
	rounds := func(metric Metric, values ...float64) (all []Figures) {
		for _, value := range values {
			all = append(all, Figures{metric: value})
		}
		return all
	}
	one, hot, alone := Cell{Uncontended, 1, 0}, Cell{Hot, 8, 0}, Cell{Hot, 1, 0}
	r := &Result{Rows: []*Row{
		{"limit", one, rounds(OpsPerS, 100, 200, 400)},
		{"other", one, rounds(OpsPerS, 50, 20, 100)},
		{"limit", hot, rounds(HandoffsPerS, 1000)},
		{"other", hot, []Figures{{HandoffsPerS: 4, OpsPerS: 5000}}},
		{"limit", alone, []Figures{{OpsPerS: 10, HandoffsPerS: 0}}},
		{"other", alone, []Figures{{OpsPerS: 20, HandoffsPerS: 0}}},
		{"other", Cell{Drain, 10, 0}, rounds(HandoffsPerS, 1)},
	}}
	r.Relate()
	for i, want := range []float64{1, 0.25, 1, 0.004, 1, 2, math.NaN()} {
		expect(t, r.Rows[i], 1e-9, Figures{OfLimit: want})
	}
	var cells []string
	for _, row := range r.Overview().Rows {
		cells = append(cells, row[7])
	}
	if got := strings.Join(cells, "|"); got != "1.00|0.25|1.00|0.0040|1.00|2.00|" {
		t.Errorf("shown as %s", got)
	}
}

// TestParse: what is asked for is read, or refused with what is allowed.
func TestParse(t *testing.T) {
	var c Config
	if flag, err := c.ReadFlags(typed{"quick": true, "rounds": 7, "duration": time.Second}); err != nil || c.Rounds != 7 || c.Duration != time.Second || c.Locks != 50_000 {
		t.Error(c, flag, err)
	}
	if c.Quick(); c.Rounds != 2 || c.HoldRounds != 1 || c.Duration != 100*time.Millisecond || c.Locks != 50_000 {
		t.Error(c)
	}
	workers, err := ReadWorkers("1, 64")
	if err != nil || len(workers) != 2 || workers[1] != 64 {
		t.Error(workers, err)
	}
	think, err := ReadThink("")
	if err != nil || think != nil {
		t.Error(think, err)
	}
	refused := func(f typed) error {
		flag, err := new(Config).ReadFlags(f)
		return fmt.Errorf("%s: %w", flag, err)
	}
	_, noNumber := ReadWorkers("1,x")
	_, tooLong := ReadThink("2h")
	_, twice := ReadChoices("hot,hot", Workloads())
	_, unknown := ReadChoices("cold", Workloads())
	for want, err := range map[string]error{
		"rounds: 0: want 1 to 1000":       refused(typed{"rounds": 0}),
		"duration: 1ns: want 1ms to 1h0m": refused(typed{"duration": time.Duration(1)}),
		"workers: ":                       refused(typed{"workers": "1,x"}),
		"think: ":                         refused(typed{"think": "2h"}),
		"workloads: ":                     refused(typed{"workloads": "cold"}),
		`"x": want numbers from 1 to 100000, as in 1,64`:        noNumber,
		`"2h": want durations from 0 to 1m0s, as in 0,1ms`:      tooLong,
		`"hot": it is given twice`:                              twice,
		`"cold": want some of uncontended, hot, drain, hold`:    unknown,
		"fields Patience -1ns and HoldLimit 1m0s: no less than": (&Config{Targets: []Target{&fake{}}, Patience: -1}).check(),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// typed are flags as a user has typed them.
type typed map[string]any

func (f typed) IsSet(name string) bool { return f[name] != nil }

func (f typed) Bool(name string) bool { return f[name] == true }

func (f typed) Int(name string) int { n, _ := f[name].(int); return n }

func (f typed) Duration(name string) time.Duration { d, _ := f[name].(time.Duration); return d }

func (f typed) String(name string) string { text, _ := f[name].(string); return text }

// foreign is a fake of others; what it is asked for ends with an error.
type foreign struct{ *fake }

func (foreign) Foreign() {}

func (foreign) Connect(context.Context, Cell) (Client, error) { return nil, errBroken }

// TestForeign: an error of a target of others is counted, and the others are measured.
func TestForeign(t *testing.T) {
	f, good := foreign{&fake{name: "foreign"}}, &fake{name: "good", handover: time.Millisecond}
	synctest.Test(t, func(t *testing.T) {
		result, err := Run(context.Background(), Config{
			Targets: []Target{f, good}, Workloads: []string{Hot, Hold}, Workers: []int{4}, Think: []time.Duration{0}, Rounds: 2, Locks: 64,
		})
		if err != nil || !errors.Is(result.FirstError, errBroken) || len(result.Rows) != 4 {
			t.Fatal(err, result)
		}
		none := math.NaN()
		for i, errors := range []float64{2, 0, 2, 0} {
			expect(t, result.Rows[i], 0, Figures{Errors: errors})
		}
		expect(t, result.Rows[0], 0, Figures{OpsPerS: none})
		if f.stops != f.starts || f.starts != 3 || good.stops != 3 {
			t.Errorf("%d starts, %d and %d stops", f.starts, f.stops, good.stops)
		}
	})
}
