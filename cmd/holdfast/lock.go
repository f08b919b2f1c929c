package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// What becomes of the command when its lock is lost.
const (
	lostTerm   = "term"   // TERM, and KILL after --kill-after
	lostKill   = "kill"   // KILL
	lostIgnore = "ignore" // it goes on; only the exit code tells
)

// usualKillAfter is how long a command has between TERM and KILL.
const usualKillAfter = 5 * time.Second

// lockCommand is `holdfast lock NAME… -- COMMAND`.
func (p *program) lockCommand() *cli.Command {
	onLost := textFlag("on-lost", "what becomes of the command when the lock is lost: `term`, kill or ignore; with ignore the guardian kills it only when holdfast is killed")
	onLost.Value = lostTerm
	return &cli.Command{
		Name:      "lock",
		Usage:     "run a command while holding a lock",
		UsageText: name + " lock [flags] NAME[ NAME…] -- COMMAND [ARG…]\n" + name + " lock [flags] -- NAME[ NAME…] -- COMMAND [ARG…]   (names that begin with a dash)",
		Description: "Waits until every NAME is granted, runs COMMAND, and releases them when it has ended; on Linux also\n" +
			"what it has left running: jobs in the background, daemons, setsid. The exit code\n" +
			"is the command's own if the locks were held to the end; otherwise 79, or 81 if an operator broke one.\n" +
			"When a lock is lost the command's whole process group is ended before another client can be granted\n" +
			"the name: by TERM, then KILL. Once that has begun the lock counts as lost, even if the member answers\n" +
			"again meanwhile. A guardian process sends KILL at the deadline if holdfast itself is stopped or frozen.\n" +
			"A command that changes its user, as sudo does, cannot be killed by another user: when its lock is lost\n" +
			"it runs on, holdfast names its process and returns 79. Run holdfast as that user instead: sudo holdfast\n" +
			"lock NAME -- COMMAND.\n\n" +
			"With --store no member is needed: the locks are in PostgreSQL, Redis, etcd, Cassandra or a folder, by\n" +
			"protocol claim, and as safe as the clocks of all who use the store are close together (class advisory);\n" +
			"by conditional writes, --store-options cas, as safe as the store (class fenced). All who use a store have\n" +
			"the same options; `holdfast serve --space NAME=claim,store=URL` serves the same locks. A claim is\n" +
			"renewed while the command runs. If holdfast itself is killed, the command's group is killed too, and the\n" +
			"claim stays until it expires (expiry, 30s). A password in a URL can be read in process lists: put such\n" +
			"a URL into $HOLDFAST_STORE.",
		Flags: clientFlags(append(append(requestFlags(), lockStoreFlags()...),
			durationFlag("kill-after", usualKillAfter, "time between TERM and KILL; at most a third of the session's ttl (with --store a sixth of expiry) and of --hold"),
			onLost,
			switchFlag("detach", "release when COMMAND itself has ended: what it has left running goes on without the lock"),
			switchFlag("skip", "exit 0, silently and without running the command, if the lock cannot be had"),
			textFlag("status-fd", "write what happens to file descriptor `N`, a JSON object a line"),
		)...),
		HideHelpCommand: true,
		Action:          p.lock,
	}
}

// lockOrder has what the command line asks for.
type lockOrder struct {
	*request
	store     *storeOrder // nil: a member is asked
	command   []string
	killAfter time.Duration
	explicit  bool // --kill-after was given, or what cuts it
	onLost    string
	skip      bool
	detach    bool // do not wait for what the command leaves running
}

func (p *program) lockOrder(c *cli.Command) (*lockOrder, error) {
	if !p.separated {
		return nil, usageError("lock", "there is no \"--\"; it stands between the names and the command")
	}
	names := c.Args().Slice()
	if at := slices.Index(p.command, "--"); len(names) == 0 && at >= 0 {
		names, p.command = p.command[:at], p.command[at+1:]
	}
	if len(p.command) == 0 || p.command[0] == "" {
		return nil, usageError("lock", "there is no command after \"--\"")
	}
	request, err := requestOf(c, names)
	if err != nil {
		return nil, err
	}
	o := &lockOrder{
		request: request, command: p.command, skip: c.Bool("skip"), detach: c.Bool("detach"), onLost: c.String("on-lost"),
		killAfter: c.Duration("kill-after"), explicit: c.IsSet("kill-after") || c.IsSet("ttl") || c.IsSet("hold"),
	}
	switch {
	case o.killAfter < 0:
		return nil, usageError("lock", "flag --kill-after: %v: want 0 or more", o.killAfter)
	case !slices.Contains([]string{lostTerm, lostKill, lostIgnore}, o.onLost):
		return nil, usageError("lock", "flag --on-lost: %q: want term, kill or ignore", o.onLost)
	case o.skip && c.IsSet("conflict-exit-code"):
		return nil, usageError("lock", "--skip and --conflict-exit-code exclude each other")
	}
	if o.onLost != lostTerm {
		o.killAfter = 0
	}
	if o.store, err = p.storeOrder(c); err != nil {
		return nil, err
	}
	return o, o.check()
}

// lock runs the command under the lock.
func (p *program) lock(ctx context.Context, c *cli.Command) error {
	order, err := p.lockOrder(c)
	if err != nil {
		return err
	}
	events, err := openStatus(c.String("status-fd"), len(order.names))
	if err != nil {
		return err
	}
	l := &locking{
		order: order, program: p, flags: c, say: newLineWriter(p.stderr, len(order.names)),
		status: status{events, spaceOf(c)}, clock: clock.Real(), renewed: make(chan struct{}, 1),
	}
	err = l.run(ctx)
	if order.skip && errors.Is(err, holdfast.ErrHeld) {
		err = nil
	}
	l.settle()
	l.status.exit(exitCode(err))
	if late := events.close(); late != nil {
		l.say.printf("write to --status-fd: %v", late)
	}
	// Where standard error takes nothing there is no way to report that.
	_ = l.say.close()
	return err
}

// heed returns a context that ends with the first signal. After stop, which may be
// called often, signals are left to the next listener; it returns what a signal has
// asked for, or nil.
func heed(ctx context.Context, signals *supervise.Signals) (heeding context.Context, stop func() error) {
	heeding, cancel := context.WithCancelCause(ctx)
	over, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case sig := <-signals.Arrived():
			cancel(&supervise.Signalled{Signal: sig})
		case <-over:
		}
	}()
	stopped := false
	return heeding, func() error {
		if !stopped {
			stopped = true
			close(over)
			<-gone
		}
		if by := new(supervise.Signalled); errors.As(context.Cause(heeding), &by) {
			return &exitError{code: by.Status()}
		}
		cancel(nil)
		return nil
	}
}

// notRun is the error of a command that could not be run.
func notRun(err error) error {
	var refused *supervise.StartError
	if errors.As(err, &refused) {
		return &exitError{refused.Status, err}
	}
	return fmt.Errorf("run the command: %w", err)
}
