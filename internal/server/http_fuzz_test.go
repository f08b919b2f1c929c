package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// answered checks what holds for any request: it is answered with a document that the API
// describes.
func (b *webHarness) answered(t *testing.T, r *http.Request, problems bool) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	b.server.web.ServeHTTP(w, r)
	if w.Code >= 500 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if w.Code < 400 || !problems {
		return w
	}
	var problem map[string]any
	must(t, json.Unmarshal(w.Body.Bytes(), &problem))
	if err := b.contract.check(&jsonSchema{Ref: "#/components/schemas/ProblemDocument"}, problem, "problem"); err != nil {
		t.Fatal(err)
	}
	return w
}

func FuzzAcquireBody(f *testing.F) {
	for _, body := range []string{
		`{"name":"x"}`, `{"names":["b","a"],"ttl":"5s","hold":"1m","owner":"o","reason":"r"}`,
		`{"name":"x","mode":"slots","units":1,"capacity":2,"wait":"1ms","request":"r-1","require":"fenced"}`,
		`{"name":"x","session":"7-1.00000000000000000000000000000000"}`, `{"name":null}`, `[`, `{"name":"\ud800"}`, `{"a":{"b":[1e999]}}`,
	} {
		f.Add(body)
	}
	b := newWebHarness(f, func(c *Config) { c.Limits.LongPoll, c.Limits.Grace, c.Logger = time.Millisecond, time.Millisecond, nil })
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, acquirePath, strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		w := b.answered(t, r, true)
		if w.Code != http.StatusOK {
			return
		}
		var sent, got any
		must(t, json.Unmarshal([]byte(body), &sent))
		must(t, json.Unmarshal(w.Body.Bytes(), &got))
		granted := &jsonSchema{OneOf: []*jsonSchema{{Ref: "#/components/schemas/Acquired"}, {Ref: "#/components/schemas/AcquiredAll"}}}
		if err := b.contract.check(granted, got, "granted"); err != nil {
			t.Fatal(err)
		}
		if _, given := sent.(map[string]any)["request"]; given {
			return // it would be asked for again
		}
		end, err := json.Marshal(map[string]any{"session": got.(map[string]any)["session"]})
		must(t, err)
		r = httptest.NewRequest(http.MethodPost, "/v1/sessions/end", strings.NewReader(string(end)))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		if w := b.answered(t, r, true); w.Code != http.StatusOK {
			t.Fatalf("end: %s", w.Body)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, path := range []string{
		"/", "/v1/spaces/default/locks/a%2Fb/../c", "/v1/spaces/%64efault/locks?prefix=a&limit=5&after=%00", "/v1/spaces/default/locks//",
		"/v1/status?", "/healthz", "/v1/sessions/renew", "/%zz", "/v1/spaces/any/locks/%ff",
	} {
		f.Add("GET", path)
	}
	f.Add("POST", "/v1/spaces/default/acquire")
	b := newWebHarness(f, func(c *Config) { c.Logger = nil })
	f.Fuzz(func(t *testing.T, method, target string) {
		if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/v1/events") || method == "" {
			return // an endless answer, or what no HTTP server hands on
		}
		r, err := http.NewRequest(method, "http://localhost"+target, nil)
		if err != nil {
			return
		}
		r.Body = http.NoBody
		b.answered(t, r, method != http.MethodHead)
	})
}
