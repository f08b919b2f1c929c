package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// The heir of lock is this program, started by the guardian when lock was killed, or stopped until its lock was about
// to end, and all of its command has ended. It ends the session, so that the names are free at once, and not when the
// session expires. It reads the session from its standard input, since others can list arguments and environments. It
// retries for --timeout; if no member has answered by then, the session expires.

// heirCommand is internal.
func (p *program) heirCommand() *cli.Command {
	return &cli.Command{
		Name:            "heir",
		Usage:           "end the session of a lock that was killed; started by its guardian",
		Hidden:          true,
		Flags:           memberFlags(),
		HideHelpCommand: true,
		Action:          p.inherit,
	}
}

// maxCredentials bounds what an heir reads, in bytes.
const maxCredentials = 1024

// inherit ends the session.
func (p *program) inherit(ctx context.Context, c *cli.Command) error {
	line, err := bufio.NewReader(io.LimitReader(p.stdin, maxCredentials)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	options, err := optionsOf(c)
	if err != nil {
		return err
	}
	timeout, err := timeoutOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	options = append(options, client.Succeed(strings.TrimSpace(line)))
	for {
		same, err := client.Dial(ctx, serverOf(c), options...)
		if err == nil {
			err = same.Close()
		}
		switch {
		case err == nil, errors.Is(err, holdfast.ErrLost): // it has ended
			return nil
		case ctx.Err() != nil, !errors.Is(err, holdfast.ErrUnavailable):
			return fmt.Errorf("end the session: %w", err)
		}
		pause(ctx, retryPause)
	}
}

// heir returns what the guardian starts to release the locks. A store has none: its claims expire.
func (l *locking) heir() (*supervise.Heir, error) {
	lender, ok := l.client.(*client.Client)
	if !ok {
		return nil, nil
	}
	arguments, err := memberArguments(l.flags)
	if err != nil {
		return nil, err
	}
	return &supervise.Heir{
		Args:  slices.Concat([]string{l.program.args[0], "heir"}, arguments),
		Env:   l.program.keeperEnvironment(),
		Input: []byte(lender.Credentials() + "\n"),
	}, nil
}
