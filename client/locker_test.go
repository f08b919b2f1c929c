package client

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

func manual() *clocktest.Manual { return clocktest.NewManual() }

func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// TestAcquire sends what was asked for.
func TestAcquire(t *testing.T) {
	s, v := newStage(t)
	c := s.begin("printers", holdfast.Slots(2, 5), holdfast.Wait(time.Minute), holdfast.Hold(time.Hour),
		holdfast.Owner("job-7"), holdfast.Reason("nightly"), holdfast.Require(holdfast.Fenced))
	operation := v.wantOp("acquire", 0)
	want := &schema.Acquire{
		Space: "default", Name: "printers", Mode: schema.Mode_MODE_SLOTS, Units: 2, Capacity: 5,
		Wait: int64(time.Minute), Hold: int64(time.Hour), Owner: "job-7", Reason: "nightly", Require: schema.Class_CLASS_FENCED,
	}
	if got := operation.GetAcquire(); got.String() != want.String() {
		t.Errorf("acquire %v, want %v", got, want)
	}
	v.send(granted(operation.Id, 17))
	lock := c.lock()
	if lock.Token() != 17 || lock.Name() != "printers" || lock.Units() != 2 || lock.Capacity() != 5 || lock.Owner() != "job-7" {
		t.Errorf("lock %v %v %v/%v of %v", lock.Name(), lock.Token(), lock.Units(), lock.Capacity(), lock.Owner())
	}
	other := make(chan error, 1)
	go func() {
		_, err := s.client.Space("billing").TryLock(s.ctx, "x")
		other <- err
	}()
	operation = v.wantOp("acquire", 0)
	if got := operation.GetAcquire(); got.GetSpace() != "billing" || !got.GetTry() {
		t.Errorf("acquire %v", got)
	}
	v.send(&schema.Event{Id: operation.Id, Kind: &schema.Event_Refused{Refused: &schema.Refused{
		Problem: api.ToProblem(&holdfast.HeldError{Owner: "job-8", Member: "b"}),
	}}})
	if err := <-other; !errors.Is(err, holdfast.ErrHeld) || err.Error() != `lock "x" in space "billing": held by job-8 on b` {
		t.Errorf("TryLock: %v", err)
	}
}

// TestCheckedHere: what is malformed is not sent.
func TestCheckedHere(t *testing.T) {
	s, v := newStage(t)
	for _, got := range []error{
		second(s.client.Lock(s.ctx, "")),
		second(s.client.Lock(s.ctx, "x", holdfast.Owner("\x00"))),
		second(s.client.Space("a b").Lock(s.ctx, "x")),
		second(s.client.LockAll(s.ctx, []string{"x", ""})),
		second(s.client.Space("a b").LockAll(s.ctx, nil)),
	} {
		var wrapped *holdfast.Error
		if !errors.Is(got, holdfast.ErrName) || !errors.As(got, &wrapped) {
			t.Errorf("got %v, want an ErrName", got)
		}
	}
	if _, err := s.client.LockAll(s.ctx, []string{"x", "y", "x"}); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("a name twice: %v", err)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if _, err := s.client.Lock(ctx, "x"); err != context.Canceled {
		t.Errorf("with a context that has ended: %v", err)
	}
	s.hold(v, "first", 1)
}

func second[T any](_ T, err error) error { return err }

// TestCancelCrossesGrant: the grant is undone by the cancel, and the caller has its
// context's error at once.
func TestCancelCrossesGrant(t *testing.T) {
	s, v := newStage(t)
	c := s.begin("x")
	id := v.acquireOp("x")
	c.cancel()
	c.fails(context.Canceled)
	v.send(granted(id, 1))
	v.wantOp("cancel", id)
	v.send(released(id, nil))
	lock := s.hold(v, "x", 2)
	v.send(released(id, nil)) // a duplicate
	if err := lock.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", lock.Request())
	v.send(released(lock.Request(), nil))
	if err := s.client.Settle(s.ctx); err != nil {
		t.Errorf("Settle: %v", err)
	}
	s.empty()
}

// TestUnsentIsForgotten: a request that no stream has taken needs no cancel.
func TestUnsentIsForgotten(t *testing.T) {
	s, v := newStage(t)
	v.broken()
	v = s.accept()
	c := s.begin("x")
	s.until(func() bool { return len(s.client.machine.Requests()) == 1 })
	c.cancel()
	c.fails(context.Canceled)
	s.until(func() bool { return len(s.client.machine.Requests()) == 0 })
	v.welcome("a-1", testTTL)
	s.hold(v, "y", 1)
}

// until waits for a state that no event tells of.
func (s *stage) until(reached func() bool) {
	s.t.Helper()
	for s.ctx.Err() == nil {
		s.client.mu.Lock()
		ok := reached()
		s.client.mu.Unlock()
		if ok {
			return
		}
		runtime.Gosched()
	}
	s.t.Fatal("a state is not reached")
}

// TestAbandonGranted: the context ends when the grant is here and not yet taken.
func TestAbandonGranted(t *testing.T) {
	s, v := newStage(t)
	r, err := s.client.enter(s.ctx, "default", must(holdfast.NewRequest("x")), clock.Never)
	if err != nil {
		t.Fatal(err)
	}
	v.send(granted(v.acquireOp("x"), 1))
	s.until(func() bool { return r.State() == session.Held })
	s.client.abandon(r)
	v.wantOp("release", r.ID)
	v.send(released(r.ID, nil))
	s.until(func() bool { return r.State() == session.Settled })
	if r.lock.Check() == nil {
		t.Error("the lock is still held")
	}
	s.empty()
}

// TestReleaseTooSoon: what a rate limit refuses to take back is given back later.
func TestReleaseTooSoon(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	if err := lock.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", lock.Request())
	v.send(released(lock.Request(), &schema.Problem{Code: api.CodeLimit, Limit: "requests_per_second"}))
	s.until(func() bool { return s.client.request(lock.Request()).Guard() == session.LaterPause })
	s.clock.Advance(session.LaterPause)
	v.wantOp("release", lock.Request())
	v.send(released(lock.Request(), nil))
	if err := s.client.Settle(s.ctx); err != nil {
		t.Errorf("Settle: %v", err)
	}
	s.empty()
}

func must[T any](got T, err error) T {
	if err != nil {
		panic(err)
	}
	return got
}

func TestLost(t *testing.T) {
	s, v := newStage(t)
	broken, expired, unlocked := s.hold(v, "broken", 1), s.hold(v, "expired", 2), s.hold(v, "unlocked", 3)
	v.send(lost(broken.Request(), holdfast.Broken, true), lost(expired.Request(), holdfast.AuthorityChanged, false))
	s.isDone(broken, holdfast.Broken)
	s.isDone(expired, holdfast.AuthorityChanged)
	// It has stopped, and says so; no caller asked whether that was well taken.
	v.wantOp("release", broken.Request())
	v.send(released(broken.Request(), &schema.Problem{Code: api.CodeNotHeld}))

	if err := unlocked.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", unlocked.Request())
	v.send(lost(unlocked.Request(), holdfast.Duplicate, false), released(unlocked.Request(), &schema.Problem{Code: api.CodeNotHeld}))
	if err := s.client.Settle(s.ctx); holdfast.Why(err) != holdfast.Duplicate {
		t.Errorf("Settle: %v", err)
	}
	if err := s.client.Settle(s.ctx); err != nil {
		t.Errorf("Settle tells twice: %v", err)
	}
	s.empty()
}

// TestKeepLost: the authority does not hear before Close that the holder has stopped.
func TestKeepLost(t *testing.T) {
	s, v := newStage(t, KeepLost(), withGoodbye(patience))
	broken, limited := s.hold(v, "broken", 1), s.hold(v, "limited", 2)
	v.send(lost(broken.Request(), holdfast.Broken, true), lost(limited.Request(), holdfast.HoldLimit, true))
	s.isDone(broken, holdfast.Broken)
	s.isDone(limited, holdfast.HoldLimit)
	v.send(lost(limited.Request(), holdfast.HoldLimit, false)) // the authority has gone on by itself
	s.hold(v, "next", 3)                                       // the next operation, so nothing was released
	s.client.mu.Lock()
	if n := len(s.client.machine.Requests()); n != 2 {
		t.Errorf("%d requests are kept, want the broken one and the next", n)
	}
	s.client.mu.Unlock()
	result := make(chan error, 1)
	go func() { result <- s.client.Close() }()
	v.send(released(v.wantOp("end", 0).Id, nil))
	if err := <-result; err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestNoSessionToBeHad: calls that wait fail when no new session is granted.
func TestNoSessionToBeHad(t *testing.T) {
	s, v := newStage(t)
	waiting := s.begin("x")
	v.acquireOp("x")
	v.broken()
	s.accept().send(refused(0, api.CodeUnknownSession))
	s.accept().send(refused(0, api.CodeDenied))
	waiting.fails(holdfast.ErrDenied)
	v = s.accept() // it goes on asking, for later calls
	v.welcome("a-2", testTTL)
	s.hold(v, "y", 1)
}

func TestUnlock(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	if err := lock.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	if err := lock.UnlockAsync(); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("a second Unlock: %v", err)
	}
	v.wantOp("release", lock.Request())
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.client.Settle(ctx); err != context.Canceled {
		t.Errorf("Settle with a context that has ended: %v", err)
	}
	result := make(chan error, 1)
	go func() { result <- s.client.Settle(s.ctx) }()
	v.send(released(lock.Request(), &schema.Problem{Code: api.CodeNotHeld, Detail: "not held"}))
	if err := <-result; !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Settle after a release that was refused: %v", err)
	}
}

// TestTryUnanswered: no member decides for 5 s.
func TestTryUnanswered(t *testing.T) {
	s, v := newStage(t)
	result := make(chan error, 1)
	go func() {
		_, err := s.client.TryLock(s.ctx, "x")
		result <- err
	}()
	id := v.acquireOp("x")
	s.clock.Advance(testBeat)
	beat := v.wantOp("beat", 0)
	v.send(beaten(beat.Id, time.Hour))
	s.until(func() bool { return s.client.session.TTL == time.Hour })
	s.clock.Advance(5*time.Second - testBeat)
	if err := <-result; !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("TryLock without an answer: %v", err)
	}
	for operation := v.next(); operation.Id != id; operation = v.next() {
		if kindOf(operation) != "beat" {
			t.Fatalf("got %v", operation)
		}
	}
}

// TestWaitLimit is enforced here too.
func TestWaitLimit(t *testing.T) {
	s, v := newStage(t)
	c := s.begin("x", holdfast.Wait(time.Second))
	id := v.acquireOp("x")
	v.send(queued(id, 0))
	s.until(func() bool { return s.client.request(id).Waiting() })
	s.clock.Advance(time.Second)
	s.clock.Advance(session.WaitGrace)
	c.fails(holdfast.ErrHeld)
	v.wantOp("cancel", id)
	v.send(released(id, nil))

	c = s.begin("z", holdfast.Wait(time.Millisecond))
	id = v.acquireOp("z") // and is not answered
	s.clock.Advance(time.Millisecond)
	s.until(func() bool { return s.client.request(id).Guard() > time.Second+session.WaitGrace+time.Millisecond })
	s.clock.Advance(session.WaitGrace)
	c.fails(holdfast.ErrUnavailable)

	v.broken()
	s.until(func() bool { return s.client.stream == nil })
	s.accept() // and is not welcomed
	c = s.begin("y", holdfast.Wait(time.Second))
	s.until(func() bool { return s.client.machine.Unsent() == 1 })
	s.clock.Advance(time.Second)
	c.fails(holdfast.ErrUnavailable)
}

// TestHoldLimit counts from the sending of the acquire.
func TestHoldLimit(t *testing.T) {
	s, v := newStage(t)
	c := s.begin("x", holdfast.Hold(time.Second))
	id := v.acquireOp("x")
	s.clock.Advance(400 * time.Millisecond)
	v.send(grantedFor(id, 1, time.Second))
	lock := c.lock()
	if lock.Deadline() != time.Second {
		t.Errorf("hold limit ends at %v, want 1s", lock.Deadline())
	}
	s.clock.Advance(600 * time.Millisecond)
	s.isDone(lock, holdfast.HoldLimit)
	v.wantOp("release", id) // so that the name is free at once
	v.send(lost(id, holdfast.HoldLimit, false), released(id, &schema.Problem{Code: api.CodeNotHeld}))
	if err := s.client.Settle(s.ctx); err != nil {
		t.Errorf("Settle: %v", err)
	}
}

func TestExtend(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	extend := func(hold time.Duration) <-chan error {
		result := make(chan error, 1)
		go func() { result <- lock.Extend(s.ctx, hold) }()
		return result
	}
	// A first limit is a shorter one: it holds at once.
	result := extend(3 * time.Second)
	if got := v.wantOp("extend", lock.Request()).GetExtend(); got.GetHold() != int64(3*time.Second) || got.GetToken() != 1 {
		t.Errorf("extend %v", got)
	}
	if lock.Deadline() != 3*time.Second {
		t.Errorf("before the answer it ends at %v, want 3s", lock.Deadline())
	}
	s.clock.Advance(time.Second)
	behind := extend(5 * time.Second) // waits for its turn
	v.send(extended(lock.Request(), 3*time.Second))
	if err := <-result; err != nil || lock.Deadline() != 3*time.Second {
		t.Errorf("Extend: %v, it ends at %v, want 3s", err, lock.Deadline())
	}
	v.wantOp("extend", lock.Request())
	if lock.Deadline() != 3*time.Second {
		t.Errorf("longer before the answer: %v", lock.Deadline())
	}
	v.send(extended(lock.Request(), 5*time.Second))
	if err := <-behind; err != nil || lock.Deadline() != 6*time.Second {
		t.Errorf("Extend: %v, it ends at %v, want 6s", err, lock.Deadline())
	}
	result = extend(time.Second)
	v.wantOp("extend", lock.Request())
	v.send(refused(lock.Request(), api.CodeUnsupported))
	if err := <-result; !errors.Is(err, holdfast.ErrUnsupported) || lock.Deadline() != 6*time.Second {
		t.Errorf("Extend that is refused: %v, it ends at %v, want 6s", err, lock.Deadline())
	}
	// Unlocked while an extend is under way: its refusal is not the release's.
	result = extend(time.Second)
	v.wantOp("extend", lock.Request())
	if err := lock.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("Extend of what is unlocked meanwhile: %v", err)
	}
	v.wantOp("release", lock.Request())
	v.send(refused(lock.Request(), api.CodeNotHeld), released(lock.Request(), nil))
	if err := s.client.Settle(s.ctx); err != nil {
		t.Errorf("Settle: %v", err)
	}
	s.empty()
}

// allOf is what a LockAll returned.
type allOf struct {
	locks []*holdfast.Lock
	err   error
}

// lockAll begins a LockAll of three names.
func (s *stage) lockAll(options ...holdfast.Option) <-chan allOf {
	got := make(chan allOf, 1)
	go func() {
		locks, err := s.client.LockAll(s.ctx, []string{"c", "a", "b"}, options...)
		got <- allOf{locks, err}
	}()
	return got
}

// acquires wants those three asked for together, in sorted order, each without waiting for a holder.
func (v *conversation) acquires() (ids [3]uint64) {
	for i, name := range []string{"a", "b", "c"} {
		op := v.next()
		if acquire := op.GetAcquire(); acquire.GetName() != name || !acquire.GetTry() {
			v.fake.t.Fatalf("got %v, want a try of %q", op, name)
		}
		ids[i] = op.GetId()
	}
	return ids
}

// TestLockAll asks for all at once, by name when one is refused, and gives all back when that one is refused for good.
func TestLockAll(t *testing.T) {
	s, v := newStage(t)
	all := s.lockAll()
	ids := v.acquires() // before any of them is answered
	v.send(granted(ids[0], 10), granted(ids[1], 11), granted(ids[2], 12))
	got := <-all
	if got.err != nil || got.locks[0].Name() != "c" || got.locks[1].Token() != 10 || got.locks[2].Name() != "b" {
		t.Fatalf("LockAll: %v, %v", got.locks, got.err)
	}
	all = s.lockAll()
	ids = v.acquires()
	v.send(granted(ids[0], 20), granted(ids[1], 21), refused(ids[2], api.CodeLimit))
	v.send(refused(v.acquireOp("c"), api.CodeLimit))
	v.wantOp("release", ids[1])
	v.wantOp("release", ids[0])
	select {
	case got := <-all:
		t.Errorf("LockAll does not wait for its releases: %v", got.err)
	default:
	}
	v.send(released(ids[0], nil), released(ids[1], nil))
	if got := <-all; !errors.Is(got.err, holdfast.ErrLimit) || got.locks != nil {
		t.Errorf("LockAll: %v, %v", got.locks, got.err)
	}
}

// TestLockAllWaitsInOrder: while a name is waited for nothing behind it is held, nor asked for, and what was lost meanwhile is
// not handed out.
func TestLockAllWaitsInOrder(t *testing.T) {
	s, v := newStage(t)
	all := s.lockAll()
	ids := v.acquires()
	v.send(granted(ids[0], 30), refused(ids[1], api.CodeHeld), granted(ids[2], 31))
	switch op := v.next(); { // it may have come before the grant
	case kindOf(op) != "release" && kindOf(op) != "cancel", op.GetId() != ids[2]:
		t.Fatalf("got %v, want the end of request %d", op, ids[2])
	}
	op := v.next()
	if op.GetAcquire().GetName() != "b" || op.GetAcquire().GetTry() {
		t.Fatalf("got %v, want a wait for b", op)
	}
	v.send(queued(op.GetId(), 0), lost(ids[0], holdfast.Broken, false), granted(op.GetId(), 32))
	v.send(granted(v.acquireOp("c"), 33))
	for range 2 {
		v.send(released(v.wantOp("release", 0).Id, nil))
	}
	if got := <-all; holdfast.Why(got.err) != holdfast.Broken {
		t.Errorf("LockAll that lost one meanwhile: %v, %v", got.locks, got.err)
	}
}

// TestManyInAFrame: what has gathered goes out together, within the bounds.
func TestManyInAFrame(t *testing.T) {
	s, v := newStage(t)
	v.broken()
	v = s.accept()
	const n = 1000
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			if _, err := s.client.Lock(s.ctx, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	s.until(func() bool { return s.client.machine.Unsent() == n })
	v.welcome("a-1", testTTL)
	for seen := 0; seen < n; {
		frame := v.nextFrame()
		want := min(session.MaxOperations, n-seen)
		if got := len(frame.Operations); got != want {
			t.Fatalf("a frame of %d operations, want %d", got, want)
		}
		var answer []*schema.Event
		for _, operation := range frame.Operations {
			answer = append(answer, granted(operation.Id, 1))
		}
		seen += len(answer)
		v.send(answer...)
	}
	calls.Wait()
}

// TestBigFrames are split by their bytes.
func TestBigFrames(t *testing.T) {
	s, v := newStage(t)
	v.broken()
	v = s.accept()
	const n = 600
	reason := strings.Repeat("r", holdfast.MaxText)
	name := strings.Repeat("n", holdfast.MaxName-3)
	want := must(holdfast.NewRequest("x", holdfast.Reason(reason), holdfast.Owner(reason)))
	for i := range n {
		want.Name = fmt.Sprintf("%s%03d", name, i)
		if _, err := s.client.enter(s.ctx, "default", want, clock.Never); err != nil {
			t.Fatal(err)
		}
	}
	v.welcome("a-1", testTTL)
	for seen := 0; seen < n; {
		frame := v.nextFrame()
		seen += len(frame.Operations)
		if size := len(frame.String()); size > session.MaxFrameBytes {
			t.Errorf("a frame of about %d bytes", size)
		}
	}
}

// TestQueueIsBounded: the limit is named, and releases are never refused.
func TestQueueIsBounded(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "held", 1)
	v.broken()
	v = s.accept()
	want := must(holdfast.NewRequest("x"))
	for range maxUnsent {
		if _, err := s.client.enter(s.ctx, "default", want, clock.Never); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.client.Lock(s.ctx, "y")
	var limit *holdfast.LimitError
	if !errors.As(err, &limit) || limit.Limit != "client_queue" || limit.Value != maxUnsent {
		t.Errorf("at the bound: %v", err)
	}
	if err := lock.UnlockAsync(); err != nil {
		t.Errorf("Unlock at the bound: %v", err)
	}
	v.broken() // it may have waited for too long
	v = s.accept()
	v.welcome("a-1", testTTL)
	v.wantOp("release", lock.Request())
	v.acquireOp("x")
}

// TestClose ends waits and locks, then the session.
func TestClose(t *testing.T) {
	s, v := newStage(t, withGoodbye(patience))
	lock := s.hold(v, "held", 1)
	waiting := s.begin("waiting")
	v.acquireOp("waiting")
	result := make(chan error, 2)
	for range 2 {
		go func() { result <- s.client.Close() }()
	}
	waiting.fails(holdfast.ErrClosed)
	s.isDone(lock, holdfast.ErrClosed)
	v.send(released(v.wantOp("end", 0).Id, nil))
	v.hangUp <- nil // as servers do, after the answer
	for range 2 {
		if err := <-result; err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	v.ended()
	if _, err := s.client.Lock(s.ctx, "x"); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("Lock after Close: %v", err)
	}
	if err := s.client.Space("x").Close(); err != nil {
		t.Errorf("Close of a space: %v", err)
	}
	if err := lock.UnlockAsync(); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("Unlock after Close: %v", err)
	}
}

// TestCloseWhileSettling: Settle reports what became of the releases that Close did not
// wait for: they end with the session, or their outcome is unknown.
func TestCloseWhileSettling(t *testing.T) {
	for _, acknowledged := range []bool{true, false} {
		goodbye := patience
		if !acknowledged {
			goodbye = time.Millisecond
		}
		s, v := newStage(t, withGoodbye(goodbye))
		lock := s.hold(v, "x", 1)
		if err := lock.UnlockAsync(); err != nil {
			t.Fatal(err)
		}
		v.wantOp("release", lock.Request())
		settled := make(chan error, 1)
		go func() { settled <- s.client.Settle(s.ctx) }()
		s.until(func() bool { return s.client.quiet != nil })
		closed := make(chan error, 1)
		go func() { closed <- s.client.Close() }()
		var want error
		if acknowledged {
			v.send(released(v.wantOp("end", 0).Id, nil))
		} else {
			want = holdfast.ErrUnavailable
		}
		if err := <-settled; !errors.Is(err, want) {
			t.Errorf("Settle when Close is acknowledged (%v): %v, want %v", acknowledged, err, want)
		}
		if err := <-closed; !errors.Is(err, want) {
			t.Errorf("Close that is acknowledged (%v): %v, want %v", acknowledged, err, want)
		}
		s.empty()
		s.stop()
	}
}

// TestCloseByGoodbye: the server may also just hang up in good order.
func TestCloseByGoodbye(t *testing.T) {
	s, v := newStage(t, withGoodbye(patience))
	result := make(chan error, 1)
	go func() { result <- s.client.Close() }()
	v.wantOp("end", 0)
	v.hangUp <- nil
	if err := <-result; err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestCloseReconnects: the end is sent even where the stream has just broken.
func TestCloseReconnects(t *testing.T) {
	s, v := newStage(t, withGoodbye(patience))
	v.broken()
	v = s.accept()
	result := make(chan error, 1)
	go func() { result <- s.client.Close() }()
	s.until(func() bool { return s.client.machine.Closing() })
	v.welcome("a-1", testTTL)
	v.send(released(v.wantOp("end", 0).Id, nil))
	if err := <-result; err != nil {
		t.Errorf("Close: %v", err)
	}
}

// TestCloseUnreachable stops trying, and says what was not done.
func TestCloseUnreachable(t *testing.T) {
	s, _ := newStage(t)
	s.fake.stop()
	if err := s.client.Close(); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("Close where no member listens: %v", err)
	}
}

// TestLockAllElsewhere: in a space that is kept in memory names are asked for one after the other.
func TestLockAllElsewhere(t *testing.T) {
	s, v := newStage(t)
	got := make(chan allOf, 1)
	go func() {
		locks, err := s.client.Space("memory").LockAll(s.ctx, []string{"b", "a"})
		got <- allOf{locks, err}
	}()
	for i, name := range []string{"a", "b"} {
		op := v.next()
		if acquire := op.GetAcquire(); acquire.GetName() != name || acquire.GetTry() {
			t.Fatalf("got %v, want a wait for %q", op, name)
		}
		if len(v.ahead) > 0 {
			t.Errorf("%v came with it", v.ahead)
		}
		v.send(granted(op.GetId(), holdfast.Token(10+i)))
	}
	if got := <-got; got.err != nil || len(got.locks) != 2 {
		t.Errorf("LockAll: %v, %v", got.locks, got.err)
	}
}
