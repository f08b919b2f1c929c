package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/sys/unix"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// What happens to the command when its lock is lost.
const (
	lostTerm   = "term"   // TERM, and KILL after --kill-after
	lostKill   = "kill"   // KILL
	lostIgnore = "ignore" // it continues; only the exit code reports it
)

// usualKillAfter is the default time between TERM and KILL.
const usualKillAfter = 5 * time.Second

// lockCommand is `holdfast lock NAME… -- COMMAND`.
func (p *program) lockCommand() *cli.Command {
	return &cli.Command{
		Name:      "lock",
		Usage:     "run a command while holding a lock",
		UsageText: name + " lock [flags] NAME[ NAME…] -- COMMAND [ARG…]\n" + name + " lock [flags] -- NAME[ NAME…] -- COMMAND [ARG…]   (names that begin with a dash)",
		Description: "Waits until every NAME is granted, runs COMMAND, and releases the names when COMMAND has ended. On Linux it\n" +
			"also waits for what COMMAND left behind: background jobs, daemons, setsid.\n" +
			"\n" +
			"While it waits on a terminal, one line says which lock it waits for, its holder, for how long and why that\n" +
			"one has held it, and how many requests are before it; or why nothing is granted.\n" +
			"\n" +
			"The exit code is the command's own if the locks were held to the end; otherwise 79, or 81 if an operator\n" +
			"broke a lock. When a lock is lost, the command's whole process group is ended before another client can be\n" +
			"granted the name: first by TERM, then by KILL. From then on the lock counts as lost, even if the member\n" +
			"answers again. A guardian process sends KILL at the deadline if holdfast itself is stopped or frozen. If it\n" +
			"is killed, the guardian kills the command, and releases the locks when all of it has ended.\n" +
			"\n" +
			"COMMAND finds in its environment HOLDFAST_LOCK_NAME and HOLDFAST_LOCK_TOKEN: with several names one in\n" +
			"each line, in the order of the names. HOLDFAST_LOCK_MODE, HOLDFAST_LOCK_SESSION, HOLDFAST_LOCK_DEADLINE,\n" +
			"HOLDFAST_SERVER or HOLDFAST_STORE, and HOLDFAST_SPACE concern all of them. HOLDFAST_TOKEN and\n" +
			"HOLDFAST_TOKEN_FILE stay as they are: COMMAND has a client's token only if your environment has it.\n" +
			"\n" +
			"Another user cannot kill a command that changes its user, as sudo does. When such a command's lock is lost,\n" +
			"the command runs on; holdfast names its process and exits with 79. Run holdfast as that user instead:\n" +
			"sudo " + name + " lock NAME -- COMMAND.\n" +
			"\n" +
			"With --store no member is needed. The locks are kept in PostgreSQL, Redis, etcd, Cassandra or a folder,\n" +
			"by protocol claim. They are as safe as the clocks of all users of the store are close (class advisory), or,\n" +
			"with --store-options cas, as safe as the store (class fenced). All users of a store must have the same\n" +
			"options. `" + name + " serve --space NAME=claim,store=URL` serves the same locks. A claim is renewed while the\n" +
			"command runs, and otherwise expires (expiry, 30s). Process lists show a password in a URL: put such a URL\n" +
			"into $HOLDFAST_STORE.\n" +
			"\n" +
			"A folder (--store /FOLDER) is shared by all processes of the machine, as the files of flock are. There cas is\n" +
			"on by default, and the name of a killed holder is free as soon as its command is dead.",
		Flags: clientFlags(append(underLockFlags(),
			switchFlag("skip", "exit 0 without running the command if the lock cannot be had"),
		)...),
		HideHelpCommand: true,
		Action:          p.lock,
	}
}

// underLockFlags are the flags of commands that run another one under a lock.
func underLockFlags() []cli.Flag {
	onLost := textFlag("on-lost", "signal for the command when the lock is lost: `term`, kill or ignore; with ignore, it is killed only if holdfast itself is killed")
	onLost.Value = lostTerm
	return append(append(requestFlags(), lockStoreFlags()...),
		durationFlag("kill-after", usualKillAfter, "time between TERM and KILL; at most a third of the session's TTL (a sixth of expiry with --store) and a third of --hold"),
		onLost,
		textFlag("on-wanted", "`SIGNAL` for the command, once, when another request waits for one of its locks: USR1, HUP, …"),
		switchFlag("detach", "release as soon as COMMAND itself ends; processes it left behind run on without the lock"),
		textFlag("status-fd", "write events to file descriptor `N`, one JSON object per line"),
	)
}

// lockOrder is the parsed command line.
type lockOrder struct {
	*request
	store     *storeOrder // nil: locks come from a member
	command   []string
	killAfter time.Duration
	explicit  bool // --kill-after was given
	onLost    string
	onWanted  syscall.Signal // 0: none
	skip      bool
	detach    bool // do not wait for processes that the command leaves running
}

func (p *program) lockOrder(c *cli.Command) (*lockOrder, error) {
	if !p.separated {
		return nil, usageError(c.Name, "there is no \"--\"; put it between the names and the command")
	}
	names := c.Args().Slice()
	if at := slices.Index(p.command, "--"); len(names) == 0 && at >= 0 {
		names, p.command = p.command[:at], p.command[at+1:]
	}
	if len(p.command) == 0 || p.command[0] == "" {
		return nil, usageError(c.Name, "there is no command after \"--\"")
	}
	request, err := requestOf(c, names)
	if err != nil {
		return nil, err
	}
	o := &lockOrder{
		request: request, command: p.command, skip: c.Bool("skip"), detach: c.Bool("detach"), onLost: c.String("on-lost"),
		killAfter: c.Duration("kill-after"), explicit: c.IsSet("kill-after"),
	}
	switch {
	case o.killAfter < 0:
		return nil, usageError(c.Name, "flag --kill-after: %v: want 0 or more", o.killAfter)
	case !slices.Contains([]string{lostTerm, lostKill, lostIgnore}, o.onLost):
		return nil, usageError(c.Name, "flag --on-lost: %q: want term, kill or ignore", o.onLost)
	case o.skip && c.IsSet("conflict-exit-code"):
		return nil, usageError(c.Name, "--skip and --conflict-exit-code exclude each other")
	}
	if o.onLost != lostTerm {
		o.killAfter = 0
	}
	if text := c.String("on-wanted"); text != "" {
		if o.onWanted = signalOf(text); slices.Contains([]syscall.Signal{0, syscall.SIGKILL, syscall.SIGSTOP}, o.onWanted) {
			return nil, usageError(c.Name, "flag --on-wanted: %q: want a signal that a command can catch, by its name or number, such as USR1, HUP, TERM or 10", text)
		}
	}
	if o.store, err = p.storeOrder(c); err != nil {
		return nil, err
	}
	return o, o.check()
}

// signalOf returns a signal by its name, with or without SIG, or by its number; 0 if there is none.
func signalOf(text string) syscall.Signal {
	if number, err := strconv.Atoi(text); err == nil {
		if sig := syscall.Signal(number); unix.SignalName(sig) != "" {
			return sig
		}
		return 0
	}
	return unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(text), "SIG"))
}

// lock runs the command under the lock.
func (p *program) lock(ctx context.Context, c *cli.Command) error {
	order, err := p.lockOrder(c)
	if err != nil {
		return err
	}
	events, err := openStatus(c, len(order.names))
	if err != nil {
		return err
	}
	err = p.underLock(ctx, c, order, events)
	return p.reported(c, err, events)
}

// underLock takes the locks, runs the command and releases the locks.
func (p *program) underLock(ctx context.Context, c *cli.Command, order *lockOrder, events *lineWriter) error {
	l := &locking{
		order: order, program: p, flags: c, say: newLineWriter(p.stderr, len(order.names)),
		status: status{events, spaceOf(c)}, clock: clock.Real(), renewed: make(chan struct{}, 1),
		preparation: preparation{mark: newMark()},
	}
	err := l.run(ctx)
	if order.skip && errors.Is(err, holdfast.ErrHeld) {
		err = nil
	}
	l.settle()
	// If standard error fails, there is no way to report that.
	_ = l.say.close()
	return err
}

// reported writes the exit event, and returns err.
func (p *program) reported(c *cli.Command, err error, events *lineWriter) error {
	status{events, spaceOf(c)}.exit(exitCode(err))
	if late := events.close(); late != nil {
		p.say("write to --status-fd: %v", late)
	}
	return err
}

// heed returns a context that ends with the first signal. After stop, which may be called repeatedly, the next listener
// gets the signals; it returns the first signal's error, or nil.
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

// notRun returns the error of a command that could not be run.
func notRun(err error) error {
	var refused *supervise.StartError
	if errors.As(err, &refused) {
		return &exitError{refused.Status, err}
	}
	return fmt.Errorf("run the command: %w", err)
}
