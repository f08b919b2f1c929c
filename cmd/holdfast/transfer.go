package main

import (
	"context"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// transferCommand moves the authority of a space.
func (p *program) transferCommand() *cli.Command {
	return &cli.Command{
		Name:      "transfer",
		Usage:     "make a member the authority of a lockspace (protocol grantor)",
		UsageText: name + " transfer SPACE MEMBER [--json] [flags]",
		Description: "The member gets the table of locks with all that is held and waited for, in order, and decides from then on:\n" +
			"what it locks itself costs no message. No lock is lost by it. MEMBER is a name, or an address, as\n" +
			"`" + name + " status` shows them. It waits for the member to serve, up to --timeout; after that it may be done\n" +
			"nevertheless. Exits with 76 where the space's protocol does not hand its authority over, and with 65 where\n" +
			"there is no such member, or it has the space closed.",
		Flags:  append([]cli.Flag{switchFlag("json", "print one JSON document")}, memberFlags()...),
		Action: p.transfer,
	}
}

func (p *program) transfer(ctx context.Context, c *cli.Command) error {
	member := c.Args().Get(1)
	if c.Args().Len() != 2 || member == "" {
		return usageError(calledAs(c), "give a lockspace and a member, as in '%s transfer billing b'", name)
	}
	space, err := firstSpace(c)
	if err != nil {
		return err
	}
	transferred, err := askToChange(ctx, c, "; it may be done nevertheless", func(ctx context.Context, admin *client.Admin) (*schema.Transferred, error) {
		return admin.Transfer(ctx, space, member)
	})
	if err != nil {
		return err
	}
	return p.answer(c, transferred)
}

// spaceCommand opens and closes lockspaces on one member.
func (p *program) spaceCommand() *cli.Command {
	return group("space", "open or close a lockspace on one member", name+" space open|close SPACE [--server ADDRESS] [flags]",
		p.spaceOpenCommand(), p.spaceCloseCommand())
}

func (p *program) spaceOpenCommand() *cli.Command {
	return &cli.Command{
		Name:        "open",
		Usage:       "let a member take part in a lockspace again",
		UsageText:   name + " space open SPACE [--server ADDRESS] [flags]",
		Description: "Every space is open on every member at first. One that is open stays so.",
		Flags:       append([]cli.Flag{switchFlag("json", "print one JSON document")}, memberFlags()...),
		Action: func(ctx context.Context, c *cli.Command) error {
			return p.turnSpace(ctx, c, "", (*client.Admin).OpenSpace)
		},
	}
}

func (p *program) spaceCloseCommand() *cli.Command {
	return &cli.Command{
		Name:      "close",
		Usage:     "let a member take no part in a lockspace until it is opened again",
		UsageText: name + " space close SPACE [--server ADDRESS] [flags]",
		Description: "Holders of locks of the space through the member have to stop, clients that wait are refused, and\n" +
			"nothing new is granted through it; if the member is the authority it hands that over. What the space is,\n" +
			"and what other members have in it, does not change; with protocol permission the member goes on answering\n" +
			"them. A restart of the member opens it.\n" +
			"\n" +
			"It waits until all have stopped, up to --timeout; after that it exits with 69, and the space is closed\n" +
			"all the same.",
		Flags: append([]cli.Flag{switchFlag("json", "print one JSON document")}, memberFlags()...),
		Action: func(ctx context.Context, c *cli.Command) error {
			const more = "; the space takes nothing new there, and what is held is still waited for"
			return p.turnSpace(ctx, c, more, (*client.Admin).CloseSpace)
		},
	}
}

// turnSpace asks one member to open or close a space. It must be named alone: of several,
// the first one would do it, whichever that is. More says what it means that no answer has
// come in time.
func (p *program) turnSpace(ctx context.Context, c *cli.Command, more string, turn func(*client.Admin, context.Context, string) (*schema.OpenedSpace, error)) error {
	space, err := oneSpace(c)
	if err != nil {
		return err
	}
	addresses, err := api.ParseTarget(serverOf(c))
	if err == nil && len(addresses) > 1 {
		return usageError(calledAs(c), "%s are named; say with --server which one member shall do it", strings.Join(formatAddresses(addresses), ", "))
	}
	opened, err := askToChange(ctx, c, more, func(ctx context.Context, admin *client.Admin) (*schema.OpenedSpace, error) {
		return turn(admin, ctx, space)
	})
	if err != nil {
		return err
	}
	return p.answer(c, opened)
}

func formatAddresses(addresses []api.Address) (texts []string) {
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	return texts
}
