package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// accessCommand answers questions about the policy.
func (p *program) accessCommand() *cli.Command {
	return group("access", "show what a client may do, and test an access file",
		name+" access show | check SUBJECT VERB SPACE NAME | test FILE [flags]", p.accessShowCommand(), p.accessCheckCommand(), p.accessTestCommand())
}

func (p *program) accessCheckCommand() *cli.Command {
	return &cli.Command{
		Name:      "check",
		Usage:     "say whether a subject may do something, and which rule decides",
		UsageText: name + " access check SUBJECT VERB SPACE NAME [--group GROUP]… [--file FILE] [--output FORMAT] [flags]",
		Description: "Asks a member; only an administrator may ask about another client. With --file it decides as a member with that\n" +
			"access file does, and asks none. SUBJECT is cert:NAME, spiffe://…, token:NAME, jwt:ISSUER#SUB, uid:N,\n" +
			"member:NAME or anonymous. VERB is lock, read, break, operate or admin.\n" +
			"NAME '**' asks for SPACE as a whole, as suspend and transfer need it, and SPACE '*' with NAME '**' for the whole\n" +
			"cluster, as leave and drain need it. Exits with 0 if it is allowed, and with 77 if it is denied.\n" +
			"\n" +
			"  " + name + " access check token:ci lock default deploy/web\n" +
			"  " + name + " access check --file access.yaml uid:1000 --group gid:4 admin '*' '**'",
		DisableSliceFlagSeparator: true, // names of groups have commas
		Flags: append([]cli.Flag{
			textFlag("file", "the access `FILE`; without it the policy of the member decides"),
			&cli.StringSliceFlag{Name: "group", Usage: "a `GROUP` that the subject is in: gid:N or group:ISSUER#NAME (repeatable)", Sources: variables("group")},
		}, append(deedFlags(), memberFlags()...)...),
		Action: p.accessCheck,
	}
}

func (p *program) accessCheck(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 4 {
		return usageError(calledAs(c), "want SUBJECT VERB SPACE NAME, got %d arguments", c.Args().Len())
	}
	subject := access.Subject{Name: c.Args().Get(0), Also: c.StringSlice("group")}
	space, wanted := c.Args().Get(2), c.Args().Get(3)
	if err := subject.Check(); err != nil {
		return usageError(calledAs(c), "%v", err)
	}
	verb, err := access.ParseVerb(c.Args().Get(1))
	if err != nil {
		return usageError(calledAs(c), "%v", err)
	}
	if space != "*" {
		err = holdfast.CheckSpace(space)
	} else if wanted != "**" {
		return usageError(calledAs(c), "the space \"*\" goes with the name \"**\" alone, the whole cluster; name one space")
	}
	if err = errors.Join(err, holdfast.CheckName(wanted)); err != nil {
		return &holdfast.Error{Op: calledAs(c), Err: err}
	}
	var d *schema.AccessDecision
	if file := c.String("file"); file != "" {
		d, err = decideByFile(c, file, subject, verb, space, wanted)
	} else {
		_, atName := access.Target(space, wanted)
		d, err = ask(ctx, c, func(ctx context.Context, admin *client.Admin) (*schema.AccessDecision, error) {
			return admin.CheckAccess(ctx, client.AccessQuestion{
				Subject: subject.Name, Groups: subject.Also, Verb: verb.String(), Space: space, Name: atName,
			})
		})
	}
	if err != nil {
		return err
	}
	if o := p.output(c); o.format != formatTable {
		err = o.document(d)
	} else {
		err = written(fmt.Fprintln(p.stdout, d.Why))
	}
	if err == nil && !d.Allowed {
		return &exitError{code: exitDenied}
	}
	return err
}

// decideByFile decides as a member with an access file.
func decideByFile(c *cli.Command, file string, subject access.Subject, verb access.Verb, space, wanted string) (*schema.AccessDecision, error) {
	policy, err := readAccess(c, file)
	if err != nil {
		return nil, err
	}
	atSpace, atName := access.Target(space, wanted)
	d := policy.Explain(subject, verb, atSpace, atName)
	document := &schema.AccessDecision{Allowed: d.Allowed, Subject: d.Subject, Why: d.String(), Roles: d.Missing}
	if d.Role != "" {
		document.Rule = &schema.AccessRule{Role: d.Role, Space: d.Rule.Space, Names: d.Rule.Names, To: d.To}
		for _, verb := range d.Rule.Verbs {
			document.Rule.Verbs = append(document.Rule.Verbs, verb.String())
		}
	}
	return document, nil
}

func (p *program) accessTestCommand() *cli.Command {
	return &cli.Command{
		Name:      "test",
		Usage:     "check an access file, and the assertions that it has about itself",
		UsageText: name + " access test FILE",
		Description: "Reads FILE as a member does, and checks what it says under tests. Prints a line for each assertion that does not\n" +
			"hold, and one for what is likely not meant: a role that no grant gives, a quota that is never used. Exits with 78\n" +
			"if FILE is no access file or an assertion does not hold. Run it before the file is given to members.",
		Action: func(_ context.Context, c *cli.Command) error {
			if c.Args().Len() != 1 {
				return usageError(calledAs(c), "want one file, got %d arguments", c.Args().Len())
			}
			return p.accessTest(c, c.Args().First())
		},
	}
}

func (p *program) accessTest(c *cli.Command, path string) error {
	policy, err := readAccess(c, path)
	if err != nil {
		return err
	}
	for _, warning := range policy.Warnings() {
		if err := written(fmt.Fprintf(p.stdout, "warning: %s %v\n", path, warning)); err != nil {
			return err
		}
	}
	failures := policy.Test()
	for _, failure := range failures {
		if err := written(fmt.Fprintf(p.stdout, "%s %v\n", path, failure)); err != nil {
			return err
		}
	}
	if len(failures) > 0 {
		return misconfigured("access test: %d of %d assertions in %s do not hold; correct the roles and grants, or the assertions",
			len(failures), policy.Assertions(), path)
	}
	tested := "it has no assertions"
	if n := policy.Assertions(); n > 0 {
		tested = fmt.Sprintf("all of its assertions hold (%d)", n)
	}
	return written(fmt.Fprintf(p.stdout, "%s is an access file; its policy is %s, and %s\n", path, policy.Digest(), tested))
}

// readAccess reads an access file, which must be good.
func readAccess(c *cli.Command, path string) (policy *access.Policy, err error) {
	file, err := os.Open(path)
	if err == nil {
		var data []byte
		if data, err = io.ReadAll(io.LimitReader(file, access.MaxBytes+1)); err == nil {
			policy, err = access.Parse(data)
		}
		err = errors.Join(err, file.Close())
	}
	var refused *access.Error
	var unread *fs.PathError
	switch {
	case errors.As(err, &refused):
		refused.Path = path
		return nil, misconfigured("%w", refused)
	case errors.As(err, &unread):
		return nil, misconfigured("%s: the access file %s cannot be read: %w; correct the path or its permissions", calledAs(c), path, unread.Err)
	case err != nil:
		return nil, misconfigured("%s: the access file %s: %w", calledAs(c), path, err)
	}
	return policy, nil
}
