//go:build unix

package supervise

import (
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

// returned is how often to check whether the shell has given the terminal back to a command that waits for it in the
// background: no signal reports it.
const returned = 100 * time.Millisecond

// tend handles the events of the command, of the processes it has left running and of the guardian, until all have
// ended, or until Wait has released the rest. The guardian may have ended first: this process may have been stopped
// since its last check.
func (p *Process) tend() {
	defer close(p.tended)
	defer p.terminal.close()
	defer p.leash.close()
	defer signal.Stop(p.children)
	ticker := time.NewTicker(returned)
	defer ticker.Stop()
	for first := true; ; first = false {
		p.collectCommand()
		if !first || p.over() { // before the command has started anything, there is nothing to adopt
			p.collectAdopted()
		}
		if gone, released := p.collectGuardian(); gone && p.over() && (released || p.nothingLeft()) {
			return
		}
		var again <-chan time.Time
		if p.wants {
			again = ticker.C
		}
		select {
		case <-p.children:
		case <-again:
			p.lendAgain()
		}
	}
}

// over reports whether the command has ended, and nothingLeft whether everything it has left running has, too.
func (p *Process) over() bool        { return isClosed(p.done) }
func (p *Process) nothingLeft() bool { return isClosed(p.left) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// collectCommand handles all pending kernel reports on the command.
func (p *Process) collectCommand() {
	for !p.over() {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(p.group.id, &status, syscall.WNOHANG|syscall.WUNTRACED|continued, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			p.end(Exit{}, fmt.Errorf("wait for the command: %w", err))
		case pid == 0:
			return
		case status.Stopped():
			p.onStop(status.StopSignal())
		case status.Continued():
			p.stopped.Store(false)
			p.wants = false
		case status.Signal() == syscall.SIGKILL && p.late():
			p.end(exitOf(status), ErrDeadline)
		default:
			p.end(exitOf(status), nil)
		}
	}
}

// collectAdopted reaps adopted processes that have ended, and records when none is left.
func (p *Process) collectAdopted() {
	if p.group.caller == 0 || p.nothingLeft() {
		return
	}
	remains := false
	for _, child := range childrenOf(p.group.caller) {
		switch {
		case child.id == p.group.id || slices.Contains(p.group.except, child.id):
		case child.ended:
			// It is our child, so its number has not been reused yet.
			_, _ = syscall.Wait4(child.id, nil, syscall.WNOHANG, nil)
		default:
			remains = true
		}
	}
	if p.over() && !remains {
		close(p.left)
	}
}

// end records how the command ended, and restores the terminal before any caller learns of it.
func (p *Process) end(exit Exit, err error) {
	p.wants = false
	p.terminal.takeBack(exit.Signal != 0)
	signal.Reset(syscall.SIGTTOU)
	signal.Stop(p.refused)
	p.mu.Lock()
	p.exit = exit
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	close(p.done)
	if p.group.caller == 0 {
		close(p.left)
	}
}

// onStop handles a command that was stopped by sig.
func (p *Process) onStop(sig syscall.Signal) {
	p.stopped.Store(true)
	switch {
	case p.terminal.lent():
		if sig != syscall.SIGTTIN && sig != syscall.SIGTTOU && !p.warned {
			p.warned = true
			p.notice("the command cannot be stopped while it holds the lock and the terminal; it goes on")
		}
		p.resume()
	case sig == syscall.SIGTTIN || sig == syscall.SIGTTOU:
		p.wants = true
		if !p.lendAgain() {
			p.notice("the command waits for the terminal; fg gives it back")
		}
	}
}

// lendAgain gives the terminal to a command that wants it, if the caller's group has it.
func (p *Process) lendAgain() bool {
	if !p.terminal.lend() {
		return false
	}
	p.resume()
	return true
}

func (p *Process) resume() {
	p.wants = false
	p.stopped.Store(false)
	_ = p.group.signal(syscall.SIGCONT) // a process that is gone needs none
}

// collectGuardian reports whether the guardian has ended, and whether it was meant to. If it was not, the command and
// the processes it has left running are killed: they would run unguarded, or their deadline has come. A stopped
// guardian is continued at once.
func (p *Process) collectGuardian() (gone, released bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.guardian != 0 {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(p.guardian, &status, syscall.WNOHANG|syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err == nil && pid == 0:
			return false, p.released
		case err == nil && status.Stopped():
			_ = syscall.Kill(p.guardian, syscall.SIGCONT) // it may have been killed just now
			continue
		}
		p.guardian = 0
		switch {
		case err == nil && status.ExitStatus() == outOfTime:
			p.err = ErrDeadline
		case p.released || p.nothingLeft():
			continue
		default:
			p.err = ErrGuardian
		}
		_ = p.group.signalAll(syscall.SIGKILL) // it may have ended just now
	}
	return true, p.released
}

// release ends the guardian. It is killed, because that works on a stopped one too; its number is not reused until
// collectGuardian has seen its end. One that has already ended raises no event again, so tend has to check.
func (p *Process) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.released = true
	select {
	case p.children <- syscall.SIGCHLD:
	default: // a check is already scheduled
	}
	if p.guardian != 0 {
		_ = syscall.Kill(p.guardian, syscall.SIGKILL) // it may have ended just now
	}
}

// abandon undoes launch. The gate is closed by now, so a starter that still waits there exits even without the signal.
func (p *Process) abandon() {
	if p.group.id == 0 {
		p.end(Exit{}, nil)
	} else {
		_ = p.group.signal(syscall.SIGKILL) // it may have ended by itself
	}
	p.release()
	p.terminal.takeBack(false)
}
