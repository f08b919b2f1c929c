package host_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// all calls LockAll and returns what it returned, once the request for the name that is
// held is queued.
func all(t *testing.T, n *host.Member, names []string, options ...holdfast.Option) <-chan error {
	t.Helper()
	result, queued := make(chan error, 1), make(chan struct{}, len(names))
	options = append(options, holdfast.OnQueued(func(int) { queued <- struct{}{} }))
	go func() {
		locks, err := n.LockAll(context.Background(), names, options...)
		if err != nil && locks != nil {
			err = errors.Join(err, errors.New("locks came with it"))
		}
		result <- err
	}()
	<-queued
	return result
}

// TestLockAllLooksAgain: a lock that was taken early and lost while a later one was
// waited for is not handed out, and neither is the other.
func TestLockAllLooksAgain(t *testing.T) {
	n := start(t, host.Config{})
	blocker := take(t, n, "b")
	result := all(t, n, []string{"b", "a"})
	if err := n.Break(context.Background(), "", "a", "test"); err != nil {
		t.Fatal(err)
	}
	give(t, blocker)
	if err := <-result; holdfast.Why(err) != holdfast.Broken {
		t.Errorf("LockAll: %v, want that a was broken", err)
	}
	give(t, take(t, n, "a"))
	give(t, take(t, n, "b"))
}

// TestLockAllWaitsOnce: its wait limit is for all names together.
func TestLockAllWaitsOnce(t *testing.T) {
	manual := clocktest.NewManual()
	n := start(t, host.Config{Clock: manual})
	first, second := take(t, n, "a"), take(t, n, "b")
	queued := make(chan struct{}, 2)
	result := make(chan error, 1)
	go func() {
		_, err := n.LockAll(context.Background(), []string{"a", "b"}, holdfast.Wait(10*time.Second),
			holdfast.OnQueued(func(int) { queued <- struct{}{} }))
		result <- err
	}()
	<-queued
	manual.Advance(9 * time.Second)
	give(t, first)
	<-queued
	manual.Advance(time.Second)
	if err := <-result; !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("LockAll: %v, want ErrHeld after 10 s in all", err)
	}
	give(t, second)
	give(t, take(t, n, "a"))
}
