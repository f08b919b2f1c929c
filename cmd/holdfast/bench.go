package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
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
		Usage:     "load and latency, beside raw TCP and the least that a lock server can be",
		UsageText: name + " bench [--self | --server ADDRESS] [flags]",
		Description: "Measures in rounds, target after target, so that all of them meet the same machine; shows medians and\n" +
			"their spread. With --self, and where neither flag nor variable names a server, it starts what it measures\n" +
			"on this machine: ping-pongs (raw), a bare lock server in memory (limit), a member in this process (local)\n" +
			"and in another one (remote), three members through their coordinator (central) and through another one\n" +
			"(central-member). With --server it measures that cluster, and nothing beside it: without hold, unless\n" +
			"--workloads names it, and without ping-pongs. It locks names that begin with bench/.\n" +
			"With one worker, client and servers share one CPU, where the system allows that.\n" +
			"The last line is the verdict; exit 129 means that two workers had one lock at once.",
		Flags: benchFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			ctx, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			defer heedSignals(c.Name, stop)()
			err := p.bench(ctx, c)
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
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
	order.load.Told = func(step string) { p.say("bench: %s", step) }
	var result *load.Result
	if order.server == nil {
		result, err = p.benchSelf(ctx, order)
	} else {
		order.load.Targets, order.load.Machine = []load.Target{order.server}, target.Here{}
		result, err = load.Run(ctx, order.load)
		err = reworded(c.Name, "", err)
	}
	switch {
	case errors.Is(err, load.ErrNothing):
		return usageError(c.Name, "%v", err)
	case err != nil:
		return err
	}
	if file != nil {
		if err := result.WriteJSON(file, host(order)); err != nil {
			return err
		}
	}
	return p.benchVerdict(result, time.Since(begun))
}

// benchSelf starts what is measured, and ends it.
func (p *program) benchSelf(ctx context.Context, order *benchOrder) (result *load.Result, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if !target.Pins() {
		p.say("bench: this system does not let processes share one CPU on purpose: rows of one worker are as they come")
	}
	bed, err := target.NewBed(ctx, target.Config{Child: []string{program, benchChild}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bed.Close()) }()
	order.load.Machine = bed
	if order.load.Targets, err = bed.Targets(order.targets); err != nil {
		return nil, err
	}
	return load.Run(ctx, order.load)
}

// host tells on what machine this is.
func host(order *benchOrder) load.Host {
	return load.Host{
		System: runtime.GOOS, Machine: runtime.GOARCH, CPUs: runtime.NumCPU(), Go: runtime.Version(), Version: version(),
		Pinned: order.server == nil && target.Pins(),
	}
}

// benchVerdict prints the tables and the last line.
func (p *program) benchVerdict(result *load.Result, took time.Duration) error {
	var tables []*table
	for _, found := range result.Tables() {
		t := newTable(found.Header...)
		for _, row := range found.Rows {
			t.row(row...)
		}
		tables = append(tables, t)
	}
	if err := p.print(tables...); err != nil {
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
				return target.Serve(ctx, what[0], p.stdout)
			}
			served := &program{args: append([]string{name}, what...), environ: p.environ, stdin: p.stdin, stdout: p.stdout, stderr: p.stderr}
			if code := served.run(ctx); code != 0 {
				return &exitError{code: code} // it has said why
			}
			return nil
		},
	}
}
