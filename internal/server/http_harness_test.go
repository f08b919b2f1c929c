package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// webHarness is a member with two spaces whose port 4041 is served on loopback, and
// whose clock stands still until it is advanced. Every answer that it fetches is
// checked against the OpenAPI document.
type webHarness struct {
	t        testing.TB
	clock    *clocktest.Manual
	driver   *run.Driver
	server   *Server
	address  string
	client   *http.Client
	contract *contract
}

func newWebHarness(t testing.TB, change func(*Config)) *webHarness {
	t.Helper()
	return newWebHarnessOver(t, calm{}, change)
}

// newWebHarnessOver is newWebHarness over another membership.
func newWebHarnessOver(t testing.TB, membership protocol.Machine, change func(*Config)) *webHarness {
	t.Helper()
	return newWebHarnessOf(t, membership, nil, change)
}

// newWebHarnessOf is newWebHarnessOver with the space at port 2 wrapped.
func newWebHarnessOf(t testing.TB, membership protocol.Machine, wrap func(protocol.Machine) protocol.Machine, change func(*Config)) *webHarness {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, ignore) })
	b := &webHarness{t: t, clock: clocktest.NewManual(), contract: readContract(t)}
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
		Member: harnessMember, Incarnation: 1, Rand: rand.New(rand.NewPCG(1, 2)), Spaces: len(spaces), Sessions: 50, MaxTTL: time.Hour,
	}, protocol.Stack(membership, spaces...))
	must(t, err)
	observer := NewObserver([]string{"default", "any"})
	b.driver, err = run.New(run.Config{Machine: sessions, Clock: b.clock, Observe: observer.Observe})
	must(t, err)
	t.Cleanup(func() { must(t, b.driver.Close()) })
	b.clock.Advance(time.Minute) // this member has run for a while
	config := Config{
		Driver: b.driver, Observer: observer,
		Identity: func() Identity {
			return Identity{Cluster: "c1", Version: "v9", Member: &schema.Member{
				Name: "a", Id: harnessMember, Incarnation: 1, Founder: true, Address: "a.example:4040", Http: "a.example:4041",
				Since: api.Stamp(time.Unix(1, 0)), State: "normal", Election: "normal",
			}}
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
	b.server, err = New(config)
	must(t, err)
	t.Cleanup(func() { must(t, b.server.Shutdown(context.Background())) })
	b.serve()
	return b
}

func (b *webHarness) serve() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(b.t, err)
	b.address = listener.Addr().String()
	served := make(chan error, 1)
	go func() { served <- b.server.AcceptHTTP(listener) }()
	transport := &http.Transport{}
	b.client = &http.Client{Transport: transport}
	b.t.Cleanup(func() {
		transport.CloseIdleConnections()
		must(b.t, b.server.Shutdown(context.Background()))
		must(b.t, <-served)
	})
}

// reply is an answer, decoded.
type reply struct {
	status int
	header http.Header
	raw    string
	json   map[string]any
}

func (r *reply) text(field string) string {
	text, _ := r.json[field].(string)
	return text
}

// list returns the objects of a list.
func (r *reply) list(field string) (objects []map[string]any) {
	list, _ := r.json[field].([]any)
	for _, one := range list {
		objects = append(objects, one.(map[string]any))
	}
	return objects
}

type object = map[string]any

// post sends a body and wants a status.
func (b *webHarness) post(want int, path string, body object) *reply {
	b.t.Helper()
	raw, err := json.Marshal(body)
	must(b.t, err)
	return b.wants(want, b.request(http.MethodPost, path, string(raw)))
}

// get wants a status.
func (b *webHarness) get(want int, path string) *reply {
	b.t.Helper()
	return b.wants(want, b.request(http.MethodGet, path, ""))
}

func (b *webHarness) request(method, path, body string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequest(method, "http://"+b.address+path, strings.NewReader(body))
	must(b.t, err)
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func (b *webHarness) wants(want int, r *http.Request) *reply {
	b.t.Helper()
	answer, err := b.do(r)
	must(b.t, err)
	if answer.status != want {
		b.t.Fatalf("%s %s: status %d, want %d: %s", r.Method, r.URL, answer.status, want, answer.raw)
	}
	return answer
}

// do sends a request and checks it, unless it was refused, and its answer against
// the document.
func (b *webHarness) do(r *http.Request) (*reply, error) {
	var sent []byte
	if r.Body != nil {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(sent))
	}
	response, err := b.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	answer := &reply{status: response.StatusCode, header: response.Header, raw: string(raw)}
	kind := response.Header.Get("Content-Type")
	if strings.Contains(kind, "json") {
		if err := json.Unmarshal(raw, &answer.json); err != nil {
			return nil, err
		}
	}
	b.validate(r, sent, answer, kind)
	return answer, nil
}

func (b *webHarness) validate(r *http.Request, sent []byte, answer *reply, kind string) {
	b.t.Helper()
	_, op := b.contract.operation(r.Method, r.URL.EscapedPath())
	if op == nil {
		if answer.status != 404 && answer.status != 405 && answer.status != 403 {
			b.t.Errorf("%s %s answers %d and is not in the document", r.Method, r.URL, answer.status)
			return
		}
		if err := b.contract.check(&jsonSchema{Ref: "#/components/schemas/ProblemDocument"}, answer.json, "problem"); err != nil {
			b.t.Error(err)
		}
		return
	}
	described, ok := b.contract.response(op, answer.status)
	if !ok {
		b.t.Errorf("%s %s answers %d, which the document does not say: %s", r.Method, r.URL, answer.status, answer.raw)
		return
	}
	content, ok := described.Content[kind]
	if !ok {
		b.t.Errorf("%s %s answers %d with %s, which the document does not say", r.Method, r.URL, answer.status, kind)
		return
	}
	var value any = answer.raw
	if answer.json != nil {
		value = answer.json
	}
	if err := b.contract.check(content.Schema, value, r.URL.Path); err != nil {
		b.t.Errorf("%v\n%s", err, answer.raw)
	}
	if answer.status < 400 && op.RequestBody != nil {
		var body any
		must(b.t, json.Unmarshal(sent, &body))
		if err := b.contract.check(op.RequestBody.Content["application/json"].Schema, body, "body"); err != nil {
			b.t.Errorf("a body was taken that is not the document's: %v", err)
		}
	}
}

const acquirePath = "/v1/spaces/default/acquire"

// acquire wants a name to be granted.
func (b *webHarness) acquire(body object) *reply {
	b.t.Helper()
	return b.post(200, acquirePath, body)
}

// started is a request under way.
type started struct {
	answers chan *reply
	cancel  context.CancelFunc
}

// start sends a request that will wait.
func (b *webHarness) start(path string, body object) *started {
	b.t.Helper()
	raw, err := json.Marshal(body)
	must(b.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	s := &started{answers: make(chan *reply, 1), cancel: cancel}
	r := b.request(http.MethodPost, path, string(raw)).WithContext(ctx)
	done := make(chan struct{})
	b.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		answer, err := b.do(r)
		if err != nil && ctx.Err() == nil {
			b.t.Errorf("%s: %v", path, err)
		}
		s.answers <- answer
	}()
	return s
}

func (s *started) wants(t testing.TB, status int) *reply {
	t.Helper()
	answer := <-s.answers
	if answer == nil {
		t.Fatal("no answer")
	}
	if answer.status != status {
		t.Fatalf("status %d, want %d: %s", answer.status, status, answer.raw)
	}
	return answer
}

// watch subscribes to what happens from now on.
func (b *webHarness) watch() *watcher {
	b.t.Helper()
	f, err := b.server.service.watch(b.t.Context(), &schema.WatchRequest{})
	must(b.t, err)
	b.t.Cleanup(f.Close)
	return &watcher{b.t, f, nil}
}

type watcher struct {
	t      testing.TB
	feed   *events.Feed
	queued []*schema.WatchEvent
}

// until waits for an event of that kind about name, and returns it.
func (w *watcher) until(kind, name string) *schema.WatchEvent {
	w.t.Helper()
	for {
		for len(w.queued) > 0 {
			e := w.queued[0]
			w.queued = w.queued[1:]
			if e.Event == kind && e.Name == name {
				return e
			}
		}
		w.queued = happened(w.t, w.feed)
	}
}

func jsonText(t testing.TB, body object) string {
	t.Helper()
	raw, err := json.Marshal(body)
	must(t, err)
	return string(raw)
}
