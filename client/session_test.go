package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

// TestDeadlineCountsFromSending delays the answers: what counts is when the hello and
// the beats were sent.
func TestDeadlineCountsFromSending(t *testing.T) {
	f := newFake(t)
	s := newStageUndialled(f)
	result := s.dial(f.address, TTL(20*time.Second), Name("tester"))
	v := f.accept()
	if v.hello.GetTtl() != int64(20*time.Second) || v.hello.GetClient() != "tester" || v.hello.GetSession() != "" {
		t.Errorf("hello %v", v.hello)
	}
	s.clock.Advance(time.Second)
	v.welcome("a-1", testTTL)
	s.finish(result)
	if c := s.client; c.Session() != "a-1" || c.Secret() != "secret of a-1" || c.TTL() != testTTL || c.Member() != "a" {
		t.Errorf("session %q, secret %q, ttl %v, member %q", c.Session(), c.Secret(), c.TTL(), c.Member())
	}
	lock := s.hold(v, "x", 5)
	if got := lock.Deadline(); got != testTTL {
		t.Errorf("deadline %v, want %v: the hello was sent at 0", got, testTTL)
	}
	s.clock.Advance(testBeat - time.Second)
	beat := v.wantOp("beat", 0)
	s.clock.Advance(time.Second)
	v.send(beaten(beat.Id+1000, time.Hour), beaten(beat.Id, testTTL))
	s.hold(v, "y", 6) // its answer comes after the beat's
	if got, want := lock.Deadline(), testBeat+testTTL; got != want {
		t.Errorf("deadline %v, want %v: the beat was sent then, and answered a second later", got, want)
	}
}

func newStageUndialled(f *fake) *stage { return &stage{fake: f, clock: manual()} }

// TestDeadlinePasses: the lock is lost, the session is never used again, and the
// Client goes on with another.
func TestDeadlinePasses(t *testing.T) {
	late := make(chan time.Duration, 1)
	s, v := newStage(t, OnLate(func(remaining time.Duration) { late <- remaining }))
	lock := s.hold(v, "x", 5)
	s.clock.Advance(testBeat)
	beat := v.wantOp("beat", 0)
	s.clock.Advance(testTTL/2 - testBeat)
	if remaining := <-late; remaining != testTTL/2 {
		t.Errorf("late with %v left, want %v", remaining, testTTL/2)
	}
	again := s.accept() // while the other stream answers nothing
	if again.hello.GetSession() != "a-1" || again.hello.GetSecret() != "secret of a-1" {
		t.Errorf("hello %v, want to resume", again.hello)
	}
	if err := lock.Check(); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	s.clock.Advance(testTTL / 2)
	s.isDone(lock, holdfast.SessionExpired)
	v.ended()
	again.send(welcomed("a-1", testTTL), beaten(beat.Id, testTTL)) // too late
	fresh := s.accept()
	if fresh.hello.GetSession() != "" {
		t.Errorf("hello %v, want a new session", fresh.hello)
	}
	fresh.welcome("a-2", testTTL)
	other := s.hold(fresh, "x", 6)
	if s.client.Session() != "a-2" || other.Check() != nil || lock.Check() == nil {
		t.Errorf("session %q, old lock %v, new lock %v", s.client.Session(), lock.Check(), other.Check())
	}
	if err := lock.UnlockAsync(); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Unlock of a lost lock: %v", err)
	}
}

// TestLateAnswer: an answer that comes after half of the ttl, on the stream on which the
// heartbeat went, counts as every other until the deadline; and that stream is used on.
func TestLateAnswer(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 5)
	s.clock.Advance(testBeat)
	beat := v.wantOp("beat", 0)
	s.clock.Advance(testTTL/2 - testBeat)
	again := s.accept()
	s.clock.Advance(testTTL/2 - 1)
	v.send(beaten(beat.Id, testTTL))
	s.holdAmongBeats(v, "y", 6) // its answer comes after the heartbeat's
	if got, want := lock.Deadline(), testBeat+testTTL; got != want {
		t.Errorf("deadline %v, want %v: the heartbeat that was answered was sent a third of the ttl after the hello", got, want)
	}
	again.send(refused(0, api.CodeUnavailable))
	s.clock.Advance(1)
	if err := lock.Check(); err != nil {
		t.Errorf("at the deadline that was before: %v", err)
	}
	s.holdAmongBeats(v, "z", 7)
	if again.hello.GetSession() != "a-1" || s.client.Session() != "a-1" {
		t.Errorf("session %q, hello %v", s.client.Session(), again.hello)
	}
}

// holdAmongBeats takes a lock on a stream on which heartbeats come, too.
func (s *stage) holdAmongBeats(v *conversation, name string, token holdfast.Token) {
	s.t.Helper()
	c := s.begin(name)
	op := v.next()
	for kindOf(op) == "beat" {
		op = v.next()
	}
	if op.GetAcquire().GetName() != name {
		s.t.Fatalf("got %v, want an acquire of %q", op, name)
	}
	v.send(granted(op.Id, token))
	c.lock()
}

// TestSecondStream takes the place of the first as soon as it is welcomed: the first is
// ended, and what waits is asked for on the second.
func TestSecondStream(t *testing.T) {
	s, v := newStage(t)
	if hello := v.hello; len(hello.GetRequests()) != 0 || hello.GetLast() != 0 {
		t.Errorf("the hello that opens a session speaks of requests: %v", hello)
	}
	lock := s.hold(v, "x", 5)
	waiting := s.begin("y")
	acquire := v.acquireOp("y")
	if err := s.hold(v, "z", 7).UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.send(released(v.wantOp("release", 0).Id, nil))
	if err := s.client.Settle(s.ctx); err != nil {
		t.Fatal(err)
	}
	s.clock.Advance(testBeat)
	beat := v.wantOp("beat", 0).Id
	s.clock.Advance(testTTL/2 - testBeat)
	again := s.accept()
	// What it holds and waits for, and not what it has given back.
	if hello := again.hello; !slices.Equal(hello.GetRequests(), []uint64{lock.Request(), acquire}) || hello.GetLast() < beat {
		t.Errorf("hello speaks of %v up to %d, want %v up to %d at least", hello.GetRequests(), hello.GetLast(), []uint64{lock.Request(), acquire}, beat)
	}
	again.welcome("a-1", testTTL)
	v.ended()
	if id := again.acquireOp("y"); id != acquire {
		t.Errorf("asked again under %d, want %d", id, acquire)
	}
	again.send(granted(acquire, 6))
	waiting.lock()
	if got, want := lock.Deadline(), testTTL/2+testTTL; got != want {
		t.Errorf("deadline %v, want %v: the second hello was sent at half of the ttl", got, want)
	}
}

// TestFirstStreamBreaks while the second is opened: the second serves all the same.
func TestFirstStreamBreaks(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "x", 5)
	s.clock.Advance(testTTL / 2)
	again := s.accept()
	v.broken()
	again.welcome("a-1", testTTL)
	s.hold(again, "y", 6)
	if got, want := lock.Deadline(), testTTL/2+testTTL; got != want {
		t.Errorf("deadline %v, want %v", got, want)
	}
}

// TestLateOrLost: after a while in which this process did not run, a session that has
// ended is not said to be late.
func TestLateOrLost(t *testing.T) {
	for at, want := range map[time.Duration]int{testTTL / 2: 1, testTTL - 1: 1, testTTL: 0, time.Hour: 0} {
		synctest.Test(t, func(t *testing.T) {
			c, calls := silent(t)
			c.clock.(*clocktest.Manual).Advance(at)
			c.tick()
			synctest.Wait()
			if *calls != want {
				t.Errorf("%v after the latest acknowledged heartbeat: called %d times, want %d", at, *calls, want)
			}
		})
	}
}

// TestLateNoMore: a session that was renewed or has ended before the goroutine that says
// that it is late came to run is not said to be.
func TestLateNoMore(t *testing.T) {
	for name, meanwhile := range map[string]func(s *backing, m *clocktest.Manual){
		"renewed": func(s *backing, m *clocktest.Manual) { s.Renew(m.Now(), testTTL/2, testTTL) },
		"ended":   func(s *backing, m *clocktest.Manual) { s.End(m.Now()) },
		"expired": func(_ *backing, m *clocktest.Manual) { m.Advance(testTTL) },
	} {
		c, calls := silent(t)
		m := c.clock.(*clocktest.Manual)
		m.Advance(testTTL / 2)
		deadline := c.session.Deadline()
		meanwhile(c.session, m)
		c.notifyLate(c.session, deadline)
		if *calls != 0 {
			t.Errorf("%s: said to be late", name)
		}
	}
}

// silent is a Client whose session was renewed at zero, and how often it has reported that
// no heartbeat is acknowledged.
func silent(t *testing.T) (c *Client, calls *int) {
	calls = new(int)
	late := func(remaining time.Duration) {
		if *calls++; remaining <= 0 {
			t.Errorf("late with %v left", remaining)
		}
	}
	settings, err := resolve([]Option{withClock(manual()), OnLate(late)})
	if err != nil {
		t.Fatal(err)
	}
	c = build(settings, []api.Address{{Network: "tcp", Place: "a:1"}})
	c.stop() // it asks no address
	on := c.newContact(&session.Contact{Place: api.Address{Network: "tcp", Place: "a:1"}})
	on.link = &link{of: linkKey{clock: c.clock}, doubts: func() {}}
	c.notify(session.Greet, on)
	c.hear(on, session.Event{Kind: session.Answered, Said: []*schema.Event{welcomed("a-1", testTTL)}})
	if c.session == nil {
		t.Fatal(on.refusal)
	}
	return c, calls
}

// TestResume resends what is not settled, once each, under its id and in order.
func TestResume(t *testing.T) {
	s, v := newStage(t)
	releasing := s.hold(v, "releasing", 1)
	extending := s.hold(v, "extending", 2, holdfast.Hold(time.Hour))
	quiet := s.hold(v, "quiet", 3)
	if err := releasing.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", releasing.Request())
	requested := s.begin("asking", holdfast.Wait(time.Hour))
	acquire := v.acquireOp("asking")
	cancelled := s.begin("cancelled")
	gone := v.acquireOp("cancelled")
	v.send(queued(gone, 0))
	cancelled.cancel()
	cancelled.fails(context.Canceled)
	v.wantOp("cancel", gone)
	extension := make(chan error, 1)
	go func() { extension <- extending.Extend(s.ctx, 2*time.Hour) }()
	v.wantOp("extend", extending.Request())

	for range 2 { // and once more, since nothing was answered
		v.broken()
		v = s.accept()
		if v.hello.GetSession() != "a-1" || v.hello.GetSecret() != "secret of a-1" {
			t.Fatalf("hello %v, want to resume", v.hello)
		}
		v.welcome("a-1", testTTL)
		if got := v.wantOp("release", releasing.Request()).GetRelease(); got.GetToken() != 1 || got.GetName() != "releasing" {
			t.Errorf("release %v", got)
		}
		v.wantOp("extend", extending.Request())
		v.wantOp("acquire", acquire)
		v.wantOp("cancel", gone)
	}
	// The first copy of the release has acted, so this one finds nothing to do.
	v.send(released(releasing.Request(), &schema.Problem{Code: api.CodeNotHeld}), extended(extending.Request(), 2*time.Hour), granted(acquire, 9), released(gone, nil))
	requested.lock()
	if err := <-extension; err != nil {
		t.Errorf("Extend: %v", err)
	}
	if err := s.client.Settle(s.ctx); err != nil {
		t.Errorf("Settle after a release that acted once: %v", err)
	}
	v.broken()
	v = s.accept()
	v.welcome("a-1", testTTL)
	s.hold(v, "last", 10) // the first operation, so nothing was repeated
	if quiet.Check() != nil {
		t.Errorf("a lock that nothing happened to: %v", quiet.Check())
	}
}

// TestUnknownSession: what was held is lost, what waited is asked for again.
func TestUnknownSession(t *testing.T) {
	s, v := newStage(t)
	lock := s.hold(v, "held", 1)
	unlocked := s.hold(v, "unlocked", 2)
	if err := unlocked.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", unlocked.Request())
	calls := 0
	waiting := s.begin("waiting", holdfast.OnQueued(func(int) { calls++ }))
	v.send(queued(v.acquireOp("waiting"), 3))
	v.broken()
	v = s.accept()
	v.send(refused(0, api.CodeUnknownSession))
	v = s.accept()
	s.isDone(lock, holdfast.SessionExpired)
	if v.hello.GetSession() != "" {
		t.Fatalf("hello %v, want a new session", v.hello)
	}
	v.welcome("a-2", testTTL)
	id := v.acquireOp("waiting")
	v.send(queued(id, 4))
	v.send(granted(id, 9))
	if got := waiting.lock(); got.Token() != 9 || got.Check() != nil || calls != 1 {
		t.Errorf("token %v, %v, called %d times", got.Token(), got.Check(), calls)
	}
	if err := s.client.Settle(s.ctx); !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Settle after a release that no member acknowledged: %v", err)
	}
}

// TestMemberServesNoLonger: a member that says that another one may serve has ended nothing. What is held goes on there, what
// waits is asked for again under its number, and so is what was under way; where no member takes the session
// it lasts until its deadline.
func TestMemberServesNoLonger(t *testing.T) {
	goodbye := api.ToStatus(fmt.Errorf("%w: this member is leaving; another may serve", holdfast.ErrUnavailable))
	one, two := newFake(t), newFake(t)
	s, v := one.dialled("holdfast://" + one.address + "," + two.address)
	lock, given := s.hold(v, "held", 1), s.hold(v, "given", 2)
	waiting := s.begin("waiting")
	acquire := v.acquireOp("waiting")
	if err := given.UnlockAsync(); err != nil {
		t.Fatal(err)
	}
	v.wantOp("release", given.Request())
	v.hangUp <- goodbye
	v = one.accept() // where it was is asked first
	v.send(refused(0, api.CodeUnavailable))
	v = two.accept()
	want := []uint64{lock.Request(), given.Request(), acquire}
	slices.Sort(want)
	if got := v.hello; got.GetSession() != "a-1" || got.GetSecret() != "secret of a-1" || !slices.Equal(got.GetRequests(), want) {
		t.Fatalf("hello %v, want to go on with %v", got, want)
	}
	v.welcome("a-1", testTTL)
	ids := []uint64{v.next().GetId(), v.next().GetId()}
	if !slices.Contains(ids, acquire) || !slices.Contains(ids, given.Request()) {
		t.Errorf("asked again: %v, want %d and %d", ids, acquire, given.Request())
	}
	v.send(granted(acquire, 3), released(given.Request(), nil))
	if got := waiting.lock(); got.Token() != 3 || lock.Check() != nil {
		t.Errorf("token %v, and what is held: %v", got.Token(), lock.Check())
	}
	v.hangUp <- goodbye
	v = two.accept()
	v.send(refused(0, api.CodeUnavailable))
	one.accept()
	if err := lock.Check(); err != nil {
		t.Errorf("no client takes it yet: %v", err)
	}
	s.clock.Advance(testTTL)
	s.isDone(lock, holdfast.SessionExpired)
	one.stop()
	two.stop()
}

// TestExpiryIsReported: the member may say so to a heartbeat, or to any request. What
// waits is asked for again.
func TestExpiryIsReported(t *testing.T) {
	expired := &schema.Problem{Code: api.CodeLost, Why: string(holdfast.SessionExpired)}
	for name, report := range map[string]func(acquire, held, beat uint64) *schema.Event{
		"beat":    func(_, _, beat uint64) *schema.Event { return refused(beat, api.CodeUnknownSession) },
		"acquire": func(acquire, _, _ uint64) *schema.Event { return refused(acquire, api.CodeUnknownSession) },
		"wait": func(acquire, _, _ uint64) *schema.Event {
			return &schema.Event{Id: acquire, Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: expired}}}
		},
		"wait lost": func(acquire, _, _ uint64) *schema.Event { return lost(acquire, holdfast.SessionExpired, false) },
		"held":      func(_, held, _ uint64) *schema.Event { return lost(held, holdfast.SessionExpired, false) },
		"release":   func(_, held, _ uint64) *schema.Event { return released(held, expired) },
	} {
		s, v := newStage(t)
		lock := s.hold(v, "held", 1)
		waiting := s.begin("waiting")
		acquire := v.acquireOp("waiting")
		s.clock.Advance(testBeat)
		v.send(report(acquire, lock.Request(), v.wantOp("beat", 0).Id))
		s.isDone(lock, holdfast.SessionExpired)
		v = s.accept()
		if v.hello.GetSession() != "" {
			t.Errorf("%s: hello %v, want a new session", name, v.hello)
		}
		v.welcome("a-2", testTTL)
		v.send(granted(v.acquireOp("waiting"), 2))
		if got := waiting.lock(); got.Token() != 2 {
			t.Errorf("%s: the one that waited got token %v", name, got.Token())
		}
		s.stop()
	}
}

// TestOtherMemberDoesNotKnow: only the session's own member ends it before its time.
func TestOtherMemberDoesNotKnow(t *testing.T) {
	one, two := newFake(t), newFake(t)
	s, v := one.dialled("holdfast://" + one.address + "," + two.address)
	lock := s.hold(v, "held", 1)
	one.stop()
	w := two.accept()
	if w.hello.GetSession() != "a-1" {
		t.Fatalf("hello %v, want to resume", w.hello)
	}
	w.send(refused(0, api.CodeUnknownSession))
	w = two.accept() // it asks on
	if err := lock.Check(); err != nil {
		t.Errorf("before the deadline: %v", err)
	}
	s.clock.Advance(testTTL)
	s.isDone(lock, holdfast.SessionExpired)
	w.broken()
	for w = two.accept(); w.hello.GetSession() != ""; w = two.accept() {
		w.broken()
	}
	w.welcome("b-1", testTTL)
	s.hold(w, "held", 2)
	two.stop()
}

// TestResumeOption takes over a session of another process.
func TestResumeOption(t *testing.T) {
	f := newFake(t)
	s := newStageUndialled(f)
	result := s.dial(f.address, Resume("a-7", "its secret"))
	v := f.accept()
	if v.hello.GetSession() != "a-7" || v.hello.GetSecret() != "its secret" {
		t.Errorf("hello %v", v.hello)
	}
	v.send(&schema.Event{Kind: &schema.Event_Welcome{Welcome: &schema.Welcome{Session: "a-7", Ttl: int64(testTTL)}}})
	s.finish(result)
	if s.client.Session() != "a-7" || s.client.Secret() != "its secret" {
		t.Errorf("session %q, secret %q", s.client.Session(), s.client.Secret())
	}
	s.hold(v, "x", 1)
	v.broken()
	v = f.accept() // what the other process has asked for it does not know
	if len(v.hello.GetRequests()) != 1 || v.hello.GetLast() != 0 {
		t.Errorf("the second hello speaks of %v up to %d", v.hello.GetRequests(), v.hello.GetLast())
	}

	gone := newFake(t)
	other := newStageUndialled(gone)
	result = other.dial(gone.address, Resume("a-7", "its secret"))
	gone.accept().send(refused(0, api.CodeUnknownSession))
	if err := <-result; !errors.Is(err, holdfast.ErrLost) {
		t.Errorf("Dial of a session that is gone: %v", err)
	}
}

// TestDirect goes to the authority, and takes the session with it.
func TestDirect(t *testing.T) {
	one, two := newFake(t), newFake(t)
	s := newStageUndialled(one)
	result := s.dial(one.address, Direct())
	v := one.accept()
	welcome := welcomed("a-1", testTTL)
	welcome.GetWelcome().Authority = two.address
	v.send(welcome)
	v.wantOp("end", 0)
	v.hangUp <- nil
	w := two.accept()
	if w.hello.GetSession() != "" {
		t.Errorf("hello %v, want a new session", w.hello)
	}
	welcome = welcomed("b-1", testTTL)
	welcome.GetWelcome().Authority = two.address
	w.send(welcome)
	s.finish(result)
	s.hold(w, "x", 1)
	if s.client.Session() != "b-1" {
		t.Errorf("session %q", s.client.Session())
	}
	two.stop()
}

// TestDirectPassesOthers: it goes to the authority next, not to the address that
// follows in the list, and takes what it is welcomed to there.
func TestDirectPassesOthers(t *testing.T) {
	one, two, three := newFake(t), newFake(t), newFake(t)
	s := newStageUndialled(one)
	result := s.dial(one.address+","+two.address+","+three.address, Direct())
	welcome := welcomed("a-1", testTTL)
	welcome.GetWelcome().Authority = three.address
	v := one.accept()
	v.send(welcome)
	v.wantOp("end", 0)
	v.hangUp <- nil
	select {
	case <-two.calls:
		t.Fatal("it went to an address that is not the authority's")
	case v = <-three.calls:
		v.ahead = v.nextFrame().Operations[1:]
	}
	welcome = welcomed("c-1", testTTL)
	welcome.GetWelcome().Authority = three.address
	v.send(welcome)
	s.finish(result)
	s.hold(v, "x", 1)
	three.stop()
}

func TestNotWelcome(t *testing.T) {
	for _, code := range []string{api.CodeDenied, api.CodeUnauthenticated, api.CodeLimit, api.CodeBadRequest} {
		f := newFake(t)
		s := newStageUndialled(f)
		result := s.dial(f.address)
		f.accept().send(refused(0, code))
		if err := <-result; api.Code(err) != code {
			t.Errorf("%s: Dial says %v", code, err)
		}
	}
}

// TestOddWelcomes: what makes no sense is no welcome, and Dial goes on.
func TestOddWelcomes(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := newStageUndialled(f)
	result := s.dial(f.address)
	for _, odd := range [][]*schema.Event{
		{}, {granted(1, 1)}, {welcomed("a-1", 0)}, {welcomed("", testTTL)}, {refused(7, api.CodeDenied)},
		{refused(0, api.CodeUnavailable)}, {{Kind: &schema.Event_Refused{}}}, {{Kind: &schema.Event_Welcome{}}},
	} {
		f.accept().send(odd...)
	}
	f.accept().welcome("a-1", testTTL)
	s.finish(result)
}

func TestDialUnreachable(t *testing.T) {
	f := newFake(t)
	f.stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := Dial(ctx, f.address)
	if !errors.Is(err, holdfast.ErrUnavailable) || !contains(err.Error(), f.address, "dial: unavailable: no member reachable at ", "refused") {
		t.Errorf("Dial where no member listens: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := Dial(ctx, f.address); !errors.Is(err, context.Canceled) {
		t.Errorf("Dial with a context that has ended: %v", err)
	}
	for target, options := range map[string][]Option{
		"http://x": nil, "a:1": {TTL(-1)}, "a:2": {Resume("x", "")}, "a:3": {Space("a b")}, "a:4": {Name("\x00")},
	} {
		if _, err := Dial(t.Context(), target, options...); err == nil {
			t.Errorf("Dial %s with a bad option or target succeeded", target)
		}
	}
}
