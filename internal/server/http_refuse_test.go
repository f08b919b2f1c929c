package server

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
)

func TestBadAcquireBodies(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.NameBytes, c.Limits.Names, c.Limits.MessageBytes = 100, 3, 4096 })
	for _, c := range []struct {
		body   string
		status int
		code   string
		detail string
	}{
		{``, 400, "bad_request", "the body is empty"},
		{`[]`, 400, "bad_request", "no JSON object"},
		{`null`, 400, "bad_request", "no JSON object"},
		{`{`, 400, "bad_request", "ends too early"},
		{`{"name":`, 400, "bad_request", "ends too early"},
		{`{"name":"x"`, 400, "bad_request", "ends too early"},
		{`{"name":"x",}`, 400, "bad_request", "at byte 12"},
		{`{"name":"x"}{}`, 400, "bad_request", "there is more after"},
		{`{"name":"x"} x`, 400, "bad_request", "there is more after"},
		{"{\"name\":\"\xff\"}", 400, "bad_request", "not UTF-8"},
		{`{"name":"x","colour":"red"}`, 400, "bad_request", `unknown field "colour"`},
		{`{"Name":"x"}`, 400, "bad_request", `unknown field "Name"`},
		{`{"name":"x","name":"y"}`, 400, "bad_request", "name is given twice"},
		{`{"name":null}`, 400, "bad_request", "name: null"},
		{`{}`, 400, "bad_request", "exactly one"},
		{`{"name":"x","names":["y"]}`, 400, "bad_request", "exactly one"},
		{`{"names":[]}`, 400, "bad_request", "1 to 3"},
		{`{"names":["a","b","c","d"]}`, 400, "bad_request", "1 to 3"},
		{`{"names":["a",null]}`, 400, "bad_request", "list of strings"},
		{`{"names":"a"}`, 400, "bad_request", "list of strings"},
		{`{"names":["a",""]}`, 400, "name", "empty"},
		{`{"name":""}`, 400, "name", "empty"},
		{`{"name":5}`, 400, "bad_request", "name: 5: want a string"},
		{`{"name":"a\u0000b"}`, 400, "name", "control character"},
		{`{"name":"` + strings.Repeat("n", 101) + `"}`, 400, "name", "101 bytes"},
		{`{"name":"` + strings.Repeat("n", 600) + `"}`, 400, "name", "600 bytes"},
		{`{"name":"x","mode":"greedy"}`, 400, "bad_request", "greedy"},
		{`{"name":"x","mode":"slots"}`, 409, "conflict", "slots 0/0"},
		{`{"name":"x","mode":"slots","units":3,"capacity":2}`, 409, "conflict", "slots 3/2"},
		{`{"name":"x","units":1.5}`, 400, "bad_request", "units: 1.5: want a whole number"},
		{`{"name":"x","units":99999999999}`, 400, "bad_request", "2147483647"},
		{`{"name":"x","wait":"soon"}`, 400, "bad_request", `wait: "soon": want a string with a unit`},
		{`{"name":"x","wait":5}`, 400, "bad_request", "wait: 5: want a string with a unit"},
		{`{"name":"x","wait":"-1s"}`, 400, "bad_request", "wait: -1s: want at least 0s"},
		{`{"name":"x","ttl":"0s"}`, 400, "bad_request", "ttl: 0s: want at least 1ms"},
		{`{"name":"x","ttl":"1us"}`, 400, "bad_request", "ttl: 1µs: want at least 1ms"},
		{`{"name":"x","hold":"0s"}`, 400, "bad_request", "hold: 0s"},
		{`{"name":"x","session":"me"}`, 400, "bad_request", "ID.SECRET"},
		{`{"name":"x","session":""}`, 400, "bad_request", "neither may be empty"},
		{`{"name":"x","session":"1-1.` + strings.Repeat("0", 32) + `"}`, 404, "unknown_session", "session 1-1"},
		{`{"name":"x","request":""}`, 400, "bad_request", "neither may be empty"},
		{`{"name":"x","request":"` + strings.Repeat("r", 65) + `"}`, 400, "bad_request", "1 to 64 printable"},
		{`{"name":"x","request":"a\u0007"}`, 400, "bad_request", "1 to 64 printable"},
		{`{"name":"x","owner":"` + strings.Repeat("o", 1025) + `"}`, 400, "name", "owner has 1025 bytes"},
		{`{"name":"x","reason":"a\nb"}`, 400, "name", "reason"},
		{`{"name":"x","require":"safe"}`, 400, "bad_request", "safe"},
		{`{"name":"` + strings.Repeat("x", 4096) + `"}`, 413, "too_large", "4096 bytes"},
	} {
		answer := b.wants(c.status, b.request(http.MethodPost, acquirePath, c.body))
		if answer.text("code") != c.code || !strings.Contains(answer.text("detail"), c.detail) {
			t.Errorf("%.80s\nanswers %s\nwant code %s and %q", c.body, answer.raw, c.code, c.detail)
		}
		if title, kind := answer.text("title"), answer.text("type"); title == "" || kind != "about:blank" || answer.json["status"] != float64(c.status) {
			t.Errorf("problem: %s", answer.raw)
		}
	}
	if status := b.get(200, "/v1/status"); status.list("spaces")[0]["locks"] != 0.0 || status.list("spaces")[0]["sessions"] != 0.0 {
		t.Errorf("something was kept: %s", status.raw)
	}
}

func TestClassIsRequired(t *testing.T) {
	b := newWebHarness(t, nil)
	answer := b.post(412, "/v1/spaces/any/acquire", object{"name": "x", "require": "fenced"})
	if answer.text("code") != "class" || answer.text("detail") != `acquire "x" in space "any": space any is available; fenced is required` {
		t.Errorf("class: %s", answer.raw)
	}
}

func TestUnknownPlaces(t *testing.T) {
	b := newWebHarness(t, nil)
	for _, c := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"GET", "/", 404, "unknown_path"},
		{"GET", "/v1", 404, "unknown_path"},
		{"GET", "/v1/spaces/default", 404, "unknown_path"},
		{"POST", "/v1/spaces/default/acquire/", 404, "unknown_path"},
		{"GET", "/healthz/", 404, "unknown_path"},
		{"GET", "/v2/status", 404, "unknown_path"},
		{"GET", "/v1/spaces/nowhere/locks", 404, "unknown_space"},
		{"GET", "/v1/spaces/nowhere/locks/x", 404, "unknown_space"},
		{"GET", "/v1/events?space=nowhere", 404, "unknown_space"},
		{"GET", "/v1/spaces//locks/x", 404, "unknown_space"},
		{"GET", "/v1/spaces/default/locks/", 400, "name"},
		{"GET", "/v1/spaces/default/locks/%ff", 400, "name"},
		{"GET", "/v1/spaces/default/locks/a%00b", 400, "name"},
		{"GET", "/v1/status?verbose=1", 400, "bad_request"},
		{"GET", "/healthz?x", 400, "bad_request"},
		{"PUT", "/v1/status", 405, "bad_request"},
		{"GET", "/v1/spaces/default/acquire", 405, "bad_request"},
		{"DELETE", "/v1/spaces/default/locks/x", 405, "bad_request"},
	} {
		answer := b.wants(c.status, b.request(c.method, c.path, ""))
		if answer.text("code") != c.code {
			t.Errorf("%s %s: %s", c.method, c.path, answer.raw)
		}
		if allow := answer.header.Get("Allow"); (c.status == 405) != (allow != "") {
			t.Errorf("%s %s: Allow %q", c.method, c.path, allow)
		}
	}
	if answer := b.get(404, "/no/such"); !strings.Contains(answer.text("detail"), "/no/such") {
		t.Errorf("unknown path: %s", answer.raw)
	}
	if answer := b.post(404, "/v1/spaces/nowhere/acquire", object{"name": "x"}); answer.text("detail") != `acquire: unknown space "nowhere": this member serves default, any` {
		t.Errorf("unknown space: %s", answer.raw)
	}
}

func TestContentType(t *testing.T) {
	b := newWebHarness(t, nil)
	for kind, status := range map[string]int{
		"application/json":                  200,
		"application/json; charset=UTF-8":   200,
		"Application/JSON":                  200,
		"application/json; charset=latin1":  400,
		"text/plain":                        400,
		"application/x-www-form-urlencoded": 400,
		"":                                  400,
	} {
		r := b.request(http.MethodPost, acquirePath, fmt.Sprintf(`{"name":%q}`, "n/"+kind))
		r.Header.Set("Content-Type", kind)
		if answer := b.wants(status, r); status == 400 && !strings.Contains(answer.text("detail"), "want application/json") {
			t.Errorf("%q: %s", kind, answer.raw)
		}
	}
}

func TestForeignHost(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Hosts = []string{"locks.example"} })
	port := b.address[strings.LastIndex(b.address, ":"):]
	for host, status := range map[string]int{
		"localhost" + port:      200,
		"LOCALHOST":             200,
		"127.0.0.1" + port:      200,
		"[::1]" + port:          200,
		"a.example:4041":        200,
		"locks.example":         200,
		"locks.example.:4041":   200,
		"evil.example" + port:   403,
		"10.1.2.3" + port:       403,
		"localhost.evil" + port: 403,
	} {
		r := b.request(http.MethodGet, "/v1/status", "")
		r.Host = host
		if answer := b.wants(status, r); status == 403 && answer.text("code") != "denied" {
			t.Errorf("%s: %s", host, answer.raw)
		}
	}
}

// TestRefusedMembersAreCounted, with what other members have sent.
func TestRefusedMembersAreCounted(t *testing.T) {
	b := newWebHarness(t, nil)
	members := b.server.service.observer.Members()
	members.Refused(transport.NoProof)
	members.Received(1, authority.Release{})
	for _, body := range []bakery.Body{bakery.Heard{}, bakery.Locked{}, bakery.Heard{}} {
		members.Received(1, bakery.Envelope{Body: body})
	}
	b.server.service.observer.Observe(0, &protocol.Effects{Sends: []protocol.Envelope{{Port: 1, Message: bakery.Envelope{Body: bakery.Lock{}}}}})
	if n := b.refused("member_" + transport.NoProof); n != 1 {
		t.Errorf("counted %v", n)
	}
	text := b.get(200, "/metrics").raw
	for _, counted := range []string{
		`direction="received",space="default",type="Release"} 1`,
		`direction="received",space="default",type="Heard"} 2`, // messages count as what they say
		`direction="received",space="default",type="Locked"} 1`,
		`direction="sent",space="default",type="Lock"} 1`,
	} {
		if !strings.Contains(text, "holdfast_messages_total{"+counted) {
			t.Errorf("what members have sent is not counted: %s", counted)
		}
	}
	if strings.Contains(text, `type="Letter"`) {
		t.Error("letters are counted as such")
	}
}

// TestRebinding: a page that has made its own name point here asks under that name, with
// any other headers of a browser, and gets nothing.
func TestRebinding(t *testing.T) {
	b := newWebHarness(t, nil)
	for _, path := range []string{"/v1/status", "/v1/events", "/metrics", "/healthz"} {
		r := b.request(http.MethodGet, path, "")
		r.Host = "evil.example:4041"
		b.wants(403, r)
	}
	r := b.request(http.MethodPost, acquirePath, `{"name":"x"}`)
	r.Host = "evil.example"
	r.Header.Set("Origin", "http://evil.example")
	b.wants(403, r)
	if shown := b.get(200, "/v1/spaces/default/locks/x"); len(shown.list("holders")) != 0 {
		t.Errorf("it was granted: %s", shown.raw)
	}
}

// TestForeignOrigin: what a browser does on behalf of a page from elsewhere is refused;
// what no browser says is not asked for.
func TestForeignOrigin(t *testing.T) {
	b := newWebHarness(t, nil)
	for _, tt := range []struct {
		method string
		header map[string]string
		status int
	}{
		{"POST", map[string]string{"Origin": "http://" + b.address}, 200},
		{"POST", map[string]string{"Origin": "https://" + b.address, "Sec-Fetch-Site": "same-origin"}, 200},
		{"POST", map[string]string{"Origin": "http://evil.example"}, 403},
		{"POST", map[string]string{"Origin": "null"}, 403},
		{"POST", map[string]string{"Origin": "http://" + b.address + ".evil.example"}, 403},
		{"POST", map[string]string{"Origin": "http://localhost:1"}, 403},
		{"POST", map[string]string{"Origin": "%"}, 403},
		{"GET", map[string]string{"Origin": "http://evil.example"}, 403},
		{"POST", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"POST", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate"}, 403},
		{"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}, 403},
		{"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 200},
		{"GET", map[string]string{"Sec-Fetch-Site": "none"}, 200},
	} {
		path, body := "/v1/status", ""
		if tt.method == "POST" {
			path, body = acquirePath, `{"name":"x","wait":"0s"}`
		}
		r := b.request(tt.method, path, body)
		for name, value := range tt.header {
			r.Header.Set(name, value)
		}
		answer := b.wants(tt.status, r)
		if tt.status == 403 && answer.text("code") != "denied" {
			t.Errorf("%v: %s", tt.header, answer.raw)
		}
		if tt.status == 200 && tt.method == "POST" {
			b.post(200, "/v1/sessions/end", object{"session": answer.text("session")})
		}
	}
}

func TestMistakeStaysInItsRequest(t *testing.T) {
	var broken atomic.Bool
	b := newWebHarness(t, func(c *Config) {
		identity := c.Identity
		c.Identity = func() Identity {
			if broken.Load() {
				panic("out of order")
			}
			return identity()
		}
	})
	broken.Store(true)
	answer := b.get(500, "/v1/status")
	if answer.text("code") != "internal" || strings.Contains(answer.raw, "out of order") {
		t.Errorf("panic: %s", answer.raw)
	}
	b.acquire(object{"name": "x"})
}

func TestUnavailable(t *testing.T) {
	b := newWebHarness(t, nil)
	must(t, b.driver.Close())
	for _, answer := range []*reply{
		b.post(503, acquirePath, object{"name": "x"}),
		b.post(503, acquirePath, object{"name": "x", "request": "r-1"}),
		b.get(503, "/v1/status"),
		b.get(503, "/v1/spaces/default/locks"),
	} {
		if answer.text("code") != "unavailable" || answer.header.Get("Retry-After") == "" {
			t.Errorf("closed: %s", answer.raw)
		}
	}
	if answer := b.get(503, "/readyz"); !strings.Contains(answer.raw, "default: ") || !strings.Contains(answer.raw, "any: ") {
		t.Errorf("ready: %s", answer.raw)
	}
	b.get(200, "/healthz")
}

func TestConfigIsChecked(t *testing.T) {
	b := newWebHarness(t, nil)
	good := func() Config {
		return Config{
			Driver: b.driver, Observer: NewObserver([]string{"default"}), Identity: func() Identity { return Identity{} },
			Spaces: []Space{{Name: "default", Port: 1}},
		}
	}
	for field, spoil := range map[string]func(*Config){
		"Driver":              func(c *Config) { c.Driver = nil },
		"Observer":            func(c *Config) { c.Observer = nil },
		"Identity":            func(c *Config) { c.Identity = nil },
		"Spaces":              func(c *Config) { c.Spaces = nil },
		"Port":                func(c *Config) { c.Spaces[0].Port = 0 },
		"space \"a b\"":       func(c *Config) { c.Spaces[0].Name = "a b" },
		"made for":            func(c *Config) { c.Observer = NewObserver([]string{"other"}) },
		"at port 2":           func(c *Config) { c.Spaces[0].Port = 2 },
		"Limits.LongPoll":     func(c *Config) { c.Limits.LongPoll = -time.Second },
		"Limits.NameBytes":    func(c *Config) { c.Limits.NameBytes = 513 },
		"Limits.MessageBytes": func(c *Config) { c.Limits.MessageBytes = -1 },
	} {
		c := good()
		spoil(&c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), strings.TrimPrefix(field, "Port")) {
			t.Errorf("%s: %v", field, err)
		}
	}
	c := good()
	one, err := New(c)
	must(t, err)
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "Observer") {
		t.Errorf("an observer that serves another: %v", err)
	}
	must(t, one.Shutdown(context.Background()))
}
