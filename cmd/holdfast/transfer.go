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
		UsageText: name + " transfer SPACE MEMBER [--output FORMAT] [flags]",
		Description: "MEMBER gets the lock table with all holders and waiters, in order, and decides from then on; its own\n" +
			"clients' locks then cost no message. No lock is lost. MEMBER is a name or an address, as `" + name + " status`\n" +
			"shows them. The command waits until MEMBER serves, up to --timeout; after that the transfer may still be\n" +
			"done. Exits with 76 if the space's protocol has no authority to transfer, and with 65 if there is no such\n" +
			"member or it has closed the space.",
		Flags:  append(deedFlags(), memberFlags()...),
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
	return p.answer(c, transferred, nil)
}

// spaceCommand lists lockspaces, and opens and closes them at one member.
func (p *program) spaceCommand() *cli.Command {
	return group("space", "list lockspaces, or open or close one on one member", name+" space list | open|close SPACE [--server ADDRESS] [flags]",
		p.spaceListCommand(), p.spaceOpenCommand(), p.spaceCloseCommand())
}

func (p *program) spaceOpenCommand() *cli.Command {
	return &cli.Command{
		Name:        "open",
		Usage:       "open a lockspace on a member again",
		UsageText:   name + " space open SPACE [--server ADDRESS] [flags]",
		Description: "Every space starts open on every member. Opening an open space changes nothing.",
		Flags:       append(deedFlags(), memberFlags()...),
		Action: func(ctx context.Context, c *cli.Command) error {
			return p.turnSpace(ctx, c, "", (*client.Admin).OpenSpace)
		},
	}
}

func (p *program) spaceCloseCommand() *cli.Command {
	return &cli.Command{
		Name:      "close",
		Usage:     "close a lockspace on a member until it is opened again",
		UsageText: name + " space close SPACE [--server ADDRESS] [flags]",
		Description: "Clients that hold locks of the space through this member lose them, waiting clients are refused, and nothing\n" +
			"new is granted through it. If the member is the authority, it hands that over. The space itself, and what\n" +
			"other members hold in it, stay as they are; with protocol permission this member still answers the others.\n" +
			"A restart of the member opens the space.\n" +
			"\n" +
			"Waits until all holders have stopped, up to --timeout. After that it exits with 69, and the space is closed\n" +
			"all the same.",
		Flags: append(deedFlags(), memberFlags()...),
		Action: func(ctx context.Context, c *cli.Command) error {
			const more = "; the space takes nothing new there, and what is held is still waited for"
			return p.turnSpace(ctx, c, more, (*client.Admin).CloseSpace)
		},
	}
}

// turnSpace asks one member to open or close a space. It must be a single address: of several, an arbitrary one would
// do it. More says what a missing answer means.
func (p *program) turnSpace(ctx context.Context, c *cli.Command, more string, turn func(*client.Admin, context.Context, string) (*schema.OpenedSpace, error)) error {
	space, err := oneSpace(c)
	if err != nil {
		return err
	}
	addresses, err := api.ParseTarget(serverOf(c))
	if err == nil && len(addresses) > 1 {
		return usageError(calledAs(c), "%s are named; choose one member with --server", strings.Join(formatAddresses(addresses), ", "))
	}
	opened, err := askToChange(ctx, c, more, func(ctx context.Context, admin *client.Admin) (*schema.OpenedSpace, error) {
		return turn(admin, ctx, space)
	})
	if err != nil {
		return err
	}
	return p.answer(c, opened, nil)
}

func formatAddresses(addresses []api.Address) (texts []string) {
	for _, address := range addresses {
		texts = append(texts, address.String())
	}
	return texts
}
