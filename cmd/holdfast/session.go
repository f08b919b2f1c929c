package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
)

// sessionCommand shows clients' sessions, and ends them.
func (p *program) sessionCommand() *cli.Command {
	return group("session", "list the sessions of clients, or end one", name+" session list | end ID --reason TEXT [flags]",
		p.sessionListCommand(), p.sessionEndCommand())
}

func (p *program) sessionListCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the sessions of clients at all members",
		UsageText: name + " session list [--subject SUBJECT] [--member MEMBER] [--output FORMAT] [flags]",
		Description: "SUBJECT is what the member knows of the client: its certificate, token or user. '-' is a client without any of\n" +
			"these. UNTIL is when the session ends unless the client renews it. With --output name it prints the ids.\n" +
			"Prints what the other members answer, and exits with 69, if a member does not answer.",
		Flags: append(append(listFlags(),
			textFlag("subject", "only sessions of this `SUBJECT`, as in token:ci"),
			oneMemberFlag(),
		), memberFlags()...),
		Action: p.listSessions,
	}
}

func (p *program) listSessions(ctx context.Context, c *cli.Command) error {
	if c.Args().Present() {
		return usageError(calledAs(c), "argument %q: the command takes none", c.Args().First())
	}
	answers, err := sessionsEverywhere(ctx, c, c.String("subject"))
	if err != nil {
		return err
	}
	o := p.output(c)
	t := newTable("SESSION", "SUBJECT", "CLIENT", "KIND", "UNTIL", "MEMBER").long("SUBJECT", "CLIENT", "MEMBER")
	for _, a := range answers {
		if a.err != nil {
			continue
		}
		for _, s := range a.answer.Sessions {
			if o.format != formatTable {
				if err := o.session(s, a.name); err != nil {
					return err
				}
				continue
			}
			t.row(s.Session, s.Subject, s.Client, s.Kind, o.when(s.Until), a.name)
		}
	}
	if o.format == formatTable {
		if err := o.print(t); err != nil {
			return err
		}
	}
	return refusals(p, c, answers)
}

// session prints a session of a member in a format that is no table.
func (o *output) session(s *schema.SessionInfo, member string) error {
	if o.format == formatNames {
		return o.names([]string{s.Session})
	}
	document, err := extended(s, "member", member)
	if err != nil {
		return err
	}
	return o.document(document)
}

// sessionsEverywhere asks the members for their sessions.
func sessionsEverywhere(ctx context.Context, c *cli.Command, subject string) ([]replyOf[*client.SessionList], error) {
	places, err := membersOf(ctx, c)
	if err != nil {
		return nil, err
	}
	return everywhere(ctx, c, places, func(ctx context.Context, admin *client.Admin) (*client.SessionList, error) {
		return admin.Sessions(ctx, subject)
	})
}

func (p *program) sessionEndCommand() *cli.Command {
	return &cli.Command{
		Name:      "end",
		Usage:     "end a session: release its locks, and cancel its waits",
		UsageText: name + " session end ID --reason TEXT [--output FORMAT] [flags]",
		Description: "ID is that of '" + name + " session list'; it is no secret. The client learns that its session has ended. Prints\n" +
			"nothing, and returns when the client has stopped, or can no longer believe that it holds anything. Nothing\n" +
			"keeps the client from a new session: revoke its token, or change the policy, first. Exits with 79 if no member\n" +
			"has the session.",
		Flags:  slices.Concat([]cli.Flag{textFlag("reason", "why, for the members' logs; required"), oneMemberFlag()}, deedFlags(), memberFlags()),
		Action: p.endSession,
	}
}

func (p *program) endSession(ctx context.Context, c *cli.Command) error {
	reason := strings.TrimSpace(c.String("reason"))
	if c.Args().Len() != 1 {
		return usageError(calledAs(c), "give one id of a session, not %d arguments", c.Args().Len())
	}
	id := c.Args().First()
	if _, is := lock.ParseSessionID(id); !is {
		return usageError(calledAs(c), "%q is no id of a session; '%s session list' shows them", id, name)
	}
	if reason == "" {
		return usageError(calledAs(c), "there is no reason; give it with --reason TEXT, for the members' logs")
	}
	answers, err := sessionsEverywhere(ctx, c, "")
	if err != nil {
		return err
	}
	for _, a := range answers {
		if a.err != nil || !slices.ContainsFunc(a.answer.Sessions, func(s *schema.SessionInfo) bool { return s.Session == id }) {
			continue
		}
		ended, err := askAt(ctx, c, a.place, c.Duration("timeout"), func(ctx context.Context, admin *client.Admin) (*client.SessionReleased, error) {
			return admin.TerminateSession(ctx, id, reason)
		})
		if err != nil {
			return &holdfast.Error{Op: calledAs(c), Err: err}
		}
		return p.answer(c, ended, nil)
	}
	if err := refusals(p, c, answers); err != nil {
		p.say("session end: no member that has answered has session %s", id)
		return err
	}
	return &exitError{api.ExitCode(api.CodeUnknownSession, ""), fmt.Errorf("session end: no member has session %s: it has ended", id)}
}
