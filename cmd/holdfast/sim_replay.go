package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/replay"
)

// simReplayCommand replays a file.
func (p *program) simReplayCommand() *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "replay a file: a script, or the trace of a member",
		UsageText: name + " sim replay [flags] FILE",
		Description: "The first line of FILE says what it is.\n" +
			"\n" +
			"A script is what `sim` leaves of a failing seed: a run without chance, which lists its members and everything\n" +
			"that goes wrong in it. It can be edited. --trace records everything that happens, and --svg draws it. The\n" +
			"last line is the verdict: exit 0 if nothing is broken (any more), 129 (a promise), 128 (something is stuck),\n" +
			"127 (a crash). If that is not the verdict in FILE, both are printed.\n" +
			"\n" +
			"A trace is what `serve --trace FILE` recorded of a real member, or `sim --trace-member` of a simulated one.\n" +
			"The member's machines are built again and given the same events at the same times; what they do is compared\n" +
			"with the trace, step by step. The last line is the verdict: exit 0, 129 (the first difference is printed\n" +
			"above), 127 (an invariant is broken again, as it was).\n" +
			"--show prints the recorded steps, from --from to --to of each life of the member.",
		Flags: append([]cli.Flag{
			recordFlag("trace", "`FILE` for everything that happens in the script"),
			switchFlag("show", "print the recorded steps"),
			&cli.Uint64Flag{Name: "from", Usage: "first `STEP` that --show prints", Sources: variables("from"), HideDefault: true},
			&cli.Uint64Flag{Name: "to", Usage: "last `STEP` that --show prints", Sources: variables("to"), HideDefault: true},
		}, pictureFlags("what happens in a script")...),
		Action: p.simReplay,
	}
}

// simReplay chooses by the first line of a file.
func (p *program) simReplay(_ context.Context, c *cli.Command) (err error) {
	if c.Args().Len() != 1 {
		return usageError(c.Name, "want one FILE, got %d", c.Args().Len())
	}
	from, to := c.Uint64("from"), c.Uint64("to")
	if (from != 0 || to != 0) && !c.Bool("show") {
		return usageError(c.Name, "flags --from and --to need --show")
	}
	picture, err := drawingOf(c)
	if err != nil {
		return err
	}
	path := c.Args().First()
	file, err := os.Open(path)
	if err != nil {
		return badTrace("sim replay: read the file: %w", err)
	}
	defer func() { err = closed(file, err) }()
	text := bufio.NewReader(file)
	begin, _ := text.Peek(max(len(traceLine), len(sim.ScriptHeader)+1)) // less if the file is shorter
	first, _, _ := strings.Cut(string(begin), "\n")
	switch {
	case strings.HasPrefix(first, traceLine) && (c.IsSet("trace") || picture.path != ""):
		return usageError(c.Name, "flags --trace and --svg are for scripts, and %s is a trace; --show prints its steps", path)
	case first == sim.ScriptHeader && c.Bool("show"):
		return usageError(c.Name, "flag --show is for traces, and %s is a script; --trace FILE has everything that happens", path)
	case strings.HasPrefix(first, traceLine):
		return p.replayTrace(path, text, replay.Config{Output: p.stepOutput(c), From: from, To: to})
	case first == sim.ScriptHeader:
		return p.replayScript(path, text, c.String("trace"), picture)
	default:
		return badTrace("sim replay: %s begins with %q; a trace begins with %q, and a script with %q", path, first, traceLine, sim.ScriptHeader)
	}
}

// traceLine is the prefix of a trace.
const traceLine = "holdfast trace "

// stepOutput returns the output for steps, if requested.
func (p *program) stepOutput(c *cli.Command) io.Writer {
	if !c.Bool("show") {
		return nil
	}
	return p.stdout
}

// replayTrace feeds a member's recorded input to fresh machines.
func (p *program) replayTrace(path string, text io.Reader, config replay.Config) error {
	start := time.Now()
	result, err := replay.Run(text, config)
	if err != nil {
		return badTrace("sim replay: %s: %w", path, err)
	}
	if len(result.Lives) == 0 {
		return badTrace("sim replay: %s has nothing", path)
	}
	for i, life := range result.Lives {
		if life.Ending == "" {
			break // the step that differs is reported below
		}
		if err := written(fmt.Fprintf(p.stdout, "life %d: incarnation %d of %s, from %s: %d steps in %v; %s\n",
			i+1, life.Header.Incarnation, life.Header.Config.Name, life.Header.Started, life.Steps, life.Span(), endingOf(&life))); err != nil {
			return err
		}
	}
	last := &result.Lives[len(result.Lives)-1]
	member, took := last.Header.Config.Name, time.Since(start).Seconds()
	switch d := result.Difference; {
	case d != nil:
		if err := written(fmt.Fprintf(p.stdout, "%vreplay: DIFFERENT member=%s life=%d step=%d at=%v what=%s in=%.1fs\n",
			d, member, d.Life, d.Step, d.At, d.What(), took)); err != nil {
			return err
		}
		return &exitError{code: exitViolation}
	case result.Panic() != "":
		if err := written(fmt.Fprintf(p.stdout, "replay: CRASH member=%s lives=%d steps=%d in=%.1fs\n", member, len(result.Lives), result.Steps(), took)); err != nil {
			return err
		}
		return &exitError{code: exitCrash}
	}
	return written(fmt.Fprintf(p.stdout, "replay: ok member=%s lives=%d steps=%d in=%.1fs\n", member, len(result.Lives), result.Steps(), took))
}

// endingOf describes how the trace of a life ended.
func endingOf(life *replay.Life) string {
	if life.Panic != "" {
		return "an invariant was broken, and is broken again: " + life.Panic
	}
	return life.Ending
}

// badTrace is an exitError about the file.
func badTrace(format string, arguments ...any) error {
	return &exitError{exitBadData, fmt.Errorf(format, arguments...)}
}

// closed closes a file that was only read.
func closed(file io.Closer, err error) error {
	if wrong := file.Close(); err == nil && wrong != nil {
		return fmt.Errorf("sim replay: close the file: %w", wrong)
	}
	return err
}
