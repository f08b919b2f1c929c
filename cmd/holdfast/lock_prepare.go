package main

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/supervise"
)

// preparation gives the command's guardian its task, and starts a starter if the command needs one, while the lock is
// being acquired. After a longer wait a command gets its processes when the lock is granted, so that such a wait costs one
// process.
type preparation struct {
	mark     string              // in the command's environment; see supervise.Command.Mark
	begun    chan struct{}       // closed when prepared is set; nil if nothing is prepared
	prepared *supervise.Prepared // the first to take it sets it to nil
	waits    sync.Once           // the first request is queued
}

// prepare begins to start the command's processes. An error is reported by start, which tries again.
func (l *locking) prepare() {
	command, err := l.supervised()
	if err != nil {
		return
	}
	l.begun = make(chan struct{})
	go func() {
		defer close(l.begun)
		l.prepared, _ = supervise.Prepare(command)
	}()
}

// takePrepared returns the processes that have been prepared, to one caller.
func (l *locking) takePrepared() *supervise.Prepared {
	if l.begun == nil {
		return nil
	}
	<-l.begun
	l.mu.Lock()
	defer l.mu.Unlock()
	prepared := l.prepared
	l.prepared = nil
	return prepared
}

// longWait is how long processes are kept that wait for a lock.
const longWait = 2 * time.Second

// abandonLater ends the processes that have been prepared if the lock is still waited for after a while.
func (l *locking) abandonLater() {
	l.waits.Do(func() { time.AfterFunc(longWait, l.abandon) })
}

// abandon ends the processes that have been prepared, and are not needed, or not yet.
func (l *locking) abandon() {
	if prepared := l.takePrepared(); prepared != nil {
		prepared.Abandon()
	}
}

// start runs the command.
func (l *locking) start(ctx context.Context, watch *watch) (*supervise.Process, error) {
	command, err := l.supervised()
	if err != nil {
		return nil, err
	}
	command.Env, command.Deadline = l.environment(), watch.kept
	if command.Heir != nil {
		command.Heir.Input = l.heirInput()
	}
	if prepared := l.takePrepared(); prepared != nil {
		return prepared.Start(ctx, command)
	}
	return supervise.Start(ctx, command)
}

// supervised returns what is known of the command before its lock is granted.
func (l *locking) supervised() (supervise.Command, error) {
	p := l.program
	heir, err := l.heir()
	return supervise.Command{
		Args: l.order.command, Keep: attending(l.client),
		Adopt: !l.order.detach, Mark: outerVariable + "=" + l.mark, Heir: heir,
		Stdin: p.stdin, Stdout: p.stdout, Stderr: p.stderr,
		Notice: func(sentence string) { l.say.printf("%s", sentence) },
	}, err
}

// newMark returns a word that no other command has in its environment.
func newMark() string { return rand.Text() }

// heir returns what the guardian starts to release the locks, without its input. A store that knows when a process has
// ended needs none.
func (l *locking) heir() (*supervise.Heir, error) {
	arguments, err := memberArguments(l.flags)
	if err != nil {
		return nil, err
	}
	heir := &supervise.Heir{
		Args: slices.Concat([]string{l.program.args[0], "heir"}, arguments),
		Env:  l.program.keeperEnvironment(),
	}
	switch lender, is := l.client.(*storeLender); {
	case is && len(attending(lender)) > 0:
		return nil, nil
	case is:
		heir.Args = slices.Concat(heir.Args, []string{
			"--space=" + l.status.space, "--store-options=" + l.order.store.options, "--rid=" + lender.Session(), "--",
		}, l.order.names)
	}
	return heir, nil
}

// heirInput returns the heir's input, once the locks are held: the session, or the URL of the store.
func (l *locking) heirInput() []byte {
	if lender, is := l.client.(*client.Client); is {
		return []byte(lender.Credentials() + "\n")
	}
	return []byte(l.order.store.url + "\n")
}

// word names the session among those of the enclosing commands. The name of a process in a store may have spaces.
func (l *locking) word() string { return strings.Join(strings.Fields(l.client.Session()), "_") }
