package main

import (
	"bufio"
	"context"
	"encoding/json"
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
// to end, and all of its command has ended. It ends the session, or deletes the claims in a store, so that the names are
// free at once, and not when the session or the claims expire. It reads what it needs from its standard input, since
// others can list arguments and environments. It retries a member for --timeout; if none has answered by then, the session
// expires.

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
const maxCredentials = supervise.MostInput

// inherit ends the session.
func (p *program) inherit(ctx context.Context, c *cli.Command) error {
	line, err := bufio.NewReader(io.LimitReader(p.stdin, maxCredentials)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	timeout, err := timeoutOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if strings.HasPrefix(line, "{") {
		var claims legacy
		if err := json.Unmarshal([]byte(line), &claims); err != nil {
			return fmt.Errorf("read the claims: %w", err)
		}
		return claims.release(ctx, timeout)
	}
	options, err := optionsOf(c)
	if err != nil {
		return err
	}
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

// legacy is what a lock in a store leaves to its heir.
type legacy struct {
	URL   string   `json:"url"`
	Group string   `json:"group,omitempty"` // option group
	Space string   `json:"space"`
	RID   string   `json:"rid"` // the process that held them
	Names []string `json:"names"`
}

// release releases the locks of a process that has ended, for limit.
func (l *legacy) release(ctx context.Context, limit time.Duration) (err error) {
	store, err := openStore(ctx, "heir", l.URL, limit)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	operator, err := storelock.Operate(ctx, store, storelock.GroupOf(l.Space, l.Group))
	for _, name := range l.Names {
		if err == nil {
			err = operator.Release(ctx, name, l.RID)
		}
	}
	return err
}
