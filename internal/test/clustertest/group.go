package clustertest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Group is a group of workers with all their reports, in the order of arrival.
type Group struct {
	// Worker is the command of a worker, followed by servers, the register's path, and "pool" for a worker that takes
	// only the pool.
	Worker []string
	// Register is the path of the guarded file.
	Register string
	// Heard is called with each event, one at a time. It may be nil.
	Heard func(Event)

	clock   clock.Clock
	workers []*Process
	gone    []chan struct{} // of each worker: closed when all its reports are in the history

	mu      sync.Mutex
	history []Event
	changed chan struct{} // closed and replaced when history grows
}

// NewGroup makes a group without workers.
func NewGroup(worker []string, register string) *Group {
	return &Group{Worker: worker, Register: register, clock: clock.Real(), changed: make(chan struct{})}
}

// StartAll starts workers, spread over all members of a cluster. The second half of them takes only the pool.
func (c *Group) StartAll(cluster *Cluster, count int) error {
	for i := range count {
		if _, err := c.Start(cluster.Servers(i), i >= (count+1)/2); err != nil {
			return err
		}
	}
	return nil
}

// Start starts one more worker, and returns it.
func (c *Group) Start(servers string, poolOnly bool) (*Process, error) {
	number := len(c.workers) + 1
	command := append(slices.Clone(c.Worker), servers, c.Register)
	if poolOnly {
		command = append(command, "pool")
	}
	var p *Process
	begun := make(chan struct{})
	p, err := start("worker "+strconv.Itoa(number), command, func(output io.Reader) {
		<-begun
		c.listen(p, output)
	})
	if err != nil {
		return nil, err
	}
	gone := make(chan struct{})
	p.Number, p.PoolOnly = number, poolOnly
	c.workers, c.gone = append(c.workers, p), append(c.gone, gone)
	close(begun)
	go func() {
		defer close(gone)
		<-p.ended
		last := Event{Kind: Gone, Worker: number}
		if p.err != nil && !p.wasKilled() {
			last.Why = fmt.Sprintf("%v: %s", p.err, p.Log())
		}
		c.Note(last)
	}()
	return p, nil
}

// Workers returns the workers, the first being number 1.
func (c *Group) Workers() []*Process { return c.workers }

func (c *Group) listen(p *Process, output io.Reader) {
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var e Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			if p.wasKilled() {
				continue // the last line of a killed process may be cut
			}
			e = Event{Kind: Failed, Why: fmt.Sprintf("said %q", lines.Text())}
		}
		e.Worker = p.Number
		c.Note(e)
	}
}

// Note adds an event to the history, at the present time unless it has one.
func (c *Group) Note(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.At == 0 {
		e.At = c.clock.Now()
	}
	c.history = append(c.history, e)
	if c.Heard != nil {
		c.Heard(e)
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Now returns the time on the workers' clock.
func (c *Group) Now() time.Duration { return c.clock.Now() }

// Mark returns the current end of the history.
func (c *Group) Mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.history)
}

// History returns the events since a mark.
func (c *Group) History(mark int) []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.history[mark:])
}

// Await waits for a matching event since a mark, and returns the first. A worker that fails ends the wait.
func (c *Group) Await(ctx context.Context, what string, mark int, is func(Event) bool) (Event, error) {
	for {
		c.mu.Lock()
		fresh, changed := c.history[mark:], c.changed
		c.mu.Unlock()
		for _, e := range fresh {
			switch {
			case is(e):
				return e, nil
			case e.Kind == Failed, e.Kind == Gone && e.Why != "":
				return e, fmt.Errorf("wait for %s: worker %d: %s", what, e.Worker, e.Why)
			}
		}
		mark += len(fresh)
		select {
		case <-changed:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("wait for %s: %w", what, ctx.Err())
		}
	}
}

// AwaitAll waits until each of the workers was granted a lock after a given time.
func (c *Group) AwaitAll(ctx context.Context, mark int, after time.Duration, workers ...*Process) error {
	for _, w := range workers {
		_, err := c.Await(ctx, fmt.Sprintf("worker %d to be granted a lock", w.Number), mark, func(e Event) bool {
			return e.Worker == w.Number && e.Kind == Entered && e.At > after
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// awaitKeeping orders a worker to keep the register, and returns its report when it has it.
func (c *Group) awaitKeeping(ctx context.Context, w *Process) (Event, error) {
	mark := c.Mark()
	if err := w.Order("keep"); err != nil {
		return Event{}, err
	}
	return c.Await(ctx, fmt.Sprintf("worker %d to keep the register", w.Number), mark, func(e Event) bool {
		return e.Worker == w.Number && e.Kind == Keeping
	})
}

// KeepThrough orders a worker to keep the register, one that goes through a suitable member. Workers stay at their
// member, and a member that has lapsed has none: so if there is none, one more is started that begins at the member
// otherwise.
func (c *Group) KeepThrough(ctx context.Context, cluster *Cluster, will func(member string) bool, otherwise *Member) (*Process, Event, error) {
	for next := 0; ; next++ {
		if next == len(c.workers) {
			if _, err := c.Start(cluster.Servers(slices.Index(cluster.Members, otherwise)), false); err != nil {
				return nil, Event{}, err
			}
		}
		w := c.workers[next]
		if w.PoolOnly || w.wasKilled() {
			continue
		}
		kept, err := c.awaitKeeping(ctx, w)
		if err != nil || will(kept.Member) {
			return w, kept, err
		}
		if err := w.Order("go on"); err != nil {
			return nil, kept, err
		}
	}
}

// Kill kills a worker.
func (c *Group) Kill(w *Process) error {
	if err := w.kill(); err != nil {
		return err
	}
	c.Note(Event{Kind: Killed, Worker: w.Number})
	return nil
}

// grace is the time limit for workers to end by themselves.
const grace = 10 * time.Second

// Finish lets all workers end by themselves, and returns when all their reports have arrived. Those that do not end are
// killed, which is an error.
func (c *Group) Finish() error {
	var errs []error
	for _, w := range c.workers {
		_ = w.input.Close() // a killed one has closed it already
		errs = append(errs, w.Continue())
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for i, w := range c.workers {
		select {
		case <-c.gone[i]:
			continue
		case <-ctx.Done():
		}
		errs = append(errs, fmt.Errorf("worker %d did not end within %v: %s", w.Number, grace, w.Log()), w.kill())
		<-c.gone[i]
	}
	return errors.Join(errs...)
}

// Judge judges all reports, once the workers have ended.
func (c *Group) Judge() (Verdict, error) {
	writes, err := Register{c.Register}.writes()
	return judge(c.History(0), writes), err
}
