package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// The keeper of acquire is this program started again in the background. It reads the session from its standard input
// (arguments and environments can be listed by others), renews it once, and reports that through a pipe; only then does
// acquire print the locks. From then on it renews the session every quarter of its ttl until the witnessed process has
// ended, when it ends the session at once; or until the session has ended. While the member does not answer it retries,
// until the session's deadline by its own clock.
//
// It has its own (process) session, keeps nothing of the caller's open but the name of its folder, and writes nowhere.

// The keeper's files.
const (
	keeperReady   = 3 // reports its start: a line with exit code and sentence
	keeperWitness = 4 // the witness, if the system supports that
)

// keeperCommand is internal.
func (p *program) keeperCommand() *cli.Command {
	return &cli.Command{
		Name:   "keeper",
		Usage:  "renew a session in the background; started by acquire",
		Hidden: true,
		Flags: append([]cli.Flag{
			&cli.IntFlag{Name: "while-pid", Usage: "keep the session as long as process `PID` lives"},
			&cli.StringFlag{Name: "keeps", Usage: "public id of the `SESSION`, for others to see"},
		}, memberFlags()...),
		HideHelpCommand: true,
		Action:          p.keep,
	}
}

// keep runs the keeper.
func (p *program) keep(ctx context.Context, c *cli.Command) error {
	ready := os.NewFile(keeperReady, "ready")
	k := &keeper{flags: c, clock: clock.Real()}
	err := k.begin(ctx, p.stdin, c.Int("while-pid"))
	_, failure := fmt.Fprintln(ready, exitCode(err), sentence(err))
	if err = errors.Join(err, failure, ready.Close()); err != nil {
		return errors.Join(err, k.close())
	}
	_ = os.Chdir("/") // to keep no file system busy; best effort
	return errors.Join(k.run(ctx), k.close())
}

// sentence puts an error on one line.
func sentence(err error) string {
	if err == nil {
		return "ready"
	}
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

// keeper renews one session.
type keeper struct {
	flags   *cli.Command
	clock   clock.Clock
	options []client.Option
	admin   *client.Admin
	session string
	over    <-chan struct{} // closed when the witnessed process has ended

	ttl      time.Duration // in the latest answer
	sent     time.Duration // sending time of the renewal that it answered
	deadline time.Duration
}

// begin takes over the session.
func (k *keeper) begin(ctx context.Context, stdin io.Reader, pid int) error {
	line, err := bufio.NewReader(io.LimitReader(stdin, maxSession)).ReadString('\n')
	if err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	k.session = strings.TrimSpace(line)
	if k.over, err = awaitEnd(pid); err != nil {
		return fmt.Errorf("watch over process %d: %w", pid, err)
	}
	if k.options, err = optionsOf(k.flags); err != nil {
		return err
	}
	k.deadline = clock.Never
	if k.ttl, err = timeoutOf(k.flags); err != nil {
		return err
	}
	if err := k.connect(); err != nil {
		return err
	}
	return k.renew(ctx)
}

func (k *keeper) connect() (err error) {
	k.admin, err = client.DialAdmin(serverOf(k.flags), k.options...)
	return err
}

func (k *keeper) close() error {
	if k.admin == nil {
		return nil
	}
	return k.admin.Close()
}

// Bounds of the time limit of a call, and of the pause before the next, regardless of the ttl. The shortest limit
// leaves time for a second and a third address if the first is silent.
const (
	shortestCall  = 750 * time.Millisecond
	longestCall   = 5 * time.Second
	shortestPause = 50 * time.Millisecond
	longestPause  = time.Second
)

// call asks the member something, for at most a quarter of the ttl.
func (k *keeper) call(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, min(max(k.ttl/4, shortestCall), longestCall))
	defer cancel()
	return question(ctx)
}

// renew renews the session once.
func (k *keeper) renew(ctx context.Context) error {
	return k.call(ctx, func(ctx context.Context) error {
		sent := k.clock.Now()
		renewed, err := k.admin.Renew(ctx, k.session, 0)
		if err != nil {
			return err
		}
		k.ttl, k.sent = renewed.Ttl.AsDuration(), sent
		k.deadline = sent + k.ttl
		return nil
	})
}

// run renews the session until it or the witnessed process has ended. It then returns nil.
func (k *keeper) run(ctx context.Context) error {
	timer := k.clock.NewTimer()
	defer timer.Stop()
	next := k.sent + k.ttl/4
	for {
		timer.Reset(next)
		select {
		case <-k.over:
			return k.insist(ctx, timer, nil, k.end)
		case <-timer.C():
			if k.clock.Now() < next {
				continue
			}
			if err := k.insist(ctx, timer, k.over, k.renew); err != nil || k.clock.Now() >= k.deadline {
				return gone(err)
			}
			next = k.sent + k.ttl/4
		}
	}
}

// end ends the session.
func (k *keeper) end(ctx context.Context) error {
	return k.call(ctx, func(ctx context.Context) error {
		_, err := k.admin.EndSession(ctx, k.session)
		return gone(err)
	})
}

// gone returns nil for an error that means that there is nothing left to keep.
func gone(err error) error {
	if errors.Is(err, holdfast.ErrLost) {
		return nil
	}
	return err
}

// insist retries while the member does not answer, on new connections, until the session's deadline, or until stop is
// closed, which is not an error.
func (k *keeper) insist(ctx context.Context, timer clock.Timer, stop <-chan struct{}, question func(context.Context) error) error {
	for {
		err := question(ctx)
		if err == nil || api.Code(err) != api.CodeUnavailable {
			return err
		}
		again := k.clock.Now() + min(max(k.ttl/16, shortestPause), longestPause)
		if again >= k.deadline {
			return err
		}
		for timer.Reset(again); k.clock.Now() < again; {
			select {
			case <-timer.C():
			case <-stop:
				return nil
			}
		}
		if err := errors.Join(k.close(), k.connect()); err != nil {
			return err
		}
	}
}

// startKeeper starts a keeper and returns when it has taken over.
func (p *program) startKeeper(ctx context.Context, c *cli.Command, w *witness, session string) error {
	timeout, err := timeoutOf(c)
	if err != nil {
		return err
	}
	arguments, err := keeperArguments(c, w, session)
	if err != nil {
		return err
	}
	answer, err := p.spawnKeeper(ctx, arguments, w, session, timeout)
	if err != nil {
		return fmt.Errorf("start the keeper: %w", err)
	}
	number, text, _ := strings.Cut(strings.TrimSpace(answer), " ")
	code, err := strconv.Atoi(number)
	switch {
	case err != nil:
		return fmt.Errorf("start the keeper: it ended with %q", answer)
	case code != 0:
		return &exitError{code, fmt.Errorf("start the keeper: %s", text)}
	}
	return nil
}
