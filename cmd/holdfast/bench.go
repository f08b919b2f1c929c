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

// benchChild is the hidden command that starts a server of the bench.
const benchChild = "bench-child"

func (p *program) benchCommand() *cli.Command {
	return &cli.Command{
		Name:      "bench",
		Usage:     "measure throughput and latency, next to raw TCP and a minimal lock server",
		UsageText: name + " bench [--self | --server ADDRESS | --store URL,...] [--soak DURATION] [flags]",
		Description: "Measures in rounds, one target after the other, so that all of them meet the same machine. Shows medians and\n" +
			"their spread. The last line is the verdict; exit 129 means that two workers held one lock at once.\n" +
			"\n" +
			"--self, the default if neither flag nor variable names a server, starts the targets on this machine:\n" +
			"  raw, limit                 TCP ping-pongs, and a minimal lock server in memory\n" +
			"  local, remote, remote-tls  a member in this process, in another one, and the same with mutual TLS\n" +
			"  central, central-member    three members, through the coordinator and through another member\n" +
			"A last table compares the figures with the project's targets. With one worker, client and servers share one\n" +
			"CPU if the system allows it.\n" +
			"\n" +
			"These run only if --targets names them:\n" +
			"  local-grantor, grantor, grantor-member   the same with protocol grantor\n" +
			"  remote-access                            remote with an access file of 10,000 rules\n" +
			"  grantor-own, grantor-kept                a member in this process with two others, one of which grants;\n" +
			"                                           kept has hold_on=1m; messages per lock are counted\n" +
			"  central-N, permission-N, bakery-N        clusters of N = 3, 5 or 9 members in this process; messages are\n" +
			"                                           counted, and --delay puts the members further apart\n" +
			"  permission-N-retain                      the same with retain=true\n" +
			"  central-N-coordinator                    with all workers at the coordinator\n" +
			"With as many workers as members, one sits at each member; otherwise they sit away from the coordinator.\n" +
			"\n" +
			"PREDICTED is the rate that messages alone allow, and BY its formula. T is the time of one message, half of the\n" +
			"ping measured just before; W is the time of a use (--think). One client of a coordinator takes a lock 1/(W+3T)\n" +
			"times a second: request, grant, use, release. A name that clients queue for is granted 1/(W+2T) times a second,\n" +
			"because a hand-over is a release and a grant, and its utilisation is W/(W+2T), the share of the time in use;\n" +
			"UTIL is the measured one. Members of permission hand over by one message, the leaders of bakery by three.\n" +
			"\n" +
			"--server measures a running cluster, and raw and limit too if it is on this machine. It leaves out hold unless\n" +
			"--workloads names it. CPU and memory come from the members' /metrics if all of them have it, and a ping is the\n" +
			"time to open a TCP connection. It locks names that begin with bench/.\n" +
			"\n" +
			"--store measures locks in running stores: by claims (store, for each of --store-wait), by conditional writes\n" +
			"(store-cas), and, if named, by these with hold_on=1s (store-cas-kept). Each worker on the hot name has its\n" +
			"own connections, up to 64 workers; the requests to the store are counted for each lock. Rows whose keys begin\n" +
			"with \"holdfast bench\" stay in the store.\n" +
			"\n" +
			"--soak keeps a cluster busy with all kinds of load instead, about 650 locks a second, and shows memory,\n" +
			"goroutines and descriptors over time.\n" +
			"docs/bench.md has tables for all of these.",
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
	figures := &figures{program: p, host: hostOf(order), output: p.output(c), file: file}
	if order.soak.Duration > 0 {
		return p.benchSoak(ctx, order, figures)
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
	if err := figures.write(result); err != nil {
		return err
	}
	return p.benchVerdict(result, figures, time.Since(begun))
}

// profile starts profiling this process, if requested.
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

// withTargets starts the targets of the bench, and ends them when use returns.
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

// pinned reports whether the servers belong to this program, so that one worker can share a CPU with them.
func (o *benchOrder) pinned() bool { return o.server == nil && len(o.stores) == 0 && target.Pins() }

// measure starts the targets, measures, and ends them.
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

// hostOf describes this machine.
func hostOf(order *benchOrder) load.Host {
	return load.Host{
		System: runtime.GOOS, Machine: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Version: version(),
		Pinned: order.pinned(), Delay: order.harness.Delay.Microseconds(),
	}
}

// benchVerdict prints the tables and the last line.
func (p *program) benchVerdict(result *load.Result, figures *figures, took time.Duration) error {
	found := result.Tables()
	if len(result.Aims) > 0 {
		found = append(found, result.AimTable())
	}
	if err := figures.tables(found); err != nil {
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
	if err := figures.verdict(verdict, took); err != nil {
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

// benchChildCommand runs this program as a server of the bench; see [target.Leash].
func (p *program) benchChildCommand() *cli.Command {
	return &cli.Command{
		Name:            benchChild,
		Hidden:          true,
		SkipFlagParsing: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			args := c.Args().Slice()
			if len(args) < 2 {
				return usageError(c.Name, "only bench starts it, with a folder and a role")
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
				return &exitError{code: code} // it has printed the reason
			}
			return nil
		},
	}
}
