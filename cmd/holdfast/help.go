package main

import (
	"context"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// helpCommand prints the help of the program or of one command.
func (p *program) helpCommand() *cli.Command {
	return &cli.Command{
		Name:      "help",
		Usage:     "print the help of a command, or the table of exit codes",
		UsageText: name + " help [COMMAND|" + exitCodesTopic + "]",
		Action: func(ctx context.Context, c *cli.Command) error {
			command := c.Args().First()
			switch {
			case c.Args().Len() > 1:
				return usageError(c.Name, "give one command, not %d", c.Args().Len())
			case command == "":
				return cli.ShowRootCommandHelp(c.Root())
			case command == exitCodesTopic:
				return written(p.stdout.WriteString(fitHelp(exitCodes, p.stdout)))
			case c.Root().Command(command) == nil:
				return usageError(c.Name, "there is no command %q%s", command, suggestion(command, commandNames(c.Root()), strconv.Quote))
			}
			return cli.ShowCommandHelp(ctx, c.Root(), command)
		},
	}
}

// exitCodesTopic is the help topic that is not a command.
const exitCodesTopic = "exit-codes"

// exitCodes is the table of exit codes, an interface for scripts.
const exitCodes = `EXIT CODES:
   the command's own  lock: the locks were held to the end
   0                  done
   3                  show: the lock is free
   64                 usage
   65                 bad name or specification
   69                 no member reachable, or no authority within the wait limit
   70                 internal error
   75                 busy (--try), or the wait limit was reached; -E CODE overrides it, --skip makes it 0
   76                 this protocol does not offer that
   77                 authentication, permission or quota
   78                 bad configuration or TLS material
   79                 the lock was lost while the command ran, regardless of its own exit code; or it was not held
   80                 a deadlock: the wait would have been part of one (--deadlock fail), or explain shows one
   81                 the lock was broken by an operator
   82                 the required safety class is not available
   125                sim: all promises held, and a fault, message or handler was never hit
   126, 127           the command cannot be executed, or was not found
   127, 128, 129      sim: a machine has crashed; something is stuck; a promise was broken
   127, 129           sim replay: the recorded crash came again; something was different
   129                bench: two workers had one lock at once
   128+N              the command, or holdfast while it waited, was ended by signal N
`

// noArguments refuses any arguments.
func noArguments(c *cli.Command) error {
	if c.Args().Present() {
		return usageError(c.Name, "argument %q: the command takes none", c.Args().First())
	}
	return nil
}

// oneName returns a command's single lock name.
func oneName(c *cli.Command) (string, error) {
	switch c.Args().Len() {
	case 0:
		return "", usageError(c.Name, "no name given")
	case 1:
		wanted := c.Args().First()
		if err := lock.CheckKnown(wanted); err != nil {
			return "", &holdfast.Error{Op: c.Name, Err: err}
		}
		return wanted, nil
	}
	return "", usageError(c.Name, "give one name, not %d: %s", c.Args().Len(), strings.Join(c.Args().Slice(), " "))
}
