package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/explore"
)

func (p *program) simExploreCommand() *cli.Command {
	protocolFlag := textFlag("protocol", "what the members run: `"+sim.Names()+"`")
	protocolFlag.Value = "central"
	from := textFlag("from", "begin with a cluster that has `formed`, or with the start of its members")
	from.Value = "formed"
	lease := &cli.DurationFlag{Name: "lease", Value: 3 * time.Second, Usage: "the lease, of which all other times are parts"}
	memory := &cli.IntFlag{Name: "memory", Value: 4096, Usage: "stop where more than so many `MIB` are in use"}
	return &cli.Command{
		Name:      "explore",
		Usage:     "visit every state of a small configuration",
		UsageText: name + " sim explore [flags]",
		Description: "Visits every state that the very code of the members can get into, breadth first, and checks the promises\n" +
			"in each. Messages arrive in the order of their sending, at once, and timers when they are due, but for\n" +
			"what the budgets allow: each crash, pause, loss, duplicate and delay is tried at every point of every run,\n" +
			"and so is all that users can do. complete means that no state is left to be looked at, at any depth. The\n" +
			"shortest run that breaks a promise is written as a trace. What --checkpoint has kept of an exploration\n" +
			"that was stopped, by --memory or by an interrupt, --resume goes on with.\n" +
			"With --unordered every order in which messages can arrive is visited instead, without time and faults; of protocol\n" +
			"bakery letters keep their order on each link, and one member may crash.\n" +
			"The last line is the verdict: exit 0, 129 (a promise broken), 128 (something is stuck), 127 (a crash).",
		Flags: []cli.Flag{
			protocolFlag, from, lease,
			countFlag("members", 3, "how many `MEMBERS`, all of them founders"),
			countFlag("users", 0, "how many `USERS`, each through a member; 0 where the protocol has no locks, and else 2"),
			countFlag("locks", 1, "how many `NAMES` they lock"),
			countFlag("calls", 1, "how many `LOCKS` each user takes, one after the other"),
			countFlag("asks", 0, "with --unordered, how many `LOCKS` all users together take at most; 0 is as many as --calls lets them"),
			countFlag("dawdles", 1, "how many `TIMES` a user takes his time, before he asks or gives back"),
			countFlag("transfers", 0, "how many `TIMES` an operator makes a member the authority, where that can be handed over"),
			durationFlag("hold-on", 0, "for how much `TIME` a member keeps a grant that is not used, where the authority can be handed over, or a process what was released, with --cas; 0 is not at all"),
			countFlag("capacity", 0, "how many `ENTRIES` each name has, where peers ask one another; users want one of them. 0 is none: they want the whole name"),
			countFlag("units", 0, "how many `UNITS` each name has, where peers ask one another; users want 1, 2 and so on of them, in turn; 0 is the whole name"),
			switchFlag("retain", "peers keep a permission until its giver asks"),
			switchFlag("defer", "peers that defer a request say so"),
			countFlag("crashes", 1, "how many `CRASHES` of members a run may have; of protocol claim none without the flag"),
			countFlag("restarts", 0, "after how many `RESTARTS` of those faults may still come; another one ends all faults"),
			countFlag("pauses", 0, "how many `PAUSES` of members a run may have"),
			countFlag("losses", 0, "how many `MESSAGES` may be lost"),
			countFlag("duplicates", 0, "how many `MESSAGES` may come twice"),
			countFlag("delays", 0, "how many `MESSAGES` may come later than others, at any time"),
			switchFlag("published", "with --unordered, members of protocol bakery say the steps of a lock one by one, as published"),
			countFlag("slow", 0, "of protocol claim so many `REQUESTS` to the store are slow or of unknown fate, whichever they are"),
			countFlag("spread", 0, "of protocol claim the first locks of two users are up to so many `QUANTA` apart; 10 without it"),
			switchFlag("cas", "of protocol claim locks are taken by conditional writes"),
			switchFlag("watch", "of protocol claim the store tells of changes"),
			switchFlag("unordered", "messages arrive in any order, no time passes, and nothing breaks, where peers ask one another; goes with members, users, calls, asks, capacity, units, retain, defer, published, crashes (of protocol bakery, and none without the flag) and trace"),
			switchFlag("fast-clock", "one member's clock may run faster, by all of the drift"),
			durationFlag("quantum", 0, "the grain of `TIME`; a sixtieth of the lease without it"),
			countFlag("depth", 0, "at most so many `STEPS` of a run; then nothing is complete"),
			countFlag("jobs", runtime.NumCPU(), "on how many `PROCESSORS`"),
			memory,
			textFlag("checkpoint", "`FILE` for what is known when it is stopped"),
			textFlag("resume", "`FILE` of a checkpoint to go on with; what is explored is as it says"),
			recordFlag("trace", "`FILE` for the shortest run that breaks a promise; explore.txt without it"),
		},
		Action: p.simExplore,
	}
}

// simExplore runs the explorer.
func (p *program) simExplore(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	if c.Bool("unordered") {
		return p.simUnordered(ctx, c)
	}
	if protocol, _ := sim.Find(c.String("protocol")); protocol.Stores {
		return p.simStored(ctx, c, protocol)
	}
	for _, flag := range []string{"slow", "spread", "cas", "watch"} {
		if c.IsSet(flag) {
			return usageError("sim explore", "flag --%s says nothing without --protocol claim: leave it out, or add that", flag)
		}
	}
	for _, flag := range []string{"asks", "published"} {
		if c.IsSet(flag) {
			return usageError("sim explore", "flag --%s says nothing without --unordered: leave it out, or add that", flag)
		}
	}
	if c.Int("jobs") < 1 || c.Int("memory") < 1 {
		return usageError("sim explore", "flags --jobs %d --memory %d: want at least 1 of each", c.Int("jobs"), c.Int("memory"))
	}
	limits := explore.Limits{Jobs: c.Int("jobs"), Memory: int64(c.Int("memory")) << 20, Progress: nowAndThen(p.exploring)}
	exploration, err := simExploration(c, limits)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := exploration.Run(ctx)
	if err != nil {
		return err
	}
	if report.Stopped != "" {
		if err := p.exploreStopped(exploration, &report, c.String("checkpoint")); err != nil {
			return err
		}
	}
	return p.explored(c, &report)
}

// simExploration begins one, or goes on with one.
func simExploration(c *cli.Command, limits explore.Limits) (*explore.Exploration, error) {
	if path := c.String("resume"); path != "" {
		return explore.Resume(path, limits)
	}
	config, err := simExploreConfig(c)
	if err != nil {
		return nil, err
	}
	exploration, err := explore.Begin(config, limits)
	if err != nil {
		return nil, usageError("sim explore", "%v", err)
	}
	return exploration, nil
}

// simExploreConfig reads what is to be explored off the flags.
func simExploreConfig(c *cli.Command) (explore.Config, error) {
	wanted, known := sim.Find(c.String("protocol"))
	if !known {
		return explore.Config{}, usageError("sim explore", "flag --protocol: %q is none that can be explored; %s are allowed", c.String("protocol"), sim.Names())
	}
	if from := c.String("from"); from != "formed" && from != "start" {
		return explore.Config{}, usageError("sim explore", "flag --from: %q is neither formed nor start", from)
	}
	users := c.Int("users")
	if users == 0 && wanted.Locks && !c.IsSet("users") {
		users = 2
	}
	config := explore.Config{
		Protocol: wanted, Members: c.Int("members"), Users: users, Crashes: c.Int("crashes"), Restarts: c.Int("restarts"),
		Pauses: c.Int("pauses"), Losses: c.Int("losses"), Duplicates: c.Int("duplicates"), Delays: c.Int("delays"), Transfers: c.Int("transfers"),
		Fast: c.Bool("fast-clock"), Formed: c.String("from") == "formed", Lease: c.Duration("lease"),
		Quantum: c.Duration("quantum"), HoldOn: c.Duration("hold-on"), Depth: c.Int("depth"),
		Options: exploredOptions(c),
	}
	if users > 0 {
		config.Names, config.Calls, config.Dawdles = c.Int("locks"), c.Int("calls"), c.Int("dawdles")
	}
	return config, nil
}

// exploredOptions reads the options of a space in which peers ask one another.
func exploredOptions(c *cli.Command) explore.Options {
	return explore.Options{Capacity: c.Int("capacity"), Units: c.Int("units"), Retain: c.Bool("retain"), Defer: c.Bool("defer")}
}

// nowAndThen makes what tells how far an exploration is of what writes it down: every few seconds.
func nowAndThen[R any](tell func(R)) func(R) {
	const interval = 10 * time.Second
	last := time.Now()
	return func(r R) {
		if time.Since(last) >= interval {
			last = time.Now()
			tell(r)
		}
	}
}

// exploring tells how far the exploration is.
func (p *program) exploring(r explore.Report) {
	p.say("%d states, %d transitions, depth %d, %d states to look at, %.0f states/s", r.States, r.Transitions, r.Depth, r.Frontier, r.Speed())
}

// exploreStopped says how far an exploration came that ended early, and keeps what it knows.
func (p *program) exploreStopped(x *explore.Exploration, r *explore.Report, path string) error {
	if err := written(fmt.Fprintf(p.stdout, "it is not complete: it stopped (%s) with %d states to look at, after all runs of %d steps\n", r.Stopped, r.Frontier, r.Depth)); err != nil {
		return err
	}
	if path == "" {
		return nil
	}
	if err := x.Save(path); err != nil {
		return err
	}
	return written(fmt.Fprintf(p.stdout, "go on with: %s sim explore --resume %s\n", name, path))
}

// explored says what was found.
func (p *program) explored(c *cli.Command, r *explore.Report) error {
	if err := written(fmt.Fprintf(p.stdout, "%v\n%.0f states/s; the odds that two states were taken for one are %.1g\n", &r.Config, r.Speed(), r.Odds())); err != nil {
		return err
	}
	if r.Found == nil {
		figures := fmt.Sprintf("protocol=%s states=%d transitions=%d depth=%d", r.Config.Protocol.Name, r.States, r.Transitions, r.Depth)
		return p.exploreKept(!r.Complete(), figures, r.Elapsed)
	}
	var trace strings.Builder
	if err := r.Print(&trace); err != nil {
		return err
	}
	promise := " promise=" + r.Found.Promise
	if r.Found.Promise == "panic" {
		promise = ""
	}
	fields := fmt.Sprintf("protocol=%s%s states=%d transitions=%d depth=%d", r.Config.Protocol.Name, promise, r.States, r.Transitions, len(r.Found.Path)-1)
	return p.exploreBroken(c, r.Found.Promise, r.Found.Detail, fields, r.Elapsed, trace.String())
}

// exploreBroken writes the trace of a run that breaks a promise, and says what it breaks; fields are what else the
// verdict has.
func (p *program) exploreBroken(c *cli.Command, promise, detail, fields string, took time.Duration, trace string) error {
	path := cmp.Or(c.String("trace"), "explore.txt")
	if err := os.WriteFile(path, []byte(trace), 0o644); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	code, verdict := exitViolation, "VIOLATION"
	switch promise {
	case "P4":
		code, verdict = exitStuck, "STUCK"
	case "panic":
		code, verdict = exitCrash, "CRASH"
	}
	if err := written(fmt.Fprintf(p.stdout, "%s: %s\nexplore: %s %s trace=%s in=%.1fs\n", promise, detail, verdict, fields, path, took.Seconds())); err != nil {
		return err
	}
	return &exitError{code: code}
}

// exploreKept says that no promise was broken in what was explored: all of it, unless it was stopped.
func (p *program) exploreKept(stopped bool, figures string, took time.Duration) error {
	verdict := "complete"
	if stopped {
		verdict = "stopped"
	}
	return written(fmt.Fprintf(p.stdout, "explore: %s %s violations=0 in=%.1fs\n", verdict, figures, took.Seconds()))
}
