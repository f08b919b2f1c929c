package client

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// TestExtendIsTheGrants: a hold limit belongs to the grant. Where an owner has entered
// it again, a shorter one ends both its locks, a longer one lets both live, and calls
// for either wait for one another.
func TestExtendIsTheGrants(t *testing.T) {
	s, v := newStage(t)
	one := s.hold(v, "x", 1, holdfast.Owner("job"), holdfast.Hold(time.Hour))
	two := s.hold(v, "x", 1, holdfast.Owner("job"), holdfast.Hold(time.Hour))
	other := s.hold(v, "x", 2, holdfast.Owner("job-2"), holdfast.Hold(time.Hour))
	both := func(when string, want time.Duration) {
		t.Helper()
		for _, lock := range []*holdfast.Lock{one, two} {
			if got := lock.Deadline(); got != want {
				t.Errorf("%s lock #%d ends at %v, want %v", when, lock.Request(), got, want)
			}
		}
	}
	untouched := other.Deadline()
	extend := func(lock *holdfast.Lock, hold time.Duration) <-chan error {
		result := make(chan error, 1)
		go func() { result <- lock.Extend(s.ctx, hold) }()
		return result
	}
	result := extend(one, time.Second)
	v.wantOp("extend", one.Request())
	both("before the answer", time.Second)
	behind := extend(two, 3*time.Second) // waits for its turn
	v.send(extended(one.Request(), time.Second))
	if err := <-result; err != nil {
		t.Errorf("Extend: %v", err)
	}
	v.wantOp("extend", two.Request())
	both("longer before the answer,", time.Second)
	v.send(extended(two.Request(), 3*time.Second))
	if err := <-behind; err != nil {
		t.Errorf("Extend: %v", err)
	}
	both("after the answer", 3*time.Second)
	result = extend(two, time.Second)
	v.wantOp("extend", two.Request())
	v.send(refused(two.Request(), api.CodeUnsupported))
	if err := <-result; err == nil {
		t.Error("Extend that is refused succeeds")
	}
	both("after the refusal", 3*time.Second)
	if got := other.Deadline(); got != untouched {
		t.Errorf("another owner's lock ends at %v, want %v", got, untouched)
	}
}

// TestLostBeforeGranted: the answer that granted was lost with its stream, and so was
// the grant, by its limit, before the acquire was sent again. The authority may grant it
// anew, so the client ends it for good: no call waits for it any more.
func TestLostBeforeGranted(t *testing.T) {
	for _, mustRelease := range []bool{false, true} {
		s, v := newStage(t)
		c := s.begin("x", holdfast.Hold(time.Second))
		id := v.acquireOp("x")
		v.broken()
		v = s.accept()
		v.welcome("a-1", testTTL)
		if again := v.acquireOp("x"); again != id {
			t.Fatalf("acquire #%d is sent again as #%d", id, again)
		}
		v.send(lost(id, holdfast.HoldLimit, mustRelease), grantedFor(id, 2, time.Second))
		c.fails(holdfast.ErrLost)
		v.wantOp("cancel", id)
		v.send(released(id, nil))
		s.until(func() bool { return len(s.client.machine.Requests()) == 0 })
		s.stop()
	}
}

// TestExtendCrossesReentry: the limit that an owner gets when it enters its grant
// again may be older than a shorter one that it has asked for since, and come when the
// lock that was extended has ended. Then it is believed no longer than that.
func TestExtendCrossesReentry(t *testing.T) {
	s, v := newStage(t)
	one := s.hold(v, "x", 1, holdfast.Owner("job"), holdfast.Hold(time.Hour))
	again := s.begin("x", holdfast.Owner("job"), holdfast.Hold(time.Hour))
	id := v.acquireOp("x")
	result := make(chan error, 1)
	go func() { result <- one.Extend(s.ctx, time.Second) }()
	v.wantOp("extend", one.Request())
	s.clock.Advance(time.Second)
	s.isDone(one, holdfast.HoldLimit)
	<-result
	v.send(grantedFor(id, 1, time.Hour))
	if two := again.lock(); two.Deadline() != time.Second || two.Check() == nil {
		t.Errorf("the lock entered last ends at %v (%v), want 1s", two.Deadline(), two.Check())
	}
}

// TestExtendIsOvertaken: what an owner enters again may come to the authority before an extend that was sent first, even where
// the lock that was extended is given up. It is believed no longer than that asks for, even if the answer says more; a later grant
// is not bound.
func TestExtendIsOvertaken(t *testing.T) {
	s, v := newStage(t)
	one := s.hold(v, "x", 1, holdfast.Owner("job"))
	result := make(chan error, 1)
	go func() { result <- one.Extend(s.ctx, time.Second) }()
	v.wantOp("extend", one.Request())
	if err := one.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	<-result
	v.wantOp("release", one.Request())
	enters, follows := s.begin("x", holdfast.Owner("job")), s.begin("x", holdfast.Owner("other"))
	for range 2 {
		acquire := v.next()
		if token := holdfast.Token(1); acquire.GetAcquire().GetOwner() == "job" {
			v.send(granted(acquire.Id, token))
		} else {
			v.send(granted(acquire.Id, token+1))
		}
	}
	two, third := enters.lock(), follows.lock()
	v.send(released(one.Request(), nil), extended(one.Request(), time.Second))
	if two.Deadline() != time.Second || third.Deadline() <= time.Second {
		t.Errorf("the lock that was entered again ends at %v, want 1s; another owner's at %v", two.Deadline(), third.Deadline())
	}
	s.clock.Advance(time.Second)
	s.isDone(two, holdfast.HoldLimit)
	v.wantOp("release", two.Request())
	v.send(released(two.Request(), nil))
	again := s.hold(v, "x", 3, holdfast.Owner("job"))
	if again.Deadline() <= 2*time.Second {
		t.Errorf("a later grant ends at %v", again.Deadline())
	}
}
