package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
)

// notSwept are flags that select seeds, or details of one seed: a sweep runs random seeds, until its time is over.
var notSwept = []string{"seed", "seeds", "as-published", "trace-member"}

// sweepBits is the length of a sweep's random first seed: long enough that no two sweeps overlap, and short enough to
// type.
const sweepBits = 53

// checkSweep refuses flags that contradict --sweep.
func checkSweep(c *cli.Command) error {
	if !c.IsSet("sweep") {
		return nil
	}
	for _, flag := range notSwept {
		if c.IsSet(flag) {
			return usageError(c.Name, "flags --sweep and --%s: a sweep draws its seeds and runs them until its time is over; leave one of the two out", flag)
		}
	}
	if d := c.Duration("sweep"); d <= 0 {
		return usageError(c.Name, "flag --sweep %v: want a duration, as in 3m", d)
	}
	return nil
}

// simRun runs the requested seeds, or those of a sweep.
func (p *program) simRun(ctx context.Context, o *simOrder) (*sim.Summary, error) {
	if o.sweep == 0 {
		return sim.RunMany(o.config, o.first, o.seeds, o.jobs, nil)
	}
	ctx, stop := context.WithTimeout(ctx, o.sweep)
	defer stop()
	o.first = rand.Uint64N(1<<sweepBits) + 1
	if err := written(fmt.Fprintf(p.stdout, "sweep: protocol=%s first_seed=%d for %v\n", o.config.Protocol.Name, o.first, o.sweep)); err != nil {
		return nil, err
	}
	return sim.RunUntil(ctx, o.config, o.first, o.jobs, nil)
}

// sweptBefore prints the progress of a sweep before a seed failed.
func (p *program) sweptBefore(o *simOrder, summary *sim.Summary) error {
	if o.sweep == 0 {
		return nil
	}
	return written(fmt.Fprintf(p.stdout, "sweep: failed protocol=%s seeds=%d first_seed=%d in=%.1fs\n",
		summary.Protocol, summary.Seeds, summary.First, time.Since(o.began).Seconds()))
}
