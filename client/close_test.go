package client

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
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
