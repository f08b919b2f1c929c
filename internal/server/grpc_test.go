package server

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
)

// raw opens a TCP connection to the port.
func (b *harness) raw() net.Conn {
	b.t.Helper()
	c, err := net.Dial("tcp", b.address)
	must(b.t, err)
	b.t.Cleanup(func() { _ = c.Close() }) // most tests close it themselves
	return c
}

// serves shows that a client is served.
func (c *talk) serves(id uint64) {
	c.t.Helper()
	c.say(opTry(id, "served"))
	c.granted(id)
	c.say(opRelease(id, "served", 0))
	c.released(id)
}

// TestHalfOpenConnections: those who connect and say nothing do not keep others
// from being served.
func TestHalfOpenConnections(t *testing.T) {
	b := newHarness(t, nil, nil)
	before := b.open()
	for range 2000 {
		b.raw()
	}
	before.serves(1)
	after := b.call(b.dial())
	after.welcome(&schema.Hello{})
	after.serves(1)
}

// TestHalfOpenConnectionsEnd: the handshake has a limit.
func TestHalfOpenConnectionsEnd(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Limits.Header = 50 * time.Millisecond }, nil)
	for _, said := range []string{"", "PRI * HTTP/2.0\r\n"} {
		c := b.raw()
		_, err := io.WriteString(c, said)
		must(t, err)
		_, err = io.Copy(io.Discard, c)
		if err != nil && !errors.As(err, new(*net.OpError)) {
			t.Errorf("after %q the connection ended with %v", said, err)
		}
	}
}

// TestConnectionsBound: one connection too many is turned away.
func TestConnectionsBound(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Limits.Connections = 2 }, nil)
	client := b.open()
	second := b.raw()
	_, err := io.WriteString(second, http2.ClientPreface) // answered once it was accepted
	must(t, err)
	if _, err := second.Read(make([]byte, 1)); err != nil {
		t.Fatalf("the second connection: %v", err)
	}
	third := b.raw()
	if n, err := third.Read(make([]byte, 1)); err == nil {
		t.Errorf("the third connection was answered with %d bytes", n)
	}
	client.serves(1)
}

// TestBoundListener: there is room again when a connection ends.
func TestBoundListener(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	observer := NewObserver(nil)
	l := bound(listener, 1, observer)
	t.Cleanup(func() { must(t, l.Close()) })
	dial := func() net.Conn {
		c, err := net.Dial("tcp", listener.Addr().String())
		must(t, err)
		t.Cleanup(func() { must(t, c.Close()) })
		return c
	}
	dial()
	first, err := l.Accept()
	must(t, err)
	accepted := make(chan net.Conn)
	go func() {
		c, _ := l.Accept() // nil where it fails, which the test says below
		accepted <- c
	}()
	if _, err := dial().Read(make([]byte, 1)); err == nil {
		t.Error("a connection above the bound was served")
	}
	must(t, first.Close())
	if err := first.Close(); err == nil {
		t.Error("a second close closed something")
	}
	dial()
	c := <-accepted
	if c == nil {
		t.Fatal("there is no room after a connection has ended")
	}
	must(t, c.Close())
}

// TestGarbage: bytes that mean nothing harm no client.
func TestGarbage(t *testing.T) {
	b := newHarness(t, nil, nil)
	client := b.open()
	random := rand.New(rand.NewPCG(3, 4))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	settings := []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	for what, said := range map[string][]byte{
		"noise":                   noise,
		"HTTP/1":                  []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"half a preface":          []byte(http2.ClientPreface[:10]),
		"noise after the preface": append([]byte(http2.ClientPreface), noise...),
		"noise after settings":    slices.Concat([]byte(http2.ClientPreface), settings, noise),
		"half a frame":            slices.Concat([]byte(http2.ClientPreface), settings, []byte{0, 0, 100, 1, 4, 0, 0, 0, 1, 0x82}),
		"a huge frame":            slices.Concat([]byte(http2.ClientPreface), settings, []byte{0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1}),
	} {
		t.Run(what, func(t *testing.T) {
			c := b.raw()
			if _, err := c.Write(said); err != nil && !errors.As(err, new(*net.OpError)) {
				t.Fatal(err)
			}
			if err := c.(*net.TCPConn).CloseWrite(); err != nil && !errors.As(err, new(*net.OpError)) {
				t.Fatal(err) // that the server has closed before is one of the good ends
			}
			if _, err := io.Copy(io.Discard, c); err != nil && !errors.As(err, new(*net.OpError)) {
				t.Errorf("the connection ended with %v", err)
			}
			client.serves(rand.Uint64N(edge.MaxID) + 1)
		})
	}
}

// TestBadMessages: well-formed HTTP/2 whose messages are not, or not whole.
func TestBadMessages(t *testing.T) {
	b := newHarness(t, nil, nil)
	client := b.open()
	message := func(length uint32, body string) []byte {
		return append(binary.BigEndian.AppendUint32([]byte{0}, length), body...)
	}
	for what, data := range map[string][]byte{
		"half a message":      message(100, "only some of it"),
		"half a length":       {0, 0, 0},
		"not protobuf":        message(6, "\xff\xff\xff\xff\xff\xff"),
		"not UTF-8":           message(9, "\x0a\x07\x12\x05\x22\x03\xff\xfe\xfd"),
		"compressed unasked":  {1, 0, 0, 0, 1, 0},
		"a length of 4 GiB":   message(1<<32-1, "x"),
		"hello, half a frame": slices.Concat(message(4, "\x0a\x02\x12\x00"), message(50, "half")),
	} {
		t.Run(what, func(t *testing.T) {
			c := b.raw()
			_, err := io.WriteString(c, http2.ClientPreface)
			must(t, err)
			framer := http2.NewFramer(c, c)
			must(t, framer.WriteSettings())
			must(t, framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: openHeaders(t), EndHeaders: true}))
			must(t, framer.WriteData(1, false, data))
			if err := c.(*net.TCPConn).CloseWrite(); err != nil && !errors.As(err, new(*net.OpError)) {
				t.Fatal(err) // that the server has closed before is one of the good ends
			}
			if _, err := io.Copy(io.Discard, c); err != nil && !errors.As(err, new(*net.OpError)) {
				t.Errorf("the connection ended with %v", err)
			}
			client.serves(rand.Uint64N(edge.MaxID) + 1)
		})
	}
}

// openHeaders encodes the headers of a call of Sessions/Open.
func openHeaders(t *testing.T) []byte {
	t.Helper()
	var block headerBlock
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", schema.Sessions_Open_FullMethodName}, {":authority", "x"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		must(t, encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}))
	}
	return block
}

type headerBlock []byte

func (h *headerBlock) Write(p []byte) (int, error) {
	*h = append(*h, p...)
	return len(p), nil
}

func TestUnaryCalls(t *testing.T) {
	b := newHarness(t, nil, nil)
	ctx := context.Background()
	locks := schema.NewLocksClient(b.conn)
	acquired, err := locks.Acquire(ctx, &schema.AcquireRequest{Names: []string{"b", "a"}, Owner: "job", Client: "script"})
	must(t, err)
	if len(acquired.GetLocks()) != 2 || acquired.GetLocks()[0].GetName() != "b" || acquired.GetLocks()[0].GetToken() == 0 || acquired.GetSession() == "" {
		t.Fatalf("acquired %v", acquired)
	}
	_, err = locks.Acquire(ctx, &schema.AcquireRequest{Names: []string{"a"}})
	problem := api.FromStatus("acquire", err)
	var held *holdfast.HeldError
	if status.Code(err) != codes.Aborted || !errors.As(problem, &held) || held.Owner != "job" {
		t.Errorf("a held name: %v", err)
	}
	renewed, err := locks.Renew(ctx, &schema.RenewRequest{Session: acquired.GetSession(), Ttl: api.Span(20 * time.Second)})
	must(t, err)
	if got := renewed.GetTtl().AsDuration(); got != 20*time.Second {
		t.Errorf("renewed for %v", got)
	}
	if all := listed(t, locks, ""); len(all) != 2 || all[0].Name != "a" || all[1].Name != "b" {
		t.Errorf("listed %+v", all)
	}
	first := listed(t, locks, "a")
	if len(first) != 1 || first[0].Name != "a" || len(first[0].Holders) != 1 || first[0].Holders[0].Client != "script" {
		t.Errorf("listed %+v", first)
	}
	_, err = locks.Release(ctx, &schema.ReleaseRequest{Name: "b", Token: acquired.GetLocks()[0].GetToken(), Session: acquired.GetSession()})
	must(t, err)
	shown, err := locks.Show(ctx, &schema.ShowRequest{Name: "b"})
	must(t, err)
	if len(shown.GetHolders()) != 0 || len(shown.GetHistory()) != 1 {
		t.Errorf("shown %+v", shown)
	}
	broken, err := locks.Break(ctx, &schema.BreakRequest{Name: "a", Reason: "test", By: "operator"})
	must(t, err)
	if grants := broken.GetBroken(); len(grants) != 1 || grants[0].GetOwner() != "job" {
		t.Errorf("broken %+v", grants)
	}
	state, err := locks.Status(ctx, &schema.StatusRequest{})
	must(t, err)
	if len(state.Spaces) != 2 || state.Spaces[0].State != "ready" {
		t.Errorf("status %+v", state)
	}
	ended, err := locks.Acquire(ctx, &schema.AcquireRequest{Names: []string{"c"}})
	must(t, err)
	released, err := locks.EndSession(ctx, &schema.EndSessionRequest{Session: ended.GetSession()})
	must(t, err)
	if all := released.GetReleased(); len(all) != 1 || all[0].GetName() != "c" {
		t.Errorf("released %+v", all)
	}
}

// listed is a page of the names that begin with prefix.
func listed(t *testing.T, locks schema.LocksClient, prefix string) []*schema.Lock {
	t.Helper()
	page, err := locks.List(t.Context(), &schema.ListRequest{Prefix: prefix})
	must(t, err)
	return page.GetLocks()
}

func TestUnaryProblems(t *testing.T) {
	b := newHarness(t, nil, nil)
	ctx := context.Background()
	locks := schema.NewLocksClient(b.conn)
	long := strings.Repeat("x", holdfast.MaxText+1)
	for _, call := range []func() error{
		func() error {
			_, err := locks.Acquire(ctx, &schema.AcquireRequest{Names: []string{"x"}, Client: long})
			return err
		},
		func() error {
			_, err := locks.Break(ctx, &schema.BreakRequest{Name: "x", Reason: "test", By: long})
			return err
		},
	} {
		if got := api.Code(api.FromStatus("call", call())); got != api.CodeName {
			t.Errorf("a text too long: got %s", got)
		}
	}
	for what, call := range map[string]func() error{
		api.CodeUnknownSpace: func() error {
			_, err := locks.Show(ctx, &schema.ShowRequest{Space: "nowhere", Name: "x"})
			return err
		},
		api.CodeName: func() error {
			_, err := locks.Release(ctx, &schema.ReleaseRequest{Name: "", Token: 1})
			return err
		},
		api.CodeBadRequest: func() error {
			_, err := locks.Acquire(ctx, &schema.AcquireRequest{Names: []string{"x"}, Mode: 8})
			return err
		},
		api.CodeNotHeld: func() error {
			_, err := locks.Break(ctx, &schema.BreakRequest{Name: "x", Reason: "test"})
			return err
		},
		api.CodeUnknownSession: func() error {
			_, err := locks.Renew(ctx, &schema.RenewRequest{Session: "7-1.00000000000000000000000000000000"})
			return err
		},
	} {
		if got := api.Code(api.FromStatus("call", call())); got != what {
			t.Errorf("want %s, got %s", what, got)
		}
	}
}

// TestAcquireEndsWithItsCall: a client that hangs up while it waits leaves no trace.
func TestAcquireEndsWithItsCall(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	c.say(opAcquire(1, "x"))
	c.granted(1)
	watch, err := schema.NewLocksClient(b.conn).Watch(t.Context(), &schema.WatchRequest{Prefix: "x"})
	must(t, err)
	heard := func(want string) {
		t.Helper()
		document, err := watch.Recv()
		must(t, err)
		event := document
		if event.Event != want || event.Name != "x" {
			t.Errorf("want %s, heard %+v", want, event)
		}
	}
	_, err = watch.Header()
	must(t, err)
	ctx, hangUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := schema.NewLocksClient(b.conn).Acquire(ctx, &schema.AcquireRequest{Names: []string{"x"}, Wait: api.Span(time.Hour)})
		ended <- err
	}()
	heard(eventWaiting)
	hangUp()
	if err := <-ended; status.Code(err) != codes.Canceled {
		t.Errorf("the call ended with %v", err)
	}
	heard(eventCancelled)
	c.say(opRelease(1, "x", 0))
	c.released(1)
	heard(eventReleased)
}

func TestHealth(t *testing.T) {
	b := newHarness(t, nil, nil)
	client := health.NewHealthClient(b.conn)
	for _, name := range []string{"", "holdfast.v1.Sessions", "holdfast.v1.Locks", "holdfast.v1.Sessions/any"} {
		answer, err := client.Check(t.Context(), &health.HealthCheckRequest{Service: name})
		must(t, err)
		if answer.GetStatus() != health.HealthCheckResponse_SERVING {
			t.Errorf("%q is %v", name, answer.GetStatus())
		}
	}
	if _, err := client.Check(t.Context(), &health.HealthCheckRequest{Service: "holdfast.v1.Sessions/nowhere"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown service: %v", err)
	}
	all, err := client.List(t.Context(), &health.HealthListRequest{})
	must(t, err)
	if len(all.GetStatuses()) != 5 {
		t.Errorf("listed %v", all)
	}
	watch, err := client.Watch(t.Context(), &health.HealthCheckRequest{})
	must(t, err)
	answer, err := watch.Recv()
	must(t, err)
	if answer.GetStatus() != health.HealthCheckResponse_SERVING {
		t.Errorf("watched %v", answer)
	}
	must(t, b.driver.Close())
	(&grpcHealth{service: b.service}).check("") // what is asked of a closed member is answered
	if answer, err = watch.Recv(); err != nil || answer.GetStatus() != health.HealthCheckResponse_NOT_SERVING {
		t.Errorf("a closed member: %v, %v", answer, err)
	}
}

func TestReflection(t *testing.T) {
	b := newHarness(t, nil, nil)
	stream, err := reflection.NewServerReflectionClient(b.conn).ServerReflectionInfo(t.Context())
	must(t, err)
	must(t, stream.Send(&reflection.ServerReflectionRequest{
		MessageRequest: &reflection.ServerReflectionRequest_ListServices{},
	}))
	answer, err := stream.Recv()
	must(t, err)
	var names []string
	for _, one := range answer.GetListServicesResponse().GetService() {
		names = append(names, one.GetName())
	}
	for _, want := range []string{"holdfast.v1.Sessions", "holdfast.v1.Locks", "grpc.health.v1.Health"} {
		if !slices.Contains(names, want) {
			t.Errorf("reflection lists %v, not %s", names, want)
		}
	}
	must(t, stream.CloseSend())
}

// TestStop: a server that stops tells its streams and leaves nothing behind.
func TestStop(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	c.say(opAcquire(1, "x"))
	c.granted(1)
	watch, err := schema.NewLocksClient(b.conn).Watch(t.Context(), &schema.WatchRequest{})
	must(t, err)
	_, err = watch.Header()
	must(t, err)
	b.server.stop(t.Context())
	if got := status.Code(c.end()); got != codes.Unavailable {
		t.Errorf("the stream ended with %v", got)
	}
	if _, err := watch.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the watch ended with %v", err)
	}
	if left := b.streams(); len(left) != 0 {
		t.Errorf("%d streams are left", len(left))
	}
}

// TestPanics: a mistake in a handler is answered, logged, and ends nothing else.
func TestPanics(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	_, err := b.server.recoverUnary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "test"},
		func(context.Context, any) (any, error) { panic("a mistake") })
	if status.Code(err) != codes.Internal {
		t.Errorf("a call that panics is answered with %v", err)
	}
	err = b.server.recoverStream(nil, nil, &grpc.StreamServerInfo{FullMethod: "test"},
		func(any, grpc.ServerStream) error { panic("a mistake") })
	if status.Code(err) != codes.Internal {
		t.Errorf("a stream that panics is answered with %v", err)
	}
	c.serves(1)
}

// mistaken is a Forcer that panics.
type mistaken struct{ Forcer }

func (mistaken) PlanForce(context.Context, []string) (*schema.ForcePlan, error) { panic("a mistake") }

// TestPanicsOfCalls: the same over a socket, of a call that gRPC calls no interceptors for.
func TestPanicsOfCalls(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Forcer, c.Logger = mistaken{}, nil }, nil)
	c := b.open()
	if _, err := schema.NewAdminClient(b.conn).PlanForce(t.Context(), &schema.PlanForceRequest{Members: []string{"a"}}); status.Code(err) != codes.Internal {
		t.Errorf("a call that panics is answered with %v", err)
	}
	c.serves(1)
}

// TestManyClients passes locks between sessions of several connections under -race.
func TestManyClients(t *testing.T) {
	b := newHarness(t, nil, nil)
	var clients sync.WaitGroup
	var mu sync.Mutex
	last := uint64(0)
	for range 4 {
		conn := b.dial()
		for range 5 {
			c := b.call(conn)
			clients.Go(func() {
				c.welcome(&schema.Hello{})
				for id := uint64(1); id <= 20; id++ {
					c.say(opAcquire(id, "hot"))
					event := c.hear()
					if event.GetQueued() != nil {
						event = c.hear()
					}
					token := event.GetGranted().GetToken()
					mu.Lock()
					if token <= last {
						t.Errorf("token %d after %d", token, last)
					}
					last = token
					mu.Unlock()
					c.say(opRelease(id, "hot", token))
					c.released(id)
				}
				c.say(opEnd())
				if err := c.end(); err != nil {
					t.Errorf("the stream ended with %v", err)
				}
			})
		}
	}
	clients.Wait()
}
