package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// locking is one run of `holdfast lock`: it waits, then a watch ends the command in time, then it releases the locks.
type locking struct {
	order   *lockOrder
	program *program
	flags   *cli.Command
	say     *lineWriter
	status  status

	signals  *supervise.Signals
	client   lender
	clock    clock.Clock                        // for deadlines
	ends     func(*holdfast.Lock) time.Duration // nil: the lock's own Deadline
	reported []bool                             // by lock: its end was reported
	renewed  chan struct{}                      // receives when the deadline has moved
	preparation
	saidCut bool // --kill-after was reported as cut

	// mu orders the reports of different goroutines: that the member does not answer, and how the run ends. It guards
	// everything below.
	mu      sync.Mutex
	locks   []*holdfast.Lock
	lead    time.Duration // how long before its deadline a lock is given up
	settled bool          // the end of a lock was reported, or is about to be
}

// run returns the error that determines the exit code.
func (l *locking) run(ctx context.Context) error {
	// A mistyped command fails before it waits for a lock.
	if _, err := supervise.Find(l.order.command[0]); err != nil {
		return notRun(err)
	}
	l.signals = supervise.NewSignals()
	defer l.signals.Stop()
	defer l.abandon()
	err := l.acquire(ctx)
	if err == nil {
		err = l.command(ctx)
	}
	if l.client == nil || errors.Is(err, supervise.ErrSurvivors) {
		return err // surviving processes may still use what the lock protects
	}
	l.abandon()                  // it may still hand the store's files to the guardian
	if l.client.Close() == nil { // otherwise the session expires by itself
		for i := range l.locks {
			l.reportReleased(i)
		}
	}
	return err
}

// reportReleased and reportLost report how a lock has ended, once.
func (l *locking) reportReleased(i int) {
	if !l.reported[i] {
		l.reported[i] = true
		l.settle()
		l.status.released(l.locks[i])
	}
}

func (l *locking) reportLost(i int, err error) {
	if !l.reported[i] {
		l.reported[i] = true
		l.settle()
		l.status.lost(l.locks[i], holdfast.Why(err))
	}
}

// settle runs before the end of a lock, or of the whole run, is reported: from then on a silent member is no longer
// reported.
func (l *locking) settle() {
	l.mu.Lock()
	l.settled = true
	l.mu.Unlock()
}

// acquire connects and waits for the locks. A signal ends both, and cancels the requests.
func (l *locking) acquire(ctx context.Context) error {
	ctx, stop := heed(ctx, l.signals)
	// The cause of the end is returned below.
	defer func() { _ = stop() }()
	options := l.order.options
	began := l.clock.Now()
	timeout, err := timeoutOf(l.flags)
	if err != nil {
		return err
	}
	dialing, cancel := context.WithTimeout(ctx, l.order.limit())
	defer cancel()
	ctx, nested := context.WithCancelCause(ctx)
	defer nested(nil)
	var locks []*holdfast.Lock
	report := l.waitReport(nested)
	report.start(ctx)
	if l.order.store == nil {
		l.prepare()
	}
	if err = l.open(dialing, timeout); err == nil {
		report.opened(l.client.Session(), l.lookup())
		l.grace(l.client.TTL()) // a cut is reported before the wait
		if limit := l.order.limit(); limit < asLongAsItTakes {
			options = append(slices.Clip(options), holdfast.Wait(max(1, limit-(l.clock.Now()-began))))
		}
		options = append(slices.Clip(options), func(r *holdfast.Request) {
			name := r.Name
			r.Queued = func(position int) {
				report.queue(name, position)
				l.abandonLater()
			}
		})
		locks, err = l.client.LockAll(ctx, l.order.names, options...)
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, holdfast.ErrHeld) {
			err = cause
		}
	}
	if late := report.finish(err == nil); late != nil {
		l.say.printf("%v", late)
	}
	if interrupted := stop(); interrupted != nil {
		return interrupted
	}
	var known *exitError
	switch {
	case errors.As(err, &known):
		return err
	case err != nil:
		return l.order.refused(err)
	}
	l.mu.Lock()
	l.locks, l.reported = locks, make([]bool, len(locks))
	l.mu.Unlock()
	for _, lock := range locks {
		l.status.acquired(lock)
	}
	return nil
}

// waitReport returns the reporter of the wait. A name held by an enclosing command ends it with fail.
func (l *locking) waitReport(fail func(error)) *waiting {
	report := l.program.waitReport(l.order.request, spaceOf(l.flags), l.say, l.flags.Bool("verbose"))
	report.status = l.status
	if l.order.store == nil {
		report.server = serverOf(l.flags)
		report.ownParents(l.order.request, l.program.outerSessions(), fail)
		report.open = func(context.Context) (lookup, io.Closer, error) {
			options, err := optionsOf(l.flags)
			if err != nil {
				return nil, nil, err
			}
			admin, err := client.DialAdmin(serverOf(l.flags), options...)
			return admin, admin, err
		}
	}
	return report
}

// lookup returns what looks at locks in a store; nil with a member.
func (l *locking) lookup() lookup {
	from, _ := l.client.(lookup)
	return from
}

// open connects to a member, or opens a store.
func (l *locking) open(ctx context.Context, timeout time.Duration) error {
	if order := l.order.store; order != nil {
		opened, err := order.openLender(ctx, l.status.space, l.storePatience(timeout), l.clock)
		if err != nil {
			return err
		}
		l.client, l.ends = opened, opened.deadlineOf
		if err := opened.attend(ctx); err != nil {
			l.say.printf("%v; if this process is killed, its locks end by their lease of %v", err, opened.settings.Expiry)
		}
		l.prepare() // the guardian keeps files of the store
		return nil
	}
	options, err := optionsOf(l.flags)
	if err != nil {
		return err
	}
	options = append(append(options, l.clientOptions()...), client.Patience(l.order.patience(timeout)))
	opened, err := client.Dial(ctx, serverOf(l.flags), options...)
	if err != nil {
		return hinted(reworded("lock", l.order.names[0], err), storeHint)
	}
	l.client = opened
	if cut := opened.TTLCut(); cut != "" {
		l.say.printf("%s", cutTTL(l.order.ttl, opened.TTL(), cut))
	}
	return nil
}

// storePatience returns how long to wait for a store's first answer.
func (l *locking) storePatience(timeout time.Duration) time.Duration {
	if l.order.wait > 0 {
		return l.order.wait
	}
	return l.order.patience(timeout)
}

// expires describes what keeps an unreleased name taken.
func (l *locking) expires() string {
	if l.order.store != nil {
		return "its claim"
	}
	return "session " + l.client.Session()
}

func (l *locking) clientOptions() []client.Option {
	options := []client.Option{client.TTL(l.order.ttl), client.OnLate(l.onLate), client.OnRenewed(l.onRenewed)}
	if l.order.onLost != lostIgnore {
		// The authority learns of a broken lock when the command has ended.
		options = append(options, client.KeepLost())
	}
	return options
}

// onRenewed runs when a heartbeat was acknowledged.
func (l *locking) onRenewed() {
	select {
	case l.renewed <- struct{}{}:
	default: // the watch has not read the last one yet
	}
}

// onLate runs when the member has not answered for half of the ttl. It reports that only as long as an answer would
// help: not after the loss of a lock is reported, nor when one is about to be given up, for example after this process
// was stopped for a while. So the report always comes before a loss, or not at all.
func (l *locking) onLate(remaining time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.settled || remaining <= l.lead || l.due(l.clock.Now()) {
		return
	}
	text := fmt.Sprintf("no answer from the member; the session ends in %v unless it answers", remaining.Round(time.Millisecond))
	l.status.late(text)
	l.say.printf("%s", text)
}

// due reports whether a lock is so near its end that it must be given up.
func (l *locking) due(now time.Duration) bool {
	return len(l.locks) > 0 && now >= l.deadline()-l.lead
}

// command runs the command, watches over it, and releases the locks.
func (l *locking) command(ctx context.Context) error {
	held, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	for _, lock := range l.locks {
		stop := context.AfterFunc(lock.Context(), func() { cancel(context.Cause(lock.Context())) })
		defer stop()
	}
	watch := newWatch(l, l.client.TTL(), l.client.Deadline)
	process, err := l.start(held, watch)
	if errors.Is(err, supervise.ErrDeadline) {
		watch.lose()
		err = watch.first
	}
	if err != nil {
		return l.notStarted(err)
	}
	l.signals.Forward(process)
	watch.guardian = process.SetDeadline
	defer process.AwaitGuardian() // it ends while the locks are released
	exit, lost, err := watch.run(process)
	switch {
	case lost != nil:
		if err == nil {
			err = l.endGraces(ctx)
		}
		return l.lost(exit, lost, err)
	case err != nil:
		return errors.Join(err, l.release(ctx))
	}
	if err := l.release(ctx); err != nil {
		return err
	}
	if code := exit.Status(); code != 0 {
		return &exitError{code: code}
	}
	return nil
}

// endGraces confirms for lost locks that the command has stopped: their names may stay taken for a while after the hold
// limit, and are then free at once. Their loss has already been reported.
func (l *locking) endGraces(ctx context.Context) error {
	timeout, err := timeoutOf(l.flags)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, lock := range l.locks {
		if err := lock.Unlock(ctx); err != nil && !errors.Is(err, holdfast.ErrLost) {
			return err
		}
	}
	return nil
}

// notStarted returns the error of a run whose command was not run.
func (l *locking) notStarted(err error) error {
	if errors.Is(err, holdfast.ErrLost) {
		for i, lock := range l.locks {
			if lost := lock.Check(); lost != nil {
				l.reportLost(i, lost)
			}
		}
		return fmt.Errorf("%w; the command was not run", err)
	}
	return notRun(err)
}

// lost returns the error of a run whose lock was lost. Other errors must not hide that, and are reported as well.
func (l *locking) lost(exit supervise.Exit, lost, besides error) error {
	if errors.Is(besides, supervise.ErrSurvivors) {
		return fmt.Errorf("%w; %w", lost, besides)
	}
	if besides != nil {
		l.say.printf("%v", besides)
	}
	return fmt.Errorf("%w; the command %v", lost, exit)
}

// release releases the locks and waits until the authority has confirmed it.
func (l *locking) release(ctx context.Context) error {
	ctx, stop := heed(ctx, l.signals)
	timeout, err := timeoutOf(l.flags)
	if err != nil {
		return err
	}
	settling, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var first error
	for i, lock := range l.locks {
		if err := lock.UnlockAsync(); err != nil {
			l.reportLost(i, err)
			first = cmp.Or(first, err)
		}
	}
	err = l.client.Shutdown(settling)
	interrupted := stop()
	switch {
	case first != nil:
		return first
	case errors.Is(err, holdfast.ErrLost), errors.Is(err, holdfast.ErrNotHeld):
		l.refusedRelease(err)
		return err
	case err != nil && interrupted != nil:
		return interrupted
	case settling.Err() != nil && err != nil:
		err = fmt.Errorf("%w: the release was not acknowledged within %v; the name is free when %s expires",
			holdfast.ErrUnavailable, short(timeout), l.expires())
		return &holdfast.Error{Op: "unlock", Space: l.status.space, Name: l.order.names[0], Err: err}
	case err != nil:
		return err
	}
	for i := range l.locks {
		l.reportReleased(i)
	}
	return nil
}

// refusedRelease reports which lock the authority no longer knew as ours.
func (l *locking) refusedRelease(err error) {
	var opErr *holdfast.Error
	for i, lock := range l.locks {
		if errors.As(err, &opErr) && opErr.Name == lock.Name() {
			l.reportLost(i, err)
		}
	}
}

// environment returns the command's environment: ours, plus variables about its locks.
func (l *locking) environment() []string {
	var names, tokens []string
	for _, lock := range l.locks {
		names = append(names, lock.Name())
		tokens = append(tokens, lock.Token().String())
	}
	// A session's secret is not for the command.
	env := slices.DeleteFunc(slices.Clone(l.program.environ), func(variable string) bool {
		return strings.HasPrefix(variable, sessionVariable+"=")
	})
	if order := l.order.store; order != nil {
		env = order.environment(env, l.status.space)
	} else {
		env = slices.DeleteFunc(env, func(variable string) bool {
			return strings.HasPrefix(variable, storeVariable+"=") || strings.HasPrefix(variable, optionsVariable+"=")
		})
		env = append(env, serverVariable+"="+serverOf(l.flags), "HOLDFAST_SPACE="+spaceOf(l.flags))
	}
	return append(env,
		"HOLDFAST_LOCK_NAME="+strings.Join(names, "\n"),
		"HOLDFAST_LOCK_TOKEN="+strings.Join(tokens, "\n"),
		"HOLDFAST_LOCK_MODE="+l.locks[0].Mode().String(),
		"HOLDFAST_LOCK_SESSION="+l.client.Session(),
		outerVariable+"="+strings.Join(append(l.program.outerSessions(), l.word(), l.mark), " "),
		"HOLDFAST_LOCK_DEADLINE="+l.until().UTC().Format(time.RFC3339Nano),
	)
}

// until returns the wall time at which the first of the locks ends unless its session is renewed.
func (l *locking) until() time.Time {
	first := l.locks[0].Until()
	for _, lock := range l.locks[1:] {
		if until := lock.Until(); until.Before(first) {
			first = until
		}
	}
	return first
}

// deadline returns when the first of the locks ends unless its session is renewed, on the clock of deadlines.
func (l *locking) deadline() time.Duration {
	ends := l.ends
	if ends == nil {
		ends = (*holdfast.Lock).Deadline
	}
	first := ends(l.locks[0])
	for _, lock := range l.locks[1:] {
		first = min(first, ends(lock))
	}
	return first
}
