package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore/unordered"
)

// ordered are the flags of sim explore that say nothing where messages arrive in any order: no time
// passes there, and nothing breaks but a member of protocol bakery.
var ordered = []string{
	"from", "lease", "locks", "dawdles", "transfers", "hold-on", "restarts", "pauses", "losses", "duplicates", "delays",
	"fast-clock", "quantum", "depth", "jobs", "memory", "checkpoint", "resume",
}

// simUnordered visits every order in which messages can arrive.
func (p *program) simUnordered(ctx context.Context, c *cli.Command) error {
	for _, flag := range ordered {
		if c.IsSet(flag) {
			return usageError("sim explore", "flag --%s says nothing with --unordered, where no time passes: leave one of the two out", flag)
		}
	}
	protocol, known := sim.Find(c.String("protocol"))
	if !known {
		return usageError("sim explore", "flag --protocol: %q is none that can be explored; %s are allowed", c.String("protocol"), sim.Names())
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
	r, err := unordered.Explore(ctx, config, unordered.Limits{Progress: p.goingOn()})
	if err != nil {
		return err
	}
	if err := written(fmt.Fprintf(p.stdout, "%v\n%.0f states/s; the odds that two states were taken for one are %.1g\n", &r.Config, r.Speed(), r.Odds())); err != nil {
		return err
	}
	figures := fmt.Sprintf("protocol=%s states=%d transitions=%d depth=%d", protocol.Name, r.States, r.Transitions, r.Depth)
	took := fmt.Sprintf("in=%.1fs", r.Elapsed.Seconds())
	switch {
	case r.Found != nil:
		return p.foundUnordered(c.String("trace"), &r, figures, took)
	case r.Stopped != "":
		return written(fmt.Fprintf(p.stdout, "explore: stopped %s violations=0 %s\n", figures, took))
	}
	return written(fmt.Fprintf(p.stdout, "explore: complete %s violations=0 %s\n", figures, took))
}

// foundUnordered writes the run that breaks a promise, and says what it breaks.
func (p *program) foundUnordered(path string, r *unordered.Report, figures, took string) error {
	if path == "" {
		path = "explore.txt"
	}
	text := fmt.Sprintf("%v\n%s\n%s: %s\n", &r.Config, strings.Join(r.Found.Path, "\n"), r.Found.Promise, r.Found.Detail)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	code, verdict := exitViolation, "VIOLATION"
	if r.Found.Promise == "P4" {
		code, verdict = exitStuck, "STUCK"
	}
	if err := written(fmt.Fprintf(p.stdout, "%s: %s\nexplore: %s promise=%s %s trace=%s %s\n", r.Found.Promise, r.Found.Detail, verdict, r.Found.Promise, figures, path, took)); err != nil {
		return err
	}
	return &exitError{code: code}
}

// goingOn tells every few seconds how far it is.
func (p *program) goingOn() func(unordered.Report) {
	const interval = 10 * time.Second
	last := time.Now()
	return func(r unordered.Report) {
		if time.Since(last) < interval {
			return
		}
		last = time.Now()
		fmt.Fprintf(p.stderr, "holdfast: %d states, %d transitions, runs of up to %d steps, %.0f states/s\n", r.States, r.Transitions, r.Depth, r.Speed())
	}
}
