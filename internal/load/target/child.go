package target

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
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/load/soak"
)

// child is a server process of the bench.
type child struct {
	who     string
	cmd     *exec.Cmd
	orders  io.WriteCloser
	answers chan answer // closed at the end of its output
	ended   chan struct{}
	err     error // valid once ended
	log     LogTail

	orderMu sync.Mutex // one order at a time
	ready   bool
	listen  string

	cpuProfile    string // its profiles' files; "" for none
	memoryProfile string
}

// LogTail keeps the last 4 KiB of a process's standard error. It is safe for concurrent use; the zero value is empty.
type LogTail struct {
	mu   sync.Mutex
	text []byte
}

// lastBytes is the number of bytes kept.
const lastBytes = 4096

// Write keeps the end of p. It never fails.
func (l *LogTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = slices.Delete(l.text, 0, max(0, len(l.text)-lastBytes))
	return len(p), nil
}

// String returns the kept text, trimmed.
func (l *LogTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(bytes.TrimSpace(l.text))
}

// startChild starts a command that ends when its standard input closes; see Leash.
func startChild(who string, command []string) (*child, error) {
	c := &child{who: who, cmd: exec.Command(command[0], command[1:]...), answers: make(chan answer, 1), ended: make(chan struct{})}
	c.cmd.Stderr = &c.log
	// The user's settings for a client or a member do not apply.
	c.cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "HOLDFAST_") })
	// In its own process group: an interrupt typed at the terminal is for the bench, which then ends the others.
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	orders, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", who, err)
	}
	c.orders = orders
	said, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", who, err)
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", who, err)
	}
	go c.listenTo(said)
	return c, nil
}

func (c *child) listenTo(said io.Reader) {
	for lines := bufio.NewScanner(said); lines.Scan(); {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			a.Error = fmt.Sprintf("it says %q", lines.Text())
		}
		c.answers <- a
	}
	close(c.answers)
	c.err = c.cmd.Wait()
	close(c.ended)
}

// awaitReady waits until it has reported that it serves.
func (c *child) awaitReady(ctx context.Context) error {
	a, err := c.next(ctx, "wait until "+c.who+" is ready")
	if err == nil && a.Event != "ready" {
		err = fmt.Errorf("wait until %s is ready: it says %q", c.who, a.Event)
	}
	if err != nil {
		return err
	}
	c.listen, c.ready = a.Listen, true
	if c.cpuProfile != "" {
		_, err = c.order(ctx, orderProfile+" "+c.cpuProfile)
	}
	return err
}

// writeProfiles makes it write its requested profiles.
func (c *child) writeProfiles() error {
	if !c.ready || c.cpuProfile == "" && c.memoryProfile == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	var errs []error
	if c.cpuProfile != "" {
		_, err := c.order(ctx, orderFinish)
		errs = append(errs, err)
	}
	if c.memoryProfile != "" {
		_, err := c.order(ctx, orderMemory+" "+c.memoryProfile)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// order sends an order and returns the answer.
func (c *child) order(ctx context.Context, text string) (answer, error) {
	c.orderMu.Lock()
	defer c.orderMu.Unlock()
	if _, err := io.WriteString(c.orders, text+"\n"); err != nil {
		return answer{}, fmt.Errorf("order %s to %s: %w: %v", c.who, text, err, &c.log)
	}
	return c.next(ctx, "order "+c.who+" to "+text)
}

func (c *child) next(ctx context.Context, what string) (answer, error) {
	select {
	case a, more := <-c.answers:
		switch {
		case !more:
			select {
			case <-c.ended: // so its last output has come
			case <-ctx.Done():
			}
			return a, fmt.Errorf("%s: it has ended: %v", what, &c.log)
		case a.Error != "":
			return a, fmt.Errorf("%s: %s", what, a.Error)
		}
		return a, nil
	case <-ctx.Done():
		return answer{}, fmt.Errorf("%s: %w; it says: %v", what, context.Cause(ctx), &c.log)
	}
}

// usage returns its resource usage so far.
func (c *child) usage(ctx context.Context, settle bool) (load.Usage, error) {
	order := orderUsage
	if settle {
		order = orderSettle
	}
	a, err := c.order(ctx, order)
	return load.Usage{CPU: time.Duration(a.CPU), Resident: a.Resident, Heap: a.Heap}, err
}

// sample returns its state, with its live heap.
func (c *child) sample(ctx context.Context) (soak.Process, error) {
	a, err := c.order(ctx, orderSample)
	return soak.Process{
		Name:  c.who,
		Usage: load.Usage{CPU: time.Duration(a.CPU), Resident: a.Resident, Heap: a.Heap}, Goroutines: a.Goroutines, Files: a.Files,
	}, err
}

// procs limits its CPUs, and returns the former limit.
func (c *child) procs(ctx context.Context, count int) (int, error) {
	a, err := c.order(ctx, orderProcs+" "+strconv.Itoa(count))
	return a.Procs, err
}

// stopLimit is the time limit for a child to end.
const stopLimit = 5 * time.Second

// stop ends it, after writing its profiles.
func (c *child) stop() error {
	return errors.Join(c.writeProfiles(), c.end())
}

// end ends it.
func (c *child) end() error {
	closed := c.orders.Close()
	timer := time.NewTimer(stopLimit)
	defer timer.Stop()
	unread := c.answers
	for limit := timer.C; ; {
		select {
		case <-c.ended:
			if c.err != nil {
				return fmt.Errorf("end %s: %w: %v", c.who, c.err, &c.log)
			}
			if errors.Is(closed, os.ErrClosed) {
				return nil
			}
			return closed
		case _, more := <-unread: // no caller waits for it any more
			if !more {
				unread = nil
			}
		case <-limit:
			if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("end %s: %w", c.who, err)
			}
			limit = nil
		}
	}
}
