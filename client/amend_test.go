package client

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// setValue calls SetValue, and returns its result later.
func (s *stage) setValue(ctx context.Context, lock *holdfast.Lock, value string) <-chan error {
	result := make(chan error, 1)
	go func() { result <- lock.SetValue(ctx, value) }()
	return result
}

// wantAmend takes an amendment of a lock that has these contents.
func (v *conversation) wantAmend(lock *holdfast.Lock, revision uint64, value string) {
	v.fake.t.Helper()
	a := v.wantOp("amend", lock.Request()).GetAmend()
	if a.GetName() != lock.Name() || a.GetToken() != uint64(lock.Token()) || a.GetRevision() != revision || a.GetValue() != value {
		v.fake.t.Fatalf("got %v, want revision %d with %q", a, revision, value)
	}
}

func amended(id, revision uint64, code string) *schema.Event {
	a := &schema.Amended{Revision: revision}
	if code != "" {
		a.Problem = &schema.Problem{Code: code}
	}
	return &schema.Event{Id: id, Kind: &schema.Event_Amended{Amended: a}}
}

// TestSetValue checks that the value of a lock is sent, under a revision that rises from lock to lock, again over another
// stream, and again under a higher revision if an earlier client of the session has given higher ones.
func TestSetValue(t *testing.T) {
	s, v := newStage(t)
	one, two := s.hold(v, "x", 1, holdfast.Value("first")), s.hold(v, "y", 2)
	result := s.setValue(s.ctx, one, "second")
	v.wantAmend(one, 1, "second")
	v.send(amended(one.Request(), 1, ""))
	if err := <-result; err != nil {
		t.Errorf("SetValue: %v", err)
	}
	result = s.setValue(s.ctx, two, "of y")
	v.wantAmend(two, 2, "of y")
	v.broken()
	v = s.accept()
	v.welcome("a-1", testTTL)
	v.wantAmend(two, 2, "of y")
	v.send(amended(two.Request(), 1, ""), amended(two.Request(), 9, "")) // of a copy that was late, and of an earlier client
	v.wantAmend(two, 10, "of y")
	v.send(amended(two.Request(), 10, ""))
	if err := <-result; err != nil {
		t.Errorf("SetValue: %v", err)
	}
	result = s.setValue(s.ctx, one, "third")
	v.wantAmend(one, 11, "third")
	v.send(amended(one.Request(), 11, api.CodeLimit))
	if err := <-result; !errors.Is(err, holdfast.ErrLimit) || !strings.Contains(err.Error(), "set value") {
		t.Errorf("SetValue that is refused: %v", err)
	}
}

// TestReplacedValue checks that a value which another one has replaced before its answer returns with that one.
func TestReplacedValue(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	first := s.setValue(s.ctx, lock, "first")
	v.wantAmend(lock, 1, "first")
	second := s.setValue(s.ctx, lock, "second")
	v.wantAmend(lock, 2, "second")
	v.send(amended(lock.Request(), 1, ""))
	ctx, cancel := context.WithCancel(s.ctx)
	third := s.setValue(ctx, lock, "third")
	v.wantAmend(lock, 3, "third")
	cancel()
	if err := <-third; !errors.Is(err, context.Canceled) {
		t.Errorf("SetValue with an ended context: %v", err)
	}
	select {
	case err := <-first:
		t.Errorf("the first value returns %v, and the next ones have no answer", err)
	case err := <-second:
		t.Errorf("the second value returns %v, and the next one has no answer", err)
	default:
	}
	v.send(amended(lock.Request(), 3, ""))
	for _, result := range []<-chan error{first, second} {
		if err := <-result; err != nil {
			t.Errorf("SetValue: %v", err)
		}
	}
}

// TestValueOfEndedLock checks that SetValue returns when the lock ends, however it ends, and from a member that does not
// know amendments.
func TestValueOfEndedLock(t *testing.T) {
	for name, tt := range map[string]struct {
		end  func(*stage, *conversation, *holdfast.Lock)
		want error
	}{
		"lost": {func(_ *stage, v *conversation, l *holdfast.Lock) {
			v.send(lost(l.Request(), holdfast.MemberLost, false))
		}, holdfast.MemberLost},
		"unlock":  {func(_ *stage, _ *conversation, l *holdfast.Lock) { _ = l.UnlockAsync() }, holdfast.ErrNotHeld},
		"unknown": {func(_ *stage, v *conversation, l *holdfast.Lock) { v.send(refused(l.Request(), api.CodeUnsupported)) }, holdfast.ErrUnsupported},
	} {
		s, v := newStage(t)
		lock := s.hold(v, "x", 1)
		result := s.setValue(s.ctx, lock, "v")
		v.wantAmend(lock, 1, "v")
		tt.end(s, v, lock)
		if err := <-result; !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	s, v := newStage(t)
	lock := s.hold(v, "x", 1)
	if err := lock.SetValue(s.ctx, strings.Repeat("x", holdfast.MaxValue+1)); !errors.Is(err, holdfast.ErrName) {
		t.Errorf("a value that is too long: %v", err)
	}
	_ = lock.UnlockAsync()
	if err := lock.SetValue(s.ctx, "v"); !errors.Is(err, holdfast.ErrNotHeld) {
		t.Errorf("the value of a lock that was given back: %v", err)
	}
}
