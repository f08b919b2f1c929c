package target

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"

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
type raw struct{ harness *Harness }

func (r *raw) Name() string { return "raw" }

// Supports excludes think times and shared names, which do not apply.
func (r *raw) Supports(c load.Cell) bool {
	return c.Workload == load.Uncontended && c.Think == 0
}

// Messages returns NoLocks.
func (r *raw) Messages() load.Messages { return load.NoLocks }

// Start has no effect: the harness has the echo server.
func (r *raw) Start(context.Context) error { return nil }

func (r *raw) Stop() error { return nil }

// Usage returns the echo server's.
func (r *raw) Usage(ctx context.Context, settle bool) (load.Usage, error) {
	return r.harness.echo.usage(ctx, settle)
}

func (r *raw) Connect(ctx context.Context, c load.Cell) (load.Client, error) {
	p, err := dialPinger(ctx, r.harness.echo.listen)
	if err != nil {
		return nil, err
	}
	if c.Workers == 1 {
		return rawClient{p}, nil
	}
	return newPipeline(p, c.Workers), nil
}

type rawClient struct{ *pinger }

func (c rawClient) Worker(context.Context, int) (load.Locker, error) { return c, nil }

// Lock is a ping-pong.
func (c rawClient) Lock(context.Context, string) (load.Held, error) { return nothing{}, c.ping() }

type nothing struct{}

func (nothing) Unlock(context.Context) error { return nil }

// pipeline is one connection with one ping-pong of each worker under way. Messages pending at the same time travel
// together, both ways.
type pipeline struct {
	net     net.Conn
	workers []pipelined
	done    chan struct{} // closed when nothing comes back any more

	mu      sync.Mutex
	writing bool
	out     []byte
	spare   []byte // used by the writer
	err     error  // why it is done
}

// pipelined is a worker of a pipeline.
type pipelined struct {
	pipeline *pipeline
	message  [messageBytes]byte
	back     chan struct{}
}

func newPipeline(connection net.Conn, workers int) *pipeline {
	p := &pipeline{net: connection, workers: make([]pipelined, workers), done: make(chan struct{})}
	for i := range p.workers {
		w := &p.workers[i]
		w.pipeline, w.back = p, make(chan struct{}, 1)
		binary.BigEndian.PutUint32(w.message[:], uint32(i))
	}
	go p.read()
	return p
}

func (p *pipeline) Worker(_ context.Context, number int) (load.Locker, error) {
	return &p.workers[number], nil
}

// Close ends the connection.
func (p *pipeline) Close() error {
	err := p.net.Close()
	<-p.done
	return err
}

// Lock is a ping-pong.
func (w *pipelined) Lock(context.Context, string) (load.Held, error) {
	p := w.pipeline
	p.send(w.message[:])
	select {
	case <-w.back:
		return nothing{}, nil
	case <-p.done:
		return nil, p.err
	}
}

// send writes a message, or leaves it to the worker that is writing. Write errors come back through the reader.
func (p *pipeline) send(message []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out = append(p.out, message...); p.writing {
		return
	}
	p.writing = true
	p.mu.Unlock()
	runtime.Gosched() // other runnable workers add theirs
	p.mu.Lock()
	for len(p.out) > 0 {
		p.out, p.spare = p.spare[:0], p.out
		p.mu.Unlock()
		if _, err := p.net.Write(p.spare); err != nil {
			_ = p.net.Close() // the reader informs all
		}
		p.mu.Lock()
	}
	p.writing = false
}

// read informs the workers of their returned messages.
func (p *pipeline) read() {
	defer close(p.done)
	buffer, kept := make([]byte, echoBytes), 0
	for {
		n, err := p.net.Read(buffer[kept:])
		if err != nil {
			p.err = fmt.Errorf("ping: %w", err)
			return
		}
		rest := buffer[:kept+n]
		for ; len(rest) >= messageBytes; rest = rest[messageBytes:] {
			number := binary.BigEndian.Uint32(rest)
			if int(number) >= len(p.workers) {
				p.err = errors.Join(fmt.Errorf("ping: a message came back to worker %d of %d", number, len(p.workers)), p.net.Close())
				return
			}
			p.workers[number].back <- struct{}{}
		}
		kept = copy(buffer, rest)
	}
}
