package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore/unordered"
)

// ordered are the flags of sim explore that do not apply if messages arrive in any order: no time passes there, and
// nothing fails except a member of protocol bakery.
var ordered = []string{
	"from", "lease", "locks", "dawdles", "transfers", "hold-on", "restarts", "pauses", "losses", "duplicates", "delays",
	"fast-clock", "quantum", "depth", "jobs", "memory", "checkpoint", "resume",
}

// simUnordered visits every possible order of messages.
func (p *program) simUnordered(ctx context.Context, c *cli.Command) error {
	for _, flag := range ordered {
		if c.IsSet(flag) {
			return usageError("sim explore", "flag --%s has no effect with --unordered, where no time passes: leave one of the two out", flag)
		}
	}
	protocol, known := sim.Find(c.String("protocol"))
	if !known {
		return usageError("sim explore", "flag --protocol: %q cannot be explored; %s can", c.String("protocol"), sim.Names())
	}
	config := unordered.Config{
		Protocol: protocol, Members: c.Int("members"), Users: c.Int("users"), Calls: c.Int("calls"), Requests: c.Int("asks"),
		Published: c.Bool("published"), Options: exploredOptions(c),
	}
	if c.IsSet("crashes") {
		config.Crashes = c.Int("crashes")
	}
	if err := config.Check(); err != nil {
		return usageError("sim explore", "%v", err)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := unordered.Explore(ctx, config, unordered.Limits{Progress: nowAndThen(p.goingOn)})
	if err != nil {
		return err
	}
	if err := written(fmt.Fprintf(p.stdout, "%v\n%.0f states/s; the odds that two states were taken for one are %.1g\n", &r.Config, r.Speed(), r.Odds())); err != nil {
		return err
	}
	figures := fmt.Sprintf("protocol=%s states=%d transitions=%d depth=%d", protocol.Name, r.States, r.Transitions, r.Depth)
	if r.Found == nil {
		return p.exploreKept(r.Stopped != "", figures, r.Elapsed)
	}
	trace := fmt.Sprintf("%v\n%s\n%s: %s\n", &r.Config, strings.Join(r.Found.Path, "\n"), r.Found.Promise, r.Found.Detail)
	return p.exploreBroken(c, r.Found.Promise, r.Found.Detail, "promise="+r.Found.Promise+" "+figures, r.Elapsed, trace)
}

// goingOn reports its progress.
func (p *program) goingOn(r unordered.Report) {
	p.say("%d states, %d transitions, runs of up to %d steps, %.0f states/s", r.States, r.Transitions, r.Depth, r.Speed())
}
