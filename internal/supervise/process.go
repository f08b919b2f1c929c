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
// move it or to end the command itself.
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
	l, err := p.enlist(c)
	prepared <- err
	if err == nil {
		err = errAbandoned
		if o := <-orders; o != nil {
			err = p.launch(o, c, path, l)
		}
		l.closeOwn()
	}
	if err != nil {
		p.abandon()
	}
	started <- err
	p.tend()
}

// launch opens the gate.
func (p *Process) launch(o *launch, c *Command, path string, l *lines) error {
	stop := context.AfterFunc(o.ctx, func() { // do not wait for a slow process
		_ = l.ready.r.Close()
		_ = l.report.r.Close()
		_ = l.gate.w.Close()
	})
	defer stop()
	if err := o.heir.bequeath(l.will); err != nil {
		return err
	}
	if _, err := io.ReadFull(l.ready.r, make([]byte, 1)); err != nil {
		return ended(o.ctx, fmt.Errorf("wait for the guardian: %w", err))
	}
	if o.deadline != 0 {
		if err := p.SetDeadline(o.deadline); err != nil {
			return err
		}
	}
	p.terminal = openTerminal(syscall.Getpgrp(), p.group.id)
	signal.Notify(p.refused, syscall.SIGTSTP)
	signal.Ignore(syscall.SIGTTOU)
	if err := o.ctx.Err(); err != nil {
		return ended(o.ctx, err)
	}
	if wanted(c.Stdin, c.Stdout) {
		p.terminal.lend()
	}
	// A starter that was killed, for example by a guardian at its deadline, is handled like a command that was.
	command := order{path: path, args: c.Args, env: o.env, files: inherited()}
	if err := openGate(l.gate.w, command); err != nil && !errors.Is(err, syscall.EPIPE) {
		return ended(o.ctx, fmt.Errorf("start the command: %w", err))
	}
	report, err := io.ReadAll(l.report.r)
	if err != nil {
		return ended(o.ctx, fmt.Errorf("wait for the command: %w", err))
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

// ended returns why ctx is done, or err if it is not.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// enlist takes or starts the crew, and gives the guardian its task.
func (p *Process) enlist(c *Command) (*lines, error) {
	crew, err := crewFor(c.Stdin, c.Stdout, c.Stderr)
	if err != nil {
		return nil, err
	}
	p.leash, p.guardian = crew.lines.leash, crew.guardian
	opened := openGroup(crew.starter)
	p.group.id, p.group.handle = opened.id, opened.handle
	if c.Adopt && adoptOrphans() {
		p.group.caller = os.Getpid()
		for _, other := range childrenOf(p.group.caller) {
			if other.id != crew.starter && other.id != crew.guardian {
				p.group.except = append(p.group.except, other.id)
			}
		}
	}
	p.group.except = append(p.group.except, crew.guardian)
	if err := p.leash.sendTask(p.task(c), c.Keep); err != nil {
		crew.lines.closeOwn()
		return nil, fmt.Errorf("start the guardian: %w", err)
	}
	return crew.lines, nil
}

func (p *Process) task(c *Command) task {
	t := task{
		command: p.group.id, home: syscall.Getpgrp(), caller: p.group.caller, mark: c.Mark, except: p.group.except,
	}
	if c.Heir != nil {
		t.heir, t.heirEnv = c.Heir.Args, c.Heir.Env
	}
	return t
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
	<-p.done
	p.release()
	<-p.tended
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
