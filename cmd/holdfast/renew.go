package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// sessionVariable has a session with its secret, instead of --session.
const sessionVariable = "HOLDFAST_SESSION"

// sessionFlag is the session printed by acquire.
func sessionFlag() cli.Flag {
	return textFlag("session", "`SESSION` as printed by acquire; - reads it from standard input, which process lists do not show")
}

// renewCommand is `holdfast renew`.
func (p *program) renewCommand() *cli.Command {
	return &cli.Command{
		Name:      "renew",
		Usage:     "extend a session started by acquire",
		UsageText: name + " renew [flags] --session SESSION",
		Description: "Prints the session's public id and for how long it lives from now on. The secret is not printed again.\n" +
			"If the session has lost a lock since the last call, renew reports it: exit code 79, or 81 if an operator\n" +
			"broke the lock.",
		Flags: append(append([]cli.Flag{
			sessionFlag(),
			anyStoreFlag(),
			durationFlag("ttl", 0, "how long the session outlives this call (default: as before)"),
		}, deedFlags()...), memberFlags()...),
		HideHelpCommand: true,
		Action:          p.renew,
	}
}

func (p *program) renew(ctx context.Context, c *cli.Command) error {
	if err := noArguments(c); err != nil {
		return err
	}
	ttl := c.Duration("ttl")
	if c.IsSet("ttl") && ttl <= 0 {
		return usageError(c.Name, "flag --ttl: %v: want more than 0", ttl)
	}
	session, err := p.sessionOf(c)
	if err != nil {
		return err
	}
	if socket, is := socketOf(session); is {
		kept, err := askKeeper(ctx, c.Name, socket, &keeperRequest{})
		if err != nil {
			return err
		}
		ttl := durationpb.New(kept.TTL)
		return p.printRenewed(c, &schema.Renewed{Session: kept.RID, Ttl: ttl, ExpiresIn: ttl, Until: timestamppb.New(time.Now().Add(kept.TTL))})
	}
	if p.usesStore(c) {
		return p.storeless(c)
	}
	renewed, err := ask(ctx, c, func(ctx context.Context, admin *client.Admin) (*schema.Renewed, error) {
		return admin.Renew(ctx, session, ttl)
	})
	if err != nil {
		return err
	}
	if renewed.TtlCut != "" {
		p.say("%s", cutTTL(ttl, renewed.Ttl.AsDuration(), renewed.TtlCut))
	}
	return p.printRenewed(c, renewed)
}

// printRenewed prints a session's public id and for how long it lives, unless the flags of c ask for another form.
func (p *program) printRenewed(c *cli.Command, renewed *schema.Renewed) error {
	if o := p.output(c); o.format != formatTable {
		return o.document(renewed)
	}
	return written(fmt.Fprintln(p.stdout, renewed.Session, renewed.Ttl.AsDuration()))
}

// maxSession bounds a session's input, in bytes.
const maxSession = 1024

// sessionOf returns the session in c's flag, its variable or standard input.
func (p *program) sessionOf(c *cli.Command) (string, error) {
	session := c.String("session")
	if session == "-" {
		line, err := bufio.NewReader(io.LimitReader(p.stdin, maxSession)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("read the session: %w", err)
		}
		session = strings.TrimSpace(line)
	}
	if session == "" {
		return "", usageError(c.Name, "there is no session; give --session SESSION, --session - or %s", sessionVariable)
	}
	return session, nil
}
