package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/urfave/cli/v3"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// acquireCommand is `holdfast acquire NAME…`, for scripts.
func (p *program) acquireCommand() *cli.Command {
	return &cli.Command{
		Name:      "acquire",
		Usage:     "take a lock and keep it held, for scripts",
		UsageText: name + " acquire [flags] NAME[ NAME…]",
		Description: "Waits until every NAME is granted, prints a line NAME TOKEN UNTIL SESSION for each, and returns. A keeper in\n" +
			"the background renews the session until the locks are released or the process --while-pid has ended. Then\n" +
			"it releases them at once; a line on standard error names that process. By default it is the caller of\n" +
			"acquire. In a pipeline or a subshell the caller ends before the script does: give --while-pid $$ there.\n" +
			"\n" +
			"`renew` and `release` report a lost lock: exit code 79, or 81 if an operator broke it. If one of several\n" +
			"locks is lost, the keeper ends the session and with it the others.\n" +
			"SESSION contains a secret: a process that knows it can release and renew.",
		Flags: clientFlags(append(append(append(requestFlags(), lockStoreFlags()...), outputFlags(formatJSON, formatYAML, formatNames)...),
			&cli.IntFlag{Name: "while-pid", Usage: "keep the locks as long as process `PID` lives", DefaultText: "the caller", Sources: variables("while-pid")},
			switchFlag("no-keep", "start no keeper: the locks end after --ttl unless 'holdfast renew' is called in time"),
		)...),
		HideHelpCommand: true,
		Action:          p.acquire,
	}
}

// acquire takes the locks, passes them to a keeper, and prints them.
func (p *program) acquire(ctx context.Context, c *cli.Command) (err error) {
	request, err := requestOf(c, c.Args().Slice())
	if err == nil {
		err = request.check()
	}
	if err != nil {
		return err
	}
	order, err := p.storeOrder(c)
	if err != nil {
		return err
	}
	var witness *witness
	if !c.Bool("no-keep") {
		if witness, err = p.witness(c); err != nil {
			return err
		}
		defer witness.close()
	} else if c.IsSet("while-pid") {
		return usageError(c.Name, "--while-pid and --no-keep exclude each other")
	}
	signals := supervise.NewSignals()
	defer signals.Stop()
	ctx, stop := heed(ctx, signals)
	// The cause of the end is returned below.
	defer func() { _ = stop() }()
	if order != nil {
		err := p.acquireInStore(ctx, c, order, request, witness)
		return cmp.Or(stop(), err)
	}
	return askLong(ctx, c, func(ctx context.Context, admin *client.Admin) error {
		if err := request.askOwnParent(ctx, spaceOf(c), admin, p.outerSessions()); err != nil {
			return err
		}
		if witness != nil && !request.try {
			p.sayKept(ctx, request, admin, spaceOf(c), witness.pid)
		}
		got, err := p.acquireVisibly(ctx, c, request, admin)
		if err != nil {
			err = request.refused(hinted(reworded("lock", request.names[0], err), ""))
		} else if witness != nil {
			err = p.startKeeper(ctx, c, witness, got.Session)
		}
		if interrupted := stop(); interrupted != nil {
			err = interrupted
		}
		if err == nil {
			err = p.printAcquired(c, got)
		}
		if err == nil && got.Locks[0].TtlCut != "" {
			p.say("%s", cutTTL(request.ttl, got.Locks[0].Ttl.AsDuration(), got.Locks[0].TtlCut))
		}
		if err == nil && witness != nil {
			p.say("kept while process %d lives; `%s release` gives a lock back before that", witness.pid, name)
		}
		if err != nil { // no process will know the session
			return errors.Join(err, endSession(c, admin, got))
		}
		return nil
	})
}

// acquireVisibly requests the locks, and reports the wait.
func (p *program) acquireVisibly(ctx context.Context, c *cli.Command, request *request, admin *client.Admin) (*schema.AcquiredAll, error) {
	say := newLineWriter(p.stderr, len(request.names))
	report := p.waitReport(request, spaceOf(c), say, c.Bool("verbose"))
	report.lookup, report.server = admin, serverOf(c)
	report.ours = func(waiter *schema.Wait) bool { return waiter.Client == admin.Name() }
	report.start(ctx)
	got, err := request.acquire(ctx, c, admin)
	late := report.finish(err == nil)
	// If standard error fails, there is no way to report that.
	_ = say.close()
	return got, errors.Join(err, late)
}

// witness opens the process for whose lifetime the locks are kept.
func (p *program) witness(c *cli.Command) (*witness, error) {
	pid := c.Int("while-pid")
	if c.IsSet("while-pid") {
		if pid < 1 || pid > 1<<31-1 {
			return nil, usageError(c.Name, "flag --while-pid: %d: want the number of a process", pid)
		}
		w, err := openWitness(pid)
		if err != nil {
			return nil, usageError(c.Name, "flag --while-pid: process %d: %v", pid, err)
		}
		return w, nil
	}
	caller := os.Getppid()
	if caller < 1 {
		return nil, errors.New("the caller cannot be seen from inside this container; name a process with --while-pid, or give --no-keep")
	}
	w, err := openWitness(caller)
	if err == nil && os.Getppid() != caller {
		w.close()
		err = errEndedCaller
	}
	if err != nil {
		return nil, fmt.Errorf("watch over the caller, process %d: %w; name a process with --while-pid, or give --no-keep", caller, err)
	}
	return w, nil
}

var errEndedCaller = errors.New("it has ended")

// waitMargin is how long to wait for the member's own refusal after a wait limit has ended here.
const waitMargin = 400 * time.Millisecond

// acquire requests the locks. A member answers a long wait in parts: repeated under its id, the request keeps its
// place. Members that do not serve yet are retried, too, for as long as lock would wait for them.
func (w *request) acquire(ctx context.Context, c *cli.Command, admin *client.Admin) (*schema.AcquiredAll, error) {
	order := client.Acquisition{Names: w.names, TTL: w.ttl, Request: rand.Text()}
	timeout, err := timeoutOf(c)
	if err != nil {
		return nil, err
	}
	local := clock.Real()
	began, limit := local.Now(), w.limit()
	waiting := ctx
	if limit < asLongAsItTakes {
		var cancel context.CancelFunc
		waiting, cancel = context.WithTimeout(ctx, limit+waitMargin)
		defer cancel()
	}
	var said error // a member's reason why nothing was granted so far
	for {
		order.Options = w.options
		if !w.try {
			order.Options = append(slices.Clip(w.options), holdfast.Wait(max(1, limit-(local.Now()-began))))
		}
		got, err := admin.Acquire(waiting, spaceOf(c), order)
		passed := local.Now() - began
		if answered(err) {
			said = waitOver(err)
		}
		switch {
		case err == nil:
			return got, nil
		case ctx.Err() != nil:
			return w.takeBack(admin, c, order), ctx.Err()
		case waiting.Err() != nil:
			return nil, cmp.Or(said, err)
		case errors.Is(err, holdfast.ErrUnavailable) && w.retries(err, said != nil, passed, timeout):
			pause(waiting, retryPause)
		case !errors.Is(err, holdfast.ErrHeld), w.try, passed >= limit:
			return nil, err
		}
	}
}

// refusedLimit is how long to retry addresses that all refuse the connection, without a wait limit: a member that was
// just started listens by then.
const refusedLimit = 2 * time.Second

// retries reports whether to retry members that do not serve, after the elapsed time.
func (w *request) retries(err error, answered bool, passed, timeout time.Duration) bool {
	limit := w.limit()
	var unreachable *client.UnreachableError
	switch {
	case w.wait > 0 || answered:
	case errors.As(err, &unreachable) && unreachable.Refused():
		limit = min(limit, refusedLimit)
	default:
		limit = min(limit, timeout)
	}
	return passed+retryPause < limit
}

// answered reports whether an error comes from a member, rather than from the network.
func answered(err error) bool {
	var unreachable *client.UnreachableError
	if errors.As(err, &unreachable) {
		return unreachable.Answered()
	}
	return errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, holdfast.ErrHeld)
}

// retryPause is the pause before an unreachable member is retried.
const retryPause = 100 * time.Millisecond

// pause waits for d, or until ctx is done, which its callers check for.
func pause(ctx context.Context, d time.Duration) { _ = backoff.Sleep(ctx, d) }

// waitOver removes a member's advice to retry from a refusal.
func waitOver(err error) error {
	var opErr *holdfast.Error
	var held *holdfast.HeldError
	if errors.As(err, &opErr) && errors.As(err, &held) {
		return &holdfast.Error{Op: opErr.Op, Space: opErr.Space, Name: opErr.Name, Err: held}
	}
	return err
}

// takeBackLimit is the time limit of takeBack.
const takeBackLimit = 250 * time.Millisecond

// takeBack asks once more for the outcome of a request that was cut off. A grant that crossed it is returned, so that
// it can be ended; the end of this call cancels what still waits.
func (w *request) takeBack(admin *client.Admin, c *cli.Command, order client.Acquisition) *schema.AcquiredAll {
	ctx, cancel := context.WithTimeout(context.Background(), takeBackLimit)
	defer cancel()
	got, err := admin.Acquire(ctx, spaceOf(c), order)
	if err != nil {
		return nil
	}
	return got
}

// endSession releases a grant that is not reported to a caller.
func endSession(c *cli.Command, admin *client.Admin, got *schema.AcquiredAll) error {
	if got == nil {
		return nil
	}
	timeout, err := timeoutOf(c)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_, err = admin.EndSession(ctx, got.Session)
	if errors.Is(err, holdfast.ErrLost) {
		return nil // it has ended by itself
	}
	return err
}

// printAcquired prints the acquired locks, in one write: as lines, unless the flags of c ask for another form.
func (p *program) printAcquired(c *cli.Command, got *schema.AcquiredAll) error {
	var document proto.Message = got
	if len(got.Locks) == 1 {
		document = got.Locks[0]
	}
	if o := p.output(c); o.format != formatTable {
		return o.document(document)
	}
	var text bytes.Buffer
	for _, lock := range got.Locks {
		until := api.At(api.TimeOf(lock.Until)).String()
		if until == "" {
			until = "-"
		}
		fmt.Fprintln(&text, formatName(lock.Name), lock.Token, until, lock.Session)
	}
	return written(p.stdout.Write(text.Bytes()))
}
