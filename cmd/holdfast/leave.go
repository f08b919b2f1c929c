package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// leaveCommand makes one member leave, as a TERM to its process does.
func (p *program) leaveCommand() *cli.Command {
	return &cli.Command{
		Name:      "leave",
		Usage:     "shut a member down in good order",
		UsageText: name + " leave [--server ADDRESS] [flags]",
		Description: "Clients that hold locks through the member lose them and go on at other members. If all spaces have protocol\n" +
			"consensus, clients keep their locks and take them along.\n" +
			"After that, no member waits for this one, and it can be started again at any time.",
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

// drainCommand makes one member leave once no lock is held through it.
func (p *program) drainCommand() *cli.Command {
	return &cli.Command{
		Name:      "drain",
		Usage:     "stop new work on a member, and shut it down when nothing is held through it",
		UsageText: name + " drain [--server ADDRESS] [--timeout D] [flags]",
		Description: "Clients that hold nothing go to other members at once, the others as soon as they have released what they\n" +
			"hold. After --timeout the member leaves all the same, and the remaining holders lose their locks.\n" +
			"If all spaces have protocol consensus, clients go at once and take their locks along.",
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

// farewell is the extra time for the answer of a leaving member.
const farewell = 10 * time.Second

// sendLeave asks one member to leave. It must be a single address: of several, the first one that answers would leave.
func (p *program) sendLeave(ctx context.Context, c *cli.Command, ask func(context.Context, *client.Admin) error) error {
	if err := noArguments(c); err != nil {
		return err
	}
	addresses, err := api.ParseTarget(serverOf(c))
	if err == nil && len(addresses) > 1 {
		return usageError(c.Name, "%d members are named; choose one with --server", len(addresses))
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
