package main

import (
	"context"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
)

// releaseCommand is `holdfast release NAME`.
func (p *program) releaseCommand() *cli.Command {
	return &cli.Command{
		Name:      "release",
		Usage:     "release a lock taken by acquire",
		UsageText: name + " release [flags] NAME --token TOKEN --session SESSION",
		Description: "Prints nothing, and returns when the authority has taken the release. If the lock was lost before, the exit\n" +
			"code is 79, or 81 if an operator broke it.",
		Flags: clientFlags(
			&cli.StringFlag{Name: "token", Usage: "`TOKEN` of the lock, as printed by acquire", Sources: lockTokenSource()},
			sessionFlag(),
			anyStoreFlag(),
		),
		HideHelpCommand: true,
		Action:          p.release,
	}
}

func (p *program) release(ctx context.Context, c *cli.Command) error {
	lock, err := oneName(c)
	if err != nil {
		return err
	}
	h, err := p.heldLock(c)
	if err != nil {
		return err
	}
	if h.socket != "" {
		_, err := askKeeper(ctx, c.Name, h.socket, &keeperRequest{Name: lock, Token: h.token})
		return err
	}
	if p.usesStore(c) {
		return p.storeless(c)
	}
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		return within(ctx, c, func(ctx context.Context) error { return admin.Release(ctx, spaceOf(c), lock, h.token, h.session) })
	})
}
