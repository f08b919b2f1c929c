package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
	"github.com/holdfast-locks/holdfast/protocol"
)

// served is a whole member, as the daemon is one, whose ports are on loopback.
type served struct {
	t        testing.TB
	node     *host.Member
	server   *server.Server
	grpc     string
	http     string
	client   *http.Client
	scheme   string
	patience context.Context // ends when a test is stuck
}

// serve starts a member with these limits.
func serve(t testing.TB, kept host.Limits, limits server.Limits, change ...func(*server.Config)) *served {
	t.Helper()
	return serveAs(t, host.Config{State: t.TempDir(), Limits: kept}, limits, change...)
}

// serveAs serves a member alone that is configured otherwise.
func serveAs(t testing.TB, member host.Config, limits server.Limits, change ...func(*server.Config)) *served {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	names := []string{"default"}
	for i := range member.Spaces {
		if name := member.Spaces[i].Name; name != "default" {
			names = append(names, name)
		}
	}
	observer := server.NewObserver(names)
	member.Serves, member.Observe = true, observer.Observe
	n, err := host.Start(t.Context(), member)
	noError(t, err)
	t.Cleanup(func() { noError(t, n.Close()) })
	config := server.Config{
		Driver: n.Driver(), View: n.View, Who: n.Who, Observer: observer, Limits: limits,
		Identity: func() server.Identity {
			return server.Identity{Member: &schema.Member{Name: "a", Id: uint64(n.Identity().ID)}}
		},
	}
	for i, space := range n.Spaces() {
		config.Spaces = append(config.Spaces, server.Space{Name: space.Name, Port: protocol.Port(i + 1), Protocol: space.Protocol, Class: holdfast.Fenced, Options: map[string]string{"partition": "primary"}})
	}
	for _, f := range change {
		f(&config)
	}
	s, err := server.New(config)
	noError(t, err)
	patience, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	m := &served{t: t, node: n, server: s, scheme: "http://", client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}, patience: patience}
	m.grpc = m.accept(s.AcceptGRPC)
	m.http = m.accept(s.AcceptHTTP)
	t.Cleanup(func() {
		defer cancel()
		m.client.CloseIdleConnections()
		noError(t, s.Shutdown(patience))
	})
	noError(t, n.WaitReady(patience))
	return m
}

func (m *served) accept(accept func(net.Listener) error) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noError(m.t, err)
	done := make(chan error, 1)
	go func() { done <- accept(l) }()
	m.t.Cleanup(func() {
		m.client.CloseIdleConnections()
		noError(m.t, m.server.Shutdown(m.patience))
		noError(m.t, <-done)
	})
	return l.Addr().String()
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// secure lets the member's HTTP client encrypt.
func (m *served) secure(config *tls.Config) {
	m.scheme = "https://"
	m.client.Transport.(*http.Transport).TLSClientConfig = config
}

// dial opens a connection of its own.
func (m *served) dial(more ...grpc.DialOption) *grpc.ClientConn {
	m.t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+m.grpc, append(more, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	noError(m.t, err)
	m.t.Cleanup(func() { _ = conn.Close() }) // some tests have closed it
	return conn
}

// speaker is a client of one stream, that says what it likes.
type speaker struct {
	t      testing.TB
	stream grpc.BidiStreamingClient[schema.ClientFrame, schema.ServerFrame]
	cancel context.CancelFunc
	heard  []*schema.Event
}

// call opens a stream and says nothing.
func (m *served) call(conn *grpc.ClientConn) *speaker {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.patience)
	m.t.Cleanup(cancel)
	stream, err := schema.NewSessionsClient(conn).Open(ctx)
	noError(m.t, err)
	return &speaker{t: m.t, stream: stream, cancel: cancel}
}

// hello asks for a session and returns the answer.
func (m *served) hello(conn *grpc.ClientConn) (*speaker, *schema.Event) {
	m.t.Helper()
	c := m.call(conn)
	c.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Client: "test", Ttl: int64(time.Hour)}}})
	return c, c.hear()
}

// open opens a session.
func (m *served) open(conn *grpc.ClientConn) *speaker {
	m.t.Helper()
	c, event := m.hello(conn)
	if event.GetWelcome() == nil {
		m.t.Fatalf("hello was answered with %v", event)
	}
	return c
}

func (c *speaker) say(operations ...*schema.Operation) {
	c.t.Helper()
	noError(c.t, c.stream.Send(&schema.ClientFrame{Operations: operations}))
}

// hear returns the next event.
func (c *speaker) hear() *schema.Event {
	c.t.Helper()
	for len(c.heard) == 0 {
		frame, err := c.stream.Recv()
		if err != nil {
			c.t.Fatalf("the stream ended: %v", err)
		}
		c.heard = frame.GetEvents()
	}
	event := c.heard[0]
	c.heard = c.heard[1:]
	return event
}

// end reads until the stream ends, and returns with what; nil is a clean end.
func (c *speaker) end() error {
	for {
		if _, err := c.stream.Recv(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// serves shows that a client is served: a lock and its release.
func (c *speaker) serves(id uint64, name string) {
	c.t.Helper()
	c.say(lockOf(id, name))
	if event := c.hear(); event.GetId() != id || event.GetGranted() == nil {
		c.t.Fatalf("lock %q: heard %v", name, event)
	}
	c.say(unlockOf(id, name))
	if event := c.hear(); event.GetId() != id || event.GetReleased() == nil || event.GetReleased().GetProblem() != nil {
		c.t.Fatalf("release %q: heard %v", name, event)
	}
}

// limited checks that an event refuses operation id because of a limit.
func limited(t testing.TB, event *schema.Event, id uint64, limit string, value int64) {
	t.Helper()
	problem := event.GetRefused().GetProblem()
	if event.GetId() != id || problem.GetCode() != api.CodeLimit || problem.GetLimit() != limit || problem.GetValue() != value ||
		!strings.Contains(problem.GetDetail(), fmt.Sprintf("limit %s of %d reached", limit, value)) {
		t.Fatalf("operation %d: want it refused by limit %s of %d, heard %v", id, limit, value, event)
	}
}

func lockOf(id uint64, name string) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{Name: name}}}
}

func unlockOf(id uint64, name string) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Release{Release: &schema.Release{Name: name}}}
}

func cancelOf(id uint64, name string) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Cancel{Cancel: &schema.Cancel{Name: name}}}
}

func endOf() *schema.Operation {
	return &schema.Operation{Kind: &schema.Operation_End{End: &schema.End{}}}
}

const acquirePath = "/v1/spaces/default/acquire"

type object = map[string]any

// answer is what came over HTTP.
type answer struct {
	status int
	header http.Header
	text   string
	object object
}

// post sends a body of JSON and wants a status.
func (m *served) post(want int, path string, body any) *answer {
	m.t.Helper()
	raw, err := json.Marshal(body)
	noError(m.t, err)
	return m.roundTrip(want, http.MethodPost, path, raw)
}

func (m *served) roundTrip(want int, method, path string, body []byte) *answer {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.patience, method, m.scheme+m.http+path, bytes.NewReader(body))
	noError(m.t, err)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := m.client.Do(request)
	noError(m.t, err)
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	noError(m.t, err)
	a := &answer{status: response.StatusCode, header: response.Header, text: string(raw)}
	if strings.Contains(response.Header.Get("Content-Type"), "json") {
		noError(m.t, json.Unmarshal(raw, &a.object))
	}
	if a.status != want {
		m.t.Fatalf("%s %s: status %d, want %d: %.300s", method, path, a.status, want, a.text)
	}
	return a
}

// limited wants a POST to be refused because of a limit.
func (m *served) limited(path string, body any, limit string, value int) {
	m.t.Helper()
	a := m.post(http.StatusTooManyRequests, path, body)
	if a.object["code"] != api.CodeLimit || a.object["limit"] != limit || a.object["value"] != float64(value) {
		m.t.Errorf("want limit %s of %d: %s", limit, value, a.text)
	}
}

// metric returns the value of a line of the metrics; 0 where there is none.
func (m *served) metric(name string) float64 {
	m.t.Helper()
	for line := range strings.Lines(m.roundTrip(http.StatusOK, http.MethodGet, "/metrics", nil).text) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			var n float64
			_, err := fmt.Sscan(value, &n)
			noError(m.t, err)
			return n
		}
	}
	return 0
}

// refused returns how much was refused, by its reason.
func (m *served) refused(why string) float64 {
	m.t.Helper()
	return m.metric(fmt.Sprintf("holdfast_refused_total{why=%q}", why))
}

// until waits for what comes by itself, in no time that could be counted on.
func (m *served) until(what string, true func() bool) {
	m.t.Helper()
	for !true() {
		if m.patience.Err() != nil {
			m.t.Fatalf("it is never true that %s", what)
		}
		runtime.Gosched()
	}
}

// level is what a member costs while nothing happens.
type level struct {
	heap       int64
	goroutines int
}

// now measures it: what is in use after two collections, which empty every pool.
func levelNow() level {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return level{int64(stats.HeapAlloc), runtime.NumGoroutine()}
}

// backTo waits until no more goroutines run than before, and wants the heap to have grown
// by no more than slack since: what a flood has left behind, regardless of its length.
func (m *served) backTo(before level, slack int64) {
	m.t.Helper()
	m.client.CloseIdleConnections()
	m.until("what a flood has begun has ended", func() bool { return runtime.NumGoroutine() <= before.goroutines })
	if after := levelNow(); after.heap > before.heap+slack {
		m.t.Errorf("the heap has grown from %d to %d bytes; %d more are allowed", before.heap, after.heap, slack)
	}
}

// noMembers is the service of members of a member that has none.
type noMembers struct{}

func (noMembers) Register(r grpc.ServiceRegistrar) {
	schema.RegisterMembersServer(r, schema.UnimplementedMembersServer{})
}

func asLimit(err error, limit **holdfast.LimitError) bool { return errors.As(err, limit) }
