package server

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestRequestActsOnce(t *testing.T) {
	b := newWebHarness(t, nil)
	body := object{"name": "x", "request": "r-1", "ttl": "10s"}
	first := b.acquire(body)
	b.clock.Advance(4 * time.Second)
	again := b.acquire(body)
	for _, field := range []string{"token", "session", "ttl"} {
		if again.text(field) != first.text(field) {
			t.Errorf("%s is %q, was %q", field, again.text(field), first.text(field))
		}
	}
	// The repetition has renewed: 8 s after the first, 4 s after the second.
	b.clock.Advance(8 * time.Second)
	b.post(200, "/v1/sessions/renew", object{"session": first.text("session")})
	other := b.post(409, acquirePath, object{"name": "y", "request": "r-1", "ttl": "10s"})
	if other.text("code") != "conflict" {
		t.Errorf("another content: %s", other.raw)
	}
}

func TestRequestWhoseGrantHasEnded(t *testing.T) {
	b := newWebHarness(t, nil)
	released := object{"name": "x", "request": "r-1"}
	got := b.acquire(released)
	b.post(200, "/v1/spaces/default/release", object{"name": "x", "token": got.text("token"), "session": got.text("session")})
	if answer := b.post(409, acquirePath, released); answer.text("code") != "not_held" {
		t.Errorf("released: %s", answer.raw)
	}

	ended := object{"name": "x", "request": "r-2"}
	got = b.acquire(ended)
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	if answer := b.post(409, acquirePath, ended); answer.text("code") != "not_held" {
		t.Errorf("ended: %s", answer.raw)
	}

	limited := object{"name": "x", "request": "r-3", "hold": "1s"}
	b.acquire(limited)
	b.clock.Advance(2 * time.Second)
	b.acquire(object{"name": "x", "ttl": "1m"}) // it has ended: another client has the name now
	if answer := b.post(410, acquirePath, limited); answer.text("why") != "hold_limit" {
		t.Errorf("hold limit: %s", answer.raw)
	}

	expired := object{"name": "y", "request": "r-4", "ttl": "1s"}
	b.acquire(expired)
	b.clock.Advance(2 * time.Second)
	// What is heard before the expiry is judged renews, so the request is not repeated before that.
	b.acquire(object{"name": "y", "wait": "1m", "ttl": "1m"})
	if answer := b.post(410, acquirePath, expired); answer.text("why") != "session_expired" {
		t.Errorf("expired: %s", answer.raw)
	}

	broken := object{"name": "z", "request": "r-5"}
	b.acquire(broken)
	b.post(200, "/v1/spaces/default/break", object{"name": "z", "reason": "test"})
	if answer := b.post(410, acquirePath, broken); answer.text("why") != "broken" {
		t.Errorf("broken: %s", answer.raw)
	}
}

func TestRefusedRequestMayBeSentAgain(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x"})
	body := object{"name": "x", "request": "r-1"}
	b.post(409, acquirePath, body)
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	b.acquire(body)
}

func TestRequestsAreForgotten(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Requests, c.Limits.Remember = 2, time.Minute })
	b.acquire(object{"name": "1", "request": "r-1"})
	b.acquire(object{"name": "2", "request": "r-2"})
	full := b.post(429, acquirePath, object{"name": "3", "request": "r-3"})
	if full.text("limit") != "requests" || full.json["value"] != 2.0 {
		t.Errorf("full: %s", full.raw)
	}
	b.acquire(object{"name": "3"})
	b.clock.Advance(time.Minute)
	b.acquire(object{"name": "4", "request": "r-3"})
}

// TestRequestsCountTheirNames, and an outcome that no client has heard leaves no trace.
func TestRequestsCountTheirNames(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.Requests = 3 })
	b.post(429, acquirePath, object{"names": []string{"1", "2", "3", "4"}, "request": "r-1"})
	b.acquire(object{"names": []string{"1", "2"}, "request": "r-1"})
	b.post(429, acquirePath, object{"names": []string{"3", "4"}, "request": "r-2"})
	b.acquire(object{"name": "3", "request": "r-2"})
}

// TestUnreportedGrantIsForgotten: a request that was granted when its client had gone is
// given back, and leaves nothing in memory.
func TestUnreportedGrantIsForgotten(t *testing.T) {
	b := newWebHarness(t, nil)
	s := b.server.service
	o, err := s.order(acquireInput{Space: "default", Names: []string{"x"}, Request: "r-1", Arrived: s.now()})
	must(t, err)
	q, _, err := s.requests.join(s.life, o, s.now())
	must(t, err)
	s.run(q)
	if shown := b.get(200, "/v1/spaces/default/locks/x"); len(shown.list("holders")) != 1 {
		t.Fatalf("not granted: %s", shown.raw)
	}
	s.leave(q, 0)
	if shown := b.get(200, "/v1/spaces/default/locks/x"); len(shown.list("holders")) != 0 {
		t.Errorf("no client's, and still held: %s", shown.raw)
	}
	if r := s.requests; len(r.byKey)+len(r.bySession)+len(r.ended)+r.names != 0 {
		t.Errorf("left: %d by key, %d by session, %d granted, %d names", len(r.byKey), len(r.bySession), len(r.ended), r.names)
	}
}

// waitAgain sends a request until the answer no longer says to ask again.
func (b *webHarness) waitAgain(body object) *reply {
	b.t.Helper()
	for {
		answer, err := b.do(b.request("POST", acquirePath, jsonText(b.t, body)))
		must(b.t, err)
		if answer.json["retry"] != true {
			return answer
		}
		if answer.status != 409 || answer.text("code") != "held" {
			b.t.Fatalf("asked to retry with %s", answer.raw)
		}
	}
}

func TestLongPollKeepsThePlace(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.LongPoll, c.Limits.Grace = 20*time.Millisecond, time.Hour })
	events := b.watch()
	held := b.acquire(object{"name": "x", "ttl": "1h", "owner": "job-7"})
	first := object{"name": "x", "request": "r-1", "wait": "10m", "ttl": "1h"}
	answer := b.post(409, acquirePath, first)
	if answer.text("code") != "held" || answer.json["retry"] != true || answer.text("owner") != "job-7" ||
		!strings.Contains(answer.text("detail"), "still waiting") {
		t.Fatalf("after the long poll: %s", answer.raw)
	}
	events.until(eventWaiting, "x")
	// A later request is behind it, and stays so while it asks again.
	second := make(chan *reply, 1)
	go func() {
		second <- b.waitAgain(object{"name": "x", "request": "r-2", "wait": "10m", "ttl": "1h"})
	}()
	events.until(eventWaiting, "x")
	b.post(409, acquirePath, first)
	b.post(200, "/v1/sessions/end", object{"session": held.text("session")})
	got := b.waitAgain(first)
	if got.status != 200 {
		t.Fatalf("first: %s", got.raw)
	}
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	if after := <-second; after.status != 200 || after.text("token") <= got.text("token") {
		t.Errorf("second: %s", after.raw)
	}
}

func TestWaitCountsOverRetries(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.LongPoll, c.Limits.Grace = 20*time.Millisecond, time.Hour })
	b.acquire(object{"name": "x", "ttl": "1h"})
	body := object{"name": "x", "request": "r-1", "wait": "1m"}
	b.post(409, acquirePath, body)
	b.clock.Advance(time.Minute)
	answer := b.waitAgain(body) // it may take a moment until the end of the wait is noticed
	if answer.status != 409 || answer.text("code") != "held" {
		t.Errorf("the wait is over: %s", answer.raw)
	}
}

func TestGraceEndsTheWait(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.LongPoll, c.Limits.Grace = time.Millisecond, time.Millisecond })
	b.acquire(object{"name": "x", "ttl": "1h"})
	b.post(409, acquirePath, object{"name": "x", "request": "r-1", "wait": "10m"})
	known := func() int {
		r := b.server.service.requests
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.byKey)
	}
	for known() > 0 || len(b.get(200, "/v1/spaces/default/locks/x").list("waiters")) > 0 {
		runtime.Gosched()
	}
}

func TestGraceEndsTheGrant(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.LongPoll, c.Limits.Grace = time.Millisecond, 50*time.Millisecond })
	events := b.watch()
	held := b.acquire(object{"name": "x", "ttl": "1h"})
	b.post(409, acquirePath, object{"name": "x", "request": "r-1", "wait": "10m", "ttl": "1h"})
	b.post(200, "/v1/sessions/end", object{"session": held.text("session")})
	// Granted in the grace or not, it belongs to no client after it.
	events.until(eventReleased, "x")
	for {
		if shown := b.get(200, "/v1/spaces/default/locks/x"); len(shown.list("holders"))+len(shown.list("waiters")) == 0 {
			return
		}
	}
}

func TestLongPollWithoutRequest(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.LongPoll = time.Millisecond })
	b.acquire(object{"name": "x", "ttl": "1h"})
	answer := b.post(409, acquirePath, object{"name": "x", "wait": "10m"})
	if answer.json["retry"] != true || !strings.Contains(answer.text("detail"), "no longer waiting") {
		t.Errorf("after the long poll: %s", answer.raw)
	}
	if shown := b.get(200, "/v1/spaces/default/locks/x"); len(shown.list("waiters")) != 0 {
		t.Errorf("it keeps no place: %s", shown.raw)
	}
}

func TestWaitLimitOverHTTP(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.watch()
	b.acquire(object{"name": "x", "ttl": "1h"})
	waits := b.start(acquirePath, object{"name": "x", "wait": "5s"})
	events.until(eventWaiting, "x")
	b.clock.Advance(5 * time.Second)
	if answer := waits.wants(t, 409); answer.text("code") != "held" || answer.json["retry"] != nil {
		t.Errorf("after the wait limit: %s", answer.raw)
	}
	events.until(eventCancelled, "x")
}

func TestClosingCancels(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.watch()
	held := b.acquire(object{"name": "x", "ttl": "1h"})
	for _, body := range []object{
		{"name": "x", "wait": "50s"},
		{"name": "x", "wait": "50s", "request": "r-1"},
		{"names": []string{"a", "x"}, "wait": "50s"},
		{"name": "x", "wait": "50s", "session": b.acquire(object{"name": "other", "ttl": "1h"}).text("session")},
	} {
		waits := b.start(acquirePath, body)
		events.until(eventWaiting, "x")
		waits.cancel()
		if body["names"] != nil {
			events.until(eventReleased, "a")
		}
		events.until(eventCancelled, "x")
		if body["session"] != nil {
			b.post(200, "/v1/sessions/end", object{"session": body["session"]})
			events.until(eventReleased, "other")
		}
	}
	b.post(200, "/v1/sessions/end", object{"session": held.text("session")})
	b.acquire(object{"name": "x"})
}

func TestTwoConnectionsOfOneRequest(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.watch()
	held := b.acquire(object{"name": "x", "ttl": "1h"})
	body := object{"name": "x", "wait": "50s", "request": "r-1"}
	one, two := b.start(acquirePath, body), b.start(acquirePath, body)
	events.until(eventWaiting, "x")
	b.post(200, "/v1/sessions/end", object{"session": held.text("session")})
	first, second := one.wants(t, 200), two.wants(t, 200)
	if first.text("token") != second.text("token") || first.text("session") != second.text("session") {
		t.Errorf("one request, two grants: %s %s", first.raw, second.raw)
	}
}

func TestShutdownEndsHTTPWaits(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.watch()
	b.acquire(object{"name": "x", "ttl": "1h"})
	one := b.start(acquirePath, object{"name": "x", "wait": "50s"})
	events.until(eventWaiting, "x")
	two := b.start(acquirePath, object{"name": "x", "wait": "50s", "request": "r-1"})
	events.until(eventWaiting, "x")
	must(t, b.server.Shutdown(t.Context()))
	for _, waits := range []*started{one, two} {
		if answer := waits.wants(t, 503); answer.text("code") != "unavailable" || answer.header.Get("Retry-After") == "" {
			t.Errorf("at the end: %s", answer.raw)
		}
	}
}

// TestShutdownEndsTheGrace: what was granted while its client was to ask again is given
// back, because no client will ask again.
func TestShutdownEndsTheGrace(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.LongPoll, c.Limits.Grace = time.Millisecond, time.Hour })
	events := b.watch()
	held := b.acquire(object{"name": "x", "ttl": "1h"})
	b.post(409, acquirePath, object{"name": "x", "request": "r-1", "wait": "10m", "ttl": "1h"})
	b.post(200, "/v1/sessions/end", object{"session": held.text("session")})
	events.until(eventReleased, "x")
	events.until(eventGranted, "x")
	must(t, b.server.Shutdown(t.Context()))
	if left := showLock(t, b.driver, "x"); len(left.Holders) != 0 {
		t.Errorf("no client's, and still held: %+v", left)
	}
}

// showLock asks the first space itself.
func showLock(t testing.TB, driver *run.Driver, name string) *lock.Lock {
	t.Helper()
	reply, err := driver.Do(t.Context(), 1, &protocol.Show{Name: name})
	must(t, err)
	return reply.Result.(*lock.Lock)
}
