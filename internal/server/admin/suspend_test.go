package admin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/server/admin"
	"github.com/holdfast-locks/holdfast/lock"
)

func order(wait time.Duration) admin.Order {
	return admin.Order{Space: "billing", Reason: "restore", By: "ops", Wait: wait}
}

// TestSuspendAndResume: a suspension is a lock that says who asked for it and why, the second one
// changes nothing, and it has ended when Resume returns.
func TestSuspendAndResume(t *testing.T) { onEach(t, suspendAndResume) }

func suspendAndResume(t *testing.T, b *harness) {
	o := b.service()
	if resumed, err := o.Resume(t.Context(), order(0)); err != nil || resumed.Changed || resumed.Grant.Token != 0 {
		t.Errorf("what is not suspended is resumed: %+v, %v", resumed, err)
	}
	for range 3 {
		first, err := o.Suspend(t.Context(), order(admin.Forever))
		if err != nil || !first.Changed {
			t.Fatalf("suspended %+v, %v", first, err)
		}
		holders, _ := b.suspension()
		if len(holders) != 1 || holders[0].Owner != admin.Owner || holders[0].Client != "ops" || holders[0].Reason != "restore" {
			t.Fatalf("held by %+v", holders)
		}
		if g := first.Grant; g.Token != holders[0].Token || g.Session != holders[0].Session || g.Reason != "restore" || g.Client != "ops" {
			t.Errorf("got %+v, held %+v", g, holders[0])
		}
		again, err := o.Suspend(t.Context(), admin.Order{Space: "billing", Reason: "another"})
		if err != nil || again.Changed || again.Grant.Token != first.Grant.Token || again.Grant.Reason != "restore" {
			t.Errorf("again: %+v, %v", again, err)
		}
		resumed, err := o.Resume(t.Context(), order(0))
		if err != nil || !resumed.Changed || resumed.Grant.Token != first.Grant.Token {
			t.Errorf("resumed %+v, %v", resumed, err)
		}
		if holders, waiters := b.suspension(); len(holders)+waiters != 0 {
			t.Fatalf("after it: %+v, %d wait", holders, waiters)
		}
	}
}

// TestSuspendWaits until nothing is held, or for as long as it may; then nothing stays
// queued.
func TestSuspendWaits(t *testing.T) { onEach(t, suspendWaits) }

func suspendWaits(t *testing.T, b *harness) {
	o := b.service()
	other := b.program()
	held := other.acquire("orders/42", false)
	if _, err := o.Suspend(t.Context(), order(0)); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("without a wait: %v", err)
	}
	ended := make(chan error)
	suspend := func(ctx context.Context, wait time.Duration) {
		go func() {
			_, err := o.Suspend(ctx, order(wait))
			ended <- err
		}()
		b.until(1)
	}
	suspend(t.Context(), time.Second)
	b.clock.Advance(time.Second + lock.WaitGrace/2) // later, and its member takes it for unanswered
	if err := <-ended; !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("after the wait: %v", err)
	}
	cause := errors.New("the caller has gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	suspend(ctx, admin.Forever)
	cancel(cause)
	if err := <-ended; err != cause {
		t.Errorf("after the call: %v", err)
	}
	b.untilFree()
	suspend(t.Context(), admin.Forever)
	b.untilStopped("orders/43")
	other.release(held)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if d := other.acquire("orders/42", true); d.Kind != lock.Refused || !errors.Is(d.Err, holdfast.ErrHeld) {
		t.Errorf("a lock of a suspended space: %+v", d)
	}
	if _, err := o.Resume(t.Context(), order(0)); err != nil {
		t.Error(err)
	}
	if d := other.acquire("orders/42", true); d.Kind != lock.Granted {
		t.Errorf("a lock of a space that was resumed: %+v", d)
	}
}

// untilStopped waits until a name of billing, which is free, is not granted any more: where
// there are shards, a suspension that waits comes to one after the other.
func (b *harness) untilStopped(name string) {
	b.t.Helper()
	newcomer := b.program()
	for deadline := time.Now().Add(time.Minute); ; {
		d := newcomer.acquire(name, true)
		if d.Kind == lock.Refused && errors.Is(d.Err, holdfast.ErrHeld) {
			return
		}
		newcomer.release(d)
		if time.Now().After(deadline) {
			b.t.Fatalf("a new lock behind a suspension that waits: %+v", d)
		}
	}
}

// until waits until so many wait to suspend billing.
func (b *harness) until(waiters int) {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		if _, now := b.suspension(); now == waiters {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("not %d wait", waiters)
		}
	}
}

// untilFree waits until no session suspends billing, or waits to.
func (b *harness) untilFree() {
	b.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		holders, waiters := b.suspension()
		switch {
		case len(holders)+waiters == 0:
			return
		case time.Now().After(deadline):
			b.t.Fatalf("held by %+v, and %d wait", holders, waiters)
		}
	}
}

// TestSuspensionOfAnotherOperator is one: it is found at once, or when the own request
// could not be granted because of it; and an operator that resumes ends it.
func TestSuspensionOfAnotherOperator(t *testing.T) { onEach(t, suspensionOfAnotherOperator) }

func suspensionOfAnotherOperator(t *testing.T, b *harness) {
	one, two := b.service(), b.service()
	first, err := one.Suspend(t.Context(), order(0))
	must(t, err)
	second, err := two.Suspend(t.Context(), admin.Order{Space: "billing"})
	if err != nil || second.Changed || second.Grant.Token != first.Grant.Token {
		t.Errorf("the second: %+v, %v", second, err)
	}
	if resumed, err := two.Resume(t.Context(), order(0)); err != nil || !resumed.Changed {
		t.Errorf("resumed: %+v, %v", resumed, err)
	}
	if d := b.program().acquire("x", false); d.Kind != lock.Granted {
		t.Errorf("after it: %+v", d)
	}
}

// TestSuspendsAtOnce: of several operators at one time each learns that the space is suspended,
// and one Resume ends it.
func TestSuspendsAtOnce(t *testing.T) { onEach(t, suspendsAtOnce) }

func suspendsAtOnce(t *testing.T, b *harness) {
	other := b.program()
	held := other.acquire("x", false)
	one, two := b.service(), b.service()
	ended := make(chan error)
	for i := range 4 {
		o := one
		if i == 3 {
			o = two
		}
		go func() {
			_, err := o.Suspend(t.Context(), order(time.Hour))
			ended <- err
		}()
		b.until(i + 1)
	}
	other.release(held)
	for range 3 {
		must(t, <-ended)
	}
	b.clock.Advance(time.Hour + lock.WaitGrace/2)
	must(t, <-ended) // it has waited behind the other's, which is as good
	if _, err := one.Resume(t.Context(), order(0)); err != nil {
		t.Error(err)
	}
	if holders, waiters := b.suspension(); len(holders)+waiters != 0 {
		t.Errorf("after it: %+v, %d wait", holders, waiters)
	}
}

// TestSuspensionOfAProgram is its own: an operator's waits for it, and Resume breaks it.
func TestSuspensionOfAProgram(t *testing.T) { onEach(t, suspensionOfAProgram) }

func suspensionOfAProgram(t *testing.T, b *harness) {
	o := b.service()
	p := b.program()
	held := p.acquire(lock.SpaceLock, false)
	if held.Kind != lock.Granted {
		t.Fatalf("the program got %+v", held)
	}
	if _, err := o.Suspend(t.Context(), order(0)); !errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("at the same time: %v", err)
	}
	resumed, err := o.Resume(t.Context(), order(0))
	if err != nil || !resumed.Changed || resumed.Grant.Owner != "job-7" {
		t.Errorf("resumed %+v, %v", resumed, err)
	}
	if d := p.hear(); d.Kind != lock.Revoked || d.Loss != holdfast.Broken {
		t.Errorf("the program got %+v", d)
	}
	p.release(held)
	if suspended, err := o.Suspend(t.Context(), order(0)); err != nil || !suspended.Changed {
		t.Errorf("after it: %+v, %v", suspended, err)
	}
}

// TestClose gives up what is held and what is waited for, and takes nothing more.
func TestClose(t *testing.T) { onEach(t, closes) }

func closes(t *testing.T, b *harness) {
	o := b.service()
	_, err := o.Suspend(t.Context(), order(0))
	must(t, err)
	o.Close()
	if _, err := o.Suspend(t.Context(), order(0)); err != holdfast.ErrClosed {
		t.Errorf("afterwards: %v", err)
	}
	b.untilFree()
	o.Close()

	waits := b.service()
	held := b.program().acquire("x", false)
	if held.Kind != lock.Granted {
		t.Fatalf("got %+v", held)
	}
	ended := make(chan error)
	go func() {
		_, err := waits.Suspend(t.Context(), order(admin.Forever))
		ended <- err
	}()
	b.until(1)
	waits.Close()
	if err := <-ended; err != holdfast.ErrClosed {
		t.Errorf("the client that waited got %v", err)
	}
	b.untilFree()
}
