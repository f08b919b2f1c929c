package sim

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// Summary is the outcome of many runs.
type Summary struct {
	Protocol string
	First    uint64
	Seeds    int
	Steps    int
	Slow     int           // runs that settled later than 30 s after the last fault
	Slowest  time.Duration // of all runs that settled
	Worst    *Result       // the run with the lowest seed that was not OK; nil if all were
	Survived Survival
	counts   *counts
}

// Grants returns the number of grants that reached their users.
func (s *Summary) Grants() int { return s.counts.grants }

// RunMany simulates seeds from first on, several at a time, and stops at the first seed that is not OK. No seed below
// it is left out, and the report does not depend on the number of jobs. Report, if not nil, is called for every result
// in the order of the seeds.
func RunMany(c Config, first uint64, seeds, jobs int, report func(*Result)) (*Summary, error) {
	return runBatch(context.Background(), c, first, seeds, jobs, report)
}

// RunUntil simulates seeds from first on as RunMany does, at least one for each job, until ctx is done. Runs that have
// started are finished, and count.
func RunUntil(ctx context.Context, c Config, first uint64, jobs int, report func(*Result)) (*Summary, error) {
	return runBatch(ctx, c, first, math.MaxInt, jobs, report)
}

func runBatch(ctx context.Context, c Config, first uint64, seeds, jobs int, report func(*Result)) (*Summary, error) {
	c.Observe = nil
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Coverage = true
	b := &batch{
		config: c, first: first, seeds: seeds, report: report, waiting: map[int]Result{},
		summary: &Summary{Protocol: c.Protocol.Name, First: first, counts: newCounts(c.Coverage)},
	}
	var workers sync.WaitGroup
	for range max(1, min(jobs, seeds)) {
		workers.Go(func() { b.work(ctx) })
	}
	workers.Wait()
	return b.summary, b.err
}

// batch hands out seeds and collects results in their order.
type batch struct {
	config Config
	first  uint64
	seeds  int
	report func(*Result)

	mu      sync.Mutex
	next    int            // the next seed to hand out
	waiting map[int]Result // results that came before their turn
	taken   int            // results taken
	over    bool
	err     error
	summary *Summary
}

func (b *batch) work(ctx context.Context) {
	for first := true; first || ctx.Err() == nil; first = false {
		b.mu.Lock()
		i := b.next
		over := b.over || i >= b.seeds
		if !over {
			b.next++
		}
		b.mu.Unlock()
		if over {
			return
		}
		result, err := Run(b.config, b.first+uint64(i), nil)
		b.finished(i, result, err)
	}
}

func (b *batch) finished(i int, result Result, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.err, b.over = err, true
		return
	}
	b.waiting[i] = result
	for !b.over {
		r, there := b.waiting[b.taken]
		if !there {
			return
		}
		delete(b.waiting, b.taken)
		b.taken++
		b.summary.take(&r)
		if b.report != nil {
			b.report(&r)
		}
		b.over = r.Outcome != OK
	}
}

// take adds a result.
func (s *Summary) take(r *Result) {
	s.Seeds++
	s.Steps += r.Steps
	s.counts.add(r.counts)
	s.Survived.add(r.Survived)
	if r.Outcome != OK {
		worst := *r
		s.Worst = &worst
		return
	}
	s.Slowest = max(s.Slowest, r.Settled)
	if r.Settled > patience {
		s.Slow++
	}
}

// String describes the runs that were OK.
func (s *Summary) String() string {
	text := fmt.Sprintf("%d grants, %d waits without one, %d locks lost, %d reigns, %d stale writes refused; settled within %v of the last fault",
		s.counts.grants, s.counts.failures, s.counts.lost, s.counts.reigns, s.counts.stale, s.Slowest)
	if s.Slow > 0 {
		text += fmt.Sprintf(", %d runs later than %v", s.Slow, patience)
	}
	if s.counts.histories > 0 {
		text += fmt.Sprintf("; %d histories compared with a lock, %d undecided", s.counts.histories, s.counts.undecided)
	}
	if s.Survived.Crashes > 0 {
		text += fmt.Sprintf("; %d of %d runs whose only fault is a coordinator's crash kept all locks held elsewhere", s.Survived.Kept, s.Survived.Crashes)
	}
	return text
}
