package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
)

// valueCommand is `holdfast value NAME TEXT`.
func (p *program) valueCommand() *cli.Command {
	return &cli.Command{
		Name:      "value",
		Usage:     "set the value of a lock taken by acquire",
		UsageText: name + " value [flags] NAME TEXT --token TOKEN --session SESSION",
		Description: "Publishes TEXT with the lock, in place of its value before: `" + name + " show NAME` prints it. TEXT has at most\n" +
			"4096 bytes; - reads it from standard input. Prints nothing, and returns when the authority has the value. If\n" +
			"the lock was lost before, the exit code is 79, or 81 if an operator broke it.\n" +
			"\n" +
			"A lock of `" + name + " lock` keeps the value that --value gives it: its command does not know the session. A\n" +
			"job that reports its progress takes its lock with `acquire`, or through the Go API.",
		Flags: clientFlags(
			&cli.StringFlag{Name: "token", Usage: "`TOKEN` of the lock, as printed by acquire", Sources: lockTokenSource()},
			sessionFlag(),
			anyStoreFlag(),
		),
		HideHelpCommand: true,
		Action:          p.value,
	}
}

func (p *program) value(ctx context.Context, c *cli.Command) error {
	if c.Args().Len() != 2 {
		return usageError(c.Name, "give a name and a text; quote a text with spaces")
	}
	lock, value := c.Args().Get(0), c.Args().Get(1)
	if value == "-" {
		text, err := io.ReadAll(io.LimitReader(p.stdin, holdfast.MaxValue+2))
		if err != nil {
			return fmt.Errorf("read the value from standard input: %w", err)
		}
		value = strings.TrimSuffix(string(text), "\n")
	}
	if err := holdfast.CheckValue(value); err != nil {
		return &holdfast.Error{Op: "set value", Name: lock, Err: err}
	}
	h, err := p.heldLock(c)
	if err != nil {
		return err
	}
	if h.socket != "" {
		_, err := askKeeper(ctx, c.Name, h.socket, &keeperRequest{Name: lock, Token: h.token, Value: &value})
		return err
	}
	if p.usesStore(c) {
		return p.storeless(c)
	}
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		return within(ctx, c, func(ctx context.Context) error {
			return admin.SetValue(ctx, spaceOf(c), lock, h.token, h.session, value)
		})
	})
}

// heldLock is a lock that acquire has taken, as the flags name it.
type heldLock struct {
	token   holdfast.Token
	session string
	socket  string // of the keeper that holds it in a store; "" at a member
}

// heldLock reads the flags about a lock that acquire has taken.
func (p *program) heldLock(c *cli.Command) (h heldLock, err error) {
	if c.String("token") == "" {
		return h, usageError(c.Name, "there is no token; give --token TOKEN, as acquire has printed it")
	}
	if h.token, err = holdfast.ParseToken(c.String("token")); err != nil {
		return h, usageError(c.Name, "flag --token: %v", err)
	}
	if h.session, err = p.sessionOf(c); err != nil {
		return h, err
	}
	if socket, is := socketOf(h.session); is {
		h.socket = socket
	}
	return h, nil
}
