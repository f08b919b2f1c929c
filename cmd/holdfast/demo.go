package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/demo"
	"github.com/holdfast-locks/holdfast/internal/supervise"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// demoWorker is the hidden command that a worker of the demo is started with.
const demoWorker = "demo-worker"

func (p *program) demoCommand() *cli.Command {
	return &cli.Command{
		Name:  "demo",
		Usage: "see it work: a small cluster, workers, faults, a verdict",
		Description: "Starts three members and six worker processes of its own, kills the coordinator, stops another\n" +
			"member for longer than its lease, and holds what all workers saw against the promises.\n" +
			"It takes about 20 seconds and at most 30; its last line is the verdict, and its exit code is 0\n" +
			"only if that is good. It uses free ports and a folder of its own, and leaves nothing behind.",
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := noArguments(c); err != nil {
				return err
			}
			program, err := os.Executable()
			if err != nil {
				return err
			}
			ctx, stop := context.WithCancelCause(ctx)
			defer stop(nil)
			defer heedSignals(c.Name, stop)()
			err = demo.Run(ctx, demo.Config{
				Program: program, WorkerArgs: []string{demoWorker}, Out: p.stdout, Terminal: supervise.IsTerminal(p.stdout),
			})
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			return err
		},
	}
}

// heedSignals lets a signal stop a command that has started processes, which it then
// ends: a user that has seen enough must not leave them behind. The function that is
// returned ends that.
func heedSignals(command string, stop context.CancelCauseFunc) func() {
	arrived, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(arrived, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case sig := <-arrived:
			stop(&exitError{supervise.SignalStatus(sig), fmt.Errorf("%s: ended by signal %v", command, sig)})
		case <-over:
		}
	}()
	return func() {
		signal.Stop(arrived)
		close(over)
	}
}

func (p *program) demoWorkerCommand() *cli.Command {
	return &cli.Command{
		Name:   demoWorker,
		Hidden: true,
		Flags:  []cli.Flag{&cli.DurationFlag{Name: "stay", Usage: "the longest time for which it has a lock"}},
		Action: func(ctx context.Context, c *cli.Command) error {
			if n := c.Args().Len(); n != 2 && (n != 3 || c.Args().Get(2) != "pool") {
				return usageError(c.Name, "it is started by demo, with servers, a register, and what it may take")
			}
			return clustertest.Worker{
				Server: c.Args().Get(0), Register: c.Args().Get(1), PoolOnly: c.Args().Len() == 3,
				HoldTime: c.Duration("stay"), Orders: p.stdin, Events: p.stdout,
			}.Run(ctx)
		},
	}
}
