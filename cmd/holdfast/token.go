package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/access/token"
)

// tokenCommand makes, lists and revokes the tokens of clients.
func (p *program) tokenCommand() *cli.Command {
	return group("token", "create, list or revoke tokens that identify clients", name+" token create NAME | list | revoke NAME [--file FILE] [flags]",
		p.tokenCreateCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
}

// tokensFlags are the flags for the members or for a file of tokens, and a command's own.
func tokensFlags(more ...cli.Flag) []cli.Flag {
	member := slices.DeleteFunc(memberFlags(), func(flag cli.Flag) bool { return flag.Names()[0] == "insecure-files" })
	return slices.Concat(more, []cli.Flag{
		// It has no variable: $HOLDFAST_FILE says too little.
		&cli.StringFlag{Name: "file", Usage: "`FILE` of a member's tokens on this machine; no member is asked"},
		insecureFlag(),
	}, member)
}

// insecureFlag accepts files with secrets that others can read.
func insecureFlag() cli.Flag {
	return switchFlag("insecure-files", "accept a file of tokens that other users of the machine can access")
}

// tokensOf opens the file of tokens.
func tokensOf(c *cli.Command) (*token.File, error) {
	file := token.Open(token.Options{Path: c.String("file"), Insecure: c.Bool("insecure-files")})
	if err := file.Fault(); err != nil {
		return nil, misconfigured("%s: %w", calledAs(c), err)
	}
	return file, nil
}

// oneToken returns a command's single argument, the name of a token.
func oneToken(c *cli.Command) (string, error) {
	if c.Args().Len() != 1 {
		return "", usageError(calledAs(c), "give one name of a token, not %d arguments", c.Args().Len())
	}
	if err := token.CheckName(c.Args().First()); err != nil {
		return "", usageError(calledAs(c), "%v", err)
	}
	return c.Args().First(), nil
}

func (p *program) tokenCreateCommand() *cli.Command {
	return &cli.Command{
		Name:      "create",
		Usage:     "create a token, and print its secret once",
		UsageText: name + " token create NAME [--expires DURATION] [--file FILE] [flags]",
		Description: "Prints the secret, one line, to standard output, and all else to standard error. Members get only a digest of\n" +
			"it: a lost secret cannot be shown again. Policies and listings name the client token:NAME. A client shows\n" +
			"the secret with --token-file FILE, with $" + tokenVariable + ", or over HTTP with 'Authorization: Bearer SECRET'.\n" +
			"\n" +
			"  (umask 077; " + name + " token create ci --expires 2160h >ci.token)\n" +
			"\n" +
			"All members take the token at once. If one of them cannot be reached, the command names it and exits with 69.\n" +
			"With --file no member is asked: members that read FILE take the token within a second. FILE is made if it does\n" +
			"not exist, accessible to its owner alone.",
		Flags: tokensFlags(
			durationFlag("expires", 0, "refuse the token after this `DURATION`; never without it"),
		),
		Action: p.createToken,
	}
}

func (p *program) createToken(ctx context.Context, c *cli.Command) error {
	wanted, err := oneToken(c)
	if err != nil {
		return err
	}
	life := c.Duration("expires")
	switch {
	case c.IsSet("expires") && life < time.Second:
		return usageError(calledAs(c), "flag --expires: %v: want at least 1s", life)
	case c.String("file") == "":
		return p.createTokenEverywhere(ctx, c, wanted, life)
	}
	return p.createTokenInFile(c, token.Record{Name: wanted, Created: time.Now()}, life)
}

func (p *program) createTokenInFile(c *cli.Command, r token.Record, life time.Duration) error {
	if life > 0 {
		r.Expires = r.Created.Add(life)
	}
	file, err := tokensOf(c)
	if err != nil {
		return err
	}
	secret, sum := token.New()
	r.Sum = sum
	if err := file.Add(r); err != nil {
		return refusedToken(c, err)
	}
	if _, err := fmt.Fprintln(p.stdout, secret); err != nil {
		err = fmt.Errorf("%s: write the secret to standard output: %w; the token %q is revoked again", calledAs(c), err, r.Name)
		return &exitError{exitInternal, errors.Join(err, file.Revoke(r.Name))}
	}
	until := "it does not expire"
	if !r.Expires.IsZero() {
		until = "it expires at " + r.Expires.UTC().Format(time.RFC3339)
	}
	_, err = fmt.Fprintf(p.stderr, "%s: created the token %q; %s; its secret cannot be shown again\n", name, r.Name, until)
	return err
}

// refusedToken returns the error of a change of the file.
func refusedToken(c *cli.Command, err error) error {
	code := exitConfiguration
	if errors.Is(err, token.ErrTaken) || errors.Is(err, token.ErrUnknown) {
		code = exitBadData
	}
	return &exitError{code, fmt.Errorf("%s: %w", calledAs(c), err)}
}

func (p *program) tokenListCommand() *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the tokens",
		UsageText: name + " token list [--file FILE] [--output FORMAT] [flags]",
		Description: "Prints a line for each token, in order of the names. No listing has secrets. MEMBERS has the members that take a\n" +
			"token, if not all do. Prints what the other members answer, and exits with 69, if a member does not answer.",
		Flags:  tokensFlags(append(listFlags(), oneMemberFlag())...),
		Action: func(ctx context.Context, c *cli.Command) error { return p.listTokens(ctx, c, time.Now()) },
	}
}

// tokenDocument is a token as JSON.
type tokenDocument struct {
	Name    string     `json:"name"`
	SHA256  string     `json:"sha256"`
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Expired bool       `json:"expired"`
}

func (p *program) listTokens(ctx context.Context, c *cli.Command, now time.Time) error {
	switch {
	case c.Args().Present():
		return usageError(calledAs(c), "argument %q: the command takes none", c.Args().First())
	case c.String("file") == "":
		return p.listTokensEverywhere(ctx, c, now)
	}
	file, err := tokensOf(c)
	if err != nil {
		return err
	}
	o := p.output(c)
	t := newTable("NAME", "STATE", "CREATED", "EXPIRES").states("STATE")
	for _, r := range file.List() {
		if o.format != formatTable {
			d := tokenDocument{Name: r.Name, SHA256: r.Sum.String(), Created: r.Created, Expired: r.Expired(now)}
			if !r.Expires.IsZero() {
				d.Expires = &r.Expires
			}
			if err := o.document(d); err != nil {
				return err
			}
			continue
		}
		state, expires := "valid", ""
		if !r.Expires.IsZero() {
			expires = formatTime(timestamppb.New(r.Expires))
		}
		if r.Expired(now) {
			state = "expired"
		}
		t.row(r.Name, state, formatTime(timestamppb.New(r.Created)), expires)
	}
	if o.format != formatTable {
		return nil
	}
	return o.print(t)
}

func (p *program) tokenRevokeCommand() *cli.Command {
	return &cli.Command{
		Name:      "revoke",
		Usage:     "revoke a token",
		UsageText: name + " token revoke NAME [--file FILE] [flags]",
		Description: "Prints nothing. All members refuse the token at once; with --file, members that read FILE refuse it within a\n" +
			"second. A session that a client has opened with it ends with its ttl; '" + name + " session end' ends it at once.",
		Flags: tokensFlags(),
		Action: func(ctx context.Context, c *cli.Command) error {
			wanted, err := oneToken(c)
			if err != nil {
				return err
			}
			if c.String("file") == "" {
				return p.revokeTokenEverywhere(ctx, c, wanted)
			}
			file, err := tokensOf(c)
			if err != nil {
				return err
			}
			if err := file.Revoke(wanted); err != nil {
				return refusedToken(c, err)
			}
			return nil
		},
	}
}
