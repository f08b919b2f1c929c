package server

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// perform serves a request as it stands, for a client that has hung up where hungUp, and
// checks the answer against the document. What is no request for any HTTP server is nil.
func (b *webHarness) perform(t *testing.T, method, target string, header http.Header, body string, hungUp bool) *reply {
	t.Helper()
	if !strings.HasPrefix(target, "/") || method == "" {
		return nil
	}
	r, err := http.NewRequest(method, "http://localhost"+target, strings.NewReader(body))
	if err != nil {
		return nil
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.RemoteAddr = "127.0.0.1:1"
	if hungUp {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r = r.WithContext(ctx)
	}
	w := httptest.NewRecorder()
	b.server.web.ServeHTTP(w, r)
	answer := &reply{status: w.Code, header: w.Header(), raw: w.Body.String()}
	if method == http.MethodHead {
		return answer
	}
	kind := w.Header().Get("Content-Type")
	if strings.Contains(kind, "json") {
		must(t, json.Unmarshal(w.Body.Bytes(), &answer.json))
	}
	if w.Code >= 400 {
		if code := answer.text("code"); api.Title(code) == api.Title(api.CodeInternal) {
			t.Fatalf("%s %q: status %d with code %q, which no client expects: %s", method, target, w.Code, code, answer.raw)
		}
	}
	if hungUp && w.Body.Len() == 0 || kind == "text/event-stream" {
		return answer // no client was there to be answered; what a feed says is tested where it lasts
	}
	at := *b
	at.t = t
	at.validate(r, []byte(body), answer, kind)
	return answer
}

func posted() http.Header { return http.Header{"Content-Type": {"application/json"}} }

// FuzzRoutes asks anything of every call, with the credentials of a session that holds a
// lock where the body says SESSION, and its token where it says TOKEN: the answer is what
// the document says, and when the sessions have ended nothing is held, waited for or open.
func FuzzRoutes(f *testing.F) {
	const json = "application/json"
	for _, seed := range [][4]string{
		{"POST", acquirePath, json, `{"name":"x"}`},
		{"POST", acquirePath, json, `{"name":"held","wait":"1h","session":"SESSION"}`},
		{"POST", acquirePath, json, `{"names":["b","a","held"],"ttl":"5s","hold":"1m","owner":"o","reason":"r"}`},
		{"POST", acquirePath, json, `{"name":"x","mode":"slots","units":1,"capacity":2,"wait":"1ms","request":"r-1","require":"fenced"}`},
		{"POST", "/v1/spaces/any/acquire", json + "; charset=utf-8", `{"name":"x","mode":"shared","require":"fenced"}`},
		{"POST", "/v1/spaces/default/release", json, `{"name":"held","token":"TOKEN","session":"SESSION"}`},
		{"POST", "/v1/spaces/default/release", json, `{"name":"held","token":"1","session":"7-1.00000000000000000000000000000000"}`},
		{"POST", "/v1/sessions/renew", json, `{"session":"SESSION","ttl":"30s"}`},
		{"POST", "/v1/sessions/end", json, `{"session":"SESSION"}`},
		{"POST", "/v1/spaces/default/break", json, `{"name":"held","token":"TOKEN","reason":"r"}`},
		{"POST", "/v1/spaces/default/suspend", json, `{}`},
		{"POST", "/v1/spaces/default/resume", json, `{"reason":"r"}`},
		{"POST", "/v1/spaces/default/transfer", json, `{"to":"a"}`},
		{"POST", "/v1/spaces/default/transfer", json, `{"member":"a.example:4040"}`},
		{"POST", "/v1/spaces/any/suspend", json, `{"reason":"r","wait":"0s"}`},
		{"POST", "/v1/spaces/default/suspend", json, `{"wait":"1h"}`},
		{"POST", "/v1/spaces/any/open", json, `{}`},
		{"POST", "/v1/spaces/any/close", json, `{}`},
		{"GET", "/v1/spaces/default/locks?prefix=h&limit=1&after=a", "", ""},
		{"GET", "/v1/spaces/default/locks/held", "", ""},
		{"GET", "/v1/spaces/%64efault/locks/a%2Fb/../c", "", ""},
		{"GET", "/v1/status", "", ""},
		{"GET", "/v1/events?space=default&prefix=x", "", ""},
		{"GET", "/v1/openapi.json", "", ""}, {"GET", "/healthz", "", ""}, {"GET", "/readyz", "", ""}, {"HEAD", "/metrics", "", ""},
		{"DELETE", "/v1/status", "", ""}, {"POST", "/v1//sessions/end", json, "["}, {"POST", "/v1/sessions/end", "text/plain", "{}"},
		{"GET", "/v1/status?x", "", "body"}, {"PUT", "/%zz", "", ""},
	} {
		f.Add(seed[0], seed[1], seed[2], seed[3], false)
	}
	f.Add("POST", acquirePath, json, `{"name":"held","wait":"1h"}`, true)
	f.Add("GET", "/v1/events", "", "", true)
	b := newWebHarness(f, func(c *Config) { c.Limits.LongPoll, c.Limits.Grace, c.Logger = time.Millisecond, time.Nanosecond, nil })
	f.Fuzz(func(t *testing.T, method, target, kind, body string, hungUp bool) {
		held := b.perform(t, "POST", acquirePath, posted(), `{"name":"held","ttl":"1h"}`, false)
		if held.status != http.StatusOK {
			t.Fatalf("what an earlier request has left: %s", held.raw)
		}
		session := held.text("session")
		body = strings.NewReplacer("SESSION", session, "TOKEN", held.text("token")).Replace(body)
		header := http.Header{}
		if kind != "" {
			header["Content-Type"] = []string{kind}
		}
		endless := strings.Contains(target, "events")
		answer := b.perform(t, method, target, header, body, hungUp || endless)
		if answer != nil && answer.status == http.StatusOK && answer.text("session") != "" && answer.text("session") != session {
			b.perform(t, "POST", "/v1/sessions/end", posted(), jsonText(t, object{"session": answer.text("session")}), false)
		}
		b.perform(t, "POST", "/v1/sessions/end", posted(), jsonText(t, object{"session": session}), false)
		b.nothingLeft(t)
	})
}

// nothingLeft checks that no session is open and nothing is held or waited for, when what
// requests have left for others of the same id is over.
func (b *webHarness) nothingLeft(t *testing.T) {
	t.Helper()
	b.server.service.requests.graces.Wait()
	b.server.service.background.Wait()
	for _, space := range b.server.service.spaces {
		_, err := b.server.service.Resume(t.Context(), &schema.ResumeRequest{Space: space.Name})
		must(t, err)
	}
	state, err := b.server.service.Status(t.Context(), &schema.StatusRequest{})
	must(t, err)
	for _, space := range state.Spaces {
		if space.Locks != 0 || space.Waiters != 0 || space.Sessions != 0 {
			t.Errorf("space %s has %d locks, %d waiters and %d sessions after all have ended", space.Name, space.Locks, space.Waiters, space.Sessions)
		}
	}
}

// FuzzNames: a name is granted if and only if the rule for names says so, under exactly
// that name, and is found again by its path.
func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"", "a", "orders/42", "a//b", "/", "//", ".", "..", "a/../b", "a/.", "%2F", "a%", "a b", "ä", "\uFFFD", "\u0085", "a\x00", "a?b#c", "a+b",
		"+", ";", "\\", "\"", "\u2028", "😀", strings.Repeat("x", holdfast.MaxName), strings.Repeat("x", holdfast.MaxName+1),
	} {
		f.Add(name)
	}
	b := newWebHarness(f, func(c *Config) { c.Logger = nil })
	f.Fuzz(func(t *testing.T, name string) {
		rule := holdfast.CheckName(name)
		path := "/v1/spaces/default/locks/" + url.PathEscape(name)
		if !utf8.ValidString(name) {
			if answer := b.perform(t, "GET", path, nil, "", false); answer.status != http.StatusBadRequest {
				t.Fatalf("the path of %q is answered %d: %s", name, answer.status, answer.raw)
			}
			return
		}
		granted := b.perform(t, "POST", acquirePath, posted(), jsonText(t, object{"name": name}), false)
		if (granted.status == http.StatusOK) != (rule == nil) {
			t.Fatalf("%q is answered %d, and the rule says %v: %s", name, granted.status, rule, granted.raw)
		}
		if rule != nil {
			if granted.text("code") != api.CodeName {
				t.Fatalf("%q is answered %s", name, granted.raw)
			}
			return
		}
		for _, shown := range []*reply{granted, b.perform(t, "GET", path, nil, "", false)} {
			if shown.status != http.StatusOK || shown.text("name") != name {
				t.Errorf("%q is answered %d: %s", name, shown.status, shown.raw)
			}
		}
		b.perform(t, "POST", "/v1/sessions/end", posted(), jsonText(t, object{"session": granted.text("session")}), false)
		b.nothingLeft(t)
	})
}
