package client_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/host"
)

// TestGrace: where a space has a grace, a lock ends at its hold limit for its holder, and its name
// stays taken. It is free when the holder says that it has stopped.
func TestGrace(t *testing.T) {
	t.Parallel()
	l := loopback(t)
	spaces := []host.Space{
		{Name: "default", Protocol: "bakery", Options: map[string]string{"grace": "1h"}},
		{Name: "billing", Protocol: "bakery", Options: map[string]string{"grace": "snaplock"}},
	}
	n := serveSpaces(t, spaces, l, nil)
	opened := func() holdfast.Locker {
		c, err := client.Dial(t.Context(), l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	other, within := opened(), holdfast.Locker(n)
	for name, locks := range map[string]holdfast.Locker{"client": opened(), "node": within} {
		for _, space := range []string{"default", "billing"} {
			graceful(t, locks.Space(space), other.Space(space), name)
		}
	}
}

// graceful takes a name with a hold limit, and goes on beyond it.
func graceful(t *testing.T, locks, other holdfast.Locker, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lock, err := locks.Lock(ctx, name, holdfast.Hold(20*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	<-lock.Context().Done()
	if err := lock.Check(); !errors.Is(err, holdfast.HoldLimit) {
		t.Errorf("%s: after the hold limit: %v", name, err)
	}
	// The waiting request is not granted: the wait is longer than the table counts the limit.
	if _, err := other.Lock(ctx, name, holdfast.Wait(300*time.Millisecond)); !errors.Is(err, holdfast.ErrHeld) {
		t.Fatalf("%s: the name in its grace: %v, want it to be held", name, err)
	}
	if err := lock.Unlock(ctx); !errors.Is(err, holdfast.HoldLimit) {
		t.Errorf("%s: Unlock in the grace: %v", name, err)
	}
	next, err := other.TryLock(ctx, name)
	if err != nil {
		t.Fatalf("%s: the name after its holder has stopped: %v", name, err)
	}
	if err := lock.Unlock(ctx); !errors.Is(err, holdfast.HoldLimit) { // it releases nothing of the next one's
		t.Errorf("%s: a second Unlock: %v", name, err)
	}
	if err := next.Unlock(ctx); err != nil {
		t.Errorf("%s: Unlock of the next holder: %v", name, err)
	}
}
