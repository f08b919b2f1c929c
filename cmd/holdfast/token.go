package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/internal/access/token"
)

// tokenCommand makes, lists and revokes the tokens of clients.
func (p *program) tokenCommand() *cli.Command {
	return group("token", "create, list or revoke tokens that identify clients", name+" token create NAME | list | revoke NAME --file FILE [flags]",
		p.tokenCreateCommand(), p.tokenListCommand(), p.tokenRevokeCommand())
}

// tokensFlags are the flags for the file of tokens, and a command's own.
func tokensFlags(more ...cli.Flag) []cli.Flag {
	return append(more,
		// It has no variable: $HOLDFAST_FILE says too little.
		&cli.StringFlag{Name: "file", Usage: "`FILE` of the members' tokens, on this machine"},
		insecureFlag(),
	)
}

// insecureFlag accepts files with secrets that others can read.
func insecureFlag() cli.Flag {
	return switchFlag("insecure-files", "accept a file of tokens that other users of the machine can access")
}

// tokensOf opens the file of tokens.
func tokensOf(c *cli.Command) (*token.File, error) {
	path := c.String("file")
	if path == "" {
		return nil, usageError(calledAs(c), "there is no file; give --file FILE, the file of the members' tokens")
	}
	file := token.Open(token.Options{Path: path, Insecure: c.Bool("insecure-files")})
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
		UsageText: name + " token create NAME --file FILE [--expires DURATION]",
		Description: "Prints the secret, one line, to standard output, and all else to standard error. Members keep only a digest\n" +
			"of it: a lost secret cannot be shown again. Policies and listings name the client token:NAME. A client shows\n" +
			"the secret with --token-file FILE, with $" + tokenVariable + ", or over HTTP with 'Authorization: Bearer SECRET'.\n" +
			"\n" +
			"  (umask 077; " + name + " token create ci --expires 2160h --file /etc/holdfast/tokens.yaml >ci.token)\n" +
			"\n" +
			"Members that read FILE accept the token within a second. FILE is made if it does not exist, accessible to its\n" +
			"owner alone.",
		Flags: tokensFlags(
			durationFlag("expires", 0, "refuse the token after this `DURATION`; never without it"),
		),
		Action: func(_ context.Context, c *cli.Command) error { return p.createToken(c, time.Now()) },
	}
}

func (p *program) createToken(c *cli.Command, now time.Time) error {
	wanted, err := oneToken(c)
	if err != nil {
		return err
	}
	r := token.Record{Name: wanted, Created: now}
	switch life := c.Duration("expires"); {
	case c.IsSet("expires") && life < time.Second:
		return usageError(calledAs(c), "flag --expires: %v: want at least 1s", life)
	case life > 0:
		r.Expires = now.Add(life)
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
		err = fmt.Errorf("%s: write the secret to standard output: %w; the token %q is revoked again", calledAs(c), err, wanted)
		return &exitError{exitInternal, errors.Join(err, file.Revoke(wanted))}
	}
	until := "it does not expire"
	if !r.Expires.IsZero() {
		until = "it expires at " + r.Expires.UTC().Format(time.RFC3339)
	}
	_, err = fmt.Fprintf(p.stderr, "%s: created the token %q; %s; its secret cannot be shown again\n", name, wanted, until)
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
		Name:        "list",
		Usage:       "list the tokens",
		UsageText:   name + " token list --file FILE [--output FORMAT]",
		Description: "Prints a line for each token, in order of the names. No listing has secrets.",
		Flags:       tokensFlags(listFlags()...),
		Action:      func(_ context.Context, c *cli.Command) error { return p.listTokens(c, time.Now()) },
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

func (p *program) listTokens(c *cli.Command, now time.Time) error {
	if c.Args().Present() {
		return usageError(calledAs(c), "argument %q: the command takes none", c.Args().First())
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
		UsageText: name + " token revoke NAME --file FILE",
		Description: "Prints nothing. Members that read FILE refuse the token within a second. Sessions that a client has opened\n" +
			"with it stay: what it holds, it holds until it releases it or its session ends.",
		Flags: tokensFlags(),
		Action: func(_ context.Context, c *cli.Command) error {
			wanted, err := oneToken(c)
			if err != nil {
				return err
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
