package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestSuspendRow: nothing is granted until it is resumed, who did it and why stands in the
// answers, in the status and among the events, and to do either twice changes nothing.
func TestSuspendRow(t *testing.T) {
	b := newWebHarness(t, nil)
	watching := b.watch()
	first := b.post(200, "/v1/spaces/default/suspend", object{"reason": "restore"})
	if first.json["suspended"] != true || first.json["changed"] != true || first.text("space") != "default" {
		t.Errorf("suspended: %s", first.raw)
	}
	by, _ := first.json["suspension"].(object)
	if by["owner"] != "operator" || by["member"] != "a" || by["reason"] != "restore" || !strings.HasPrefix(by["client"].(string), "anonymous, http 127.0.0.1:") {
		t.Errorf("by %v", by)
	}
	if e := watching.operation("suspended by anonymous, http "); e.Space != "default" || !strings.HasSuffix(e.Why, ": restore") {
		t.Errorf("the event is %+v", e)
	}
	held := b.post(409, acquirePath, object{"name": "x"})
	if held.text("code") != "held" || held.text("owner") != "operator" {
		t.Errorf("held: %s", held.raw)
	}
	b.post(200, "/v1/spaces/any/acquire", object{"name": "x"})
	space := b.get(200, "/v1/status").list("spaces")[0]
	if suspension, _ := space["suspension"].(object); space["state"] != "suspended" || suspension["reason"] != "restore" ||
		!strings.HasPrefix(space["why"].(string), "suspended by operator anonymous, http 127.0.0.1:") || !strings.HasSuffix(space["why"].(string), ": restore") {
		t.Errorf("space: %v", space)
	}
	if unready := b.get(503, "/readyz"); !strings.HasPrefix(unready.raw, "default: suspended: suspended by operator anonymous, http ") {
		t.Errorf("readyz: %s", unready.raw)
	}
	if listed := b.get(200, "/v1/spaces/default/locks"); len(listed.list("locks")) != 0 {
		t.Errorf("a suspension is listed as a lock: %s", listed.raw)
	}
	again := b.post(200, "/v1/spaces/default/suspend", object{"reason": "another"})
	if suspension, _ := again.json["suspension"].(object); again.json["suspended"] != true || again.json["changed"] != false || suspension["token"] != by["token"] || suspension["reason"] != "restore" {
		t.Errorf("again: %s", again.raw)
	}
	waits := b.start(acquirePath, object{"name": "x", "wait": "1m"})
	watching.until(eventWaiting, "x")
	resumed := b.post(200, "/v1/spaces/default/resume", object{"reason": "done"})
	if suspension, _ := resumed.json["suspension"].(object); resumed.json["suspended"] != false || resumed.json["changed"] != true || suspension["reason"] != "restore" {
		t.Errorf("resumed: %s", resumed.raw)
	}
	waits.wants(t, 200)
	if e := watching.operation("resumed by anonymous, http "); e.Space != "default" || !strings.HasSuffix(e.Why, ": done") {
		t.Errorf("the event is %+v", e)
	}
	if twice := b.post(200, "/v1/spaces/default/resume", object{}); twice.raw != `{"space":"default","suspended":false,"changed":false}`+"\n" {
		t.Errorf("resumed twice: %s", twice.raw)
	}
	b.get(200, "/readyz")
}

// operation waits for the event of an operator's deed on a space. The space's state comes as
// well, once the state has been looked at.
func (w *watcher) operation(begins string) *schema.WatchEvent {
	w.t.Helper()
	for {
		if e := w.until("space", ""); strings.HasPrefix(e.Why, begins) {
			return e
		}
	}
}

// TestSuspendIsHeldUp: by what is held, for as long as the call may wait; then nothing
// stays queued, and new grants go on.
func TestSuspendIsHeldUp(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.LongPoll = 50 * time.Millisecond })
	got := b.acquire(object{"name": "x", "owner": "job-7"})
	for i, body := range []object{{}, {"wait": "0s"}, {"wait": "1h"}, {"reason": "restore", "wait": "1ms"}} {
		held := b.post(409, "/v1/spaces/default/suspend", body)
		if held.text("code") != "held" || held.json["retry"] != nil || held.text("owner") != "job-7" ||
			!strings.HasPrefix(held.text("detail"), `suspend: lock "x" is still held by job-7 on a since `) || !strings.HasSuffix(held.text("detail"), "; grants go on") {
			t.Errorf("%v: %s", body, held.raw)
		}
		other := b.acquire(object{"name": fmt.Sprint("y", i)})
		b.post(200, "/v1/sessions/end", object{"session": other.text("session")})
	}
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	if suspended := b.post(200, "/v1/spaces/default/suspend", object{"wait": "0s"}); suspended.json["changed"] != true {
		t.Errorf("suspended: %s", suspended.raw)
	}
}

// TestSuspendWaitsForHolders: new grants stop when it is asked for, and it is answered when
// all have released. A caller that hangs up suspends nothing.
func TestSuspendWaitsForHolders(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x"})
	suspend := func() *started {
		s := b.start("/v1/spaces/default/suspend", object{})
		for b.get(200, "/v1/status").list("spaces")[0]["waiters"] != 1.0 {
			if t.Context().Err() != nil {
				t.Fatal("it does not wait")
			}
		}
		return s
	}
	given := suspend()
	if space := b.get(200, "/v1/status").list("spaces")[0]; space["state"] != "ready" || !strings.HasPrefix(space["why"].(string), "a suspension waits") {
		t.Errorf("while it waits: %v", space)
	}
	b.post(409, acquirePath, object{"name": "y"})
	given.cancel()
	for b.get(200, "/v1/status").list("spaces")[0]["waiters"] != 0.0 {
		if t.Context().Err() != nil {
			t.Fatal("it waits on")
		}
	}
	b.post(200, acquirePath, object{"name": "y", "session": got.text("session")})
	suspends := suspend()
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	if suspended := suspends.wants(t, 200); suspended.json["changed"] != true {
		t.Errorf("suspended: %s", suspended.raw)
	}
}

// TestSuspendRefusals: each has its code and a sentence.
func TestSuspendRefusals(t *testing.T) {
	b := newWebHarness(t, nil)
	for _, c := range []struct {
		path   string
		body   object
		status int
		code   string
		detail string
	}{
		{"nowhere/suspend", object{}, 404, "unknown_space", `suspend: unknown space "nowhere": this member serves default, any`},
		{"nowhere/resume", object{}, 404, "unknown_space", `resume: unknown space "nowhere"`},
		{"any/suspend", object{"member": "b"}, 400, "bad_request", `unknown field "member": want reason, wait`},
		{"any/suspend", object{"wait": "-1s"}, 400, "bad_request", "wait: -1s: want at least 0s"},
		{"any/suspend", object{"wait": 7}, 400, "bad_request", "wait: 7: want a string with a unit"},
		{"any/suspend", object{"reason": "x\n"}, 400, "name", "reason: bad name: control character"},
		{"any/resume", object{"reason": strings.Repeat("x", 2000)}, 400, "name", "bad name: reason has 2000 bytes"},
		{"any/resume", object{"wait": "1s"}, 400, "bad_request", `unknown field "wait": want reason`},
	} {
		got := b.post(c.status, "/v1/spaces/"+c.path, c.body)
		if got.text("code") != c.code || !strings.Contains(got.text("detail"), c.detail) {
			t.Errorf("%s %v: %s, want %s", c.path, c.body, got.raw, c.detail)
		}
	}
	b.acquire(object{"name": "x"})
	b.wants(400, b.request(http.MethodPost, "/v1/spaces/any/suspend", ""))
	b.post(400, acquirePath, object{"name": ""}) // what a suspension is called, no client may lock
	b.post(400, "/v1/spaces/any/break", object{"name": "", "reason": "x"})
}

// TestSuspendWithoutAnAuthority is unavailable, not held.
func TestSuspendWithoutAnAuthority(t *testing.T) {
	b := newWebHarnessOver(t, lendUntil(time.Minute+3*time.Second), func(c *Config) { c.Limits.LongPoll = 50 * time.Millisecond })
	b.clock.Advance(3 * time.Second)
	for _, body := range []object{{}, {"wait": "0s"}} {
		if got := b.post(503, "/v1/spaces/default/suspend", body); got.text("code") != "unavailable" {
			t.Errorf("%v: %s", body, got.raw)
		}
	}
}

// TestSuspendOverGRPC: as over HTTP, with a wait that its caller bounds, and who did it in
// the log.
func TestSuspendOverGRPC(t *testing.T) {
	var log bytes.Buffer
	b := newHarness(t, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, nil)
	admin := schema.NewAdminClient(b.conn)
	c := b.open()
	c.say(opAcquire(1, "x"))
	token := c.granted(1).GetToken()
	_, err := admin.Suspend(t.Context(), &schema.SuspendRequest{Wait: api.Span(0), By: "ops"})
	if failure := api.FromStatus("suspend", err); !errors.Is(failure, holdfast.ErrHeld) {
		t.Errorf("got %v", failure)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := admin.Suspend(ctx, &schema.SuspendRequest{By: "ops"}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a call that has ended: %v", err)
	}
	c.say(opRelease(1, "x", token))
	c.released(1)
	suspended, err := admin.Suspend(t.Context(), &schema.SuspendRequest{Reason: "restore", By: "ops"})
	if err != nil || !strings.HasPrefix(documentOf(suspended), `{"space":"default","suspended":true,"changed":true,"suspension":{"owner":"operator",`) {
		t.Fatalf("suspended %s, %v", documentOf(suspended), err)
	}
	c.say(opTry(2, "x"))
	if problem := c.refused(2, api.CodeHeld); problem.GetOwner() != "operator" || problem.GetMember() != "a" {
		t.Errorf("got %v", problem)
	}
	resumed, err := admin.Resume(t.Context(), &schema.ResumeRequest{Reason: "done", By: "ops"})
	if err != nil || !strings.HasPrefix(documentOf(resumed), `{"space":"default","suspended":false,"changed":true,`) {
		t.Errorf("resumed %s, %v", documentOf(resumed), err)
	}
	c.say(opTry(3, "x"))
	c.granted(3)
	for _, want := range []string{`level=WARN msg="space suspended" space=default by="anonymous, ops" reason=restore`, `level=INFO msg="space resumed" space=default by="anonymous, ops" reason=done`} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, &log)
		}
	}
}
