package main

import (
	"context"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/internal/supervise"
)

func main() {
	p := &program{
		args: os.Args, environ: os.Environ(),
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr,
	}
	collectLater()
	supervise.Main(func() int { return p.run(context.Background()) })
}

// The start of a program leaves some megabytes of garbage, and most commands end before more comes.
const (
	startsFor    = time.Second // how long a start takes at most
	startPercent = 400         // until then, in percent as in GOGC: the heap may have 16 MB
)

// collectLater puts off the first collection of garbage, which costs a short command a quarter of its time. A value in
// $GOGC stands.
func collectLater() {
	usual := debug.SetGCPercent(startPercent)
	if usual != 100 {
		debug.SetGCPercent(usual)
		return
	}
	time.AfterFunc(startsFor, func() { debug.SetGCPercent(usual) })
}

// program is one run of the command line.
type program struct {
	args                  []string // with the program's name
	environ               []string
	stdin, stdout, stderr *os.File

	// separated reports that the arguments of lock had a "--", and command is the rest after it. The flag parser never
	// sees that.
	separated bool
	command   []string
}

// run runs the command in the arguments, and returns the exit code. It is called once.
func (p *program) run(ctx context.Context) int {
	args := p.args
	if len(args) == 0 {
		args = []string{name}
	}
	if len(args) > 1 && (args[1] == "lock" || args[1] == "elect") {
		args = p.cut(args)
	}
	root := p.rootOf(p.commandsFor(args))
	err := root.Run(ctx, args)
	return p.end(p.classify(err, args))
}

// cut removes the command from the arguments of lock and elect.
func (p *program) cut(args []string) []string {
	at := slices.Index(args, "--")
	if at < 0 {
		return args
	}
	p.separated, p.command = true, slices.Clone(args[at+1:])
	return args[:at:at]
}

// name is the name of the program, regardless of the name of its file.
const name = "holdfast"

// root is the tree of all commands.
func (p *program) root() *cli.Command { return p.rootOf(p.commands()) }

// rootOf is the tree of some commands. The parser neither exits nor prints errors: every command has handlers that return
// them.
func (p *program) rootOf(commands []*cli.Command) *cli.Command {
	wrapHelp()
	root := &cli.Command{
		Name:      name,
		Usage:     "distributed locks",
		UsageText: name + " COMMAND [flags] [arguments]",
		Description: "`" + name + " serve` starts a member; `" + name + " lock NAME -- COMMAND` runs a command under a lock.\n" +
			"`" + name + " COMMAND --help` says more.",
		Commands:        commands,
		Flags:           []cli.Flag{&cli.BoolFlag{Name: "version", Usage: "print the version", Local: true}},
		HideHelpCommand: true, // ours does not mistake lock names for topics
		HideVersion:     true,
		Writer:          p.stdout,
		ErrWriter:       p.stderr,
		Action:          p.withoutCommand,
		// The parser's own handler would exit.
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
	}
	for _, command := range root.Commands {
		p.refuseStores(command)
		refuseUsage(command)
	}
	// The parser takes the flags of an unknown command for the root's.
	root.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		if word := p.args[1]; !strings.HasPrefix(word, "-") && c.Command(word) == nil {
			return noCommand(c.Root(), word)
		}
		return parseError(c, c.Name, err)
	}
	return root
}

// refuseUsage sets the handler for the parser's errors in a command and its subcommands.
func refuseUsage(command *cli.Command) {
	command.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error {
		return parseError(c, calledAs(c), err)
	}
	for _, below := range command.Commands {
		refuseUsage(below)
	}
}
