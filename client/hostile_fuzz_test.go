package client

import (
	"context"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/frames"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

// The steps of a script; what follows each is in the comment.
const (
	scriptHello  = iota // length, a frame of that length: it answers a hello
	scriptFrame         // length, a frame: it comes on the stream
	scriptLock          // which of the names and ways
	scriptUnlock        // which lock
	scriptExtend        // which lock
	scriptGiveUp        // which call
	scriptWrite         // the stream takes what is queued
	scriptPass          // how long, in steps of 100 ms
	scriptBreak         // the stream ends
	scriptClose         // Close is called
	scriptSteps
)

// fakeServer is a Client without goroutines: what they would do, a script does.
type fakeServer struct {
	t       *testing.T
	c       *Client
	clock   *clocktest.Manual
	calls   []*request
	locks   []*holdfast.Lock
	longest time.Duration // until when any answer lets a session live
	closed  bool
}

func newFakeServer(t *testing.T) *fakeServer {
	t.Helper()
	p := &fakeServer{t: t, clock: clocktest.NewManual()}
	p.clock.Advance(time.Hour)
	settings, err := resolve([]Option{withClock(p.clock)})
	if err != nil {
		t.Fatal(err)
	}
	p.c = build(settings, []api.Address{{Network: "tcp", Place: "a:1"}})
	p.c.stop() // it asks no address
	return p
}

// FuzzServer: a server may say anything, in any order. The Client does not end, nor wait
// for itself; it believes in no lock beyond its session's deadline, which no answer moves
// beyond its own ttl; it keeps count of what it waits for; and every call has one outcome.
func FuzzServer(f *testing.F) {
	say := func(step byte, events ...*schema.Event) []byte {
		frame, err := proto.Marshal(&schema.ServerFrame{Events: events})
		if err != nil || len(frame) > 255 {
			f.Fatal(len(frame), err)
		}
		return append([]byte{step, byte(len(frame))}, frame...)
	}
	welcome := say(scriptHello, welcomed("a-1", testTTL))
	held := func(more ...[]byte) []byte {
		script := append(append([]byte{}, welcome...), scriptLock, 1, scriptWrite)
		script = append(script, say(scriptFrame, granted(1, 7))...)
		for _, part := range more {
			script = append(script, part...)
		}
		return script
	}
	for _, event := range []*schema.Event{
		granted(1, 8), queued(1, 3), released(1, nil), released(1, &schema.Problem{Code: api.CodeNotHeld}), refused(1, api.CodeHeld), refused(0, "x"),
		refused(1, api.CodeUnknownSession), lost(1, holdfast.Broken, true), lost(1, "", false), lost(1, holdfast.SessionExpired, false),
		extended(1, time.Second), beaten(2, 1<<62), welcomed("b-1", 1), grantedFor(1, 7, -1), {}, {Kind: &schema.Event_Lost{}}, {Kind: &schema.Event_Moved{}},
	} {
		answer := say(scriptFrame, event)
		f.Add(append(append([]byte{}, welcome...), append([]byte{scriptLock, 1, scriptWrite}, answer...)...))
		for _, before := range [][]byte{{}, {scriptUnlock, 0, scriptWrite}, {scriptExtend, 0, scriptWrite}, {scriptGiveUp, 0, scriptWrite}, {scriptPass, 30, scriptWrite}, {scriptClose, scriptWrite}} {
			f.Add(held(before, answer, []byte{scriptPass, 90, scriptBreak}, welcome, []byte{scriptWrite}, answer))
		}
		f.Add(say(scriptHello, event))
		f.Add(say(scriptHello, welcomed("a-1", testTTL), event))
	}
	f.Add(say(scriptHello, welcomed("a-1", 1<<63-1)))
	f.Add(held([]byte{scriptBreak}, say(scriptHello, welcomed("a-1", 1<<63-1), lost(1, "", true)), []byte{scriptPass, 255}))
	f.Fuzz(func(t *testing.T, script []byte) {
		p := newFakeServer(t)
		for n := 0; len(script) > 0 && n < 64; n++ {
			script = p.perform(script)
			p.check()
		}
		p.close()
		p.abandon()
		p.check()
		for _, r := range p.calls {
			if r.State() != session.Settled {
				t.Errorf("a request for %q is left in state %d after Close", r.Want.Name, r.State())
			}
		}
	})
}

func (p *fakeServer) perform(script []byte) (rest []byte) {
	argument := func() (n byte) {
		if len(script) > 0 {
			n, script = script[0], script[1:]
		}
		return n
	}
	switch argument() % scriptSteps {
	case scriptHello:
		n := min(int(argument()), len(script))
		p.hello(script[:n])
		script = script[n:]
	case scriptFrame:
		n := min(int(argument()), len(script))
		p.hear(script[:n])
		script = script[n:]
	case scriptLock:
		p.lock(argument())
	case scriptUnlock:
		if i := int(argument()); i < len(p.locks) {
			_ = p.locks[i].UnlockAsync() // it may have ended
		}
	case scriptExtend:
		p.extend(int(argument()))
	case scriptGiveUp:
		if i := int(argument()); i < len(p.calls) {
			p.c.abandon(p.calls[i])
		}
	case scriptWrite:
		if on := p.c.stream; on != nil {
			p.c.fill(&session.Frame{}, on)
		}
	case scriptPass:
		p.clock.Advance(time.Duration(argument()) * 100 * time.Millisecond)
		p.c.mu.Lock()
		p.c.alarms.ring(p.clock.Now())
		p.c.mu.Unlock()
	case scriptBreak:
		if on := p.c.stream; on != nil {
			p.c.onBroken(on, session.ErrSilent, session.ErrSilent)
		}
	case scriptClose:
		p.close()
	}
	return script
}

// hello lets a frame answer a hello that is sent now.
func (p *fakeServer) hello(data []byte) {
	frame := &frames.Events{}
	if frame.Read(data) != nil {
		return
	}
	a := p.c.newContact(&session.Contact{Place: api.Address{Network: "tcp", Place: "a:1"}})
	a.link = &link{of: linkKey{clock: p.clock}, doubts: func() {}}
	p.c.notify(session.Greet, a)
	if len(frame.List()) > 0 {
		p.lives(frame.List()[0].GetWelcome().GetTtl())
	}
	p.beats(frame.List())
	p.c.hear(a, session.Event{Kind: session.Answered, Said: frame.List()})
}

func (p *fakeServer) hear(data []byte) {
	frame := &frames.Events{}
	if frame.Read(data) != nil || p.c.stream == nil {
		return
	}
	p.beats(frame.List())
	p.c.hear(p.c.stream, session.Event{Kind: session.Heard, Said: frame.List()})
}

func (p *fakeServer) beats(events []*schema.Event) {
	for _, event := range events {
		p.lives(event.GetBeat().GetTtl())
	}
}

// lives notes how long an answer lets a session live at most.
func (p *fakeServer) lives(ttl int64) {
	p.longest = max(p.longest, session.After(p.clock.Now(), time.Duration(ttl)))
}

func (p *fakeServer) lock(how byte) {
	if len(p.calls) >= 16 {
		return
	}
	want := holdfast.Request{Name: string('a' + rune(how%3)), Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: holdfast.ModeExclusive}}, Try: how&4 != 0}
	if how&8 != 0 {
		want.Owner = "o"
	}
	if how&16 != 0 {
		want.Hold = time.Second
	}
	if how&32 != 0 {
		want.Wait = time.Second
	}
	if how&64 != 0 {
		want.Queued = func(int) {}
	}
	r, err := p.c.enter(context.Background(), holdfast.DefaultSpace, want, p.c.waitEnd(&want))
	if err != nil {
		if !p.closed {
			p.t.Errorf("a request is refused: %v", err)
		}
		return
	}
	p.calls = append(p.calls, r)
}

func (p *fakeServer) extend(i int) {
	if i >= len(p.locks) {
		return
	}
	if s := p.c.session; s != nil {
		_, _, _ = p.c.queueExtend(s, p.locks[i], time.Second) // the lock may have ended
	}
}

// close does what Close does, without waiting.
func (p *fakeServer) close() {
	p.closed = true
	p.c.mu.Lock()
	if !p.c.machine.Closing() {
		p.c.step(session.Event{Kind: session.Close})
	}
	p.c.mu.Unlock()
}

// abandon does what Close does behind its wait.
func (p *fakeServer) abandon() {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.step(session.Event{Kind: session.Abandon, Err: holdfast.ErrUnavailable})
	p.c.alarms.stop()
}

// check checks what holds after every step.
func (p *fakeServer) check() {
	p.t.Helper()
	unsent, releases := 0, 0
	for _, r := range p.calls {
		select {
		case got := <-r.outcome:
			if (got.lock == nil) == (got.err == nil) {
				p.t.Fatalf("a call returns %v and %v", got.lock, got.err)
			}
			if got.lock != nil {
				p.locks = append(p.locks, got.lock)
			}
		default:
		}
		if r.Unsent() {
			unsent++
		}
		if r.State() == session.Releasing && !r.Quiet() {
			releases++
		}
		if (r.State() == session.Settled) == (p.c.request(r.ID) == r) {
			p.t.Fatalf("request %d is in state %d, and in the table: %t", r.ID, r.State(), p.c.request(r.ID) == r)
		}
		if r.State() == session.Held && r.lock == nil {
			p.t.Fatalf("request %d holds nothing", r.ID)
		}
	}
	if unsent != p.c.machine.Unsent() || releases != p.c.machine.Releases() {
		p.t.Fatalf("%d unsent of %d, %d releases of %d", p.c.machine.Unsent(), unsent, p.c.machine.Releases(), releases)
	}
	for _, l := range p.locks {
		p.believes(l)
	}
}

// believes checks a lock that its holder has.
func (p *fakeServer) believes(l *holdfast.Lock) {
	p.t.Helper()
	now := p.clock.Now()
	if l.Check() != nil {
		if l.Context().Err() == nil || context.Cause(l.Context()) == nil {
			p.t.Fatalf("%q has ended, and its Context has not", l.Name())
		}
		return
	}
	r := p.c.request(l.Request())
	switch {
	case r == nil || r.lock != l || r.State() != session.Held:
		p.t.Fatalf("%q is believed in, and its Client has forgotten it", l.Name())
	case p.c.session == nil || now >= p.c.session.Deadline():
		p.t.Fatalf("%q is believed in beyond its session", l.Name())
	case p.c.session.Deadline() > p.longest:
		p.t.Fatalf("the session lives until %v, and no answer has said more than %v", p.c.session.Deadline(), p.longest)
	}
}
