package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a member or a worker.
type Process struct {
	Number   int  // of a worker, from 1
	PoolOnly bool // a worker takes the pool alone

	who    string
	cmd    *exec.Cmd
	input  io.WriteCloser
	errors *tail
	ended  chan struct{} // closed when it has ended and was heard to the end
	err    error         // since ended

	mu     sync.Mutex
	killed bool
}

// tail keeps the end of a process's standard error, for failures.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// tailBytes is the number of bytes kept.
const tailBytes = 1 << 16

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p)
	if over := t.text.Len() - tailBytes; over > 0 {
		t.text.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.text.String())
}

// start runs a command with its input and output piped to us. Hear reads its output to the end on a separate goroutine;
// after that the process is waited for.
func start(who string, command []string, hear func(io.Reader)) (*Process, error) {
	p := &Process{who: who, cmd: exec.Command(command[0], command[1:]...), errors: &tail{}, ended: make(chan struct{})}
	p.cmd.Stderr = p.errors
	// What the trial's own user has set up for a client or a member is not for these.
	p.cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "HOLDFAST_") })
	// In a group of its own: an interrupt typed at the terminal is for the trial, which
	// then ends the others.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", who, err)
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", who, err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", who, err)
	}
	go func() {
		hear(output)
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// pid returns the process id.
func (p *Process) pid() int { return p.cmd.Process.Pid }

// Log returns the end of its standard error.
func (p *Process) Log() string { return p.errors.String() }

// Order writes a line to a worker's input.
func (p *Process) Order(line string) error {
	if _, err := io.WriteString(p.input, line+"\n"); err != nil {
		return fmt.Errorf("order %s to %s: %w", p.who, line, err)
	}
	return nil
}

func (p *Process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to %s: %w", s, p.who, err)
	}
	return nil
}

// kill ends it with SIGKILL and waits until it is dead.
func (p *Process) kill() error {
	if err := p.beginKill(); err != nil {
		return err
	}
	return p.awaitKill()
}

func (p *Process) beginKill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	return p.signal(syscall.SIGKILL)
}

func (p *Process) awaitKill() error {
	<-p.ended
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		return fmt.Errorf("kill %s: it ended by itself before: %v: %s", p.who, p.cmd.ProcessState, p.Log())
	}
	return nil
}

func (p *Process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// Stop stops it with SIGSTOP and waits until the system reports that it is stopped.
func (p *Process) Stop() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		stopped, err := p.Stopped()
		if err != nil || stopped {
			return err
		}
		select {
		case <-time.After(pause):
		case <-p.ended:
			return fmt.Errorf("stop %s: it has ended: %v: %s", p.who, p.err, p.Log())
		}
	}
}

// Continue continues it.
func (p *Process) Continue() error { return p.signal(syscall.SIGCONT) }
