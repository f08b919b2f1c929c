package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

const observePath = "/v1/spaces/default/observe/"

// observing reads the states of a name over HTTP, from behind the state with an id on.
func (b *webHarness) observing(name, after string) *sse {
	b.t.Helper()
	r := b.request(http.MethodGet, observePath+name, "")
	if after != "" {
		r.Header.Set("Last-Event-ID", after)
	}
	return b.readFrom(r)
}

// state returns the next state as text: the holder's owner, token and value, the waiters' owners, and whether states were
// missed.
func (s *sse) state() (text, id string) {
	s.t.Helper()
	kind, state := s.nextOf("ServerSentObserved")
	if kind != "state" || state["space"] != "default" {
		s.t.Errorf("%s %v", kind, state)
	}
	for _, h := range state["holders"].([]any) {
		h := h.(map[string]any)
		text += fmt.Sprintf("%v=%v ", h["owner"], h["value"])
	}
	text += "<"
	for _, w := range state["waiters"].([]any) {
		text += fmt.Sprint(" ", w.(map[string]any)["owner"])
	}
	if state["missed"] == true {
		text += " missed"
	}
	return text, state["id"].(string)
}

func (s *sse) states(want ...string) (id string) {
	s.t.Helper()
	for _, want := range want {
		var got string
		if got, id = s.state(); got != want {
			s.t.Fatalf("the state is %q, want %q", got, want)
		}
	}
	return id
}

// TestObserveRow: the present state first, then each change; and an observer that comes again has what it has missed.
func TestObserveRow(t *testing.T) {
	b := newWebHarness(t, nil)
	first := b.observing("a/x", "")
	first.states("<")
	b.acquire(object{"name": "a/xy"})
	got := b.acquire(object{"name": "a/x", "owner": "one", "value": "v1"})
	last := first.states("one=v1 <")
	waits := b.start(acquirePath, object{"name": "a/x", "owner": "two", "wait": "50s", "value": "v2"})
	first.states("one=v1 < two")
	b.post(200, "/v1/spaces/default/value", object{"name": "a/x", "token": got.text("token"), "session": got.text("session"), "value": "v1b"})
	first.states("one=v1b < two")
	b.post(200, "/v1/spaces/default/release", object{"name": "a/x", "token": got.text("token"), "session": got.text("session")})
	waits.wants(t, 200)
	first.states("< two", "two=v2 <")
	b.post(200, "/v1/spaces/default/break", object{"name": "a/x", "reason": "test"})
	id := first.states("<")
	again := b.observing("a/x", last)
	if again.states("one=v1 < two", "one=v1b < two", "< two", "two=v2 <", "<") != id {
		t.Error("the states have other ids for the second observer")
	}
	b.observing("a/x", "").states("<")
	b.observing("a/x", "1-1").states("< missed")
	b.observing("a%2Fx", "").states("<")
	var inProcess []string
	enough := errors.New("enough")
	err := b.server.Observe(t.Context(), &schema.ObserveRequest{Name: "a/x", After: last}, func(state *schema.Observed) error {
		if inProcess = append(inProcess, state.GetId()); state.GetId() == id {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || len(inProcess) != 5 {
		t.Errorf("in process: %v, %q", err, inProcess)
	}
	must(t, b.server.Shutdown(t.Context()))
	if last := first.line(); last != ": closed: this member is leaving" {
		t.Errorf("the last line is %q", last)
	}
}

// TestObserveRefusals: what cannot be observed is refused before the stream begins.
func TestObserveRefusals(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Watchers = 1 })
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		"/v1/spaces/nowhere/observe/x":          {404, "unknown_space"},
		observePath + strings.Repeat("x", 2000): {400, "name"},
		observePath + "x?prefix=y":              {400, "bad_request"},
		observePath:                             {400, "name"},
	} {
		if answer := b.get(want.status, path); answer.text("code") != want.code {
			t.Errorf("%.40s: %s", path, answer.raw)
		}
	}
	head, err := b.client.Do(b.request(http.MethodHead, observePath+"x", ""))
	must(t, err)
	if must(t, head.Body.Close()); head.StatusCode != 200 || head.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", head.StatusCode, head.Header)
	}
	b.observing("x", "").states("<")
	if answer := b.get(429, observePath+"x"); answer.text("limit") != "watchers" || !strings.Contains(answer.raw, `"value":1`) {
		t.Errorf("a second observer: %s", answer.raw)
	}
}

// TestObserveOverGRPC: the same states over gRPC, with signs of life, until the caller ends it.
func TestObserveOverGRPC(t *testing.T) {
	b := newHarness(t, nil, nil)
	locks := schema.NewLocksClient(b.conn)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream, err := locks.Observe(ctx, &schema.ObserveRequest{Name: "x"})
	must(t, err)
	state, err := stream.Recv()
	must(t, err)
	if state.GetName() != "x" || state.GetSpace() != holdfast.DefaultSpace || len(state.GetHolders()) > 0 {
		t.Errorf("the first state is %v", state)
	}
	name := "x"
	got, err := locks.Acquire(t.Context(), &schema.AcquireRequest{Name: &name, Owner: "one"})
	must(t, err)
	held, err := stream.Recv()
	must(t, err)
	if h := held.GetHolders(); len(h) != 1 || h[0].GetToken() != got.GetLocks()[0].GetToken() || h[0].GetOwner() != "one" {
		t.Errorf("the second state is %v", held)
	}
	for beat := (*schema.Observed)(nil); beat.GetName() != "" || beat == nil; {
		if beat, err = stream.Recv(); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if _, err := stream.Recv(); status.Code(err) != codes.Canceled {
		t.Errorf("after the end of the context: %v", err)
	}
	bad, err := locks.Observe(t.Context(), &schema.ObserveRequest{Space: "nowhere", Name: "x"})
	must(t, err)
	if _, err := bad.Recv(); !errors.Is(api.FromStatus("observe", err), holdfast.ErrSpace) {
		t.Errorf("an unknown space: %v", err)
	}
}

// TestObserveUnderPolicy: a caller observes what it may read, and no longer than that.
func TestObserveUnderPolicy(t *testing.T) {
	g := newGuarded(t, onePolicy, nil)
	ctx, cancel := contextWithin(t)
	defer cancel()
	reads, locks := g.caller("read"), g.caller("lock")
	reader := schema.NewLocksClient(reads.conn)
	stream, err := reader.Observe(reads.context(ctx), &schema.ObserveRequest{Name: "other"})
	must(t, err)
	if _, err := stream.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("a name that it may not read: %v", err)
	}
	stream, err = reader.Observe(reads.context(ctx), &schema.ObserveRequest{Name: "deploy/x"})
	must(t, err)
	_, err = stream.Recv()
	must(t, err)
	g.writePolicy(t, strings.Replace(onePolicy, `"token:read", `, "", 1))
	g.guard.Reload()
	name := "deploy/x"
	_, err = schema.NewLocksClient(locks.conn).Acquire(locks.context(ctx), &schema.AcquireRequest{Name: &name})
	must(t, err)
	for err == nil {
		var state *schema.Observed
		if state, err = stream.Recv(); len(state.GetHolders()) > 0 {
			t.Errorf("it has seen %v", state)
		}
	}
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("after its right has ended: %v", err)
	}
}
