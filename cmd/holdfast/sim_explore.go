package main

import (
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
	lease := &cli.DurationFlag{Name: "lease", Value: 3 * time.Second, Usage: "the lease; all other times are fractions of it"}
	memory := &cli.IntFlag{Name: "memory", Value: 4096, Usage: "stop when more than this many `MIB` are in use"}
	return &cli.Command{
		Name:      "explore",
		Usage:     "visit every state of a small cluster",
		UsageText: name + " sim explore [flags]",
		Description: "Visits every state that the members' own code can reach, breadth first, and checks the promises in each.\n" +
			"Messages arrive at once and in order, and timers fire when due, except where the budgets allow otherwise:\n" +
			"each crash, pause, loss, duplicate and delay is tried at every point of every run, and so is every action of\n" +
			"a user. complete means that no state is left at any depth. The shortest run that breaks a promise is written\n" +
			"as a trace. --checkpoint keeps an exploration that --memory or an interrupt has stopped; --resume continues it.\n" +
			"--unordered visits every order in which messages can arrive instead, without time and faults. With protocol\n" +
			"bakery, letters keep their order on each link, and one member may crash.\n" +
			"The last line is the verdict: exit 0, 129 (a promise broken), 128 (something is stuck), 127 (a crash).",
		Flags: []cli.Flag{
			protocolFlag, from, lease,
			countFlag("members", 3, "number of `MEMBERS`, all of them founders"),
			countFlag("users", 0, "number of `USERS`, each through a member (default: 2, or 0 if the protocol has no locks)"),
			countFlag("locks", 1, "number of `NAMES` to lock"),
			countFlag("calls", 1, "number of `LOCKS` that each user takes, one after the other"),
			countFlag("asks", 0, "with --unordered, most `LOCKS` of all users together; 0 leaves that to --calls"),
			countFlag("dawdles", 1, "how many `TIMES` a user pauses before a request or a release"),
			countFlag("transfers", 0, "how many `TIMES` an operator transfers the authority (protocol grantor)"),
			durationFlag("hold-on", 0, "`TIME` for which an unused grant is kept, by a member (protocol grantor) or a process (--cas); 0 keeps none"),
			countFlag("capacity", 0, "number of `ENTRIES` of each name, of which each user wants one (protocol permission); 0: users want the whole name"),
			countFlag("units", 0, "number of `UNITS` of each name, of which users want 1, 2 and so on in turn (protocol permission); 0: users want the whole name"),
			switchFlag("retain", "members keep a permission until its giver asks for it (protocol permission)"),
			switchFlag("defer", "members that defer a request say so (protocol permission)"),
			countFlag("crashes", 1, "most `CRASHES` of members in a run (protocol claim: 0 by default)"),
			countFlag("restarts", 0, "number of `RESTARTS` after which faults may still happen; one more ends all faults"),
			countFlag("pauses", 0, "most `PAUSES` of members in a run"),
			countFlag("losses", 0, "most `MESSAGES` that are lost"),
			countFlag("duplicates", 0, "most `MESSAGES` that arrive twice"),
			countFlag("delays", 0, "most `MESSAGES` that arrive late, behind others, at any time"),
			switchFlag("published", "with --unordered, leaders send the steps of a lock one by one, as published (protocol bakery)"),
			countFlag("slow", 0, "most `REQUESTS` to the store that are slow or whose outcome is unknown (protocol claim)"),
			countFlag("spread", 0, "most `QUANTA` between the first locks of two users (protocol claim; default: 10)"),
			switchFlag("cas", "take locks by conditional writes (protocol claim)"),
			switchFlag("watch", "the store reports changes (protocol claim)"),
			switchFlag("unordered", "messages arrive in any order, no time passes, and nothing fails (protocols permission and bakery); allowed with members, users, calls, asks, capacity, units, retain, defer, published, trace, and crashes (bakery; 0 by default)"),
			switchFlag("fast-clock", "one member's clock may run fast, by the whole drift"),
			durationFlag("quantum", 0, "the grain of `TIME` (default: a sixtieth of the lease)"),
			countFlag("depth", 0, "most `STEPS` of a run; with it no exploration is complete"),
			countFlag("jobs", runtime.NumCPU(), "number of `PROCESSORS` to use"),
			memory,
			textFlag("checkpoint", "`FILE` for the state of a stopped exploration"),
			textFlag("resume", "`FILE` of a checkpoint to continue; it fixes what is explored"),
			recordFlag("trace", "`FILE` for the shortest run that breaks a promise; without it that run is printed"),
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
			return usageError("sim explore", "flag --%s needs --protocol claim", flag)
		}
	}
	for _, flag := range []string{"asks", "published"} {
		if c.IsSet(flag) {
			return usageError("sim explore", "flag --%s needs --unordered", flag)
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

// simExploration starts an exploration, or continues one.
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

// simExploreConfig parses the exploration's configuration from the flags.
func simExploreConfig(c *cli.Command) (explore.Config, error) {
	wanted, known := sim.Find(c.String("protocol"))
	if !known {
		return explore.Config{}, usageError("sim explore", "flag --protocol: %q cannot be explored; %s can", c.String("protocol"), sim.Names())
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

// exploredOptions parses the options of a space in which peers ask one another.
func exploredOptions(c *cli.Command) explore.Options {
	return explore.Options{Capacity: c.Int("capacity"), Units: c.Int("units"), Retain: c.Bool("retain"), Defer: c.Bool("defer")}
}

// nowAndThen limits progress reports to one every few seconds.
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

// exploring reports the progress of the exploration.
func (p *program) exploring(r explore.Report) {
	p.say("%d states, %d transitions, depth %d, %d states to look at, %.0f states/s", r.States, r.Transitions, r.Depth, r.Frontier, r.Speed())
}

// exploreStopped reports the progress of an exploration that was stopped, and saves its state.
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

// explored reports the result.
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

// exploreBroken writes, or prints, the trace of a run that breaks a promise, and reports which; fields are further fields of the
// verdict.
func (p *program) exploreBroken(c *cli.Command, promise, detail, fields string, took time.Duration, trace string) error {
	path := c.String("trace")
	if path != "" {
		if err := os.WriteFile(path, []byte(trace), 0o644); err != nil {
			return fmt.Errorf("write the trace: %w", err)
		}
	} else if err := written(fmt.Fprintln(p.stdout, strings.TrimSuffix(trace, "\n"))); err != nil {
		return err
	}
	code, verdict := exitViolation, "VIOLATION"
	switch promise {
	case "P4":
		code, verdict = exitStuck, "STUCK"
	case "panic":
		code, verdict = exitCrash, "CRASH"
	}
	if err := written(fmt.Fprintf(p.stdout, "%s: %s\nexplore: %s %s%s in=%.1fs\n", promise, detail, verdict, fields, traceField(path), took.Seconds())); err != nil {
		return err
	}
	return &exitError{code: code}
}

// exploreKept reports that no promise was broken in the explored part: the whole, unless it was stopped.
func (p *program) exploreKept(stopped bool, figures string, took time.Duration) error {
	verdict := "complete"
	if stopped {
		verdict = "stopped"
	}
	return written(fmt.Fprintf(p.stdout, "explore: %s %s violations=0 in=%.1fs\n", verdict, figures, took.Seconds()))
}
