package main

import (
	"context"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/supervise"
	"github.com/holdfast-locks/holdfast/internal/top"
)

// topInterval is the default time between two refreshes of top, and leastTopInterval the shortest.
const (
	topInterval      = 2 * time.Second
	leastTopInterval = 200 * time.Millisecond
)

// topTimeout is the default of --timeout: a view that is refreshed does not wait for one answer as long as other
// commands.
const topTimeout = 3 * time.Second

// topCommand shows the cluster live.
func (p *program) topCommand() *cli.Command {
	space := textFlag("space", "`NAME` of the only lockspace to show")
	space.DefaultText = "all"
	return &cli.Command{
		Name:      "top",
		Usage:     "show members, lockspaces, names and waits live, in a terminal",
		UsageText: name + " top [--interval D] [flags]",
		Description: "Tab or 1 to 4 chooses members, spaces, names or waits; s sorts, / shows names with a prefix, enter shows one\n" +
			"lock in full, ? explains all keys, q quits. Missing members are red.\n" +
			"\n" +
			"A refresh asks for the status and at most 1,000 names, one request after the other; the view says if there\n" +
			"are more. A member that takes long to answer is asked less often. Grants per second come from the members'\n" +
			"events, which cost a busy member up to half of its speed. Where there are more than about 10,000 a second, they\n" +
			"are followed for an instant, and again after five minutes; --no-rates does not follow them.\n" +
			"\n" +
			"If no member answers, the view stays, says since when, and goes on when one does.",
		Flags: append([]cli.Flag{
			durationFlag("interval", topInterval, "time between two refreshes, at least 200ms"),
			switchFlag("no-rates", "show no grants per second"),
			space,
		}, memberFlagsWith(durationFlag("timeout", topTimeout, "how long to wait for a member's answer"))...),
		HideHelpCommand: true,
		Action:          p.top,
	}
}

func (p *program) top(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	timeout, err := timeoutOf(c)
	if err != nil {
		return err
	}
	interval := c.Duration("interval")
	switch {
	case interval < leastTopInterval:
		return usageError(c.Name, "flag --interval: %v: want %v or more", interval, leastTopInterval)
	case !supervise.IsTerminal(p.stdin), !supervise.IsTerminal(p.stdout):
		return usageError(c.Name, "standard input and output must be a terminal; '%s status' and '%s locks' print the same to any file", name, name)
	case p.variable("TERM") == "dumb":
		return usageError(c.Name, "the terminal cannot be redrawn (TERM=dumb); '%s status' and '%s locks' print the same", name, name)
	}
	signals := supervise.NewSignals()
	defer signals.Stop()
	ctx, stop := heed(ctx, signals)
	// The cause of the end is returned below.
	defer func() { _ = stop() }()
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		err := top.Run(ctx, top.Config{
			Source: admin, Server: serverOf(c), Space: c.String("space"), Interval: interval, Timeout: timeout, Rates: !c.Bool("no-rates"),
			Age: formatAge, Explain: reasonFor,
		}, p.stdin, p.stdout, p.environ)
		if interrupted := stop(); interrupted != nil {
			return interrupted
		}
		return err
	})
}
