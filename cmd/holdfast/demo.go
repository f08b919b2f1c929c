package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/demo"
	"github.com/holdfast-locks/holdfast/internal/supervise"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// demoWorker is the hidden command that starts a worker of the demo.
const demoWorker = "demo-worker"

func (p *program) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see it work: a small cluster, workers, faults, and a verdict",
		Description: "Starts three members and six worker processes, kills the coordinator, stops another member for longer than\n" +
			"its lease, and checks what all workers saw against the guarantees.\n" +
			"It takes about 20 seconds, and at most 30. The last line is the verdict; the exit code is 0 only if no\n" +
			"guarantee was broken. It uses free ports and a temporary folder, and leaves nothing behind. Standard error\n" +
			"then has three commands to try next.",
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			err = untilSignal(ctx, c.Name, func(ctx context.Context) error {
				return demo.Run(ctx, demo.Config{
					Program: program, WorkerArgs: []string{demoWorker}, Out: p.stdout, Terminal: supervise.IsTerminal(p.stdout),
				})
			})
			if err == nil {
				p.sayNext()
			}
			return err
		},
	}
}

// afterDemo are commands to try after the demo.
var afterDemo = []struct{ command, what string }{
	{name + ` lock --store /tmp/locks deploy -- echo "I have it"`, "a lock in a folder, without any member"},
	{name + " serve", "a member; then, in another terminal: " + name + " lock deploy -- sleep 60"},
	{name + " sim --as-published H3", "what one rule prevents: a run of the published algorithm"},
}

// sayNext prints them, on standard error: the last line of the output is the verdict.
func (p *program) sayNext() {
	text := "three things to try next:"
	for _, next := range afterDemo {
		text += "\n  " + next.command + "\n      " + next.what
	}
	p.say("%s", text)
}

// untilSignal runs a function that has started processes, and that ends them when a signal stops it: an interrupted
// command must not leave them behind.
func untilSignal(ctx context.Context, command string, do func(context.Context) error) error {
	ctx, stop := supervise.UntilSignal(ctx)
	defer stop()
	err := do(ctx)
	if by := new(supervise.Signalled); errors.As(context.Cause(ctx), &by) {
		return &exitError{by.Status(), fmt.Errorf("%s: %w", command, by)}
	}
	return err
}

func (p *program) demoWorkerCommand() *cli.Command {
	return &cli.Command{
		Name:   demoWorker,
		Hidden: true,
		Flags:  []cli.Flag{&cli.DurationFlag{Name: "stay", Usage: "the longest time for which it has a lock"}},
		Action: func(ctx context.Context, c *cli.Command) error {
			if n := c.Args().Len(); n != 2 && (n != 3 || c.Args().Get(2) != "pool") {
				return usageError(c.Name, "only demo starts it, with servers, a register and a workload")
			}
			return clustertest.Worker{
				Server: c.Args().Get(0), Register: c.Args().Get(1), PoolOnly: c.Args().Len() == 3,
				HoldTime: c.Duration("stay"), Orders: p.stdin, Events: p.stdout,
			}.Run(ctx)
		},
	}
}
