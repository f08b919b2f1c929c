package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/bench/peer"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/target"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// keeperCommand is the hidden command that starts this program as a keeper, and benchChild the one that starts the
// holdfast program as a server.
const (
	keeperCommand = "keep"
	benchChild    = "bench-child"
)

// Exit codes, as in the holdfast program.
const (
	exitUsage     = 64
	exitInternal  = 70
	exitViolation = 129
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == keeperCommand {
		if err := peer.Keep(os.Args[2], os.Stdin, os.Stdout, os.Stderr); err != nil {
			os.Exit(exitInternal) // it has printed the reason
		}
		return
	}
	p := &program{stdout: os.Stdout, stderr: os.Stderr}
	err := p.command().Run(context.Background(), os.Args)
	if err != nil {
		p.say("%v", err)
	}
	os.Exit(codeOf(err))
}

// program is one run.
type program struct{ stdout, stderr io.Writer }

// exitError is an error with its exit code.
type exitError struct {
	code int
	error
}

func (e *exitError) Unwrap() error { return e.error }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func codeOf(err error) int {
	var exit *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.code
	}
	return exitInternal
}

// say prints a message that is not a result.
func (p *program) say(format string, args ...any) {
	// If the message cannot be written, the exit code still reports the failure.
	_, _ = fmt.Fprintf(p.stderr, "bench: "+format+"\n", args...)
}

func (p *program) command() *cli.Command {
	return &cli.Command{
		Name:  "bench",
		Usage: "Holdfast next to etcd, Redis and PostgreSQL: one table, ratios to the least that a lock server can be",
		Description: "Starts what is measured on this machine, with its data in TMPDIR, measures in rounds, target after\n" +
			"target, so that all of them meet the same machine, and shows medians and their spread. What is not\n" +
			"installed is named and left out. The last line is the verdict; exit 129 means that two workers had\n" +
			"one lock of Holdfast's at once. What others get wrong is shown, and is no mistake of this run's.",
		Flags:     flags(),
		Writer:    p.stdout,
		ErrWriter: p.stderr,
		OnUsageError: func(_ context.Context, _ *cli.Command, err error, _ bool) error {
			return usage("%w", err)
		},
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usage("argument %q: the command takes none", c.Args().First())
			}
			ctx, stop := supervise.UntilSignal(ctx)
			defer stop()
			err := p.run(ctx, c)
			if by := new(supervise.Signalled); errors.As(context.Cause(ctx), &by) {
				return &exitError{by.Status(), by}
			}
			return err
		},
	}
}

// run starts the targets, measures and reports.
func (p *program) run(ctx context.Context, c *cli.Command) (err error) {
	begun := time.Now()
	o, err := readOrder(c)
	if err != nil {
		return err
	}
	hosted, err := p.hosted(ctx, o)
	if err != nil {
		return err
	}
	var file *os.File
	if path := c.String("json"); path != "" {
		if file, err = os.Create(path); err != nil {
			return usage("flag --json: %w", err)
		}
		defer func() {
			if closed := file.Close(); closed != nil {
				err = errors.Join(err, fmt.Errorf("write the figures: %w", closed))
			}
		}()
	}
	holdfast, err := p.holdfast(ctx, c.String("holdfast"))
	if err != nil {
		return err
	}
	if !target.Pins() {
		p.say("this system does not let processes share one CPU on purpose: rows of one worker are as they come")
	}
	result, err := p.measure(ctx, o, holdfast, hosted)
	switch {
	case errors.Is(err, load.ErrNothing):
		return usage("%w", err)
	case err != nil:
		return err
	}
	result.Relate()
	if file != nil {
		if err := result.WriteJSON(file, host()); err != nil {
			return err
		}
	}
	return p.report(result, hosted, time.Since(begun))
}

// measure starts Holdfast's own targets in addition to the peers, and ends them.
func (p *program) measure(ctx context.Context, o *order, holdfast string, hosted []load.Target) (result *load.Result, err error) {
	harness, err := target.NewHarness(ctx, target.Config{Child: []string{holdfast, benchChild}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, harness.Close()) }()
	o.load.Machine = harness
	if o.load.Targets, err = harness.Targets(o.own); err != nil {
		return nil, err
	}
	o.load.Targets = append(o.load.Targets, hosted...)
	o.load.Progress = func(step string) { p.say("%s", step) }
	return load.Run(ctx, o.load)
}

// hosted returns the targets in third-party servers: their own services, and Holdfast's locks. One that is not
// installed is reported; it is an error only if it was named.
func (p *program) hosted(ctx context.Context, o *order) (targets []load.Target, err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	config := peer.Config{Keeper: []string{program, keeperCommand}}
	for _, name := range slices.Concat(o.peers, o.stored) {
		var t interface {
			load.Target
			Program() string
		}
		if slices.Contains(o.stored, name) {
			t, err = config.Stored(ctx, name)
		} else {
			t, err = config.Target(ctx, name)
		}
		var missing *peer.Missing
		line := ""
		switch {
		case errors.As(err, &missing) && o.asked:
			return nil, usage("flag --targets: %w", err)
		case errors.As(err, &missing):
			line = "left out: " + missing.Error()
		case err != nil:
			return nil, err
		default:
			targets = append(targets, t)
			line = "measured: " + name + ": " + t.Program()
		}
		if _, err := fmt.Fprintln(p.stdout, line); err != nil {
			return nil, fmt.Errorf("write to standard output: %w", err)
		}
	}
	return targets, nil
}

// holdfast returns the path of the holdfast program: the given one, or that of this working tree, built by the go
// command in its cache.
func (p *program) holdfast(ctx context.Context, given string) (string, error) {
	if given != "" {
		path, err := filepath.Abs(given)
		if err == nil {
			_, err = os.Stat(path)
		}
		if err != nil {
			return "", usage("flag --holdfast: %w", err)
		}
		return path, nil
	}
	p.say("building holdfast")
	build := exec.CommandContext(ctx, "go", "tool", "-n", "holdfast")
	var words strings.Builder
	build.Stderr = &words
	path, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("build holdfast, which is done in the folder of this module (or name the program with --holdfast): %w: %s", err, strings.TrimSpace(words.String()))
	}
	return strings.TrimSpace(string(path)), nil
}
