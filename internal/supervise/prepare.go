//go:build unix

package supervise

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Start runs a command in its own process group, under guard, and returns when it runs.
//
// The command does not run at all if ctx is done before; the error is then ctx's cause. Pass the lock's context: a
// machine that was slow to start the guardian must not run the command with a lost lock. Once Start has returned, ctx
// is ignored. If the command cannot be run, the error is a *[StartError].
//
// From Start until the command's end the caller cannot be stopped from the terminal, and SIGTTOU is ignored.
func Start(ctx context.Context, c Command) (*Process, error) {
	prepared, err := Prepare(c)
	if err != nil {
		return nil, err
	}
	return prepared.Start(ctx, c)
}

// Prepared is a command that does not run yet, but has a guardian. One of Start and Abandon must be called, once.
type Prepared struct {
	process *Process
	orders  chan *launch
	started chan error
}

// launch is what a prepared command needs to run.
type launch struct {
	ctx      context.Context
	env      []string
	deadline time.Duration
	heir     *Heir
}

var errAbandoned = errors.New("the command was abandoned before it ran")

// Prepare starts the processes of a command, as far as they do not run already, while the caller does something else. It
// does not use Env, Deadline and the heir's Input, which may not be known yet. The errors are those of [Start].
func Prepare(c Command) (*Prepared, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("start the command: Args is empty, want a command and its arguments")
	}
	path, err := Find(c.Args[0])
	if err == nil {
		err = c.Heir.check()
	}
	if err != nil {
		return nil, err
	}
	c.Stdin, c.Stdout, c.Stderr = cmp.Or(c.Stdin, os.Stdin), cmp.Or(c.Stdout, os.Stdout), cmp.Or(c.Stderr, os.Stderr)
	p := &Process{
		notice:   c.Notice,
		children: make(chan os.Signal, 1),
		refused:  make(chan os.Signal, 1),
		done:     make(chan struct{}),
		left:     make(chan struct{}),
		tended:   make(chan struct{}),
	}
	p.deadline.Store(int64(clock.Never))
	if p.notice == nil {
		p.notice = func(string) {}
	}
	r := &Prepared{process: p, orders: make(chan *launch, 1), started: make(chan error, 1)}
	prepared := make(chan error, 1)
	go p.run(&c, path, prepared, r.orders, r.started)
	if err := <-prepared; err != nil {
		return nil, err
	}
	return r, nil
}

// Start lets the command run, with Env, Deadline and the heir's Input of c. See [Start].
func (r *Prepared) Start(ctx context.Context, c Command) (*Process, error) {
	if err := c.Heir.check(); err != nil {
		r.Abandon()
		return nil, err
	}
	r.orders <- &launch{ctx, environment(c.Env), c.Deadline, c.Heir}
	if err := <-r.started; err != nil {
		return nil, err
	}
	return r.process, nil
}

// Abandon ends the processes. The command does not run.
func (r *Prepared) Abandon() {
	r.orders <- nil
	<-r.started
	<-r.process.tended
}
