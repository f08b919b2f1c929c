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

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/supervise"
	"github.com/holdfast-locks/holdfast/storelock"
)

// The heir of lock is this program, started by the guardian when lock was killed, or stopped until its lock was about
// to end, and all of its command has ended. It releases the locks, so that the names are free at once, and not when the
// session or the claims expire: at a member it ends the session, in a store it removes the claims. It reads the session,
// or the URL of the store, from its standard input, since others can list arguments and environments. It tries for
// --timeout; after that the locks expire.

// heirCommand is internal.
func (p *program) heirCommand() *cli.Command {
	return &cli.Command{
		Name:   "heir",
		Usage:  "release the locks of a lock command that was killed; started by its guardian",
		Hidden: true,
		Flags: clientFlags(append(lockStoreFlags(),
			textFlag("rid", "`RID` of the process in its claims: the names are in a store"))...),
		HideHelpCommand: true,
		Action:          p.inherit,
	}
}

// inherit releases the locks.
func (p *program) inherit(ctx context.Context, c *cli.Command) error {
	line, err := bufio.NewReader(io.LimitReader(p.stdin, supervise.MostInput)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	timeout, err := timeoutOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if rid := c.String("rid"); rid != "" {
		return releaseClaims(ctx, c, strings.TrimSpace(line), rid, timeout)
	}
	return endAs(ctx, c, strings.TrimSpace(line))
}

// endAs ends the session of the client with the credentials.
func endAs(ctx context.Context, c *cli.Command, credentials string) error {
	options, err := optionsOf(c)
	if err != nil {
		return err
	}
	options = append(options, client.Succeed(credentials))
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

// releaseClaims releases the names that a process had claimed in a store.
func releaseClaims(ctx context.Context, c *cli.Command, url, rid string, limit time.Duration) error {
	order, err := newStoreOrder(c, url)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, c.Name, url, limit)
	for errors.Is(err, holdfast.ErrUnavailable) && ctx.Err() == nil { // another process may have it for a moment
		pause(ctx, retryPause)
		store, err = openStore(ctx, c.Name, url, limit)
	}
	if err != nil {
		return err
	}
	operator, err := storelock.Operate(ctx, store, storelock.GroupOf(spaceOf(c), order.claims.Group))
	for _, lock := range c.Args().Slice() {
		if err == nil {
			err = operator.Release(ctx, lock, rid)
		}
	}
	return errors.Join(err, store.Close())
}
