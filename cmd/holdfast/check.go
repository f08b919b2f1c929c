package main

import (
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/host"
)

// checkCommand verifies a member's data.
func (p *program) checkCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "verify the data folder of a stopped member",
		UsageText: name + " check DIR",
		Description: "Reads everything in DIR (serve --data DIR), changes nothing, and prints a line for each fault.\n" +
			"Exits with 0 if there is none, with 65 if there is one, and with 78 if DIR is no data folder or is in use.",
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
		return &exitError{exitBadData, fmt.Errorf("check: %d faults in %s; replace this member by a new one, or restore the folder as it was when the member stopped", len(found), folder)}
	}
	return nil
}
