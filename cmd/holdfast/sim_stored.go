package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore/stored"
)

// ofClaims are the flags of sim explore that apply to claims in a store.
var ofClaims = []string{"protocol", "calls", "slow", "crashes", "spread", "cas", "hold-on", "watch", "jobs", "trace"}

// simStored plays every run of two processes that lock by claims.
func (p *program) simStored(ctx context.Context, c *cli.Command, protocol sim.Protocol) error {
	for _, flag := range c.LocalFlagNames() {
		if c.IsSet(flag) && !slices.Contains(ofClaims, flag) {
			return usageError("sim explore", "flag --%s has no effect with --protocol %s; these have: %s", flag, protocol.Name, strings.Join(ofClaims, ", "))
		}
	}
	config := stored.Config{Protocol: protocol, CAS: c.Bool("cas"), HoldOn: c.Duration("hold-on"), Watch: c.Bool("watch"), Slow: c.Int("slow"), Spread: c.Int("spread")}
	if c.IsSet("calls") {
		config.Calls = c.Int("calls")
	}
	if c.IsSet("crashes") { // its default is for members, and one crash multiplies the runs by hundreds
		config.Crashes = c.Int("crashes")
	}
	if err := config.Check(); err != nil {
		return usageError("sim explore", "%v", err)
	}
	if c.Int("jobs") < 1 {
		return usageError("sim explore", "flag --jobs %d: want at least 1", c.Int("jobs"))
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := stored.Explore(ctx, config, c.Int("jobs"))
	if err != nil {
		return err
	}
	if err := written(fmt.Fprintf(p.stdout, "%v\n", &r.Config)); err != nil {
		return err
	}
	figures := fmt.Sprintf("protocol=%s runs=%d steps=%d", protocol.Name, r.Runs, r.Steps)
	if r.Found == nil {
		return p.exploreKept(r.Stopped, figures, r.Elapsed)
	}
	lines, err := stored.Play(r.Config, r.Found.Choices)
	if err != nil {
		return err
	}
	trace := fmt.Sprintf("%v\n%s\n", &r.Config, strings.Join(lines, "\n"))
	return p.exploreBroken(c, r.Found.Promise, r.Found.Detail, "promise="+r.Found.Promise+" "+figures, r.Elapsed, trace)
}
