package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/openapi"
)

func TestAcquireReleaseRow(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "orders/42", "owner": "job-7", "reason": "nightly", "require": "fenced"})
	for field, want := range map[string]string{
		"space": "default", "name": "orders/42", "mode": "exclusive", "owner": "job-7", "ttl": "10s", "class": "fenced",
	} {
		if got.text(field) != want {
			t.Errorf("%s is %q, want %q", field, got.text(field), want)
		}
	}
	if token := got.text("token"); token == "" || token == "0" {
		t.Errorf("token %q", token)
	}
	body := object{"name": "orders/42", "token": got.text("token"), "session": got.text("session")}
	released := b.post(200, "/v1/spaces/default/release", body)
	if released.json["released"] != true || released.text("token") != got.text("token") || released.text("space") != "default" {
		t.Errorf("released: %s", released.raw)
	}
	// The session of a request of its own has ended with its last lock.
	again := b.post(404, "/v1/spaces/default/release", body)
	if again.text("code") != "unknown_session" {
		t.Errorf("code %s", again.raw)
	}
}

func TestModes(t *testing.T) {
	b := newWebHarness(t, nil)
	b.acquire(object{"name": "s", "mode": "shared"})
	b.acquire(object{"name": "s", "mode": "shared"})
	b.post(409, acquirePath, object{"name": "s"})
	got := b.acquire(object{"name": "n", "mode": "slots", "units": 2, "capacity": 3})
	if got.json["units"] != 2.0 {
		t.Errorf("units: %s", got.raw)
	}
	b.acquire(object{"name": "n", "mode": "slots", "units": 1, "capacity": 3})
	held := b.post(409, acquirePath, object{"name": "n", "mode": "slots", "units": 1, "capacity": 3})
	if held.text("code") != "held" || held.json["others"] != 1.0 {
		t.Errorf("held: %s", held.raw)
	}
	if conflict := b.post(409, acquirePath, object{"name": "n", "mode": "slots", "units": 1, "capacity": 4}); conflict.text("code") != "conflict" {
		t.Errorf("conflict: %s", conflict.raw)
	}
	if conflict := b.post(409, acquirePath, object{"name": "n", "units": 1}); conflict.text("code") != "conflict" {
		t.Errorf("conflict: %s", conflict.raw)
	}
}

func TestHeldNamesTheHolder(t *testing.T) {
	b := newWebHarness(t, nil)
	b.acquire(object{"name": "x", "owner": "job-7"})
	held := b.post(409, acquirePath, object{"name": "x"})
	if held.text("code") != "held" || held.text("owner") != "job-7" || held.text("member") != "a" || held.text("since") == "" {
		t.Errorf("held: %s", held.raw)
	}
	if held.json["retry"] != nil {
		t.Errorf("a try that was refused says to wait on: %s", held.raw)
	}
	if detail := held.text("detail"); !strings.HasPrefix(detail, `acquire "x": held by job-7 on a since `) {
		t.Errorf("detail %q", detail)
	}
}

func TestSeveralNames(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"names": []string{"c", "a", "b"}, "ttl": "30s"})
	var names []string
	for _, one := range got.list("locks") {
		names = append(names, one["name"].(string))
		if one["session"] != got.text("session") || one["ttl"] != "30s" {
			t.Errorf("one of several: %v", one)
		}
	}
	if fmt.Sprint(names) != "[c a b]" {
		t.Errorf("names in the order %v", names)
	}
	// All or none: d is free again after a refusal.
	if held := b.post(409, acquirePath, object{"names": []string{"d", "b", "e"}}); held.text("name") != "b" {
		t.Errorf("held: %s", held.raw)
	}
	b.acquire(object{"name": "d"})
	if twice := b.post(409, acquirePath, object{"names": []string{"f", "f"}}); twice.text("code") != "conflict" {
		t.Errorf("twice: %s", twice.raw)
	}
	ended := b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	if len(ended.list("released")) != 3 {
		t.Errorf("ended: %s", ended.raw)
	}
	b.post(404, "/v1/sessions/end", object{"session": got.text("session")})
}

func TestRefusedLeavesNoSession(t *testing.T) {
	b := newWebHarness(t, nil)
	b.acquire(object{"name": "x"})
	for range 200 { // more than there may be sessions
		b.post(409, acquirePath, object{"name": "x"})
	}
	if status := b.get(200, "/v1/status"); status.list("spaces")[0]["sessions"] != 1.0 {
		t.Errorf("status: %s", status.raw)
	}
}

func TestSessionOverSpaces(t *testing.T) {
	b := newWebHarness(t, nil)
	first := b.acquire(object{"name": "x", "ttl": "20s"})
	session := first.text("session")
	second := b.post(200, "/v1/spaces/any/acquire", object{"name": "x", "session": session, "require": "available"})
	if second.text("session") != session || second.text("ttl") != "20s" || second.text("class") != "available" {
		t.Errorf("second: %s", second.raw)
	}
	renewed := b.post(200, "/v1/sessions/renew", object{"session": session, "ttl": "40s"})
	if renewed.text("ttl") != "40s" || renewed.text("session")+"." != session[:len(renewed.text("session"))+1] {
		t.Errorf("renewed: %s", renewed.raw)
	}
	if again := b.post(200, "/v1/sessions/renew", object{"session": session}); again.text("ttl") != "40s" {
		t.Errorf("renewed as before: %s", again.raw)
	}
	ended := b.post(200, "/v1/sessions/end", object{"session": session})
	spaces := map[any]bool{}
	for _, one := range ended.list("released") {
		spaces[one["space"]] = true
	}
	if len(spaces) != 2 {
		t.Errorf("ended: %s", ended.raw)
	}
}

func TestTTLIncludesTheWait(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.watch()
	first := b.acquire(object{"name": "x", "ttl": "1h"})
	waits := b.start(acquirePath, object{"name": "x", "wait": "20s", "ttl": "5s"})
	events.until(eventWaiting, "x")
	b.clock.Advance(6 * time.Second)
	b.post(200, "/v1/spaces/default/release", object{"name": "x", "token": first.text("token"), "session": first.text("session")})
	got := waits.wants(t, 200)
	if got.text("ttl") != "11s" {
		t.Errorf("ttl %s", got.raw)
	}
	if one, two := first.text("token"), got.text("token"); len(two) < len(one) || two <= one {
		t.Errorf("token %s after %s", two, one)
	}
}

func TestHoldLimit(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x", "hold": "2s", "ttl": "1m"})
	if ttl, err := time.ParseDuration(got.text("ttl")); err != nil || ttl <= 0 || ttl > 2*time.Second {
		t.Errorf("ttl %s is more than the hold limit allows", got.text("ttl"))
	}
	b.clock.Advance(5 * time.Second)
	lost := b.post(410, "/v1/spaces/default/release", object{"name": "x", "token": got.text("token"), "session": got.text("session")})
	if lost.text("code") != "lost" || lost.text("why") != "hold_limit" {
		t.Errorf("lost: %s", lost.raw)
	}
	b.acquire(object{"name": "x"})
}

func TestRenewReportsLoss(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x", "hold": "2s", "ttl": "1m"})
	session := got.text("session")
	b.post(200, acquirePath, object{"name": "y", "session": session})
	b.clock.Advance(5 * time.Second)
	lost := b.post(410, "/v1/sessions/renew", object{"session": session})
	if lost.text("why") != "hold_limit" || lost.text("name") != "x" {
		t.Errorf("lost: %s", lost.raw)
	}
	// The loss is reported once; y is held on.
	b.post(200, "/v1/sessions/renew", object{"session": session})
	again := b.post(410, "/v1/spaces/default/release", object{"name": "x", "token": got.text("token"), "session": session})
	if again.text("why") != "hold_limit" {
		t.Errorf("again: %s", again.raw)
	}
}

func TestExpiredSession(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x", "ttl": "1s"})
	b.clock.Advance(2 * time.Second)
	b.acquire(object{"name": "x", "wait": "1m"}) // a renewal before the expiry is judged would count as one that had waited
	for _, path := range []string{"/v1/sessions/renew", "/v1/sessions/end"} {
		if gone := b.post(404, path, object{"session": got.text("session")}); gone.text("code") != "unknown_session" {
			t.Errorf("%s: %s", path, gone.raw)
		}
	}
}

func TestReleaseOfWhatIsNotHeld(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x"})
	other := b.acquire(object{"name": "y"})
	session, token := got.text("session"), got.text("token")
	wrongSecret := session[:len(session)-1] + map[bool]string{true: "1", false: "0"}[strings.HasSuffix(session, "0")]
	for _, c := range []struct {
		why    string
		status int
		code   string
		body   object
	}{
		{"a wrong token", 409, "not_held", object{"name": "x", "token": "1", "session": session}},
		{"another's token", 409, "not_held", object{"name": "y", "token": other.text("token"), "session": session}},
		{"another name", 409, "not_held", object{"name": "z", "token": token, "session": session}},
		{"a wrong secret", 404, "unknown_session", object{"name": "x", "token": token, "session": wrongSecret}},
		{"an unknown session", 404, "unknown_session", object{"name": "x", "token": token, "session": "1-1." + strings.Repeat("0", 32)}},
		{"no session", 400, "bad_request", object{"name": "x", "token": token}},
		{"no token", 400, "bad_request", object{"name": "x", "session": session}},
		{"a number as token", 400, "bad_request", object{"name": "x", "token": 5, "session": session}},
	} {
		if answer := b.post(c.status, "/v1/spaces/default/release", c.body); answer.text("code") != c.code {
			t.Errorf("%s: %s", c.why, answer.raw)
		}
	}
	b.post(200, "/v1/spaces/default/release", object{"name": "x", "token": token, "session": session})
}

func TestBreakRow(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x", "owner": "job-7", "reason": "nightly", "ttl": "1m"})
	if answer := b.post(400, "/v1/spaces/default/break", object{"name": "x"}); answer.text("code") != "bad_request" {
		t.Errorf("without a reason: %s", answer.raw)
	}
	b.post(409, "/v1/spaces/default/break", object{"name": "x", "token": "1", "reason": "test"})
	b.post(409, "/v1/spaces/default/break", object{"name": "free", "reason": "test"})
	broken := b.post(200, "/v1/spaces/default/break", object{"name": "x", "token": got.text("token"), "reason": "test"})
	grants := broken.list("broken")
	if len(grants) != 1 || grants[0]["owner"] != "job-7" || grants[0]["token"] != got.text("token") || grants[0]["member"] != "a" ||
		grants[0]["until"] == nil {
		t.Errorf("broken: %s", broken.raw)
	}
	lost := b.post(410, "/v1/sessions/renew", object{"session": got.text("session")})
	if lost.text("why") != "broken" {
		t.Errorf("renew: %s", lost.raw)
	}
}

func TestShowRow(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.watch()
	const name = "site/a b/ü%"
	free := b.get(200, "/v1/spaces/default/locks/no/client/has/it")
	if free.text("name") != "no/client/has/it" || len(free.list("holders")) != 0 || free.json["token"] != nil {
		t.Errorf("free: %s", free.raw)
	}
	got := b.acquire(object{"name": name, "owner": "job-7", "reason": "nightly"})
	waits := b.start(acquirePath, object{"name": name, "wait": "30s", "owner": "job-8"})
	events.until(eventWaiting, name)
	for _, path := range []string{"site/a%20b/%C3%BC%25", "site%2Fa%20b%2F%C3%BC%25"} {
		shown := b.get(200, "/v1/spaces/default/locks/"+path)
		if shown.text("name") != name || shown.text("token") != got.text("token") {
			t.Errorf("%s: %s", path, shown.raw)
		}
		holder, waiter := shown.list("holders")[0], shown.list("waiters")[0]
		if holder["owner"] != "job-7" || holder["reason"] != "nightly" || holder["member"] != "a" || holder["until"] == nil {
			t.Errorf("holder: %v", holder)
		}
		if client := holder["client"].(string); !strings.HasPrefix(client, "http 127.0.0.1:") || !strings.Contains(client, "Go-http-client") {
			t.Errorf("client %q", client)
		}
		if strings.Contains(shown.raw, strings.SplitAfter(got.text("session"), ".")[1]) {
			t.Error("the secret is shown")
		}
		if waiter["owner"] != "job-8" || waiter["position"] != 0.0 || waiter["until"] == nil {
			t.Errorf("waiter: %v", waiter)
		}
	}
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	waits.wants(t, 200)
	if shown := b.get(200, "/v1/spaces/default/locks/site%2Fa%20b%2F%C3%BC%25"); len(shown.list("history")) != 1 {
		t.Errorf("history: %s", shown.raw)
	}
}

func TestListRow(t *testing.T) {
	b := newWebHarness(t, nil)
	var names []string
	for i := range 700 {
		names = append(names, fmt.Sprintf("n/%03d", (i*37)%700))
	}
	b.acquire(object{"names": names})
	b.acquire(object{"name": "other"})
	var listed []string
	after := ""
	for range 100 {
		page := b.get(200, "/v1/spaces/default/locks?limit=100&prefix=n/&after="+after)
		for _, one := range page.list("locks") {
			listed = append(listed, one["name"].(string))
		}
		if after = page.text("next"); after == "" {
			break
		}
	}
	if len(listed) != 700 {
		t.Fatalf("%d names listed", len(listed))
	}
	for i, name := range listed {
		if name != fmt.Sprintf("n/%03d", i) {
			t.Fatalf("name %d is %s", i, name)
		}
	}
	if all := b.get(200, "/v1/spaces/default/locks"); len(all.list("locks")) != 701 || all.text("next") != "" {
		t.Errorf("%d names, next %q", len(all.list("locks")), all.text("next"))
	}
	for _, query := range []string{"?stale=true", "?stale=false"} {
		if all := b.get(200, "/v1/spaces/default/locks"+query); len(all.list("locks")) != 701 {
			t.Errorf("%s: %d names", query, len(all.list("locks")))
		}
		if one := b.get(200, "/v1/spaces/default/locks/other"+query); len(one.list("holders")) != 1 {
			t.Errorf("%s: %s", query, one.raw)
		}
	}
	if answer := b.get(400, "/v1/spaces/default/locks/other?stale=yes"); answer.text("code") != "bad_request" {
		t.Errorf("%s", answer.raw)
	}
	if none := b.get(200, "/v1/spaces/any/locks"); none.raw != `{"locks":[],"next":""}`+"\n" {
		t.Errorf("none: %s", none.raw)
	}
	for _, query := range []string{"limit=0", "limit=1001", "limit=x", "limit=", "limit=1&limit=2", "page=1", "prefix=%zz", "stale=", "stale=1"} {
		if answer := b.get(400, "/v1/spaces/default/locks?"+query); answer.text("code") != "bad_request" {
			t.Errorf("%s: %s", query, answer.raw)
		}
	}
}

func TestUnsupportedRows(t *testing.T) {
	b := newWebHarness(t, nil)
	for _, c := range []struct {
		call   string
		body   object
		status int
		code   string
	}{
		{"transfer", object{"member": "b"}, 422, "unsupported"},
		{"transfer", object{}, 400, "bad_request"},
		{"suspend", object{"member": "b"}, 400, "bad_request"},
	} {
		if answer := b.post(c.status, "/v1/spaces/default/"+c.call, c.body); answer.text("code") != c.code || answer.text("space") != "default" {
			t.Errorf("%s %v: %s", c.call, c.body, answer.raw)
		}
		if c.status == 422 {
			b.post(404, "/v1/spaces/nowhere/"+c.call, c.body)
		}
	}
}

func TestStatusRow(t *testing.T) {
	b := newWebHarness(t, nil)
	b.acquire(object{"name": "x"})
	status := b.get(200, "/v1/status")
	spaces := status.list("spaces")
	if status.text("version") != "v9" || status.text("cluster") != "c1" || len(spaces) != 2 {
		t.Fatalf("status: %s", status.raw)
	}
	if s := spaces[0]; s["name"] != "default" || s["state"] != "ready" || s["reign"] != "3" || s["locks"] != 1.0 || s["sessions"] != 1.0 ||
		fmt.Sprint(s["authority"]) != "[a]" {
		t.Errorf("space: %v", s)
	}
	view := status.json["view"].(object)
	if view["coordinator"] != "a" || len(view["members"].([]any)) != 1 {
		t.Errorf("view: %v", view)
	}
}

func TestHealthRows(t *testing.T) {
	b := newWebHarness(t, nil)
	for _, path := range []string{"/healthz", "/readyz"} {
		if answer := b.get(200, path); answer.raw != "ok\n" {
			t.Errorf("%s: %q", path, answer.raw)
		}
	}
	r := b.request(http.MethodHead, "/healthz", "")
	response, err := b.client.Do(r)
	must(t, err)
	must(t, response.Body.Close())
	if response.StatusCode != 200 {
		t.Errorf("HEAD: %d", response.StatusCode)
	}
	if document := b.get(200, "/v1/openapi.json"); document.raw != string(openapi.Document) {
		t.Error("another document")
	}
}

func TestSessionLimit(t *testing.T) {
	b := newWebHarness(t, nil)
	for i := range 50 {
		b.acquire(object{"name": fmt.Sprint(i)})
	}
	full := b.post(429, acquirePath, object{"name": "more"})
	if full.text("code") != "limit" || full.text("limit") != "sessions" || full.json["value"] != 50.0 {
		t.Errorf("full: %s", full.raw)
	}
}

// TestOpenSession: a session without a lock is renewed, holds what acquires take in it, and says what is left of its time.
func TestOpenSession(t *testing.T) {
	b := newWebHarness(t, nil)
	opened := b.post(200, "/v1/sessions", object{"ttl": "20s"})
	session := opened.text("session")
	if opened.text("ttl") != "20s" || opened.text("expires_in") != "20s" || opened.json["ttl_cut"] != nil {
		t.Errorf("opened: %s", opened.raw)
	}
	b.clock.Advance(15 * time.Second)
	if renewed := b.post(200, "/v1/sessions/renew", object{"session": session}); renewed.text("expires_in") != "20s" {
		t.Errorf("renewed: %s", renewed.raw)
	}
	b.clock.Advance(15 * time.Second)
	if got := b.acquire(object{"name": "x", "session": session}); got.text("session") != session || got.text("expires_in") != "20s" {
		t.Errorf("acquired: %s", got.raw)
	}
	first := b.acquire(object{"name": "y", "session": session, "hold": "1s"})
	b.clock.Advance(2 * time.Second)
	if lost := b.post(410, "/v1/sessions/renew", object{"session": session}); lost.text("why") != "hold_limit" {
		t.Errorf("the hold limit of y has passed: %s", lost.raw)
	}
	b.post(410, "/v1/spaces/default/release", object{"name": "y", "token": first.text("token"), "session": session})
	for range 2 { // with the release of its last lock it does not end
		got := b.acquire(object{"name": "y", "session": session})
		b.post(200, "/v1/spaces/default/release", object{"name": "y", "token": got.text("token"), "session": session})
	}
	if ended := b.post(200, "/v1/sessions/end", object{"session": session}); len(ended.list("released")) != 1 {
		t.Errorf("ended: %s", ended.raw)
	}
	if cut := b.post(200, "/v1/sessions", object{"ttl": "90h"}); cut.text("ttl") != "1h0m0s" || cut.text("ttl_cut") == "" {
		t.Errorf("a ttl beyond the limit: %s", cut.raw)
	}
	for _, body := range []object{{"ttl": "0s"}, {"ttl": 5}, {"client": "me"}} {
		if refused := b.post(400, "/v1/sessions", body); !strings.HasPrefix(refused.text("detail"), "open: ") {
			t.Errorf("%v: %s", body, refused.raw)
		}
	}
}

// TestExpiresIn counts from the answer, and ttl from the request.
func TestExpiresIn(t *testing.T) {
	b := newWebHarness(t, nil)
	events := b.watch()
	first := b.acquire(object{"name": "x", "ttl": "1h"})
	waits := b.start(acquirePath, object{"name": "x", "wait": "20s", "ttl": "5s"})
	events.until(eventWaiting, "x")
	b.clock.Advance(6 * time.Second)
	b.post(200, "/v1/sessions/end", object{"session": first.text("session")})
	if got := waits.wants(t, 200); got.text("ttl") != "11s" || got.text("expires_in") != "5s" {
		t.Errorf("acquired after 6s: %s", got.raw)
	}
}
