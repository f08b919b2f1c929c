package client

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// fakeLocks answers one-shot calls from what it was given, and keeps the questions.
type fakeLocks struct {
	schema.UnimplementedLocksServer
	t     *testing.T
	calls []string
	err   error
	lock  *schema.Lock
}

func (k *fakeLocks) note(question interface{ String() string }) {
	k.calls = append(k.calls, question.String())
}

func (k *fakeLocks) Acquire(_ context.Context, q *schema.AcquireRequest) (*schema.AcquiredAll, error) {
	if q.GetRequest() == "" || q.Client == "" {
		k.t.Errorf("acquire %v names no request or no client", q)
	}
	q.Request = nil
	k.note(q)
	return &schema.AcquiredAll{
		Session: "a-1.s",
		Locks:   []*schema.Acquired{{Name: "x", Token: 5, Session: "a-1.s", Class: schema.Class_CLASS_FENCED}},
	}, api.ToStatus(k.err)
}

func (k *fakeLocks) Release(_ context.Context, q *schema.ReleaseRequest) (*schema.ReleasedLock, error) {
	k.note(q)
	return &schema.ReleasedLock{}, api.ToStatus(k.err)
}

func (k *fakeLocks) Renew(_ context.Context, q *schema.RenewRequest) (*schema.Renewed, error) {
	k.note(q)
	return &schema.Renewed{Session: "a-1", Ttl: api.Span(time.Minute), Until: api.Stamp(time.Unix(0, 7))}, api.ToStatus(k.err)
}

func (k *fakeLocks) EndSession(_ context.Context, q *schema.EndSessionRequest) (*schema.SessionReleased, error) {
	k.note(q)
	return &schema.SessionReleased{Released: []*schema.ReleasedLock{{Name: "x", Token: 5, Released: true}}}, api.ToStatus(k.err)
}

func (k *fakeLocks) List(_ context.Context, q *schema.ListRequest) (*schema.LockPage, error) {
	k.note(q)
	return &schema.LockPage{Locks: []*schema.Lock{k.lock}, Next: "n"}, api.ToStatus(k.err)
}

func (k *fakeLocks) Show(_ context.Context, q *schema.ShowRequest) (*schema.Lock, error) {
	k.note(q)
	return k.lock, api.ToStatus(k.err)
}

func (k *fakeLocks) Break(_ context.Context, q *schema.BreakRequest) (*schema.Broken, error) {
	k.note(q)
	return &schema.Broken{Broken: []*schema.Grant{{Token: 5}}}, api.ToStatus(k.err)
}

func (k *fakeLocks) Status(_ context.Context, q *schema.StatusRequest) (*schema.Status, error) {
	k.note(q)
	return &schema.Status{Version: "v1", View: &schema.View{Number: 3}}, api.ToStatus(k.err)
}

func (k *fakeLocks) Watch(q *schema.WatchRequest, stream grpc.ServerStreamingServer[schema.WatchEvent]) error {
	k.note(q)
	for _, event := range []string{"waiting", "granted"} {
		if err := stream.Send(&schema.WatchEvent{Event: event, Name: "x"}); err != nil {
			return err
		}
	}
	return api.ToStatus(k.err)
}

// newAdmin is an Admin whose first address is dead.
func newAdmin(t *testing.T, options ...Option) (*Admin, *fakeLocks) {
	t.Helper()
	k := &fakeLocks{t: t, lock: &schema.Lock{Space: "default", Name: "x", Token: 5, Holders: []*schema.Grant{{Owner: "o", Token: 5}}}}
	dead, alive := newFake(t), newServer(t, func(s *grpc.Server) { schema.RegisterLocksServer(s, k) })
	dead.stop()
	a, err := DialAdmin(dead.address+","+alive.address, append([]Option{Name("tester")}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return a, k
}

func TestAdmin(t *testing.T) {
	a, k := newAdmin(t, Space("billing"))
	ctx := t.Context()
	acquired, err := a.Acquire(ctx, "", Acquisition{
		Names: []string{"y", "x"}, Options: []holdfast.Option{holdfast.Shared(), holdfast.Wait(2)}, TTL: 3, Session: "a-1.s",
	})
	if err != nil || acquired.Session != "a-1.s" || len(acquired.Locks) != 1 || acquired.Locks[0].Token != 5 || acquired.Locks[0].Class != schema.Class_CLASS_FENCED {
		t.Errorf("Acquire: %+v, %v", acquired, err)
	}
	if err := a.Release(ctx, "s", "x", 5, "a-1.s"); err != nil {
		t.Errorf("Release: %v", err)
	}
	if got, err := a.Renew(ctx, "a-1.s", time.Hour); err != nil || got.Ttl.AsDuration() != time.Minute || got.Session != "a-1" || got.Until.AsTime().UnixNano() != 7 {
		t.Errorf("Renew: %+v, %v", got, err)
	}
	if got, err := a.EndSession(ctx, "a-1.s"); err != nil || len(got.Released) != 1 || got.Released[0].Token != 5 {
		t.Errorf("EndSession: %+v, %v", got, err)
	}
	if got, err := a.List(ctx, "s", "p", "a", 7); err != nil || got.Next != "n" || len(got.Locks) != 1 || got.Locks[0].Name != "x" {
		t.Errorf("List: %+v, %v", got, err)
	}
	if got, err := a.Show(ctx, "s", "x"); err != nil || len(got.Holders) != 1 || got.Holders[0].Owner != "o" {
		t.Errorf("Show: %+v, %v", got, err)
	}
	if got, err := a.Break(ctx, "s", "x", 5, "stuck", ""); err != nil || len(got.Broken) != 1 {
		t.Errorf("Break: %+v, %v", got, err)
	}
	if got, err := a.Status(ctx); err != nil || got.Version != "v1" || got.View.Number != 3 {
		t.Errorf("Status: %+v, %v", got, err)
	}
	var events []string
	for event, err := range a.Watch(ctx, "", "p", func() { events = append(events, "begun") }) {
		if err != nil {
			t.Errorf("Watch: %v", err)
		}
		events = append(events, event.Event)
	}
	if !slices.Equal(events, []string{"begun", "waiting", "granted"}) {
		t.Errorf("Watch: %q", events)
	}
	want := []interface{ String() string }{
		&schema.AcquireRequest{Space: "billing", Names: []string{"y", "x"}, Mode: schema.Mode_MODE_SHARED, Wait: api.Span(2), Ttl: api.Span(3), Session: new("a-1.s"), Client: "tester"},
		&schema.ReleaseRequest{Space: "s", Name: "x", Token: 5, Session: "a-1.s"},
		&schema.RenewRequest{Session: "a-1.s", Ttl: api.Span(time.Hour)},
		&schema.EndSessionRequest{Session: "a-1.s"},
		&schema.ListRequest{Space: "s", Prefix: "p", After: "a", Limit: new(int32(7))},
		&schema.ShowRequest{Space: "s", Name: "x"},
		&schema.BreakRequest{Space: "s", Name: "x", Token: 5, Reason: "stuck", By: "tester"},
		&schema.StatusRequest{},
		&schema.WatchRequest{Space: "billing", Prefix: "p"},
	}
	for i := range max(len(want), len(k.calls)) {
		if i >= len(want) || i >= len(k.calls) || want[i].String() != k.calls[i] {
			t.Fatalf("question %d: asked %q, want %v", i, k.calls, want)
		}
	}
}

// TestAdminRefused: a member's own word is final, and comes over as it was.
func TestAdminRefused(t *testing.T) {
	a, k := newAdmin(t)
	ctx := t.Context()
	for _, refusal := range []error{
		&holdfast.Error{Op: "lock", Name: "x", Err: &holdfast.HeldError{Owner: "job-7", Member: "b"}},
		&holdfast.Error{Op: "lock", Name: "x", Err: holdfast.ErrUnavailable},
		&holdfast.Error{Op: "lock", Name: "x", Err: api.Fail(api.CodeUnknownSession, "no session a-1")},
	} {
		k.calls, k.err = nil, refusal
		_, err := a.Acquire(ctx, "", Acquisition{Names: []string{"x"}})
		if err == nil || err.Error() != refusal.Error() || api.Code(err) != api.Code(refusal) || len(k.calls) != 1 {
			t.Errorf("got %v (code %s) after %d calls, want %v", err, api.Code(err), len(k.calls), refusal)
		}
		for _, got := range []error{
			a.Release(ctx, "", "x", 1, "a-1.s"), second(a.Renew(ctx, "a-1.s", 0)), second(a.EndSession(ctx, "a-1.s")),
			second(a.List(ctx, "", "", "", 0)), second(a.Show(ctx, "", "x")), second(a.Break(ctx, "", "x", 0, "r", "me")), second(a.Status(ctx)),
		} {
			if api.Code(got) != api.Code(refusal) {
				t.Errorf("got %v, want %v", got, refusal)
			}
		}
		var last error
		for _, err := range a.Watch(ctx, "", "") {
			last = err
		}
		if api.Code(last) != api.Code(refusal) {
			t.Errorf("Watch: %v, want %v", last, refusal)
		}
	}
	for _, q := range []Acquisition{{}, {Names: []string{""}}, {Names: []string{"x", "x"}}} {
		if _, err := a.Acquire(ctx, "", q); !errors.Is(err, holdfast.ErrName) && !errors.Is(err, holdfast.ErrConflict) {
			t.Errorf("Acquire of %q: %v", q.Names, err)
		}
	}
	k.err = status.Error(codes.Internal, "boom")
	if _, err := a.Status(ctx); api.Code(err) != api.CodeInternal {
		t.Errorf("Status: %v", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := a.Status(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Status with a context that has ended: %v", err)
	}
}

// TestAdminLooksAgain: an Admin whose member is away goes on looking for it about once a
// second, so that calls find it soon when it is back, however long it was away. The
// tenth look would come after more than a minute if the pauses went on growing.
func TestAdminLooksAgain(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	const looks = 10
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a, err := DialAdmin(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	looked := make(chan int, 1)
	go func() {
		n := 0
		defer func() { looked <- n }()
		for ; n < looks; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	if _, err := a.Status(ctx); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("Status of a member that hangs up: %v", err)
	}
	select {
	case <-looked:
	case <-ctx.Done():
		listener.Close()
		t.Errorf("it has looked %d times, want %d", <-looked, looks)
	}
	if err := errors.Join(a.Close(), listener.Close()); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("Close: %v", err)
	}
}

func TestAdminUnreachable(t *testing.T) {
	one, two := newFake(t), newFake(t)
	one.stop()
	two.stop()
	a, err := DialAdmin(one.address + "," + two.address)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	want := "status: unavailable: no member reachable at " + one.address + ": dial tcp "
	if _, err := a.Status(t.Context()); !errors.Is(err, holdfast.ErrUnavailable) || !contains(err.Error(), want, "refused; "+two.address+": ") {
		t.Errorf("Status: %v, want %s…", err, want)
	}
	for _, err := range a.Watch(t.Context(), "", "") {
		if !errors.Is(err, holdfast.ErrUnavailable) {
			t.Errorf("Watch: %v", err)
		}
	}
	if _, err := DialAdmin("http://x"); err == nil {
		t.Error("a bad target was taken")
	}
	if _, err := DialAdmin("x", TTL(-1)); err == nil {
		t.Error("a bad option was taken")
	}
}
