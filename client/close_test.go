package client

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestCloseOfNothing: Close does not wait for a member where none is connected and nothing is to be freed; where a
// lock is held it does.
func TestCloseOfNothing(t *testing.T) {
	long := func(s *settings) { s.goodbye = 2 * patience }
	s, v := newStage(t, long)
	v.broken()
	s.until(func() bool { return !s.client.machine.Connected() })
	result := make(chan error, 1)
	go func() { result <- s.client.Close() }()
	select {
	case err := <-result:
		if !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("Close without a member: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Close waits for a member")
	}

	s, v = newStage(t, long)
	s.hold(v, "x", 1)
	v.broken()
	s.until(func() bool { return !s.client.machine.Connected() })
	go func() { result <- s.client.Close() }()
	s.until(func() bool { return s.client.machine.Closing() })
	v = s.accept()
	v.welcome("a-1", testTTL)
	v.send(released(v.wantOp("end", 0).Id, nil))
	if err := <-result; err != nil {
		t.Errorf("Close with a lock that is held: %v", err)
	}
}

// TestShutdown: the end of the session covers queued releases, whose refusals are reported; and ctx ends the wait.
func TestShutdown(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	if err := lock.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", lock.Request())
	result := make(chan error, 1)
	go func() { result <- s.client.Shutdown(s.ctx) }()
	v.send(released(v.wantOp("end", 0).Id, nil))
	if err := <-result; err != nil {
		t.Errorf("a release that the end of the session covers: %v", err)
	}

	s, v = newStage(t)
	lock = s.hold(v, "x", 1)
	if err := lock.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", lock.Request())
	go func() { result <- s.client.Shutdown(s.ctx) }()
	end := v.wantOp("end", 0)
	v.send(released(lock.Request(), &schema.Problem{Code: api.CodeLost, Why: string(holdfast.Broken)}), released(end.Id, nil))
	if err := <-result; holdfast.Why(err) != holdfast.Broken {
		t.Errorf("a release that was refused: %v", err)
	}

	s, v = newStage(t)
	s.hold(v, "x", 1)
	ctx, cancel := context.WithCancel(s.ctx)
	go func() { result <- s.client.Shutdown(ctx) }()
	v.wantOp("end", 0)
	cancel()
	if err := <-result; !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("a shutdown whose context has ended: %v", err)
	}
}
