package main

import (
	"context"

	"github.com/urfave/cli/v3"
)

// maker makes a command with that name. The flags of all commands take longer to make than most commands take to run.
type maker struct {
	name string
	make func() *cli.Command
}

// makers lists those of the commands, in the order of the help.
func (p *program) makers() []maker {
	return []maker{
		{"serve", p.serveCommand},
		{"lock", p.lockCommand},
		{"elect", p.electCommand},
		{"acquire", p.acquireCommand},
		{"renew", p.renewCommand},
		{"release", p.releaseCommand},
		{"value", p.valueCommand},
		{"keeper", p.keeperCommand},
		{"store-keeper", p.storeKeeperCommand},
		{"heir", p.heirCommand},
		{"status", p.statusCommand},
		{"top", p.topCommand},
		{"locks", p.locksCommand},
		{"show", p.showCommand},
		{"observe", p.observeCommand},
		{"break", p.breakCommand},
		{"suspend", p.suspendCommand},
		{"resume", p.resumeCommand},
		{"transfer", p.transferCommand},
		{"space", p.spaceCommand},
		{"store", p.storeCommand},
		{"access", p.accessCommand},
		{"audit", p.auditCommand},
		{"session", p.sessionCommand},
		{"check", p.checkCommand},
		{"tls", p.tlsCommand},
		{"member", p.memberCommand},
		{"snapshot", p.snapshotCommand},
		{"token", p.tokenCommand},
		{"leave", p.leaveCommand},
		{"drain", p.drainCommand},
		{"force-view", p.forceViewCommand},
		{"demo", p.demoCommand},
		{"demo-worker", p.demoWorkerCommand},
		{"sim", p.simCommand},
		{"bench", p.benchCommand},
		{"bench-child", p.benchChildCommand},
		{"completion", p.completionCommand},
		{"complete", p.completeCommand},
		{"man", p.manCommand},
		{"version", p.versionCommand},
		{"help", p.helpCommand},
	}
}

// commands makes all commands.
func (p *program) commands() []*cli.Command {
	var all []*cli.Command
	for _, m := range p.makers() {
		all = append(all, m.make())
	}
	return all
}

// commandsFor makes the commands that an invocation with these arguments needs: the named one, or all of them for the
// help and for a suggestion.
func (p *program) commandsFor(args []string) []*cli.Command {
	for _, m := range p.makers() {
		if len(args) > 1 && args[1] == m.name && m.name != "help" {
			return []*cli.Command{m.make()}
		}
	}
	return p.commands()
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
