package main

import (
	"context"

	"github.com/urfave/cli/v3"
)

// commands lists the commands, in the order of the help.
func (p *program) commands() []*cli.Command {
	return []*cli.Command{
		p.serveCommand(),
		p.lockCommand(),
		p.acquireCommand(),
		p.renewCommand(),
		p.releaseCommand(),
		p.keeperCommand(),
		p.storeKeeperCommand(),
		p.heirCommand(),
		p.statusCommand(),
		p.topCommand(),
		p.locksCommand(),
		p.showCommand(),
		p.breakCommand(),
		p.suspendCommand(),
		p.resumeCommand(),
		p.transferCommand(),
		p.spaceCommand(),
		p.storeCommand(),
		p.accessCommand(),
		p.checkCommand(),
		p.tlsCommand(),
		p.memberCommand(),
		p.snapshotCommand(),
		p.tokenCommand(),
		p.leaveCommand(),
		p.drainCommand(),
		p.forceViewCommand(),
		p.demoCommand(),
		p.demoWorkerCommand(),
		p.simCommand(),
		p.benchCommand(),
		p.benchChildCommand(),
		p.completionCommand(),
		p.completeCommand(),
		p.manCommand(),
		p.versionCommand(),
		p.helpCommand(),
	}
}

// group is a command with subcommands, which does nothing by itself.
func group(name, usage, usageText string, commands ...*cli.Command) *cli.Command {
	names := commands[0].Name
	for i, command := range commands[1:] {
		separator := ", "
		if i == len(commands)-2 {
			separator = " or "
		}
		names += separator + command.Name
	}
	return &cli.Command{
		Name: name, Usage: usage, UsageText: usageText, Commands: commands,
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Present() {
				return usageError(calledAs(c), "there is no command %q: want %s", c.Args().First(), names)
			}
			return usageError(calledAs(c), "give a subcommand: %s", names)
		},
	}
}
