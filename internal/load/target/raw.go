package target

import (
	"context"
	"fmt"
	"io"

	"github.com/holdfast-locks/holdfast/internal/load"
)

// ping sends a message and waits until it comes back.
func (p *pinger) ping() error {
	if _, err := p.Write(p.message[:]); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	if _, err := io.ReadFull(p, p.message[:]); err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// raw is ping-pongs with the echo server, as if each were a lock.
type raw struct{ bed *Bed }

func (r *raw) Name() string { return "raw" }

// Supports says that it has one worker, which thinks of nothing.
func (r *raw) Supports(c load.Cell) bool {
	return c == load.Cell{Workload: load.Uncontended, Workers: 1}
}

// Messages says that nothing is locked.
func (r *raw) Messages() load.Messages { return load.NoLocks }

// Start does nothing: the bed has the echo server.
func (r *raw) Start(context.Context) error { return nil }

func (r *raw) Stop() error { return nil }

// Usage is the echo server's.
func (r *raw) Usage(ctx context.Context, settle bool) (load.Usage, error) {
	return r.bed.echo.usage(ctx, settle)
}

func (r *raw) Connect(ctx context.Context, _ int) (load.Client, error) {
	p, err := dialPinger(ctx, r.bed.echo.listen)
	if err != nil {
		return nil, err
	}
	return rawClient{p}, nil
}

type rawClient struct{ *pinger }

func (c rawClient) Worker(context.Context, int) (load.Locker, error) { return c, nil }

// Lock is a ping-pong.
func (c rawClient) Lock(context.Context, string) (load.Held, error) { return nothing{}, c.ping() }

type nothing struct{}

func (nothing) Unlock(context.Context) error { return nil }
