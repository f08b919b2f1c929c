package main

import (
	"context"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/demo"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// demoWorker is the hidden command that a worker of the demo is started with.
const demoWorker = "demo-worker"

func (p *program) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see it work: a member, workers, faults, a verdict",
		Description: "Starts a member and eight worker processes of its own, kills one that holds a lock, stops\n" +
			"another until its lock has passed on, and holds what all of them saw against the promises.\n" +
			"It takes about 15 seconds; its last line is the verdict, and its exit code is 0 only if that\n" +
			"is good. It uses free ports and a folder of its own, and leaves nothing behind.",
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			return demo.Run(ctx, demo.Config{
				Program: program, WorkerArgs: []string{demoWorker}, Out: p.stdout, Terminal: supervise.IsTerminal(p.stdout),
			})
		},
	}
}

func (p *program) demoWorkerCommand() *cli.Command {
	return &cli.Command{
		Name:   demoWorker,
		Hidden: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Len() != 2 {
				return usageError(c.Name, "it is started by demo, with a server and a register")
			}
			return demo.Worker{
				Server: c.Args().Get(0), Register: c.Args().Get(1), Orders: p.stdin, Words: p.stdout,
			}.Run(ctx)
		},
	}
}
