//go:build unix

package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// ErrGuardian reports that the guardian was killed, and therefore the command too.
var ErrGuardian = errors.New("the command's guardian process was killed")

// ErrDeadline reports that the guardian has killed the command at its deadline: the caller was stopped, or too slow, to
// move it or to end the command itself. As an error of [Start] it means that the command has not run, because its
// deadline was too near.
var ErrDeadline = errors.New("the guardian has killed the command at its deadline")

// ErrSurvivors reports that processes of the command's group were still alive a second after KILL: they run as another
// user, as under sudo, or the kernel waits for a device or a file system on their behalf. The error names them if the
// system reports them.
var ErrSurvivors = errors.New("some processes of the command could not be killed")

// Process is a started command. It is safe for concurrent use.
type Process struct {
	group    group
	terminal *terminal
	notice   func(string)
	leash    leash          // owned by this process; the guardian acts when it closes
	children chan os.Signal // SIGCHLD
	refused  chan os.Signal // the stop key
	done     chan struct{}  // closed when the command has ended
	left     chan struct{}  // closed when everything that it has left running has ended, too
	tended   chan struct{}  // closed when the guardian has ended too

	deadline atomic.Int64 // the last one sent to the guardian, on the clock of package clock

	stopped atomic.Bool // the command is stopped
	wants   bool        // it is stopped for wanting the terminal; used only by the tending goroutine
	warned  bool        // about the refused stop key; likewise

	mu       sync.Mutex
	guardian int  // 0 when it has ended
	released bool // the guardian is meant to end
	exit     Exit
	err      error
}

// run starts the processes and tends them to their end, on one thread: Linux kills the command when the thread that
// started it ends.
func (p *Process) run(c *Command, path string, prepared chan<- error, orders <-chan *launch, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signal.Notify(p.children, syscall.SIGCHLD)
	l, g, err := p.enlist(c, path)
	prepared <- err
	if err == nil {
		err = errAbandoned
		if o := <-orders; o != nil {
			err = p.launch(o, c, path, l, g)
		}
		l.closeOwn()
		g.close()
	}
	if err != nil {
		p.abandon()
	}
	started <- err
	p.tend()
}

// enlist gives a guardian its task, and starts a starter if the command needs one.
func (p *Process) enlist(c *Command, path string) (*lines, *gate, error) {
	s, err := takeSentry()
	if err != nil {
		return nil, nil, err
	}
	p.leash, p.guardian = s.lines.leash, s.process
	if c.Adopt && adoptOrphans() {
		p.group.caller = os.Getpid()
		for _, other := range childrenOf(p.group.caller) {
			if other.id != p.guardian {
				p.group.except = append(p.group.except, other.id)
			}
		}
	}
	p.group.except = append(p.group.except, p.guardian)
	if err = p.leash.sendTask(p.task(c), c.Keep); err != nil {
		err = fmt.Errorf("start the guardian: %w", err)
	}
	var g *gate
	if err == nil && c.needsStarter(path) {
		var starter int
		if starter, g, err = startStarter(c, path); err == nil {
			err = p.lead(starter)
		}
	}
	if err != nil {
		s.lines.closeOwn()
		g.close()
		return nil, nil, err
	}
	return s.lines, g, nil
}

func (p *Process) task(c *Command) task {
	t := task{home: syscall.Getpgrp(), caller: p.group.caller, mark: c.Mark, except: p.group.except}
	if c.Heir != nil {
		t.heir, t.heirEnv = c.Heir.Args, c.Heir.Env
	}
	return t
}

// lead makes a process of ours the command, and its group the command's. The guardian learns of it.
func (p *Process) lead(process int) error {
	opened := openGroup(process)
	p.group.id, p.group.handle = opened.id, opened.handle
	if err := p.leash.sendGroup(p.group); err != nil {
		return fmt.Errorf("tell the guardian the command's process: %w", err)
	}
	return nil
}

// launching is how long before its deadline a command must be started. From then on its guardian may have to kill the
// caller, which could still start it, and it would be killed at once anyway.
const launching = 20 * time.Millisecond

// launch lets the command run.
func (p *Process) launch(o *launch, c *Command, path string, l *lines, g *gate) error {
	stop := context.AfterFunc(o.ctx, func() { // do not wait for a slow process
		_ = l.ready.r.Close()
		g.close()
	})
	defer stop()
	if err := o.heir.bequeath(l.will); err != nil {
		return err
	}
	if _, err := io.ReadFull(l.ready.r, make([]byte, 1)); err != nil {
		return ended(o.ctx, fmt.Errorf("wait for the guardian: %w", err))
	}
	p.terminal = openTerminal(syscall.Getpgrp(), p.group.id)
	if o.deadline != 0 {
		if clock.Shared && clock.Real().Now() >= o.deadline-launching {
			return ErrDeadline
		}
		if err := p.SetDeadline(o.deadline); err != nil {
			return err
		}
	}
	if err := o.ctx.Err(); err != nil {
		return ended(o.ctx, err)
	}
	if g == nil {
		return p.startDirectly(o, c, path)
	}
	return p.passGate(o, c, path, g)
}

// late reports whether the guardian's deadline has passed.
func (p *Process) late() bool { return clock.Real().Now() >= time.Duration(p.deadline.Load()) }

// forked runs when a command has been started directly, before its guardian knows its process. Tests replace it.
var forked = func() {}

// startDirectly starts a command that needs no starter.
func (p *Process) startDirectly(o *launch, c *Command, path string) error {
	process, err := forkCommand(path, c.Args, o.env, commandFiles(c))
	switch {
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return fmt.Errorf("start the command: %w", err)
	case err != nil:
		return notRunnable(c.Args[0], path, err)
	}
	forked()
	err = p.lead(process)
	p.terminal.belongTo(process)
	p.holdTerminal()
	return err
}

// passGate lets a starter pass, after the terminal is the command's.
func (p *Process) passGate(o *launch, c *Command, path string, g *gate) error {
	p.holdTerminal()
	if wanted(c.Stdin, c.Stdout) {
		p.terminal.lend()
	}
	report, err := g.open(o.env)
	if err != nil {
		return ended(o.ctx, err)
	}
	if len(report) == 0 {
		return nil
	}
	number, err := strconv.Atoi(string(report))
	if err != nil {
		return fmt.Errorf("start the command: %w", err)
	}
	return notRunnable(c.Args[0], path, syscall.Errno(number))
}

// holdTerminal keeps the caller from being stopped from the terminal. The command must not inherit that.
func (p *Process) holdTerminal() {
	signal.Notify(p.refused, syscall.SIGTSTP)
	signal.Ignore(syscall.SIGTTOU)
}

// ended returns why ctx is done, or err if it is not.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Done is closed when the command itself has ended. Its terminal is restored by then.
func (p *Process) Done() <-chan struct{} { return p.done }

// Left is closed when the command has ended, and with [Command.Adopt] all processes that it has left running, in its
// group or not.
func (p *Process) Left() <-chan struct{} { return p.left }

// Remaining names the processes that the command has left running.
func (p *Process) Remaining() string {
	members, _ := p.group.members()
	var said []string
	for _, m := range members {
		said = append(said, fmt.Sprintf("process %d (%s)", m.id, m.name))
	}
	return strings.Join(said, ", ")
}

// Wait waits until the command itself has ended, ends the guardian, and returns how the command ended. Background
// processes of the command continue, without a guardian, unless [Process.Terminate] is called, before or after. The
// error is ErrGuardian if the guardian was killed before, and ErrDeadline if it has killed the command.
func (p *Process) Wait() (Exit, error) {
	_, _ = p.Dismiss() // the same, or less
	<-p.tended
	return p.result()
}

// Dismiss is [Process.Wait] that does not wait for the guardian's end, for a caller that has something else to do
// meanwhile. Its [Process.AwaitGuardian] must follow: otherwise the guardian could stay as a zombie.
func (p *Process) Dismiss() (Exit, error) {
	<-p.done
	p.collectGuardian() // one that has ended before says why
	p.release()
	return p.result()
}

// AwaitGuardian waits for the end of a guardian that Dismiss has ended. Without Dismiss it returns at once.
func (p *Process) AwaitGuardian() {
	p.mu.Lock()
	released := p.released
	p.mu.Unlock()
	if released {
		<-p.tended
	}
}

func (p *Process) result() (Exit, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exit, p.err
}

// SetDeadline moves the deadline at which the guardian kills the command's group, on the clock of package clock;
// [clock.Never] removes it. It does not block. On a system where each process has its own clock there is no deadline.
func (p *Process) SetDeadline(at time.Duration) error {
	if !clock.Shared {
		return nil
	}
	p.deadline.Store(int64(at))
	if err := p.leash.sendDeadline(at); err != nil && !p.over() {
		return fmt.Errorf("tell the guardian a deadline: %w", err)
	}
	return nil
}

// signal sends sig to every process of the group. A stopped command is continued if sig usually ends a command, so that
// it can act on it. After the command's end its number belongs to adopted processes, and signal has no effect.
func (p *Process) signal(sig syscall.Signal) error {
	if p.nothingLeft() {
		return nil
	}
	signal := p.group.signal
	if p.over() {
		signal = p.group.signalAll
	}
	err := signal(sig)
	switch sig {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT:
		if err == nil && p.stopped.Load() {
			err = p.group.signal(syscall.SIGCONT)
		}
	}
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send signal %d to the command: %w", int(sig), err)
	}
	return nil
}

// Signal sends a signal to the whole group. A command that has ended gets none, which is no error.
func (p *Process) Signal(sig syscall.Signal) error { return p.signal(sig) }

// Terminate ends the whole group: TERM now, and KILL after killAfter for the remaining processes; KILL at once if
// killAfter is 0. It returns as soon as no process of the group is left, or ErrSurvivors one second after KILL. Another
// call of Terminate meanwhile can force a shorter grace. Wait then returns how the command itself ended.
func (p *Process) Terminate(killAfter time.Duration) error {
	if killAfter > 0 {
		grace := time.NewTimer(killAfter)
		defer grace.Stop()
		// A process that is gone, or that we may not signal, is left to the KILL later.
		_ = p.group.signalAll(syscall.SIGTERM)
		_ = p.group.signalAll(syscall.SIGCONT) // a stopped process would not get it
		if p.emptied(grace.C, false) {
			return nil
		}
	}
	err := p.group.signalAll(syscall.SIGKILL)
	limit := time.NewTimer(dying)
	defer limit.Stop()
	if p.emptied(limit.C, true) {
		return nil
	}
	if left := p.group.survivors(); left != "" {
		return fmt.Errorf("%w: %s", ErrSurvivors, left)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSurvivors, err)
	}
	return ErrSurvivors
}

// emptied waits for the command's end, then for the rest of its group.
func (p *Process) emptied(limit <-chan time.Time, kill bool) bool {
	select {
	case <-p.done:
		return p.group.emptied(limit, kill)
	case <-limit:
		return false
	}
}
