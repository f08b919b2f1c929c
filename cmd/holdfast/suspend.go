package main

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// suspendCommand stops new grants of a whole space.
func (p *program) suspendCommand() *cli.Command {
	return &cli.Command{
		Name:      "suspend",
		Usage:     "pause a lockspace: stop new grants, and wait until nothing is held",
		UsageText: name + " suspend SPACE [--reason TEXT] [--wait D] [flags]",
		Description: "New grants stop at once, through every member. The command returns when everything that was held has been\n" +
			"released; from then on nothing is granted until `" + name + " resume SPACE`. Requests wait meanwhile, in order.\n" +
			"If something is held for longer than --wait, it exits with 75 and grants go on.\n" +
			"\n" +
			"The suspension lasts until it is resumed, or until the member that was asked ends or is cut off from the\n" +
			"others. A member that is drained waits for it too. If the space is suspended already, nothing changes and a\n" +
			"sentence names the operator. Meanwhile /readyz of every member reports that the space cannot grant.\n" +
			"\n" +
			"Exits with 76 for a space of protocol permission, which has no authority that could suspend it.",
		Flags: slices.Concat([]cli.Flag{
			textFlag("reason", "why, for listings and the member's log"),
			durationFlag("wait", 0, "how long to wait for holders; 0 does not wait (default: --timeout)"),
		}, deedFlags(), memberFlags()),
		Action: p.suspend,
	}
}

func (p *program) suspend(ctx context.Context, c *cli.Command) error {
	space, err := oneSpace(c)
	if err != nil {
		return err
	}
	wait, err := timeoutOf(c)
	if err != nil {
		return err
	}
	timeout := wait
	if c.IsSet("wait") {
		if wait = c.Duration("wait"); wait < 0 {
			return usageError(calledAs(c), "flag --wait: %v: want 0 or more", wait)
		}
		timeout += wait
	} else {
		timeout += farewell // the member ends the wait, and reports the holders
	}
	reason := strings.TrimSpace(c.String("reason"))
	suspended, err := askFor(ctx, c, timeout, "", func(ctx context.Context, admin *client.Admin) (*schema.Suspended, error) {
		return admin.Suspend(ctx, space, client.Suspension{Reason: reason, Wait: wait})
	})
	if err != nil {
		return err
	}
	if g := suspended.Suspension; !suspended.Changed && g != nil {
		p.say("suspend: space %q is suspended already, by %s on %s since %s%s",
			space, cmp.Or(g.Client, g.Owner), g.Member, formatTime(g.Since), because(g.Reason))
	}
	return p.answer(c, suspended, nil)
}

// resumeCommand ends the suspension of a space.
func (p *program) resumeCommand() *cli.Command {
	return &cli.Command{
		Name:      "resume",
		Usage:     "let a suspended lockspace grant again",
		UsageText: name + " resume SPACE [--reason TEXT] [flags]",
		Description: "Any operator can resume a space, through any member. The member that holds the suspension logs its\n" +
			"end. If the space is not suspended, nothing changes and a sentence says so.",
		Flags:  slices.Concat([]cli.Flag{textFlag("reason", "why, for the member's log")}, deedFlags(), memberFlags()),
		Action: p.resume,
	}
}

func (p *program) resume(ctx context.Context, c *cli.Command) error {
	space, err := oneSpace(c)
	if err != nil {
		return err
	}
	resumed, err := ask(ctx, c, func(ctx context.Context, admin *client.Admin) (*schema.Suspended, error) {
		return admin.Resume(ctx, space, strings.TrimSpace(c.String("reason")), "")
	})
	if err != nil {
		return err
	}
	if !resumed.Changed {
		p.say("resume: space %q is not suspended", space)
	}
	return p.answer(c, resumed, nil)
}

// because returns the end of a sentence with a reason, if there is one.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + visible(reason)
}

// oneSpace returns a command's single lockspace argument.
func oneSpace(c *cli.Command) (string, error) {
	switch c.Args().Len() {
	case 0:
		return "", usageError(calledAs(c), "no lockspace given: want its name, as in '%s %s %s'", name, calledAs(c), holdfast.DefaultSpace)
	case 1:
		return firstSpace(c)
	}
	return "", usageError(calledAs(c), "give one lockspace, not %d: %s", c.Args().Len(), strings.Join(c.Args().Slice(), " "))
}

// firstSpace returns the lockspace in a command's first argument, if it can be one.
func firstSpace(c *cli.Command) (string, error) {
	space := c.Args().First()
	if err := holdfast.CheckSpace(space); err != nil {
		return "", &holdfast.Error{Op: calledAs(c), Err: err}
	}
	return space, nil
}
