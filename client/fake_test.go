package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestMain looks for goroutines that outlive what began them. A probe of memberlist's
// that is under way at its end cannot be ended: it waits for its own deadline, and goes.
func TestMain(m *testing.M) {
	parallel.Tests()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/hashicorp/memberlist.(*Memberlist).probeNode"))
}

// patience ends what is stuck; nothing is measured by it.
const patience = time.Minute

const testTTL = 8 * time.Second

// testBeat is the time between two heartbeats.
var testBeat = session.Rhythm(testTTL)

// fake is a server whose words are the test's.
type fake struct {
	schema.UnimplementedSessionsServer
	t       *testing.T
	ctx     context.Context
	address string
	calls   chan *conversation
	stop    func()
}

// conversation is one stream: the frames that came, and what the test answers.
type conversation struct {
	fake   *fake
	stream grpc.ServerStream
	frames chan *schema.ClientFrame
	ahead  []*schema.Operation
	out    chan *schema.ServerFrame
	hangUp chan error
	hello  *schema.Hello
}

func newFake(t *testing.T) *fake {
	t.Helper()
	f := &fake{calls: make(chan *conversation)}
	served := newServer(t, func(s *grpc.Server) { schema.RegisterSessionsServer(s, f) })
	f.t, f.ctx, f.address, f.stop = t, served.ctx, served.address, served.stop
	return f
}

// newServer serves on a free port what register registers.
func newServer(t *testing.T, register func(*grpc.Server)) *fake {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	register(server)
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(listener); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("Serve: %v", err)
		}
	})
	stop := sync.OnceFunc(func() { server.Stop(); serving.Wait() })
	t.Cleanup(stop)
	return &fake{t: t, ctx: ctx, address: listener.Addr().String(), stop: stop}
}

func (f *fake) Open(stream grpc.BidiStreamingServer[schema.ClientFrame, schema.ServerFrame]) error {
	v := &conversation{
		fake: f, stream: stream, frames: make(chan *schema.ClientFrame, 100_000),
		out: make(chan *schema.ServerFrame, 100), hangUp: make(chan error, 1),
	}
	go func() {
		defer close(v.frames)
		for {
			frame, err := stream.Recv()
			if err != nil {
				return
			}
			v.frames <- frame
		}
	}()
	select {
	case f.calls <- v:
	case <-stream.Context().Done():
		return stream.Context().Err()
	}
	for {
		select {
		case frame := <-v.out:
			if err := stream.Send(frame); err != nil {
				return err
			}
		case err := <-v.hangUp:
			for len(v.out) > 0 {
				if err := stream.Send(<-v.out); err != nil {
					return err
				}
			}
			return err
		case <-stream.Context().Done():
			return stream.Context().Err()
		}
	}
}

// accept waits for a stream and its hello.
func (f *fake) accept() *conversation {
	f.t.Helper()
	for {
		select {
		case v := <-f.calls:
			frame, ok := <-v.frames
			if !ok {
				continue // it hung up
			}
			v.ahead = frame.Operations
			v.hello = v.next().GetHello()
			if v.hello == nil {
				f.t.Fatal("the first operation is not hello")
			}
			return v
		case <-f.ctx.Done():
			f.t.Fatal("no stream was opened")
		}
	}
}

// nextFrame waits for a frame.
func (v *conversation) nextFrame() *schema.ClientFrame {
	v.fake.t.Helper()
	select {
	case frame, ok := <-v.frames:
		if !ok {
			v.fake.t.Fatal("the client has hung up")
		}
		return frame
	case <-v.fake.ctx.Done():
		v.fake.t.Fatal("no frame came")
	}
	return nil
}

// next waits for an operation.
func (v *conversation) next() *schema.Operation {
	v.fake.t.Helper()
	for len(v.ahead) == 0 {
		v.ahead = v.nextFrame().Operations
	}
	first := v.ahead[0]
	v.ahead = v.ahead[1:]
	return first
}

// ended waits until the client has hung up.
func (v *conversation) ended() {
	v.fake.t.Helper()
	for {
		select {
		case _, ok := <-v.frames:
			if !ok {
				return
			}
		case <-v.fake.ctx.Done():
			v.fake.t.Fatal("the client has not hung up")
		}
	}
}

func (v *conversation) send(events ...*schema.Event) { v.out <- &schema.ServerFrame{Events: events} }

func (v *conversation) welcome(session string, ttl time.Duration) {
	v.send(welcomed(session, ttl))
}

// broken breaks the stream.
func (v *conversation) broken() { v.hangUp <- status.Error(codes.Unavailable, "broken by the test") }

func welcomed(session string, ttl time.Duration) *schema.Event {
	return &schema.Event{Kind: &schema.Event_Welcome{Welcome: &schema.Welcome{
		Session: session, Secret: "secret of " + session, Ttl: int64(ttl), Member: "a", Durable: []string{"default"},
	}}}
}

func granted(id uint64, token holdfast.Token) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Granted{Granted: &schema.Granted{Token: uint64(token), Since: 1}}}
}

func grantedFor(id uint64, token holdfast.Token, hold time.Duration) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Granted{Granted: &schema.Granted{Token: uint64(token), Hold: int64(hold)}}}
}

func queued(id uint64, position int32) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Queued{Queued: &schema.Queued{Position: position}}}
}

func released(id uint64, problem *schema.Problem) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Released{Released: &schema.Released{Problem: problem}}}
}

func refused(id uint64, code string) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Refused{Refused: &schema.Refused{Problem: &schema.Problem{Code: code}}}}
}

func lost(id uint64, why holdfast.Loss, mustRelease bool) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Lost{Lost: &schema.Lost{Why: string(why), MustRelease: mustRelease}}}
}

func extended(id uint64, hold time.Duration) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Extended{Extended: &schema.Extended{Hold: int64(hold)}}}
}

func beaten(id uint64, ttl time.Duration) *schema.Event {
	return &schema.Event{Id: id, Kind: &schema.Event_Beat{Beat: &schema.Beaten{Ttl: int64(ttl)}}}
}

// stage is a Client at a fake, on a clock that the test moves.
type stage struct {
	*fake
	clock  *clocktest.Manual
	client *Client
}

// dialled dials while answer talks to the Client's first stream.
func (f *fake) dialled(target string, options ...Option) (*stage, *conversation) {
	f.t.Helper()
	s := &stage{fake: f, clock: clocktest.NewManual()}
	result := s.dial(target, options...)
	v := f.accept()
	v.welcome("a-1", testTTL)
	s.finish(result)
	return s, v
}

func (s *stage) dial(target string, options ...Option) <-chan error {
	result := make(chan error, 1)
	options = append([]Option{withClock(s.clock), withGoodbye(time.Millisecond), withDraw(func(time.Duration) time.Duration { return 0 }), withoutPause}, options...)
	go func() {
		var err error
		s.client, err = Dial(s.ctx, target, options...)
		result <- err
	}()
	return result
}

func (s *stage) finish(result <-chan error) {
	s.t.Helper()
	if err := <-result; err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		s.stop() // the fake answers no end
		if err := s.client.Close(); err != nil && !errors.Is(err, holdfast.ErrUnavailable) {
			s.t.Errorf("Close: %v", err)
		}
	})
}

func newStage(t *testing.T, options ...Option) (*stage, *conversation) {
	t.Helper()
	f := newFake(t)
	return f.dialled(f.address, options...)
}

// attempt is a call that waits.
type attempt struct {
	stage  *stage
	result chan outcome
	cancel context.CancelFunc
}

// begin calls Lock on a goroutine of its own.
func (s *stage) begin(name string, options ...holdfast.Option) *attempt {
	ctx, cancel := context.WithCancel(s.ctx)
	s.t.Cleanup(cancel)
	c := &attempt{stage: s, result: make(chan outcome, 1), cancel: cancel}
	go func() {
		lock, err := s.client.Lock(ctx, name, options...)
		c.result <- outcome{lock, err}
	}()
	return c
}

func (c *attempt) lock() *holdfast.Lock {
	c.stage.t.Helper()
	got := c.outcome()
	if got.err != nil {
		c.stage.t.Fatalf("Lock: %v", got.err)
	}
	return got.lock
}

func (c *attempt) outcome() outcome {
	c.stage.t.Helper()
	select {
	case got := <-c.result:
		return got
	case <-c.stage.ctx.Done():
		c.stage.t.Fatal("a call does not return")
	}
	return outcome{}
}

func (c *attempt) fails(target error) {
	c.stage.t.Helper()
	if got := c.outcome(); !errors.Is(got.err, target) || got.lock != nil {
		c.stage.t.Errorf("got %v, error %v; want error %v", got.lock, got.err, target)
	}
}

// acquireOp waits for an acquire of the name.
func (v *conversation) acquireOp(name string) uint64 {
	v.fake.t.Helper()
	operation := v.next()
	if got := operation.GetAcquire(); got == nil || got.Name != name {
		v.fake.t.Fatalf("got %v, want an acquire of %q", operation, name)
	}
	return operation.Id
}

// hold takes a lock.
func (s *stage) hold(v *conversation, name string, token holdfast.Token, options ...holdfast.Option) *holdfast.Lock {
	s.t.Helper()
	c := s.begin(name, options...)
	v.send(granted(v.acquireOp(name), token))
	return c.lock()
}

// wantOp checks the next operation's kind and id.
func (v *conversation) wantOp(kind string, id uint64) *schema.Operation {
	v.fake.t.Helper()
	operation := v.next()
	if got := kindOf(operation); got != kind || operation.Id != id && id != 0 {
		v.fake.t.Fatalf("got %s %d, want %s %d", got, operation.Id, kind, id)
	}
	return operation
}

func kindOf(operation *schema.Operation) string {
	switch operation.Kind.(type) {
	case *schema.Operation_Acquire:
		return "acquire"
	case *schema.Operation_Release:
		return "release"
	case *schema.Operation_Cancel:
		return "cancel"
	case *schema.Operation_Extend:
		return "extend"
	case *schema.Operation_Amend:
		return "amend"
	case *schema.Operation_Beat:
		return "beat"
	case *schema.Operation_End:
		return "end"
	}
	return "hello"
}

// empty checks that nothing is left to settle.
func (s *stage) empty() {
	s.t.Helper()
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	if n := len(s.client.machine.Requests()); n > 0 || s.client.machine.Unsent() != 0 || s.client.machine.Releases() != 0 {
		s.t.Errorf("%d requests are left, %d unsent, %d releases", n, s.client.machine.Unsent(), s.client.machine.Releases())
	}
}

// isDone waits until the lock's Context is done, and checks the cause.
func (s *stage) isDone(lock *holdfast.Lock, target error) {
	s.t.Helper()
	select {
	case <-lock.Context().Done():
	case <-s.ctx.Done():
		s.t.Fatal("a lock's Context does not end")
	}
	if cause := context.Cause(lock.Context()); !errors.Is(cause, target) {
		s.t.Errorf("the lock ended because of %v, want %v", cause, target)
	}
}
