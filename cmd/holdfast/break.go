package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// breakCommand takes a name from its holders.
func (p *program) breakCommand() *cli.Command {
	return &cli.Command{
		Name:      "break",
		Usage:     "take a lock away from its holder",
		UsageText: name + " break NAME --reason TEXT [--token T] [flags]",
		Description: "The holder's lock ends before another client is granted the name. Prints what was broken; the member logs it.\n" +
			"Exits with 79 if the lock is not held, or not under that token.\n" +
			"\n" +
			"In a store the lock's row asks the holder to give it up, which it does at its next renewal, within a third of the\n" +
			"expiry; break waits for that. A holder that has ended leaves the lock when its claim has expired.",
		Flags: clientFlags(append(append(tableFlags(), lockStoreFlags()...),
			textFlag("reason", "why, for the member's log; required"),
			&cli.Uint64Flag{Name: "token", Usage: "break only the grant with this `TOKEN`; all holders without it", Sources: lockTokenSource(), HideDefault: true},
		)...),
		Action: p.breakLock,
	}
}

func (p *program) breakLock(ctx context.Context, c *cli.Command) error {
	wanted, err := oneName(c)
	if err != nil {
		return err
	}
	reason, token := strings.TrimSpace(c.String("reason")), c.Uint64("token")
	switch {
	case reason == "":
		return usageError(c.Name, "flag --reason is missing: the member's log keeps it")
	case c.IsSet("token") && token == 0:
		return usageError(c.Name, "flag --token: 0 is no token; leave it out to break all holders")
	}
	broken, err := askOperator(ctx, p, c, func(ctx context.Context, o operator) (*schema.Broken, error) {
		return o.Break(ctx, spaceOf(c), wanted, holdfast.Token(token), reason, "")
	})
	if err != nil {
		return err
	}
	return p.answer(c, broken, func(o *output) []*table {
		return []*table{grantTable(o, "BROKEN HOLDER", "UNTIL", broken.Broken, 0)}
	})
}
