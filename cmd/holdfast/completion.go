package main

import (
	"context"
	"embed"
	"strings"

	"github.com/urfave/cli/v3"
)

// The scripts ask this program itself how a line may go on.
//
//go:embed completion
var completions embed.FS

// completionCommand prints a shell's completion script.
func (p *program) completionCommand() *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell: bash, zsh or fish",
		UsageText: name + " completion bash|zsh|fish",
		Description: "bash: source <(" + name + " completion bash)\n" +
			"zsh:  source <(" + name + " completion zsh)\n" +
			"fish: " + name + " completion fish | source\n" +
			"\n" +
			"Commands, flags and their values are completed and, from the member of --server or $HOLDFAST_SERVER, the names\n" +
			"of locks, lockspaces and members. A member that does not answer within half a second adds nothing.",
		Action: func(_ context.Context, c *cli.Command) error {
			shell := c.Args().First()
			if c.Args().Len() != 1 || !strings.Contains(" bash zsh fish ", " "+shell+" ") {
				return usageError(c.Name, "name one shell: bash, zsh or fish")
			}
			script, err := completions.ReadFile("completion/" + name + "." + shell)
			if err != nil {
				return err
			}
			return written(p.stdout.Write(script))
		},
	}
}

// completeCommand answers a completion script: how the last word of a line may go on.
func (p *program) completeCommand() *cli.Command {
	return &cli.Command{
		Name:            completing,
		Usage:           "answer a completion script: how the last word may go on",
		UsageText:       name + " " + completing + " words [WORD…] WORD | bash BREAKS LINE",
		Hidden:          true,
		SkipFlagParsing: true,
		Action: func(ctx context.Context, c *cli.Command) error {
			words := c.Args().Slice()
			switch {
			case len(words) > 1 && words[0] == "words":
				var text strings.Builder
				for _, one := range p.complete(ctx, words[1:]) {
					text.WriteString(one.word + "\t" + one.about + "\n")
				}
				return written(p.stdout.WriteString(text.String()))
			case len(words) == 3 && words[0] == "bash":
				line := parseLine(words[2], words[1])
				var text strings.Builder
				for _, one := range p.complete(ctx, line.words) {
					text.WriteString(line.reply(one.word) + "\n")
				}
				return written(p.stdout.WriteString(text.String()))
			}
			return usageError(c.Name, "this command answers the scripts of '%s completion'", name)
		},
	}
}

// completing is the name of the command that completion scripts call.
const completing = "complete"
