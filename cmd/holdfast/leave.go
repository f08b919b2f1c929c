package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// leaveCommand lets one member leave, as TERM does that reaches its process.
func (p *program) leaveCommand() *cli.Command {
	return &cli.Command{
		Name:      "leave",
		Usage:     "let a member leave its cluster in good order, and end",
		UsageText: name + " leave [--server ADDRESS] [flags]",
		Description: "Holders of locks through the member have to stop, and its clients go on at others; where all\n" +
			"spaces have protocol consensus, with what they hold.\n" +
			"When it has left, no member has to wait for it, and it may be started again at any time.",
		Flags: memberFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			limit, err := timeoutOf(c)
			if err != nil {
				return err
			}
			return p.sendLeave(ctx, c, func(ctx context.Context, admin *client.Admin) error { return admin.Leave(ctx, limit) })
		},
	}
}

// drainCommand lets one member leave once nothing is held through it.
func (p *program) drainCommand() *cli.Command {
	return &cli.Command{
		Name:      "drain",
		Usage:     "let a member take nothing new, and leave when nothing is held through it",
		UsageText: name + " drain [--server ADDRESS] [--timeout D] [flags]",
		Description: "Clients that hold nothing go to other members at once, the others as soon as they have given up\n" +
			"what they hold. After --timeout the member leaves all the same; then holders that remain have to stop.\n" +
			"Where all spaces have protocol consensus all go at once, with what they hold.",
		Flags: memberFlagsWith(durationFlag("timeout", 0, "how long what is held is waited for; without it until it is given up")),
		Action: func(ctx context.Context, c *cli.Command) error {
			limit := c.Duration("timeout")
			if limit < 0 {
				return usageError(c.Name, "flag --timeout: %v: want 0 or more", limit)
			}
			return p.sendLeave(ctx, c, func(ctx context.Context, admin *client.Admin) error { return admin.Drain(ctx, limit) })
		},
	}
}

// farewell is how long the answer of a member that leaves may take beyond what it was
// granted.
const farewell = 10 * time.Second

// sendLeave asks one member to go. It must be named alone: of several, the first one that
// answers would go.
func (p *program) sendLeave(ctx context.Context, c *cli.Command, ask func(context.Context, *client.Admin) error) error {
	if err := noArguments(c); err != nil {
		return err
	}
	addresses, err := api.ParseTarget(serverOf(c))
	if err == nil && len(addresses) > 1 {
		return usageError(c.Name, "%d members are named; say with --server which one shall go", len(addresses))
	}
	if limit := c.Duration("timeout"); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit+farewell)
		defer cancel()
	}
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		return reworded(c.Name, "", ask(ctx, admin))
	})
}
