package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/target"
)

// benchChild is the hidden command that a server of the bench is started with.
const benchChild = "bench-child"

func (p *program) benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "load and latency, next to raw TCP and the least that a lock server can be",
		UsageText: name + " bench [--self | --server ADDRESS | --store URL,...] [--soak DURATION] [flags]",
		Description: "Measures in rounds, target after target, so that all of them meet the same machine; shows medians and\n" +
			"their spread. With --self, and where neither flag nor variable names a server, it starts what it measures\n" +
			"on this machine: ping-pongs (raw), a bare lock server in memory (limit), a member in this process (local)\n" +
			"and in another one (remote), the same with mutual TLS (remote-tls), three members through their coordinator\n" +
			"(central) and through another one (central-member); a last table holds the figures against what is aimed at.\n" +
			"Where they are named, the same with protocol grantor: local-grantor, grantor, grantor-member; a member in this\n" +
			"process with two others, one of which grants (grantor-own), and that with hold_on=1m (grantor-kept): of these\n" +
			"two the messages for each lock are counted.\n" +
			"Where they are named, too, clusters of 3, 5 and 9 members that are all in this process: central-3 and the like,\n" +
			"permission-3, that with retain=true (permission-3-retain), bakery-3. As many workers as members sit at one each; else\n" +
			"they sit at those that do not coordinate, or all at the coordinator (central-3-coordinator). All messages between\n" +
			"these are counted, and --delay puts the members further apart. docs/bench.md has their tables.\n" +
			"With --server it measures that cluster, and raw and limit too if it is on this machine: without hold,\n" +
			"unless --workloads names it; CPU and memory are those that its members tell at /metrics, if they all do, and\n" +
			"a ping is the making of a TCP connection. It locks names that begin with bench/.\n" +
			"With --store it measures locks that are kept in stores which run already: by claims (store), for each of\n" +
			"--store-wait, and by conditional writes (store-cas); where it is named, by these with hold_on=1s (store-cas-kept). What wants the hot name has a process's connections of\n" +
			"its own, up to 64 of them; what each lock asks the store for is counted. Rows whose keys begin with\n" +
			"\"holdfast bench\" stay there. docs/bench.md has tables of PostgreSQL, Redis, etcd and Cassandra.\n" +
			"PREDICTED is what messages alone allow, and BY the formula: with T for the time of one message, half of the ping\n" +
			"that was measured just before, and W for that of a use (--think), one client of a coordinator gets a lock\n" +
			"1/(W+3T) times a second: request, grant, use, release. A name that clients queue for is granted 1/(W+2T) times,\n" +
			"because a hand-over is a release and a grant, and is in use W/(W+2T) of the time: IN-USE is that share as measured.\n" +
			"Members that ask one another (permission) hand over by one message, leaders (bakery) by three.\n" +
			"With one worker, client and servers share one CPU, where the system allows that and --self starts them.\n" +
			"With --soak it keeps a cluster busy with all kinds of load for a while instead, at about 650 locks a second,\n" +
			"and shows what memory, goroutines and descriptors do meanwhile.\n" +
			"The last line is the verdict; exit 129 means that two workers had one lock at once.",
		Flags: benchFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return untilSignal(ctx, c.Name, func(ctx context.Context) error { return p.bench(ctx, c) })
		},
	}
}

// bench checks the flags, measures, and reports.
func (p *program) bench(ctx context.Context, c *cli.Command) (err error) {
	begun := time.Now()
	order, err := p.benchOrder(c)
	if err != nil {
		return err
	}
	var file *os.File
	if path := c.String("json"); path != "" {
		if file, err = os.Create(path); err != nil {
			return usageError(c.Name, "flag --json: %v", err)
		}
		defer func() {
			if closed := file.Close(); closed != nil {
				err = errors.Join(err, fmt.Errorf("write the figures: %w", closed))
			}
		}()
	}
	finish, err := order.profile(c.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, finish()) }()
	if order.soak.Duration > 0 {
		return p.benchSoak(ctx, order, file)
	}
	order.load.Progress = func(step string) { p.say("bench: %s", step) }
	result, err := p.measure(ctx, order)
	err = reworded(c.Name, "", err)
	switch {
	case errors.Is(err, load.ErrNothing):
		return usageError(c.Name, "%v", err)
	case err != nil:
		return err
	}
	if file != nil {
		if err := result.WriteJSON(file, hostOf(order)); err != nil {
			return err
		}
	}
	return p.benchVerdict(result, time.Since(begun))
}

// profile begins to profile this process, where that is wanted.
func (o *benchOrder) profile(command string) (finish func() error, err error) {
	var file *os.File
	if o.harness.CPUProfile != "" {
		if file, err = target.StartProfile(o.harness.CPUProfile); err != nil {
			return nil, usageError(command, "flag --cpuprofile: %v", err)
		}
	}
	return func() error {
		err := target.FinishProfile(file)
		if o.harness.MemoryProfile != "" {
			err = errors.Join(err, target.WriteMemoryProfile(o.harness.MemoryProfile))
		}
		return err
	}, nil
}

// withTargets starts what the bench needs, and ends it when use returns.
func (p *program) withTargets(ctx context.Context, order *benchOrder, use func(load.Machine, []load.Target) error) (err error) {
	names := slices.DeleteFunc(slices.Clone(order.targets), func(name string) bool { return order.server != nil && name == "remote" })
	if len(names) == 0 && order.server != nil {
		return use(target.Here{}, []load.Target{order.server})
	}
	if len(names) == 0 {
		return use(target.Here{}, order.stores)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	order.harness.Child, order.harness.Unpinned = []string{program, benchChild}, !order.pinned()
	harness, err := target.NewHarness(ctx, order.harness)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, harness.Close()) }()
	targets, err := harness.Targets(names)
	if err != nil {
		return err
	}
	if len(names) < len(order.targets) {
		targets = append(targets, order.server)
	}
	return use(harness, append(targets, order.stores...))
}

// pinned reports whether the servers are of this program, so that one worker can share a CPU
// with them.
func (o *benchOrder) pinned() bool { return o.server == nil && len(o.stores) == 0 && target.Pins() }

// measure starts what is measured, measures, and ends it.
func (p *program) measure(ctx context.Context, order *benchOrder) (result *load.Result, err error) {
	if order.server == nil && len(order.stores) == 0 && !target.Pins() {
		p.say("bench: this system does not let processes share one CPU on purpose: rows of one worker are as they come")
	}
	order.load.Aims = order.server == nil
	err = p.withTargets(ctx, order, func(machine load.Machine, targets []load.Target) (err error) {
		order.load.Machine, order.load.Targets = machine, targets
		result, err = load.Run(ctx, order.load)
		return err
	})
	return result, err
}

// hostOf tells on what machine this is.
func hostOf(order *benchOrder) load.Host {
	return load.Host{
		System: runtime.GOOS, Machine: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Version: version(),
		Pinned: order.pinned(), Delay: order.harness.Delay.Microseconds(),
	}
}

// printFound prints tables.
func (p *program) printFound(found []load.Table) error {
	var tables []*table
	for _, f := range found {
		t := newTable(f.Header...)
		for _, row := range f.Rows {
			t.row(row...)
		}
		tables = append(tables, t)
	}
	return p.print(tables...)
}

// benchVerdict prints the tables and the last line.
func (p *program) benchVerdict(result *load.Result, took time.Duration) error {
	found := result.Tables()
	if len(result.Aims) > 0 {
		found = append(found, result.AimTable())
	}
	if err := p.printFound(found); err != nil {
		return err
	}
	violations, failures := result.Sum(load.Violations), result.Sum(load.Errors)
	verdict := "ok"
	switch {
	case violations > 0:
		verdict = fmt.Sprintf("VIOLATION violations=%.0f errors=%.0f", violations, failures)
	case failures > 0:
		verdict = fmt.Sprintf("FAILED errors=%.0f", failures)
	}
	if err := written(fmt.Fprintf(p.stdout, "bench: %s in=%.0fs\n", verdict, took.Seconds())); err != nil {
		return err
	}
	switch {
	case violations > 0:
		return &exitError{exitViolation, errors.New("bench: two workers had one lock at once; the tables say where")}
	case failures > 0:
		return fmt.Errorf("bench: %.0f calls ended with an error, the first with %w", failures, result.FirstError)
	}
	return nil
}

// benchChildCommand makes this program a server of the bench; see [target.Leash].
func (p *program) benchChildCommand() *cli.Command {
	return &cli.Command{
		Name:            benchChild,
		Hidden:          true,
		SkipFlagParsing: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			args := c.Args().Slice()
			if len(args) < 2 {
				return usageError(c.Name, "it is started by bench, with a folder and what it shall be")
			}
			folder, what := args[0], args[1:]
			if folder == "-" {
				folder = ""
			}
			go target.Leash(p.stdin, p.stdout, folder)
			switch what[0] {
			case target.EchoServer, target.LimitServer:
				return target.Serve(ctx, what, p.stdout)
			}
			served := &program{args: append([]string{name}, what...), environ: p.environ, stdin: p.stdin, stdout: p.stdout, stderr: p.stderr}
			if code := served.run(ctx); code != 0 {
				return &exitError{code: code} // it has said why
			}
			return nil
		},
	}
}
