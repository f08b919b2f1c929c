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

// unlocking calls Unlock on a goroutine of its own.
func unlocking(ctx context.Context, lock *holdfast.Lock) <-chan error {
	result := make(chan error, 1)
	go func() { result <- lock.Unlock(ctx) }()
	return result
}

// unanswered checks that an Unlock has not returned.
func unanswered(t *testing.T, result <-chan error) {
	t.Helper()
	select {
	case err := <-result:
		t.Fatalf("Unlock has returned before the release was answered: %v", err)
	default:
	}
}

// TestUnlockWaits: the release of Unlock says that its caller waits, and Unlock returns with the answer; a refusal is
// reported by Unlock, and not by Settle.
func TestUnlockWaits(t *testing.T) {
	for name, problem := range map[string]*schema.Problem{
		"taken": nil, "refused": {Code: api.CodeNotHeld, Detail: "not held"},
	} {
		t.Run(name, func(t *testing.T) {
			s, v := newStage(t)
			lock, queued := s.hold(v, "x", 1), s.hold(v, "y", 2)
			if err := queued.UnlockAsync(); err != nil {
				t.Fatal(err)
			}
			if r := v.wantOp("release", queued.Request()).GetRelease(); !r.GetLazy() {
				t.Error("the release of UnlockAsync says that it is waited for")
			}
			result := unlocking(s.ctx, lock)
			if r := v.wantOp("release", lock.Request()).GetRelease(); r.GetLazy() {
				t.Error("the release of Unlock says that nothing waits for it")
			}
			unanswered(t, result)
			v.send(released(lock.Request(), problem), released(queued.Request(), nil))
			if err := <-result; (problem == nil) != (err == nil) || problem != nil && !errors.Is(err, holdfast.ErrNotHeld) {
				t.Errorf("Unlock: %v", err)
			}
			if err := s.client.Settle(s.ctx); err != nil {
				t.Errorf("Settle: %v", err)
			}
			s.empty()
		})
	}
}

// TestUnlockGivenUp: a context that ends ends the wait alone. The release goes on, over the next
// connection too, and Settle tells what becomes of it.
func TestUnlockGivenUp(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	ctx, cancel := context.WithCancel(s.ctx)
	result := unlocking(ctx, lock)
	v.wantOp("release", lock.Request())
	cancel()
	if err := <-result; err != context.Canceled {
		t.Errorf("Unlock whose context has ended: %v", err)
	}
	v.broken()
	v = s.accept()
	v.welcome("a-1", testTTL)
	v.wantOp("release", lock.Request())
	v.send(released(lock.Request(), &schema.Problem{Code: api.CodeLost, Why: string(holdfast.Broken)}))
	if err := s.client.Settle(s.ctx); !errors.Is(err, holdfast.Broken) {
		t.Errorf("Settle: %v", err)
	}
	s.empty()
}

// TestUnlockOfABrokenStream sends the release again under its id, until it is answered.
func TestUnlockOfABrokenStream(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	result := unlocking(s.ctx, lock)
	v.wantOp("release", lock.Request())
	v.broken()
	v = s.accept()
	v.welcome("a-1", testTTL)
	if r := v.wantOp("release", lock.Request()).GetRelease(); r.GetLazy() {
		t.Error("sent again, the release says that nothing waits for it")
	}
	unanswered(t, result)
	v.send(released(lock.Request(), &schema.Problem{Code: api.CodeNotHeld, Detail: "not held"})) // the first copy has acted
	if err := <-result; err != nil {
		t.Errorf("Unlock: %v", err)
	}
	s.empty()
}

// TestUnlockOfALostSession ends with the session, which frees the name as well.
func TestUnlockOfALostSession(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	result := unlocking(s.ctx, lock)
	v.wantOp("release", lock.Request())
	s.clock.Advance(2 * testTTL)
	if err := <-result; !errors.Is(err, holdfast.SessionExpired) {
		t.Errorf("Unlock: %v", err)
	}
}

// TestUnlockWhileClosing: the end of the session releases everything.
func TestUnlockWhileClosing(t *testing.T) {
	s, v := newStage(t, withGoodbye(patience))
	lock := s.hold(v, "x", 1)
	result := unlocking(s.ctx, lock)
	v.wantOp("release", lock.Request())
	closed := make(chan error, 1)
	go func() { closed <- s.client.Close() }()
	end := v.wantOp("end", 0)
	unanswered(t, result)
	v.send(released(end.Id, nil))
	v.hangUp <- nil
	if err := <-result; err != nil {
		t.Errorf("Unlock: %v", err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close: %v", err)
	}
	v.ended()
}

// TestUnlockWithoutTime: the release of a call whose context is done before it is sent all the same.
func TestUnlockWithoutTime(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	ctx, cancel := context.WithTimeout(s.ctx, -time.Second)
	defer cancel()
	if err := lock.Unlock(ctx); err != context.DeadlineExceeded {
		t.Errorf("Unlock: %v", err)
	}
	v.wantOp("release", lock.Request())
	v.send(released(lock.Request(), nil))
	if err := s.client.Settle(s.ctx); err != nil {
		t.Errorf("Settle: %v", err)
	}
	s.empty()
}

// TestHoldEndWithGrace: a lock whose name has a grace is not given back at its hold limit, before its
// user unlocks it; also when the authority has ended it by then.
func TestHoldEndWithGrace(t *testing.T) {
	for name, reported := range map[string]bool{"before the authority": false, "after it": true} {
		t.Run(name, func(t *testing.T) {
			s, v := newStage(t)
			c := s.begin("x", holdfast.Hold(time.Second))
			id := v.acquireOp("x")
			v.send(&schema.Event{Id: id, Kind: &schema.Event_Granted{Granted: &schema.Granted{Token: 3, Hold: int64(time.Second), Grace: true}}})
			lock := c.lock()
			s.clock.Advance(time.Second)
			s.isDone(lock, holdfast.HoldLimit)
			if reported {
				v.send(&schema.Event{Id: id, Kind: &schema.Event_Lost{Lost: &schema.Lost{Why: string(holdfast.HoldLimit)}}})
				s.until(func() bool { return s.client.request(id) == nil })
			}
			s.hold(v, "y", 4) // nothing was sent before it
			result := unlocking(s.ctx, lock)
			v.wantOp("release", id)
			unanswered(t, result)
			v.send(released(id, &schema.Problem{Code: api.CodeNotHeld, Detail: "not held"}))
			if err := <-result; !errors.Is(err, holdfast.HoldLimit) {
				t.Errorf("Unlock in the grace: %v", err)
			}
			if err := s.client.Settle(s.ctx); err != nil {
				t.Errorf("Settle: %v", err)
			}
		})
	}
}
