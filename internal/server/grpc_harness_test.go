package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

const harnessMember = 7

// calm is a membership that lets a member alone do what it likes.
type calm struct{}

func (calm) Wake() protocol.Time { return protocol.Never }

func (calm) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch {
	case ev.Kind == protocol.Start:
		out.Raise(&protocol.View{
			Number: 1, Epoch: protocol.Epoch{Counter: 3, Candidate: harnessMember}, Coordinator: harnessMember, Installed: true, Open: true,
			Members: []protocol.Member{{ID: harnessMember, Name: "a", Address: "a.example:4040"}},
			Lease:   &protocol.Lease{Member: protocol.Never, Role: protocol.Never, Carried: protocol.Never},
		})
	case ev.Kind == protocol.Raised:
		if need, ok := ev.Fact.(*protocol.NeedHorizon); ok {
			out.Raise(&protocol.Horizon{Answer: true, Confirmed: need.Want, Clients: need.Clients})
		}
	}
}

// harness is a member with two spaces whose port 4040 is served on loopback.
type harness struct {
	t       testing.TB
	clock   *clocktest.Manual
	driver  *run.Driver
	service *service
	server  *grpcServer
	address string
	conn    *grpc.ClientConn
}

// newHarness starts a member whose clock stands still until it is advanced. Change may
// set limits before the service begins, and tune the server before it serves.
func newHarness(t testing.TB, change func(*Config), tune func(*grpcServer)) *harness {
	t.Helper()
	return newHarnessOver(t, calm{}, change, tune)
}

// newHarnessOver is newHarness over another membership.
func newHarnessOver(t testing.TB, below protocol.Machine, change func(*Config), tune func(*grpcServer)) *harness {
	t.Helper()
	return newHarnessOf(t, below, nil, change, tune)
}

// newHarnessOf is newHarnessOver with the space at port 2 wrapped.
func newHarnessOf(t testing.TB, below protocol.Machine, wrap func(protocol.Machine) protocol.Machine, change func(*Config), tune func(*grpcServer)) *harness {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	b := &harness{t: t, clock: clocktest.NewManual()}
	b.clock.Advance(time.Hour)
	var spaces []protocol.Machine
	for range 2 {
		m, err := central.New(central.Config{Self: harnessMember})
		must(t, err)
		spaces = append(spaces, m)
	}
	if wrap != nil {
		spaces[1] = wrap(spaces[1])
	}
	sessions, err := session.New(session.Config{
		Member: harnessMember, Incarnation: 1, Rand: rand.New(rand.NewPCG(1, 2)), Spaces: len(spaces),
	}, protocol.Stack(below, spaces...))
	must(t, err)
	observer := NewObserver([]string{"default", "any"})
	b.driver, err = run.New(run.Config{Machine: sessions, Clock: b.clock, Observe: observer.Observe})
	must(t, err)
	t.Cleanup(func() { must(t, b.driver.Close()) })
	b.clock.Advance(time.Minute) // this member has run for a while
	config := Config{
		Driver: b.driver, Observer: observer,
		Identity: func() Identity {
			return Identity{Member: &schema.Member{Name: "a", Id: harnessMember, Address: "a.example:4040"}}
		},
		Spaces: []Space{
			{Name: "default", Port: 1, Protocol: "central", Class: holdfast.Fenced, Options: map[string]string{"partition": "primary"}},
			{Name: "any", Port: 2, Protocol: "central", Class: holdfast.Available, Options: map[string]string{"partition": "any"}},
		},
		Logger: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
	if change != nil {
		change(&config)
	}
	must(t, config.resolve())
	b.service, err = newService(config)
	must(t, err)
	t.Cleanup(b.service.close)
	b.server = newGRPC(config, b.service)
	if tune != nil {
		tune(b.server)
	}
	b.serve()
	b.conn = b.dial()
	return b
}

func (b *harness) serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b.t, err)
	b.address = listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- b.server.serve(listener) }()
	b.t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel() // nothing is waited for: what is under way is ended
		b.server.stop(ctx)
		must(b.t, <-served)
	})
}

func (b *harness) dial() *grpc.ClientConn {
	b.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+b.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	must(b.t, err)
	b.t.Cleanup(func() { must(b.t, conn.Close()) })
	return conn
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// testWriter shows the log where a test fails.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}

// talk is a raw client of one stream.
type talk struct {
	t      testing.TB
	stream grpc.BidiStreamingClient[schema.ClientFrame, schema.ServerFrame]
	cancel context.CancelFunc
	frames int
	heard  []*schema.Event
	id     string
	secret string
}

// call opens a stream and says nothing.
func (b *harness) call(conn *grpc.ClientConn) *talk {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	b.t.Cleanup(cancel)
	stream, err := schema.NewSessionsClient(conn).Open(ctx)
	must(b.t, err)
	return &talk{t: b.t, stream: stream, cancel: cancel}
}

// open opens a session.
func (b *harness) open() *talk {
	b.t.Helper()
	c := b.call(b.conn)
	c.welcome(&schema.Hello{Client: "test"})
	return c
}

// resume goes on with the session of earlier on a stream of its own.
func (b *harness) resume(earlier *talk) *talk {
	b.t.Helper()
	c := b.call(b.conn)
	c.id, c.secret = earlier.id, earlier.secret
	c.welcome(&schema.Hello{Session: earlier.id, Secret: earlier.secret})
	return c
}

func (c *talk) welcome(hello *schema.Hello) *schema.Welcome {
	c.t.Helper()
	c.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: hello}})
	event := c.hear()
	welcome := event.GetWelcome()
	if welcome == nil {
		c.t.Fatalf("hello was answered with %v", event)
	}
	if c.id == "" {
		c.id, c.secret = welcome.GetSession(), welcome.GetSecret()
	}
	return welcome
}

func (c *talk) say(operations ...*schema.Operation) {
	c.t.Helper()
	must(c.t, c.stream.Send(&schema.ClientFrame{Operations: operations}))
}

// hear returns the next event.
func (c *talk) hear() *schema.Event {
	c.t.Helper()
	for len(c.heard) == 0 {
		frame, err := c.stream.Recv()
		if err != nil {
			c.t.Fatalf("the stream ended: %v", err)
		}
		c.frames++
		c.heard = frame.GetEvents()
	}
	event := c.heard[0]
	c.heard = c.heard[1:]
	return event
}

// end reads until the stream ends and returns with what; nil is a clean end.
func (c *talk) end() error {
	for {
		_, err := c.stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// granted hears the grant of request id.
func (c *talk) granted(id uint64) *schema.Granted {
	c.t.Helper()
	event := c.hear()
	if event.GetId() != id || event.GetGranted().GetToken() == 0 {
		c.t.Fatalf("request %d: want it granted, heard %v", id, event)
	}
	return event.GetGranted()
}

// released hears that request id was released, without a problem.
func (c *talk) released(id uint64) {
	c.t.Helper()
	event := c.hear()
	if event.GetId() != id || event.GetReleased() == nil || event.GetReleased().GetProblem() != nil {
		c.t.Fatalf("request %d: want it released, heard %v", id, event)
	}
}

// queued hears that request id waits.
func (c *talk) queued(id uint64, position int32) {
	c.t.Helper()
	event := c.hear()
	if event.GetId() != id || event.GetQueued() == nil || event.GetQueued().GetPosition() != position {
		c.t.Fatalf("request %d: want it queued behind %d, heard %v", id, position, event)
	}
}

// refused hears that operation id was refused with a code.
func (c *talk) refused(id uint64, code string) *schema.Problem {
	c.t.Helper()
	event := c.hear()
	problem := event.GetRefused().GetProblem()
	if event.GetId() != id || problem.GetCode() != code {
		c.t.Fatalf("operation %d: want it refused with %s, heard %v", id, code, event)
	}
	return problem
}

func opAcquire(id uint64, name string) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{Name: name}}}
}

func opTry(id uint64, name string) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{Name: name, Try: true}}}
}

func opRelease(id uint64, name string, token uint64) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Release{Release: &schema.Release{Name: name, Token: token}}}
}

func opCancel(id uint64, name string) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Cancel{Cancel: &schema.Cancel{Name: name}}}
}

func opExtend(id uint64, name string, token uint64, hold time.Duration) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Extend{Extend: &schema.Extend{Name: name, Token: token, Hold: int64(hold)}}}
}

func opBeat(id uint64, ttl time.Duration) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Beat{Beat: &schema.Beat{Ttl: int64(ttl)}}}
}

func opEnd() *schema.Operation {
	return &schema.Operation{Kind: &schema.Operation_End{End: &schema.End{}}}
}

// streams returns the open streams of the server.
func (b *harness) streams() (all []*stream) {
	b.server.live.mu.Lock()
	defer b.server.live.mu.Unlock()
	for s := range b.server.live.all {
		all = append(all, s)
	}
	return all
}

// documentOf is a message as HTTP answers it.
func documentOf(m proto.Message) string { return string(api.NewJSON().Append(nil, m)) }

// documentOr is documentOf for an answer, or its error.
func documentOr[M proto.Message](answer M, err error) string {
	if err != nil {
		return err.Error()
	}
	return documentOf(answer)
}
