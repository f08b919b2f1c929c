package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// memberCommand changes who votes in a lockspace.
func (p *program) memberCommand() *cli.Command {
	return group("member", "change or show who votes in a lockspace (protocol consensus)", name+" member add|promote|remove MEMBER | list [--space SPACE] [flags]",
		p.reformCommand("add", protocol.Learner, "give a member all that is decided, and no vote yet",
			"Start it before, with a data folder and the others' addresses: `"+name+" serve --data DIR --join ADDR,…`. Then it gets all\n"+
				"that was decided, and can be promoted. One that votes loses its vote by this, and goes on with the rest."),
		p.reformCommand("promote", protocol.Voter, "let a member vote that was added",
			"It must have been added, and lack 100 entries at the most; else it is refused, and says how many it lacks."),
		p.reformCommand("remove", protocol.Nonmember, "take a member out of a lockspace",
			"Its vote goes with it. One that leads hands over before. Afterwards it may be switched off, and its folder be\n"+
				"removed; drain it first, for its clients have to move. A member that is gone for good is removed in the same way."),
		p.memberListCommand())
}

// reformCommand gives a member a role.
func (p *program) reformCommand(verb string, as protocol.Role, usage, description string) *cli.Command {
	return &cli.Command{
		Name:      verb,
		Usage:     usage,
		UsageText: name + " member " + verb + " MEMBER [--space SPACE] [--json] [flags]",
		Description: description + "\n" +
			"\n" +
			"MEMBER is a name, or an address, as `" + name + " status` shows them. Locking goes on meanwhile, and no lock is lost.\n" +
			"Refused is what would leave no majority of those who vote within hearing. It waits until all shards of the space\n" +
			"have it, up to --timeout; after that it may be done nevertheless, and doing it again does what is left.\n" +
			"Exits with 65 where something stands against it, and with 76 where the space has no votes.",
		Flags: clientFlags(switchFlag("json", "print one JSON document")),
		Action: func(ctx context.Context, c *cli.Command) error {
			member := c.Args().First()
			if c.Args().Len() != 1 || member == "" {
				return usageError(calledAs(c), "give one member, as in '%s member %s d'", name, verb)
			}
			shards, err := askToChange(ctx, c, "; it may be done nevertheless", func(ctx context.Context, admin *client.Admin) (*schema.Shards, error) {
				return admin.Reform(ctx, spaceOf(c), member, as.String())
			})
			if err != nil {
				return err
			}
			return p.answer(c, shards)
		},
	}
}

func (p *program) memberListCommand() *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "show who votes in a lockspace, and who leads",
		UsageText:   name + " member list [--space SPACE] [--json] [flags]",
		Description: "A line for each shard, as the member knows it that is asked.",
		Flags:       clientFlags(switchFlag("json", "print one JSON document")),
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usageError(calledAs(c), "argument %q: none is wanted", c.Args().First())
			}
			shards, err := ask(ctx, c, func(ctx context.Context, admin *client.Admin) (*schema.Shards, error) {
				return admin.Shards(ctx, spaceOf(c))
			})
			if err != nil {
				return err
			}
			all := newTable("SPACE", "SHARD", "LEADER", "VOTERS", "LEARNERS")
			for _, s := range shards.Shards {
				all.row(shards.Space, fmt.Sprint(s.Shard), s.Leader, strings.Join(s.Voters, ","), strings.Join(s.Learners, ","))
			}
			return p.answer(c, shards, all)
		},
	}
}
