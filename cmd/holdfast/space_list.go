package main

import (
	"context"

	"github.com/urfave/cli/v3"
)

// spaceListCommand lists the lockspaces of a member.
func (p *program) spaceListCommand() *cli.Command {
	return &cli.Command{
		Name:        "list",
		Usage:       "list the lockspaces of a member",
		UsageText:   name + " space list [--output FORMAT] [flags]",
		Description: "Prints a line for each lockspace, as the member that is asked knows it; `" + name + " status` shows more.",
		Flags:       append(listFlags(), memberFlags()...),
		Action:      p.listSpaces,
	}
}

func (p *program) listSpaces(ctx context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return usageError(calledAs(c), "argument %q: the command takes none", c.Args().First())
	}
	status, err := askStatus(ctx, c)
	if err != nil {
		return err
	}
	o := p.output(c)
	if o.format != formatTable {
		return printDocuments(o, status.Spaces)
	}
	return o.print(spaceTable(o, status.Spaces))
}
