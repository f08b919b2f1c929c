package main

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/backoff"
)

// mostPause is the bound of the pauses before another campaign, as elect.Run's.
const mostPause = 10 * time.Second

// electCommand is `holdfast elect NAME -- COMMAND`.
func (p *program) electCommand() *cli.Command {
	return &cli.Command{
		Name:      "elect",
		Usage:     "campaign for a name, and run a command while leading",
		UsageText: name + " elect [flags] NAME -- COMMAND [ARG…]",
		Description: "Waits until this candidate leads, runs COMMAND, and resigns when COMMAND has ended: the next candidate in\n" +
			"order leads at once. A leadership is a lock, and all that `" + name + " lock --help` says holds: COMMAND has\n" +
			"ended before another candidate leads, and finds the token of its term in HOLDFAST_LOCK_TOKEN.\n" +
			"\n" +
			"--value publishes a text with the leadership, for example an address; `" + name + " show NAME` prints it.\n" +
			"\n" +
			"With --again, a lost leadership is followed by another campaign, after a pause that grows up to 10 s, and\n" +
			"COMMAND runs again. Without it the exit code is then 79, or 81 if an operator ended the leadership. A signal\n" +
			"ends both: COMMAND gets it, and there is no other campaign.",
		Flags: clientFlags(append(underLockFlags(),
			switchFlag("again", "campaign again after a lost leadership"),
		)...),
		HideHelpCommand: true,
		Action:          p.elect,
	}
}

// elect runs the command while this candidate leads.
func (p *program) elect(ctx context.Context, c *cli.Command) error {
	order, err := p.lockOrder(c)
	if err != nil {
		return err
	}
	if len(order.names) != 1 {
		return usageError(c.Name, "there are %d names; give the one of the election", len(order.names))
	}
	events, err := openStatus(c, 1)
	if err != nil {
		return err
	}
	for pauses := (backoff.Backoff{Least: 100 * time.Millisecond, Most: mostPause}); ; {
		began := time.Now()
		err = p.underLock(ctx, c, order, events)
		if !c.Bool("again") || !errors.Is(err, holdfast.ErrLost) {
			return p.reported(c, err, events)
		}
		if time.Since(began) > mostPause {
			pauses.Reset()
		}
		pause := pauses.Next()
		p.say("%v; the next campaign begins in %v", err, short(pause))
		if backoff.Sleep(ctx, pause) != nil {
			return p.reported(c, ctx.Err(), events)
		}
	}
}
