package main

import "github.com/urfave/cli/v3"

// commands lists the commands, in the order of the help.
func (p *program) commands() []*cli.Command {
	return []*cli.Command{
		p.serveCommand(),
		p.lockCommand(),
		p.acquireCommand(),
		p.renewCommand(),
		p.releaseCommand(),
		p.keeperCommand(),
		p.statusCommand(),
		p.locksCommand(),
		p.showCommand(),
		p.breakCommand(),
		p.suspendCommand(),
		p.resumeCommand(),
		p.transferCommand(),
		p.spaceCommand(),
		p.storeCommand(),
		p.checkCommand(),
		p.memberCommand(),
		p.snapshotCommand(),
		p.leaveCommand(),
		p.drainCommand(),
		p.forceViewCommand(),
		p.demoCommand(),
		p.demoWorkerCommand(),
		p.simCommand(),
		p.benchCommand(),
		p.benchChildCommand(),
		p.versionCommand(),
		p.helpCommand(),
	}
}
