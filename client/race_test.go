package client

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
)

// soon is far above session.RaceDelay, and far below the limits that a silent address ran into
// before the next one was asked (a quarter of the ttl, 1 s to 5 s, and what callers give).
const soon = 4 * time.Second

// mute is an address that accepts connections and never says anything, as a process that
// stands still does.
type mute struct {
	address string
	dialed  atomic.Int32
}

func newMute(t *testing.T) *mute {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{address: l.Addr().String()}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			m.dialed.Add(1)
			defer conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-over })
	return m
}

// refusing is an address where nothing listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestDialPastSilence: an address that accepts and says nothing, first in the list, costs
// session.RaceDelay and not its whole limit; the addresses behind the one that serves are not asked.
func TestDialPastSilence(t *testing.T) {
	silent, two, three := newMute(t), newFake(t), newMute(t)
	result := make(chan error, 1)
	began := time.Now()
	var c *Client
	go func() {
		var err error
		c, err = Dial(two.ctx, silent.address+","+two.address+","+three.address, withGoodbye(time.Millisecond))
		result <- err
	}()
	v := two.accept()
	v.welcome("a-1", time.Hour)
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < session.RaceDelay || took > soon {
		t.Errorf("it took %v, want a little more than %v", took, session.RaceDelay)
	}
	if silent.dialed.Load() == 0 || three.dialed.Load() > 0 {
		t.Errorf("the first was asked %d times, the last %d; want 1 and 0", silent.dialed.Load(), three.dialed.Load())
	}
	lock := begins(two.ctx, c, "x")
	v.send(granted(v.acquireOp("x"), 5))
	if got := <-lock; got.err != nil {
		t.Error(got.err)
	}
	two.stop()
	if err := c.Close(); !errors.Is(err, holdfast.ErrUnavailable) {
		t.Errorf("Close: %v", err)
	}
}

// begins calls Lock on a goroutine of its own.
func begins(ctx context.Context, c *Client, name string, o ...holdfast.Option) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		lock, err := c.Lock(ctx, name, o...)
		result <- outcome{lock, err}
	}()
	return result
}

// TestLateWelcome: a member that has opened a session when another one serves already is
// asked to end it, and the Client stays where it is.
func TestLateWelcome(t *testing.T) {
	one, two := newFake(t), newFake(t)
	s := newStageUndialled(one)
	result := s.dial(one.address + "," + two.address)
	first := one.accept() // and takes its time
	s.clock.Advance(session.RaceDelay)
	second := two.accept()
	second.welcome("b-1", testTTL)
	s.finish(result)
	first.welcome("a-1", testTTL)
	if first.next().GetEnd() == nil {
		t.Error("the session that is not used is not ended")
	}
	first.hangUp <- nil
	s.hold(second, "x", 5)
	if got := s.client.Session(); got != "b-1" {
		t.Errorf("session %s, want b-1", got)
	}
}

// TestNoRaceWithinItsDelay: an address that answers within session.RaceDelay is the only one asked.
func TestNoRaceWithinItsDelay(t *testing.T) {
	one, two := newFake(t), newMute(t)
	s := newStageUndialled(one)
	result := s.dial(one.address + "," + two.address)
	v := one.accept()
	s.clock.Advance(session.RaceDelay - 1)
	v.welcome("a-1", testTTL)
	s.finish(result)
	s.hold(v, "x", 5)
	if n := two.dialed.Load(); n > 0 {
		t.Errorf("the second address was asked %d times", n)
	}
}

// TestReconnectPastSilence: the session's own member stands still; another one takes it over
// long before the attempt there ends.
func TestReconnectPastSilence(t *testing.T) {
	one, two := newFake(t), newFake(t)
	s, v := one.dialled(one.address + "," + two.address)
	lock := s.hold(v, "x", 5)
	v.broken()
	again := one.accept() // and is not answered
	s.clock.Advance(session.RaceDelay)
	other := two.accept()
	if other.hello.GetSession() != "a-1" {
		t.Errorf("hello %v, want to resume", other.hello)
	}
	other.welcome("a-1", testTTL)
	again.ended()
	s.hold(other, "y", 6)
	if err := lock.Check(); err != nil {
		t.Error(err)
	}
}

// TestDialNamesEachAddress: the error has each address that was asked, with its own reason,
// and none that was not.
func TestDialNamesEachAddress(t *testing.T) {
	t.Parallel()
	silent, refuses, away, last := newMute(t), refusing(t), newFake(t), newMute(t)
	s := newStageUndialled(away)
	ctx, cancel := context.WithCancel(away.ctx)
	defer cancel()
	deadline, stop := context.WithTimeout(ctx, 2*time.Second)
	defer stop()
	result := make(chan error, 1)
	go func() {
		_, err := Dial(deadline, silent.address+","+refuses+","+away.address+","+last.address, withClock(s.clock))
		result <- err
	}()
	waitFor(t, func() bool { return silent.dialed.Load() > 0 })
	s.clock.Advance(session.RaceDelay) // the second refuses, so that the third is asked at once
	v := away.accept()
	v.send(&schema.Event{Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: &schema.Problem{Code: api.CodeUnavailable, Detail: "unavailable: no view yet"}}}})
	v.hangUp <- nil
	waitFor(t, func() bool { return last.dialed.Load() > 0 })
	err := <-result
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, holdfast.ErrUnavailable) || unreachable.Refused() {
		t.Fatalf("Dial: %v", err)
	}
	for i, want := range [][2]string{{silent.address, "no answer"}, {refuses, "refused"}, {away.address, "no view yet"}, {last.address, "no answer"}} {
		if i >= len(unreachable.Attempts) || unreachable.Attempts[i].Address != want[0] || !contains(unreachable.Attempts[i].Err.Error(), want[1]) {
			t.Errorf("address %d: got %v, want %v", i, unreachable.Attempts, want)
		}
	}
	if !contains(err.Error(), "dial: unavailable: no member serves at "+silent.address+": no answer; "+refuses+": ") {
		t.Errorf("Dial: %v", err)
	}
}

// TestPatience: where nothing listens Dial gives up after two seconds, and says so; once a
// member has answered it does not.
func TestPatience(t *testing.T) {
	one, two := refusing(t), refusing(t)
	s := newStageUndialled(&fake{t: t, ctx: t.Context()})
	result := s.dial(one+","+two, Patience(time.Hour))
	var err error
	for over := false; !over; {
		select {
		case err = <-result:
			over = true
		case <-time.After(time.Millisecond):
			s.clock.Advance(100 * time.Millisecond)
		}
	}
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !unreachable.Refused() || len(unreachable.Attempts) != 2 || s.clock.Now() < refusedLimit {
		t.Errorf("after %v: %v", s.clock.Now(), err)
	}

	f := newFake(t)
	s = newStageUndialled(f)
	result = s.dial(f.address, Patience(refusedLimit))
	v := f.accept()
	v.send(refused(0, api.CodeUnavailable))
	v.hangUp <- nil
	v = f.accept()
	s.clock.Advance(4 * refusedLimit)
	v.welcome("a-1", time.Hour)
	s.finish(result)
}

// TestDialAnsweredAtItsDeadline: a Dial whose context ends as the welcome comes has connected. Nothing is known of addresses then
// that an error could list.
func TestDialAnsweredAtItsDeadline(t *testing.T) {
	s := newStageUndialled(newFake(t))
	settings, err := resolve([]Option{withClock(s.clock)})
	if err != nil {
		t.Fatal(err)
	}
	c := start(settings, []api.Address{at(t, s.address)})
	s.client = c
	defer c.work.Wait()
	defer c.stop()
	s.accept().welcome("a-1", testTTL)
	s.until(func() bool { return len(c.first) > 0 })
	if err := c.overdue(context.DeadlineExceeded); err != nil {
		t.Errorf("Dial has connected, and says: %v", err)
	}
	if err := c.overdue(context.Canceled); err != context.Canceled {
		t.Errorf("a Dial that is canceled says: %v", err)
	}
}

// TestAdminPastSilence: a unary call is made at the first member that lives, once.
func TestAdminPastSilence(t *testing.T) {
	silent, last := newMute(t), newMute(t)
	other, k := newAdmin(t)
	a, err := DialAdmin(silent.address + "," + other.members[1].place.Place + "," + last.address)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	began := time.Now()
	if _, err := a.Break(t.Context(), "", "x", 0, "r", "me"); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %v", took)
	}
	if silent.dialed.Load() == 0 || last.dialed.Load() > 0 || len(k.calls) != 1 {
		t.Errorf("the first was asked %d times, the last %d, and %d calls were made", silent.dialed.Load(), last.dialed.Load(), len(k.calls))
	}

	one := refusing(t)
	b, err := DialAdmin(one + "," + silent.address)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ctx, cancel := context.WithTimeout(t.Context(), session.RaceDelay)
	defer cancel()
	_, err = b.Status(ctx)
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !errors.Is(err, context.DeadlineExceeded) || len(unreachable.Attempts) != 2 ||
		!contains(err.Error(), one+": dial tcp "+one+": connect: connection refused; "+silent.address+": no answer") {
		t.Errorf("Status: %v", err)
	}
}

// TestAdminUnknownSession: that others do not know a session says nothing while an address is
// silent, whose member may know it.
func TestAdminUnknownSession(t *testing.T) {
	silent := newMute(t)
	other, k := newAdmin(t)
	k.err = &holdfast.Error{Op: "renew", Err: api.Fail(api.CodeUnknownSession, "no session a-1")}
	a, err := DialAdmin(other.members[1].place.Place + "," + silent.address)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx, cancel := context.WithTimeout(t.Context(), session.RaceDelay)
	defer cancel()
	if _, err := a.Renew(ctx, "a-1.s", 0); api.Code(err) != api.CodeUnavailable || errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Renew: %v, want unavailable", err)
	}
}

// TestStaysAtItsAddress: a client that reaches its member under an address that no member
// has is behind a proxy, and does not go past it.
func TestStaysAtItsAddress(t *testing.T) {
	proxy, member := newFake(t), newMute(t)
	s := newStageUndialled(proxy)
	result := s.dial(proxy.address)
	v := proxy.accept()
	v.send(welcomeFrom("a-1", "ours", member.address))
	s.finish(result)
	for range 3 {
		v.broken()
		v = proxy.accept()
		s.clock.Advance(session.RaceDelay)
		v.send(welcomeFrom("a-1", "ours", member.address))
		s.holdAmongBeats(v, "x", 5)
	}
	if n := member.dialed.Load(); n > 0 {
		t.Fatalf("it went past the proxy %d times", n)
	}
	v.leaves() // the member's own word
	proxy.accept().hangUp <- nil
	waitFor(t, func() bool { return member.dialed.Load() > 0 })
}

// TestLogsChanges: that a connection has ended is logged once, however often it is tried to
// make another.
func TestLogsChanges(t *testing.T) {
	logged := make(chan slog.Record, 100)
	s, v := newStage(t, Logger(slog.New(recorder{logged})))
	v.broken()
	for range 3 {
		v := s.accept()
		v.send(refused(0, api.CodeUnavailable))
		v.hangUp <- nil
	}
	v = s.accept()
	v.welcome("a-1", testTTL)
	s.hold(v, "x", 5)
	var messages []string
	for len(logged) > 0 {
		if r := <-logged; r.Level >= slog.LevelInfo {
			messages = append(messages, r.Message)
		}
	}
	if want := []string{"connected", "the connection has ended", "connected"}; !slices.Equal(messages, want) {
		t.Errorf("logged %q, want %q", messages, want)
	}
}

// recorder is a log that a test reads.
type recorder struct{ records chan slog.Record }

func (r recorder) Enabled(context.Context, slog.Level) bool { return true }
func (r recorder) Handle(_ context.Context, record slog.Record) error {
	r.records <- record
	return nil
}
func (r recorder) WithAttrs([]slog.Attr) slog.Handler { return r }
func (r recorder) WithGroup(string) slog.Handler      { return r }

// TestContextDeadlineNamesTheHolder: the authority knows when the call's context ends, and its
// word about why nothing was granted by then is part of the error.
func TestContextDeadlineNamesTheHolder(t *testing.T) {
	s, v := newStage(t)
	ctx, cancel := context.WithTimeout(s.ctx, 30*time.Second)
	defer cancel()
	got := begins(ctx, s.client, "x")
	op := v.next()
	if wait := time.Duration(op.GetAcquire().GetWait()); wait <= 0 || wait > 30*time.Second {
		t.Errorf("the authority is asked to wait for %v", wait)
	}
	held := &schema.Problem{Code: api.CodeHeld, Owner: "alice", Member: "m1"}
	v.send(queued(op.Id, 0), &schema.Event{Id: op.Id, Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: held}}})
	var by *holdfast.HeldError
	if err := (<-got).err; !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &by) || by.Owner != "alice" {
		t.Errorf("Lock: %v", err)
	}

	short, stop := context.WithTimeout(s.ctx, time.Millisecond)
	defer stop()
	began := time.Now()
	if err := (<-begins(short, s.client, "y")).err; !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, holdfast.ErrHeld) {
		t.Errorf("without an answer Lock says %v", err)
	}
	if took := time.Since(began); took > soon {
		t.Errorf("it took %v", took)
	}
}
