package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/host"
)

// checkCommand verifies what a member has kept.
func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "verify the data folder of a member that does not run",
		UsageText: name + " check DIR",
		Description: "It reads all that DIR has (serve --data DIR), changes nothing, and prints a line for each thing that is wrong.\n" +
			"It exits with 0 where nothing is, with 65 where something is, and with 78 where DIR is no such folder or in use.",
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() != 1 {
				return usageError(calledAs(c), "want one folder, got %d arguments", c.Args().Len())
			}
			return p.check(c.Args().First())
		},
	}
}

func (p *program) check(folder string) error {
	found, err := host.CheckData(folder)
	if err != nil {
		return misconfigured("check: %w", err)
	}
	for _, one := range found {
		if _, err := fmt.Fprintln(p.stdout, one); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return &exitError{exitBadData, fmt.Errorf("check: %d things in %s are wrong; replace this member by a new one, or put the folder back as it was when the member stopped", len(found), folder)}
	}
	return nil
}
