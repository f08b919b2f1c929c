package server

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
	"github.com/holdfast-locks/holdfast/protocol"
)

// sse reads server-sent events.
type sse struct {
	t     testing.TB
	lines *bufio.Scanner
}

// readEvents subscribes, and returns when the server has said that it is listening.
func (b *webHarness) readEvents(query string) *sse {
	b.t.Helper()
	return b.readFrom(b.request(http.MethodGet, "/v1/events"+query, ""))
}

func (b *webHarness) readFrom(r *http.Request) *sse {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	response, err := b.client.Do(r.WithContext(ctx))
	must(b.t, err)
	b.t.Cleanup(func() {
		cancel()
		_ = response.Body.Close() // cancelled: there is nothing left to lose
	})
	if kind := response.Header.Get("Content-Type"); response.StatusCode != 200 || kind != "text/event-stream" {
		b.t.Fatalf("events: %d %s", response.StatusCode, kind)
	}
	s := &sse{b.t, bufio.NewScanner(response.Body)}
	if first := s.line(); first != ": ok" {
		b.t.Fatalf("the first line is %q", first)
	}
	return s
}

func (s *sse) line() string {
	s.t.Helper()
	for s.lines.Scan() {
		if text := s.lines.Text(); text != "" {
			return text
		}
	}
	return ""
}

// next returns the next event, checked against the document.
func (s *sse) next() (string, map[string]any) {
	s.t.Helper()
	return s.nextOf("ServerSentWatchEvent")
}

// nextOf is next for a stream whose events have a schema of their own.
func (s *sse) nextOf(schema string) (string, map[string]any) {
	s.t.Helper()
	line := s.line()
	id, numbered := strings.CutPrefix(line, "id: ")
	if numbered {
		line = s.line()
	}
	kind, ok := strings.CutPrefix(line, "event: ")
	data, ok2 := strings.CutPrefix(s.line(), "data: ")
	if !ok || !ok2 {
		s.t.Fatalf("no event: %q %q", kind, data)
	}
	var event map[string]any
	must(s.t, json.Unmarshal([]byte(data), &event))
	if has := event["id"] != nil; has != numbered || has && event["id"] != id {
		s.t.Errorf("the id is %q, and that of the event %v", id, event["id"])
	}
	whole := map[string]any{"event": kind, "data": data}
	if numbered {
		whole["id"] = id
	}
	if err := readContract(s.t).check(&jsonSchema{Ref: "#/components/schemas/" + schema}, whole, "event"); err != nil {
		s.t.Error(err)
	}
	return kind, event
}

func TestEventsRow(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.readEvents("?space=default&prefix=a/")
	all := b.readEvents("")
	b.acquire(object{"name": "b/1"})
	b.post(200, "/v1/spaces/any/acquire", object{"name": "a/1"})
	got := b.acquire(object{"name": "a/1", "owner": "job-7", "reason": "nightly", "ttl": "1h"})
	waits := b.start(acquirePath, object{"name": "a/1", "wait": "5s", "owner": "job-8"})
	if kind, event := events.next(); kind != "granted" || event["name"] != "a/1" || event["space"] != "default" ||
		event["owner"] != "job-7" || event["token"] != got.text("token") || event["reason"] != "nightly" || event["holder"] != "job-7" ||
		!strings.HasPrefix(event["client"].(string), "http 127.0.0.1:") {
		t.Errorf("%s %v", kind, event)
	}
	if kind, event := events.next(); kind != "waiting" || event["owner"] != "job-8" || event["token"] != nil || event["reason"] != nil || event["holder"] != nil {
		t.Errorf("%s %v", kind, event)
	}
	b.clock.Advance(5 * time.Second)
	waits.wants(t, 409)
	if kind, event := events.next(); kind != "cancelled" || event["why"] == "" || event["holder"] != "job-7" {
		t.Errorf("%s %v", kind, event)
	}
	b.post(200, "/v1/spaces/default/break", object{"name": "a/1", "reason": "test"})
	if kind, event := events.next(); kind != "broken" || event["why"] != "broken" || event["holder"] != "job-7" || event["reason"] != "nightly" {
		t.Errorf("%s %v", kind, event)
	}
	b.post(410, "/v1/spaces/default/release", object{"name": "a/1", "token": got.text("token"), "session": got.text("session")})
	b.acquire(object{"name": "a/2", "hold": "1s"})
	b.clock.Advance(2 * time.Second)
	if kind, _ := events.next(); kind != "granted" {
		t.Errorf("%s", kind)
	}
	b.post(200, "/v1/sessions/end", object{"session": b.acquire(object{"name": "a/3"}).text("session")})
	if kind, event := events.next(); kind != "lost" || event["why"] != "hold_limit" || event["holder"] != event["client"] {
		t.Errorf("%s %v", kind, event)
	}
	for _, want := range []string{"granted", "released"} {
		if kind, event := events.next(); kind != want || event["name"] != "a/3" {
			t.Errorf("%s %v", kind, event)
		}
	}
	for _, want := range []string{"b/1", "a/1"} {
		if kind, event := all.next(); kind != "granted" || event["name"] != want {
			t.Errorf("all: %s %v", kind, event)
		}
	}
	must(t, b.server.Shutdown(t.Context()))
	if last := events.line(); last != ": closed: this member is leaving" {
		t.Errorf("the last line is %q", last)
	}
}

// TestEventsGoOn: a reader that comes again says what it had last, and has the rest.
func TestEventsGoOn(t *testing.T) {
	b := newWebHarness(t, nil)
	first := b.readEvents("?prefix=x")
	got := b.acquire(object{"name": "x", "owner": "job-7"})
	_, granted := first.next()
	if id, _, _ := strings.Cut(got.text("session"), "."); granted["session"] != id {
		t.Errorf("granted to %v, want %s", granted["session"], id)
	}
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	_, released := first.next()
	for after, want := range map[any]string{granted["id"]: "released", released["id"]: "granted"} {
		r := b.request(http.MethodGet, "/v1/events?prefix=x", "")
		r.Header.Set("Last-Event-ID", after.(string))
		again := b.readFrom(r)
		if want == "granted" {
			b.acquire(object{"name": "x"})
		}
		if kind, event := again.next(); kind != want {
			t.Errorf("behind %v comes %v", after, event)
		}
	}
	if kind, gap := b.readEvents("?prefix=x&after=1-1-0").next(); kind != "space" || gap["since"] == nil || gap["until"] == nil {
		t.Errorf("of another life of the member: %v", gap)
	}
	if answer := b.get(400, "/v1/events?after=yesterday"); answer.text("code") != "bad_request" {
		t.Errorf("%s", answer.raw)
	}
}

func TestSlowReaderIsNotified(t *testing.T) {
	b := newWebHarness(t, nil)
	reader := b.readEvents("")
	floodFrom(b.server.service, 3*events.FeedBound)
	line := reader.line()
	for strings.HasPrefix(line, "id: ") || strings.HasPrefix(line, "event: ") || strings.HasPrefix(line, "data: ") {
		line = reader.line()
	}
	if line != ": dropped: "+events.ErrSlow.Error() {
		t.Errorf("got %q", line)
	}
	if rest := reader.line(); rest != "" {
		t.Errorf("and then %q", rest)
	}
}

// pair is calm, with another member in the view.
type pair struct{ calm }

func (p pair) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	p.calm.Step(now, ev, out)
	if ev.Kind == protocol.Start {
		view := out.Raises[0].(*protocol.View)
		view.Members = append(view.Members, protocol.Member{ID: 8, Name: "b", Address: "b.example:4040"})
	}
}

// peers answers for the other member.
type peers struct {
	followed chan string
	events   chan *schema.MemberEvents
}

func (p *peers) Follow(ctx context.Context, _ protocol.ID, address string, interest *schema.MemberInterest, take func(*schema.MemberEvents)) error {
	p.followed <- address + " " + interest.GetSpace() + " " + interest.GetPrefix()
	for {
		select {
		case m := <-p.events:
			take(m)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestEventsOfOtherMembers come with their name, as soon as that member answers; until then
// no watcher gets the header that nothing is missed, and the end of the server is not waited for.
func TestEventsOfOtherMembers(t *testing.T) {
	other := &peers{make(chan string, 1), make(chan *schema.MemberEvents, 2)}
	b := newWebHarnessOver(t, pair{}, func(c *Config) { c.Others = other })
	other.events <- &schema.MemberEvents{Welcome: &schema.MemberHello{Process: 1}, At: 1}
	events := b.readEvents("?space=default&prefix=a/")
	// Events of another member from before the watcher listens need not come.
	other.events <- &schema.MemberEvents{At: 2, Count: 2, Events: []*schema.MemberEvent{
		{Event: "unheard of", Name: "a/1"}, {Event: eventLost, Time: 2, Space: "default", Name: "a/1", Owner: "o", Token: 7, Why: "member_lost"},
	}}
	if followed := <-other.followed; followed != "b.example:4040 default a/" {
		t.Errorf("asked %s", followed)
	}
	if kind, event := events.next(); kind != eventLost || event["member"] != "b" || event["token"] != "7" || event["why"] != "member_lost" {
		t.Errorf("%s %v", kind, event)
	}
	b.server.service.observer.source.Publish(&schema.WatchEvent{Event: "space", Space: "default"})
	if kind, event := events.next(); kind != "space" || event["member"] != "a" {
		t.Errorf("%s %v", kind, event)
	}
	answered := make(chan *reply, 1)
	late := b.request(http.MethodGet, "/v1/events?prefix=other", "")
	go func() {
		defer close(answered)
		if answer, err := b.do(late); err != nil {
			t.Error(err)
		} else {
			answered <- answer
		}
	}()
	<-other.followed // and nothing is sent
	must(t, b.server.Shutdown(t.Context()))
	if answer := <-answered; answer != nil && (answer.status != 503 || answer.text("code") != api.CodeUnavailable) {
		t.Errorf("got %d %s", answer.status, answer.raw)
	}
}

func TestWatcherLimit(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Watchers = 1 })
	b.readEvents("")
	if answer := b.get(429, "/v1/events"); answer.text("limit") != "watchers" {
		t.Errorf("full: %s", answer.raw)
	}
}

func TestMetricsRow(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "secret/name", "ttl": "1h"})
	b.post(409, acquirePath, object{"name": "secret/name"})
	b.acquire(object{"name": "y", "hold": "1s"})
	b.clock.Advance(2 * time.Second)
	b.post(200, "/v1/spaces/default/release", object{"name": "secret/name", "token": got.text("token"), "session": got.text("session")})
	b.get(404, "/secret/name")
	text := b.get(200, "/metrics").raw
	for _, line := range []string{
		`holdfast_operations_total{op="acquire",result="held",space="default"} 1`,
		`holdfast_operations_total{op="acquire",result="ok",space="default"} 2`,
		`holdfast_operations_total{op="release",result="ok",space="default"} 1`,
		`holdfast_wait_seconds_count{space="default"} 2`,
		`holdfast_hold_seconds_count{space="default"} 2`,
		`holdfast_locks{space="default"} 0`,
		`holdfast_waiters{space="any"} 0`,
		`holdfast_lost_total{space="default",why="hold_limit"} 1`,
		`holdfast_reign{space="default"} 3`,
		`holdfast_space_ready{space="default"} 1`,
		`holdfast_recoveries_total{space="default"} 0`,
		`holdfast_recovery_seconds_count{space="default"} 0`,
		`holdfast_view 1`,
		`holdfast_members 1`,
		`holdfast_sessions 1`,
		`holdfast_refused_total{why="unknown_path"} 1`,
		`holdfast_frames_total{direction="received"} 0`,
		`holdfast_build_info{version="v9"} 1`,
		`go_goroutines `,
		`process_open_fds `,
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("%s is missing", line)
		}
	}
	if strings.Contains(text, "secret/name") {
		t.Error("a metric names a lock")
	}
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
}

// uneasy is a membership whose coordinator may grant from one time on, and only
// until another.
type uneasy struct{ from, until protocol.Time }

func (uneasy) Wake() protocol.Time { return protocol.Never }

func (m uneasy) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch {
	case ev.Kind == protocol.Start:
		out.Raise(&protocol.View{
			Installed: true, Open: true, Number: 1, Epoch: protocol.Epoch{Counter: 3, Candidate: harnessMember}, Coordinator: harnessMember,
			Members:   []protocol.Member{{ID: harnessMember, Name: "a", Address: "a.example:4040"}},
			GrantFrom: m.from, Lease: &protocol.Lease{Member: protocol.Never, Carried: protocol.Never, Role: m.until},
		})
	case ev.Kind == protocol.Raised:
		if need, ok := ev.Fact.(*protocol.NeedHorizon); ok {
			out.Raise(&protocol.Horizon{Answer: true, Confirmed: need.Want, Clients: need.Clients})
		}
	}
}

func TestRecovery(t *testing.T) {
	b := newWebHarnessOver(t, uneasy{from: time.Minute + 30*time.Second, until: time.Hour}, nil)
	events := b.readEvents("?space=default")
	waiting := b.readEvents("?space=default&prefix=x")
	ready := b.get(503, "/readyz")
	if lines := strings.Split(strings.TrimSpace(ready.raw), "\n"); len(lines) != 2 ||
		!strings.HasPrefix(lines[0], "default: recovering: ") || !strings.Contains(lines[0], ", until 20") {
		t.Errorf("not ready: %s", ready.raw)
	}
	now := b.post(503, acquirePath, object{"name": "x"})
	if now.text("code") != "unavailable" || now.header.Get("Retry-After") != "30" {
		t.Errorf("unavailable: %s %v", now.raw, now.header)
	}
	if space := b.get(200, "/v1/status").list("spaces")[0]; space["state"] != "recovering" || space["until"] == nil || space["why"] == "" {
		t.Errorf("space: %v", space)
	}
	for !strings.Contains(b.get(200, "/metrics").raw, "\n"+`holdfast_recoveries_total{space="default"} 1`) {
		runtime.Gosched() // the watch over the spaces has its own goroutine
	}
	waits := b.start(acquirePath, object{"name": "x", "wait": "50s", "ttl": "1h"})
	if kind, _ := waiting.next(); kind != "waiting" {
		t.Errorf("%s", kind)
	}
	b.clock.Advance(30 * time.Second)
	waits.wants(t, 200)
	want := []string{"waiting", "granted", "space"}
	for range want {
		kind, event := events.next()
		if !slices.Contains(want, kind) || kind == "space" && event["why"] != "default: ready" {
			t.Errorf("%s %v", kind, event)
		}
	}
	if !strings.Contains(b.get(200, "/metrics").raw, "\n"+`holdfast_recovery_seconds_count{space="default"} 1`) {
		t.Error("the recovery was not measured")
	}
	b.clock.Advance(time.Hour)
	if kind, event := events.next(); kind != "space" || !strings.HasPrefix(event["why"].(string), "default: unavailable: ") {
		t.Errorf("%s %v", kind, event)
	}
	b.get(503, "/readyz")
}
