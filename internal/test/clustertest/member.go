package clustertest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"syscall"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// Member is a `holdfast serve`, over several lives.
type Member struct {
	Name    string
	Address string
	// Command starts it.
	Command []string
	// Options are the client options for it. Nil means plain text.
	Options []client.Option

	*Process               // its present life; nil before the first
	ready    chan struct{} // closed when it has said that it can grant
	silent   chan struct{} // closed when it will not say that any more
}

// Start begins a life. It returns when the process runs; see AwaitReady.
func (m *Member) Start() error {
	ready, silent := make(chan struct{}), make(chan struct{})
	p, err := start("member "+m.Name, m.Command, func(output io.Reader) {
		defer close(silent)
		lines := bufio.NewReader(output)
		line, _ := lines.ReadBytes('\n') // its end is an empty line
		var said struct{ Event string }
		if err := json.Unmarshal(line, &said); err == nil && said.Event == "ready" {
			close(ready)
		}
		_, _ = io.Copy(io.Discard, lines)
	})
	if err != nil {
		return err
	}
	m.Process, m.ready, m.silent = p, ready, silent
	return nil
}

// AwaitReady waits until it has reported that it can grant.
func (m *Member) AwaitReady(ctx context.Context) error {
	select {
	case <-m.ready:
		return nil
	case <-m.silent:
		select {
		case <-m.ready:
			return nil
		default:
			return fmt.Errorf("member %s ended before it was ready: %s", m.Name, m.Log())
		}
	case <-ctx.Done():
		return fmt.Errorf("wait for member %s to be ready: %w; it says: %s", m.Name, ctx.Err(), m.Log())
	}
}

// Kill kills it with SIGKILL, and returns when it is dead.
func (m *Member) Kill() error { return m.kill() }

// KillAll kills members together, and returns when all are dead: each is signalled before the first is waited for.
func KillAll(members ...*Member) error {
	for _, m := range members {
		if err := m.beginKill(); err != nil {
			return err
		}
	}
	for _, m := range members {
		if err := m.awaitKill(); err != nil {
			return err
		}
	}
	return nil
}

// Terminate asks it for an orderly leave; AwaitEnd waits for that.
func (m *Member) Terminate() error { return m.signal(syscall.SIGTERM) }

// AwaitEnd waits until it has ended by itself, with exit code 0.
func (m *Member) AwaitEnd(ctx context.Context) error {
	if _, err := m.AwaitExit(ctx); err != nil {
		return err
	}
	if m.err != nil {
		return fmt.Errorf("member %s ended badly: %w: %s", m.Name, m.err, m.Log())
	}
	return nil
}

// AwaitExit waits until it has ended, and returns its exit code; -1 if a signal ended it.
func (m *Member) AwaitExit(ctx context.Context) (code int, err error) {
	select {
	case <-m.ended:
		return m.cmd.ProcessState.ExitCode(), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("wait for the end of member %s: %w; it says: %s", m.Name, ctx.Err(), m.Log())
	}
}

// Running reports whether its present life continues.
func (m *Member) Running() bool {
	if m.Process == nil {
		return false
	}
	select {
	case <-m.ended:
		return false
	default:
		return true
	}
}

// Status asks it for the status of itself and its cluster.
func (m *Member) Status(ctx context.Context) (*schema.Status, error) {
	admin, err := client.DialAdmin(m.Address, m.Options...)
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	return admin.Status(ctx)
}
