package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/protocol"
)

// outcome is what a call for a lock returned.
type outcome struct {
	lock *holdfast.Lock
	err  error
}

// queue asks for a name on a goroutine of its own, and returns when the request is in
// the queue.
func queue(t *testing.T, ctx context.Context, locks holdfast.Locker, name string, options ...holdfast.Option) <-chan outcome {
	t.Helper()
	return queueBy(t, func(options ...holdfast.Option) (*holdfast.Lock, error) {
		return locks.Lock(ctx, name, options...)
	}, options...)
}

func queueBy(t *testing.T, ask func(options ...holdfast.Option) (*holdfast.Lock, error), options ...holdfast.Option) <-chan outcome {
	t.Helper()
	queued, result := make(chan struct{}), make(chan outcome, 1)
	go func() {
		l, err := ask(append(options, holdfast.OnQueued(func(int) { close(queued) }))...)
		result <- outcome{l, err}
	}()
	select {
	case <-queued:
	case early := <-result:
		t.Fatalf("answered without a wait: %+v", early)
	}
	return result
}

// granted returns the lock that a call returned.
func granted(t *testing.T, result <-chan outcome) *holdfast.Lock {
	t.Helper()
	got := <-result
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.lock
}

func take(t *testing.T, locks holdfast.Locker, name string, options ...holdfast.Option) *holdfast.Lock {
	t.Helper()
	l, err := locks.Lock(context.Background(), name, options...)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func give(t *testing.T, l *holdfast.Lock) {
	t.Helper()
	if err := l.Unlock(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// free checks that no session holds or wants anything in the default space.
func free(t *testing.T, n *host.Member) {
	t.Helper()
	if c := condition(t, n); c.Locks != 0 || c.Waiters != 0 || c.Sessions != 0 {
		t.Errorf("%d names, %d waiters, %d sessions are left", c.Locks, c.Waiters, c.Sessions)
	}
}

func condition(t *testing.T, n *host.Member) *protocol.Condition {
	t.Helper()
	reply, err := n.Driver().Do(context.Background(), 1, &protocol.Inspect{})
	if err != nil {
		t.Fatal(err)
	}
	return reply.Result.(*protocol.Condition)
}

func another(t *testing.T, n *host.Member) holdfast.Locker {
	t.Helper()
	locks, err := n.Session(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return locks
}

// lostBecause checks that a lock has ended, and why.
func lostBecause(t *testing.T, l *holdfast.Lock, why error) {
	t.Helper()
	<-l.Context().Done()
	if cause := context.Cause(l.Context()); !errors.Is(cause, why) {
		t.Errorf("the context of %q ended because of %v, want %v", l.Name(), cause, why)
	}
	if err := l.Check(); !errors.Is(err, why) {
		t.Errorf("the lock %q ended because of %v, want %v", l.Name(), err, why)
	}
}

// says checks that err is a sentence with all of words.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", want)
	}
	for _, text := range want {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not say %q", err, text)
		}
	}
}

// stretch is how long a member waits for what others count as d.
func stretch(d time.Duration) time.Duration { return d + d/20 }
