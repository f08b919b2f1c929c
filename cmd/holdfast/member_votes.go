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

// memberCommand changes the voters of a lockspace.
func (p *program) memberCommand() *cli.Command {
	return group("member", "show or change the voters of a lockspace (protocol consensus)", name+" member add|promote|remove MEMBER | list [--space SPACE] [flags]",
		p.reformCommand("add", protocol.Learner, "replicate a lockspace to a member that has no vote yet",
			"Start the member first, with a data folder and the others' addresses: `"+name+" serve --data DIR --join ADDR,…`.\n"+
				"It becomes a learner: it receives every decision, and can be promoted. A voter that is added loses its vote\n"+
				"and stays as a learner."),
		p.reformCommand("promote", protocol.Voter, "give a vote to a member that was added",
			"The member must have been added, and must be at most 100 entries behind. If it is further behind, the error\n"+
				"says by how many entries."),
		p.reformCommand("remove", protocol.Nonmember, "remove a member from a lockspace",
			"The member loses its vote; a leader hands over first. Afterwards it can be switched off and its folder deleted:\n"+
				"drain it before that, so that its clients move. A member that is gone for good is removed in the same way."),
		p.memberListCommand())
}

// reformCommand gives a member a role.
func (p *program) reformCommand(verb string, as protocol.Role, usage, description string) *cli.Command {
	return &cli.Command{
		Name:      verb,
		Usage:     usage,
		UsageText: name + " member " + verb + " MEMBER [--space SPACE] [--output FORMAT] [flags]",
		Description: description + "\n" +
			"\n" +
			"MEMBER is a name or an address, as `" + name + " status` shows them. Clients go on locking meanwhile, and no lock\n" +
			"is lost. A change that would leave no reachable majority of voters is refused. The command waits until all\n" +
			"shards of the space have made the change, up to --timeout. After that it may still be made; running the\n" +
			"command again completes it.\n" +
			"Exits with 65 if the change is refused, and with 76 if the space has no voters.",
		Flags: clientFlags(deedFlags()...),
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
			return p.answer(c, shards, nil)
		},
	}
}

func (p *program) memberListCommand() *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "show the voters and the leader of a lockspace",
		UsageText:   name + " member list [--space SPACE] [--output FORMAT] [flags]",
		Description: "Prints a line for each shard, as the member that is asked knows it; with --output name its members.",
		Flags:       clientFlags(listFlags()...),
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usageError(calledAs(c), "argument %q: the command takes none", c.Args().First())
			}
			shards, err := ask(ctx, c, func(ctx context.Context, admin *client.Admin) (*schema.Shards, error) {
				return admin.Shards(ctx, spaceOf(c))
			})
			if err != nil {
				return err
			}
			all := newTable("SPACE", "SHARD", "LEADER", "VOTERS", "LEARNERS").long("VOTERS", "LEARNERS")
			for _, s := range shards.Shards {
				all.row(shards.Space, fmt.Sprint(s.Shard), s.Leader, strings.Join(s.Voters, ","), strings.Join(s.Learners, ","))
			}
			return p.answer(c, shards, func(*output) []*table { return []*table{all} })
		},
	}
}
