package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Config configures a run.
type Config struct {
	// Targets are the targets, in the order of measurement; at least one.
	Targets []Target
	// Workloads are some of [Workloads]. Nil means all.
	Workloads []string
	// Workers replaces the numbers of workers of Uncontended and Hot. Nil means 1, 64 and 512, and 1, 8 and 64.
	Workers []int
	// Think are the times for which workers keep each lock. Nil means 0, 1 ms and 10 ms. With 0 all numbers of workers
	// are measured; with the others, only the smallest.
	Think []time.Duration
	// Rounds is the number of rounds; zero means 3. Duration is the length of a timed measurement; zero means 500 ms.
	// With think times it is at least 20 of those.
	Rounds   int
	Duration time.Duration
	// HoldRounds is Rounds for Hold, which needs fresh servers each time; zero means Rounds.
	HoldRounds int
	// Patience is how long a measurement may be overdue: calls that have not returned by then end with an error, which
	// is counted. Zero means 30 s.
	Patience time.Duration
	// HoldLimit is the time after which Hold starts no more locks, and continues with those that it has; after the same
	// time again it gives up the pending ones. Then it is the time limit for releasing the locks. Zero means a minute.
	HoldLimit time.Duration
	// Waiters is the number of waiters of Drain; zero means 1,000. Locks is the number of locks of Hold; zero means
	// 100,000.
	Waiters, Locks int
	// Seed is the seed of the names: the same seed gives the same names for each worker and round.
	Seed uint64
	// Aims compares the figures with the aims; see [Aim].
	Aims bool
	// Machine is this machine. Nil means that processes are not pinned to one CPU, and that no ping-pong is measured.
	Machine Machine
	// Progress gets a sentence before each step. It may be nil.
	Progress func(string)
}

// Bounds of the configuration.
const (
	MaxWorkers  = 100_000
	MaxRounds   = 1000
	MaxDuration = time.Hour
	MaxThink    = time.Minute
)

func (c *Config) check() error {
	if len(c.Targets) == 0 {
		return errors.New("field Targets is empty; want at least one")
	}
	if c.Workloads == nil {
		c.Workloads = Workloads()
	}
	if c.Think == nil {
		c.Think = []time.Duration{0, time.Millisecond, 10 * time.Millisecond}
	}
	for _, workload := range c.Workloads {
		if !slices.Contains(Workloads(), workload) {
			return fmt.Errorf("field Workloads has %q; want some of %v", workload, Workloads())
		}
	}
	for _, workers := range c.Workers {
		if workers < 1 || workers > MaxWorkers {
			return fmt.Errorf("field Workers has %d; 1 to %d is allowed", workers, MaxWorkers)
		}
	}
	for _, think := range c.Think {
		if think < 0 || think > MaxThink {
			return fmt.Errorf("field Think has %v; 0 to %v is allowed", think, MaxThink)
		}
	}
	setDefault(&c.Rounds, 3)
	setDefault(&c.HoldRounds, c.Rounds)
	setDefault(&c.Duration, 500*time.Millisecond)
	setDefault(&c.Waiters, 1000)
	setDefault(&c.Locks, 100_000)
	setDefault(&c.Patience, 30*time.Second)
	setDefault(&c.HoldLimit, time.Minute)
	switch {
	case c.Rounds < 1 || c.Rounds > MaxRounds || c.HoldRounds < 1:
		return fmt.Errorf("field Rounds is %d; 1 to %d is allowed", c.Rounds, MaxRounds)
	case c.Duration < time.Millisecond || c.Duration > MaxDuration:
		return fmt.Errorf("field Duration is %v; 1ms to %v is allowed", c.Duration, MaxDuration)
	case c.Waiters < 1 || c.Locks < 1:
		return fmt.Errorf("fields Waiters %d and Locks %d: at least 1 is allowed", c.Waiters, c.Locks)
	case c.Patience < 0 || c.HoldLimit < 0:
		return fmt.Errorf("fields Patience %v and HoldLimit %v: no less than 0 is allowed", c.Patience, c.HoldLimit)
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	return nil
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// ErrNothing is the error of a run in which no target supports any of the cells.
var ErrNothing = errors.New("nothing to measure: these targets have none of these workloads with these numbers of workers")

// bench is one run.
type bench struct {
	Config
	rows  []*Row
	first error // first error of a call
}

// Result is the result of a run.
type Result struct {
	Rows []*Row // by cell, and then in the order of the targets
	// FirstError is the first error of a measured call; nil if there was none.
	FirstError error
	// Aims are the compared aims, if requested.
	Aims []Aim
}

// Sum adds up a metric of all rows.
func (r *Result) Sum(m Metric) (sum float64) {
	for _, row := range r.Rows {
		value, _ := row.Figure(m)
		sum += value
	}
	return sum
}

// Run measures. It starts and stops the targets. The error says why there is no result: errors of measured calls are
// part of the result instead.
func Run(ctx context.Context, c Config) (*Result, error) {
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	b := &bench{Config: c}
	timed, held := c.cells()
	supported := func(t Target) bool { return slices.ContainsFunc(slices.Concat(timed, held), t.Supports) }
	if !slices.ContainsFunc(c.Targets, supported) {
		return nil, ErrNothing
	}
	if err := b.runTimed(ctx, timed); err != nil {
		return nil, err
	}
	for round := range c.HoldRounds {
		for _, cell := range held {
			for _, t := range c.Targets {
				if err := b.runHold(ctx, t, cell, round); err != nil {
					return nil, err
				}
			}
		}
	}
	result := &Result{Rows: b.rows, FirstError: b.first}
	if c.Aims {
		result.Aims = result.compare()
	}
	return result, nil
}

// runTimed measures cell by cell, each on one target right after the other, and all of that round by round: other load
// on the machine then affects all of them alike.
func (b *bench) runTimed(ctx context.Context, cells []Cell) (err error) {
	used := slices.DeleteFunc(slices.Clone(b.Targets), func(t Target) bool { return !slices.ContainsFunc(cells, t.Supports) })
	for _, t := range used {
		b.Progress("starting " + t.Name())
		if err := t.Start(ctx); err != nil {
			return fmt.Errorf("start %s: %w", t.Name(), err)
		}
		defer func() {
			if stopped := t.Stop(); stopped != nil {
				err = errors.Join(err, fmt.Errorf("stop %s: %w", t.Name(), stopped))
			}
		}()
	}
	for round := range b.Rounds {
		for _, cell := range cells {
			b.Progress(fmt.Sprintf("round %d of %d: %v", round+1, b.Rounds, cell))
			for _, t := range used {
				if !t.Supports(cell) {
					continue
				}
				if err := b.forgive(ctx, t, cell, b.measure(ctx, t, cell, uint64(round))); err != nil {
					return fmt.Errorf("measure %s, %v: %w", t.Name(), cell, err)
				}
			}
		}
	}
	return nil
}

// runHold measures Hold with fresh servers.
func (b *bench) runHold(ctx context.Context, t Target, cell Cell, round int) error {
	if !t.Supports(cell) {
		return nil
	}
	b.Progress(fmt.Sprintf("round %d of %d: %s, %d locks of %s", round+1, b.HoldRounds, Hold, b.Locks, t.Name()))
	err := t.Start(ctx)
	if err != nil {
		return fmt.Errorf("start %s: %w", t.Name(), err)
	}
	f, first, err := b.hold(ctx, t, cell)
	if err == nil {
		b.note(t, cell, f, first)
	}
	if err = errors.Join(b.forgive(ctx, t, cell, err), t.Stop()); err != nil {
		return fmt.Errorf("measure %s, %s: %w", t.Name(), Hold, err)
	}
	return nil
}

// forgive counts the error of a measurement of a third-party target, unless the run itself has ended.
func (b *bench) forgive(ctx context.Context, t Target, cell Cell, err error) error {
	if _, foreign := t.(Foreign); err == nil || !foreign || ctx.Err() != nil {
		return err
	}
	b.note(t, cell, Figures{Errors: 1}, err)
	return nil
}

// note adds the figures of a round to their row.
func (b *bench) note(t Target, cell Cell, f Figures, first error) {
	if first != nil && b.first == nil {
		b.first = fmt.Errorf("%s, %v: %w", t.Name(), cell, first)
	}
	i := slices.IndexFunc(b.rows, func(r *Row) bool { return r.Target == t.Name() && r.Cell == cell })
	if i < 0 {
		i = len(b.rows)
		b.rows = append(b.rows, &Row{Target: t.Name(), Cell: cell})
	}
	b.rows[i].Rounds = append(b.rows[i].Rounds, f)
}
