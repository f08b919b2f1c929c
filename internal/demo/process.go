package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// process is a member or a worker.
type process struct {
	number int // of a worker, from 1
	cmd    *exec.Cmd
	input  io.WriteCloser
	errors *tail

	mu     sync.Mutex
	killed bool
}

// tail keeps the end of what a process says on its standard error, for when it fails.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p)
	if over := t.text.Len() - 4096; over > 0 {
		t.text.Next(over)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(t.text.String())
}

// start runs the program with its standard input and output piped to us.
func start(program string, args []string, number int) (*process, io.Reader, error) {
	p := &process{number: number, cmd: exec.Command(program, args...), errors: &tail{}}
	p.cmd.Stderr = p.errors
	// In a group of its own: an interrupt typed at the terminal is for the demo, which
	// then ends the others.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, nil, err
	}
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, nil, err
	}
	return p, output, nil
}

// startMember starts a daemon of its own and returns where it serves.
func startMember(ctx context.Context, program, folder string) (*process, string, error) {
	p, output, err := start(program, []string{
		"serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state", filepath.Join(folder, "state"), "--log-level", "warn",
	}, 0)
	if err != nil {
		return nil, "", err
	}
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(output).ReadString('\n') // its end is an empty line
		lines <- line
		_, _ = io.Copy(io.Discard, output)
	}()
	select {
	case line := <-lines:
		var said struct{ Event, Listen string }
		if err := json.Unmarshal([]byte(line), &said); err != nil || said.Event != "ready" {
			return p, "", errors.Join(fmt.Errorf("it said %q instead of being ready: %v", line, p.errors), err)
		}
		return p, "holdfast://" + said.Listen, nil
	case <-ctx.Done():
		return p, "", fmt.Errorf("it was not ready in time: %w", ctx.Err())
	}
}

// startWorker starts a worker, whose events are sent to events, the last being gone.
func startWorker(program string, args []string, number int, events chan<- event) (*process, error) {
	p, output, err := start(program, args, number)
	if err != nil {
		return nil, err
	}
	go func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			var e event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				// The last line of a killed process may be cut.
				e = event{Kind: failed, Why: fmt.Sprintf("said %q", lines.Text())}
				if p.wasKilled() {
					continue
				}
			}
			e.worker = number
			events <- e
		}
		last := event{Kind: gone, worker: number}
		if err := p.cmd.Wait(); err != nil && !p.wasKilled() {
			last.Why = fmt.Sprintf("%v: %v", err, p.errors)
		}
		events <- last
	}()
	return p, nil
}

func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// order writes a line to a worker's input.
func (p *process) order(line string) error {
	if _, err := io.WriteString(p.input, line+"\n"); err != nil {
		return fmt.Errorf("order worker %d to %s: %w", p.number, line, err)
	}
	return nil
}

func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("send %v to worker %d: %w", s, p.number, err)
	}
	return nil
}

// kill ends a worker with SIGKILL.
func (p *process) kill() error {
	p.mu.Lock()
	p.killed = true
	p.mu.Unlock()
	return p.signal(syscall.SIGKILL)
}

// finish lets a worker end by itself: its input ends.
func (p *process) finish() error {
	_ = p.input.Close() // a killed one has closed it already
	if p.wasKilled() {
		return nil
	}
	// A worker that is still stopped could not hear it.
	return p.signal(syscall.SIGCONT)
}

// terminate ends the member in good order.
func (p *process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("end the member: %w", err)
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the member ended badly: %w: %v", err, p.errors)
	}
	return nil
}
