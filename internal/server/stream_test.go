package server

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestHelloIsWelcomed(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.call(b.conn)
	w := c.welcome(&schema.Hello{Client: "test", Ttl: int64(20 * time.Second)})
	if w.GetSession() == "" || len(w.GetSecret()) != 32 {
		t.Errorf("session %q, secret of %d characters", w.GetSession(), len(w.GetSecret()))
	}
	if got := time.Duration(w.GetTtl()); got != 20*time.Second {
		t.Errorf("ttl %v, want what was asked for, 20s", got)
	}
	if w.GetMember() != "a" || w.GetAuthority() != "a.example:4040" {
		t.Errorf("member %q, authority %q", w.GetMember(), w.GetAuthority())
	}
	again := b.resume(c)
	if again.id != c.id {
		t.Errorf("resumed %s, got %s", c.id, again.id)
	}
}

// TestWelcomeNamesDurableSpaces: those in which a client asks for many names at the same time.
func TestWelcomeNamesDurableSpaces(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Spaces[1].Protocol = "consensus" }, nil)
	w := b.call(b.conn).welcome(&schema.Hello{Client: "test"})
	if got := w.GetDurable(); len(got) != 1 || got[0] != "any" {
		t.Errorf("durable are %q, want the space of protocol consensus", got)
	}
}

func TestFirstOperationMustBeHello(t *testing.T) {
	b := newHarness(t, nil, nil)
	for what, first := range map[string]*schema.Operation{
		"acquire":      opAcquire(1, "x"),
		"no kind":      {},
		"negative ttl": {Kind: &schema.Operation_Hello{Hello: &schema.Hello{Ttl: -1}}},
		"half secret":  {Kind: &schema.Operation_Hello{Hello: &schema.Hello{Session: "1-1", Secret: "00"}}},
		"large id":     {Id: 1 << 63, Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}},
	} {
		t.Run(what, func(t *testing.T) {
			c := b.call(b.conn)
			c.say(first, opAcquire(2, "y"))
			c.refused(0, api.CodeBadRequest)
			must(t, c.end())
		})
	}
	c := b.call(b.conn)
	c.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Client: "two\nlines"}}})
	c.refused(0, api.CodeName)
	must(t, c.end())
	if shown, err := b.service.Show(t.Context(), &schema.ShowRequest{Name: "y"}); err != nil || len(shown.Holders) != 0 {
		t.Errorf("what stood behind a refused hello was done: %v, %v", shown, err)
	}
}

func TestUnknownSessionIsRefused(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	for what, hello := range map[string]*schema.Hello{
		"wrong secret":  {Session: c.id, Secret: "00000000000000000000000000000000"},
		"other session": {Session: "7-zzz", Secret: c.secret},
	} {
		t.Run(what, func(t *testing.T) {
			other := b.call(b.conn)
			other.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: hello}})
			other.refused(0, api.CodeUnknownSession)
			must(t, other.end())
		})
	}
	c.say(opBeat(9, 0)) // a wrong secret ends no stream
	if event := c.hear(); event.GetBeat() == nil {
		t.Errorf("heard %v", event)
	}
}

// TestBatch sends hello and many operations in one frame.
func TestBatch(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.call(b.conn)
	const n = 10_000
	operations := []*schema.Operation{{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}}}
	for i := range uint64(n) {
		operations = append(operations, opAcquire(i+1, fmt.Sprint("name/", i)))
	}
	c.say(operations...)
	if c.hear().GetWelcome() == nil {
		t.Fatal("the first event is not welcome")
	}
	last := uint64(0)
	for i := range uint64(n) {
		token := c.granted(i + 1).GetToken()
		if token <= last {
			t.Fatalf("request %d: token %d after %d", i+1, token, last)
		}
		last = token
	}
	if c.frames > n/100 { // it is stepped in parts of 256 operations, each of which may be a frame
		t.Errorf("%d answers came in %d frames", n, c.frames)
	}
	c.say(opBeat(5, 0))
	if got := time.Duration(c.hear().GetBeat().GetTtl()); got != 10*time.Second {
		t.Errorf("one beat for all of them was answered with ttl %v", got)
	}
}

func TestQueueAndGrant(t *testing.T) {
	b := newHarness(t, nil, nil)
	one, two := b.open(), b.open()
	one.say(opAcquire(1, "x"))
	token := one.granted(1).GetToken()
	two.say(opAcquire(4, "x"), opAcquire(5, "x"), opTry(6, "x"))
	two.queued(4, 0)
	two.queued(5, 1)
	held := two.refused(6, api.CodeHeld)
	if held.GetOwner() != "test" || held.GetMember() != "a" || held.GetSince() == 0 || held.GetName() != "x" || held.GetSpace() != "default" {
		t.Errorf("the refusal does not name the holder: %v", held)
	}
	one.say(opRelease(1, "x", token))
	one.released(1)
	next := two.granted(4).GetToken()
	if next <= token {
		t.Errorf("token %d after %d", next, token)
	}
	two.say(opRelease(4, "x", token)) // another's token
	if event := two.hear(); event.GetId() != 4 || event.GetReleased().GetProblem().GetCode() != api.CodeNotHeld {
		t.Errorf("a release under a foreign token: %v", event)
	}
	two.say(opRelease(4, "x", next))
	two.released(4)
	two.granted(5)
}

func TestWaitLimit(t *testing.T) {
	b := newHarness(t, nil, nil)
	one, two := b.open(), b.open()
	one.say(opAcquire(1, "x"))
	one.granted(1)
	two.say(&schema.Operation{Id: 2, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{Name: "x", Wait: int64(time.Second)}}})
	two.queued(2, 0)
	b.clock.Advance(2 * time.Second)
	two.refused(2, api.CodeHeld)
}

// TestCancelCrossesGrant: whichever comes first, nothing stays held.
func TestCancelCrossesGrant(t *testing.T) {
	b := newHarness(t, nil, nil)
	one, two := b.open(), b.open()
	one.say(opAcquire(1, "x"))
	token := one.granted(1).GetToken()
	two.say(opAcquire(1, "x"))
	two.queued(1, 0)
	one.say(opRelease(1, "x", token))
	one.released(1)
	two.granted(1) // and the client cancels as if it had not heard
	two.say(opCancel(1, "x"), opCancel(1, "x"))
	two.released(1)
	two.released(1)
	one.say(opAcquire(2, "x"))
	one.granted(2)
	two.say(opAcquire(2, "x"))
	two.queued(2, 0)
	two.say(opCancel(2, "x"))
	two.released(2)
	one.say(opRelease(2, "x", 0))
	one.released(2)
	one.say(opTry(3, "x"))
	one.granted(3)
}

func TestExtend(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	c.say(&schema.Operation{Id: 1, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{Name: "x", Hold: int64(time.Second)}}})
	g := c.granted(1)
	if g.GetHold() != int64(time.Second) || g.GetSince() == 0 {
		t.Errorf("granted %v", g)
	}
	c.say(opExtend(1, "x", g.GetToken(), 3*time.Second))
	if event := c.hear(); event.GetId() != 1 || event.GetExtended().GetHold() != int64(3*time.Second) {
		t.Errorf("extended: %v", event)
	}
	b.clock.Advance(2 * time.Second)
	c.say(opExtend(1, "x", g.GetToken()+1, time.Second), opExtend(1, "x", g.GetToken(), -1))
	first, second := c.hear(), c.hear() // what is refused at the edge comes first
	codes := []string{first.GetRefused().GetProblem().GetCode(), second.GetRefused().GetProblem().GetCode()}
	if codes[0] != api.CodeBadRequest || codes[1] != api.CodeNotHeld {
		t.Errorf("a wrong hold and a wrong token: %v", codes)
	}
	b.clock.Advance(2 * time.Second)
	if event := c.hear(); event.GetId() != 1 || event.GetLost().GetWhy() != "hold_limit" || event.GetLost().GetMustRelease() {
		t.Errorf("past the hold limit: %v", event)
	}
}

// TestResumeActsOnce breaks a stream and repeats everything on the next.
func TestResumeActsOnce(t *testing.T) {
	b := newHarness(t, nil, nil)
	one, other := b.open(), b.open()
	other.say(opAcquire(1, "taken"))
	other.granted(1)
	one.say(opAcquire(1, "x"), opAcquire(2, "taken"), opAcquire(3, "y"))
	token := one.granted(1).GetToken()
	one.queued(2, 0)
	yToken := one.granted(3).GetToken()
	broken := b.streams()
	one.cancel()
	for _, s := range broken {
		if s.session.String() == one.id {
			<-s.gone
		}
	}
	again := b.resume(one)
	again.say(opAcquire(1, "x"), opAcquire(2, "taken"), opRelease(3, "y", yToken))
	if got := again.granted(1).GetToken(); got != token {
		t.Errorf("the repeated request has token %d, not %d", got, token)
	}
	again.queued(2, 0)
	again.released(3)
	again.say(opRelease(3, "y", yToken))
	if event := again.hear(); event.GetReleased().GetProblem().GetCode() != api.CodeNotHeld {
		t.Errorf("the second release: %v", event)
	}
	other.say(opRelease(1, "taken", 0))
	other.released(1)
	again.granted(2)
	again.say(opRelease(1, "x", token))
	again.released(1)
	again.say(opTry(4, "x")) // one hold, so one release was enough
	again.granted(4)
}

// TestResumeEndsWhatIsSettled: a hello says what its client has not settled, and the rest
// of what it had asked for until then is given up.
func TestResumeEndsWhatIsSettled(t *testing.T) {
	b := newHarness(t, nil, nil)
	c, other := b.open(), b.open()
	c.say(opAcquire(1, "kept"), opAcquire(2, "settled"), opAcquire(3, "newer"))
	for id := range uint64(3) {
		c.granted(id + 1)
	}
	other.say(opAcquire(1, "settled"))
	other.queued(1, 0)
	again := b.call(b.conn)
	again.id, again.secret = c.id, c.secret
	again.welcome(&schema.Hello{Session: c.id, Secret: c.secret, Requests: []uint64{1}, Last: 2})
	other.granted(1)
	other.say(opTry(2, "kept"), opTry(3, "newer"))
	other.refused(2, api.CodeHeld)
	other.refused(3, api.CodeHeld)
}

func TestLaterStreamSupersedes(t *testing.T) {
	b := newHarness(t, nil, nil)
	first := b.open()
	first.say(opAcquire(1, "x"))
	token := first.granted(1).GetToken()
	second := b.resume(first)
	if got := status.Code(first.end()); got != codes.Aborted {
		t.Errorf("the earlier stream ended with %v, want Aborted", got)
	}
	third := b.resume(first)
	if got := status.Code(second.end()); got != codes.Aborted {
		t.Errorf("the second stream ended with %v, want Aborted", got)
	}
	third.say(opAcquire(1, "x"))
	if got := third.granted(1).GetToken(); got != token {
		t.Errorf("the lock has token %d, not %d", got, token)
	}
}

// TestManyResumeAtOnce: however many streams want a session, one has it in the end.
func TestManyResumeAtOnce(t *testing.T) {
	b := newHarness(t, nil, nil)
	first := b.open()
	var all []*talk
	for range 20 {
		c := b.call(b.conn)
		c.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Session: first.id, Secret: first.secret}}})
		all = append(all, c)
	}
	if got := status.Code(first.end()); got != codes.Aborted {
		t.Errorf("the first stream ended with %v", got)
	}
	ends := make(chan error, len(all))
	for _, c := range all {
		go func() { ends <- c.end() }()
	}
	for range len(all) - 1 {
		if err := <-ends; status.Code(err) != codes.Aborted {
			t.Errorf("a superseded stream ended with %v", err)
		}
	}
	last := b.resume(first) // this one follows the stream that stayed, whichever it was
	if err := <-ends; status.Code(err) != codes.Aborted {
		t.Errorf("the last stream ended with %v", err)
	}
	last.say(opTry(1, "x"))
	last.granted(1)
}

// TestExpiry: the stream lives, and the beats have stopped.
func TestExpiry(t *testing.T) {
	b := newHarness(t, nil, nil)
	c, other := b.open(), b.open()
	c.say(opAcquire(1, "x"), opAcquire(2, "y"))
	c.granted(1)
	c.granted(2)
	b.clock.Advance(8 * time.Second)
	other.say(opAcquire(1, "x"), opBeat(2, 0))
	other.queued(1, 0)
	if event := other.hear(); event.GetBeat() == nil {
		t.Fatalf("heard %v", event)
	}
	b.clock.Advance(4 * time.Second)
	for id := uint64(1); id <= 2; id++ {
		if event := c.hear(); event.GetId() != id || event.GetLost().GetWhy() != "session_expired" || event.GetLost().GetMustRelease() {
			t.Errorf("heard %v", event)
		}
	}
	if got := status.Code(c.end()); got != codes.NotFound {
		t.Errorf("the stream of an expired session ended with %v", got)
	}
	other.granted(1)
	again := b.call(b.conn)
	again.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Session: c.id, Secret: c.secret}}})
	again.refused(0, api.CodeUnknownSession)
	must(t, again.end())
}

// TestBreak: a broken lock stays taken until its holder says that it has stopped.
func TestBreak(t *testing.T) {
	b := newHarness(t, nil, nil)
	c, other := b.open(), b.open()
	c.say(opAcquire(1, "x"))
	token := c.granted(1).GetToken()
	other.say(opAcquire(1, "x"))
	other.queued(1, 0)
	if _, err := b.service.Break(t.Context(), &schema.BreakRequest{Name: "x", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	if event := c.hear(); event.GetId() != 1 || event.GetLost().GetWhy() != "broken" || !event.GetLost().GetMustRelease() {
		t.Errorf("heard %v", event)
	}
	shown, err := b.service.Show(t.Context(), &schema.ShowRequest{Name: "x"})
	must(t, err)
	if len(shown.Holders) != 1 || len(shown.Waiters) != 1 {
		t.Errorf("before the holder has stopped: %+v", shown)
	}
	c.say(opRelease(1, "x", token))
	c.released(1)
	other.granted(1)
}

// TestResumeReportsBroken: a client that was away when its lock was broken hears so
// with its welcome, in the same frame.
func TestResumeReportsBroken(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	c.say(opAcquire(1, "x"))
	c.granted(1)
	s := b.streams()[0]
	c.cancel()
	<-s.gone
	if _, err := b.service.Break(t.Context(), &schema.BreakRequest{Name: "x", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	again := b.resume(c)
	event := again.hear()
	if event.GetId() != 1 || !event.GetLost().GetMustRelease() {
		t.Errorf("heard %v", event)
	}
	if again.frames != 1 {
		t.Errorf("the welcome and the loss came in %d frames", again.frames)
	}
}

func TestEnd(t *testing.T) {
	b := newHarness(t, nil, nil)
	c, other := b.open(), b.open()
	other.say(opAcquire(1, "z"))
	other.granted(1)
	c.say(opAcquire(1, "x"), opAcquire(2, "y"), opAcquire(3, "z"))
	c.granted(1)
	c.granted(2)
	c.queued(3, 0)
	other.say(opAcquire(2, "x"))
	other.queued(2, 0)
	c.say(opEnd(), opAcquire(4, "behind the end"))
	c.released(3)
	c.released(1)
	c.released(2)
	c.released(0) // the end itself
	must(t, c.end())
	other.granted(2)
	if shown, err := b.service.Show(t.Context(), &schema.ShowRequest{Name: "behind the end"}); err != nil || len(shown.Holders) != 0 {
		t.Errorf("an operation behind the end was done: %v %v", shown, err)
	}
}

func TestDetachedSessionKeepsItsPlace(t *testing.T) {
	b := newHarness(t, nil, nil)
	holder := b.open()
	holder.say(opAcquire(1, "x"))
	holder.granted(1)
	c := b.open()
	c.say(opAcquire(1, "x"))
	c.queued(1, 0)
	for _, s := range b.streams() {
		if s.session.String() == c.id {
			c.cancel()
			<-s.gone
		}
	}
	late := b.open()
	late.say(opAcquire(1, "x"))
	late.queued(1, 1)
	holder.say(opRelease(1, "x", 0))
	holder.released(1)
	again := b.resume(c)
	again.say(opAcquire(1, "x"))
	again.granted(1)
}

func TestBeatCountsFromArrival(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	for range 5 {
		b.clock.Advance(9 * time.Second)
		c.say(opBeat(3, 0))
		if event := c.hear(); event.GetId() != 3 || event.GetBeat().GetTtl() != int64(10*time.Second) {
			t.Fatalf("heard %v", event)
		}
	}
	c.say(opBeat(4, 30*time.Second))
	if event := c.hear(); event.GetId() != 4 || event.GetBeat().GetTtl() != int64(30*time.Second) {
		t.Errorf("a longer ttl: %v", event)
	}
	b.clock.Advance(29 * time.Second)
	c.say(opBeat(5, -1), opBeat(1<<63, 0))
	c.refused(5, api.CodeBadRequest)
	c.refused(1<<63, api.CodeBadRequest)
}

// TestLargeIDs: an id may be any positive int64 but the largest.
func TestLargeIDs(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	for id := uint64(edge.MaxID); id > edge.MaxID-3; id-- {
		c.say(opAcquire(id, "x"))
		token := c.granted(id).GetToken()
		c.say(opExtend(id, "x", token, time.Minute))
		if event := c.hear(); event.GetId() != id || event.GetExtended() == nil {
			t.Errorf("heard %v", event)
		}
		c.say(opRelease(id, "x", token), opCancel(id, "x"))
		c.released(id)
		c.released(id)
		c.say(opBeat(id, 0))
		if event := c.hear(); event.GetId() != id || event.GetBeat() == nil {
			t.Errorf("heard %v", event)
		}
	}
	c.say(&schema.Operation{Id: edge.MaxID, Kind: &schema.Operation_End{End: &schema.End{}}})
	c.released(edge.MaxID)
	must(t, c.end())
}

// TestForeignRequests: answers to what another edge asks for in a session do not come on its
// stream.
func TestForeignRequests(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	s := b.streams()[0]
	s.Deliver([]protocol.Reply{{
		To:       protocol.CallID{Sink: s.sink, Op: 1<<63 | 5},
		Decision: lock.Decision{Kind: lock.Granted, Request: 1<<63 | 5, Token: 9},
	}})
	c.say(opBeat(4, 0))
	if event := c.hear(); event.GetId() != 4 || event.GetBeat() == nil {
		t.Errorf("heard %v", event)
	}
}
