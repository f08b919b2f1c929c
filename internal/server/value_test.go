package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/events"
)

const valuePath = "/v1/spaces/default/value"

// TestValueRow: a value is shown with its grant and with the request that waits, is replaced, and is part of events.
func TestValueRow(t *testing.T) {
	b := newWebHarness(t, nil)
	watching := b.watch()
	got := b.acquire(object{"name": "x", "value": "one"})
	if e := watching.until(eventGranted, "x"); e.Value != "one" || e.Revision != 0 {
		t.Errorf("granted with %q, revision %d", e.Value, e.Revision)
	}
	b.start(acquirePath, object{"name": "x", "wait": "20s", "value": "next\x1b[31m"})
	watching.until(eventWaiting, "x")
	of := object{"name": "x", "token": got.text("token"), "session": got.text("session")}
	for i, value := range []string{"two\nlines, ü", "", "two\nlines, ü", strings.Repeat("v", 4096)} {
		of["value"] = value
		set := b.post(200, valuePath, of)
		if set.text("space") != "default" || set.text("name") != "x" || set.text("token") != got.text("token") || set.text("value") != value || set.text("revision") != fmt.Sprint(i+1) {
			t.Errorf("set: %s", set.raw)
		}
		if e := watching.until(events.Value, "x"); e.Value != value || e.Revision != uint64(i+1) || fmt.Sprint(e.Token) != got.text("token") {
			t.Errorf("event %v", e)
		}
		listed := b.get(200, "/v1/spaces/default/locks").list("locks")
		for where, lock := range map[string]map[string]any{"show": b.get(200, "/v1/spaces/default/locks/x").json, "list": listed[0]} {
			holder, waiter := lock["holders"].([]any)[0].(map[string]any), lock["waiters"].([]any)[0].(map[string]any)
			if shown, _ := holder["value"].(string); shown != value || waiter["value"] != "next\x1b[31m" {
				t.Errorf("%s: holder %v, waiter %v", where, holder, waiter)
			}
		}
	}
	// Without the field the value is empty.
	delete(of, "value")
	if set := b.post(200, valuePath, of); set.json["value"] != "" || set.text("revision") != "5" {
		t.Errorf("set: %s", set.raw)
	}
}

// TestRefusedValues: each refusal names what is wrong, and leaves the value.
func TestRefusedValues(t *testing.T) {
	b := newWebHarness(t, func(c *Config) { c.Limits.ValueBytes = 5 })
	got, other := b.acquire(object{"name": "x", "value": "first"}), b.acquire(object{"name": "y"})
	session, token := got.text("session"), got.text("token")
	for _, c := range []struct {
		why    string
		status int
		code   string
		detail string
		body   object
	}{
		{"too long here", 429, "limit", "value_bytes of 5", object{"name": "x", "token": token, "session": session, "value": "longer"}},
		{"too long anywhere", 400, "name", "4097 bytes", object{"name": "x", "token": token, "session": session, "value": strings.Repeat("v", 4097)}},
		{"a zero byte", 400, "name", "value", object{"name": "x", "token": token, "session": session, "value": "a\x00b"}},
		{"a wrong token", 409, "not_held", "not held", object{"name": "x", "token": "1", "session": session, "value": "v"}},
		{"another's token", 409, "not_held", "not held", object{"name": "y", "token": other.text("token"), "session": session, "value": "v"}},
		{"a free name", 409, "not_held", "not held", object{"name": "z", "token": token, "session": session, "value": "v"}},
		{"a wrong session", 404, "unknown_session", "session 1-1", object{"name": "x", "token": token, "session": "1-1." + strings.Repeat("0", 32), "value": "v"}},
		{"no session", 400, "bad_request", "session", object{"name": "x", "token": token, "value": "v"}},
		{"no token", 400, "bad_request", "token", object{"name": "x", "session": session, "value": "v"}},
		{"an unknown field", 400, "bad_request", "revision", object{"name": "x", "token": token, "session": session, "value": "v", "revision": "9"}},
	} {
		answer := b.post(c.status, valuePath, c.body)
		if answer.text("code") != c.code || !strings.Contains(answer.text("detail"), c.detail) {
			t.Errorf("%s: %s", c.why, answer.raw)
		}
	}
	if long := b.post(429, acquirePath, object{"name": "z", "value": "longer"}); long.text("limit") != "value_bytes" {
		t.Errorf("acquire: %s", long.raw)
	}
	if shown := b.get(200, "/v1/spaces/default/locks/x").list("holders"); shown[0]["value"] != "first" {
		t.Errorf("shown: %v", shown)
	}
	b.post(200, "/v1/spaces/default/break", object{"name": "x", "reason": "test"})
	if lost := b.post(410, valuePath, object{"name": "x", "token": token, "session": session, "value": "v"}); lost.text("why") != "broken" {
		t.Errorf("of a broken lock: %s", lost.raw)
	}
}

// TestValueOverBothPorts: both ports give the same answers and the same refusals.
func TestValueOverBothPorts(t *testing.T) {
	var set, refused *reply
	t.Run("http", func(t *testing.T) {
		b := newWebHarness(t, nil)
		got := b.acquire(object{"name": "x"})
		ask := object{"name": "x", "token": got.text("token"), "session": got.text("session"), "value": "a\nb"}
		set = b.post(200, valuePath, ask)
		ask["token"] = "1"
		refused = b.post(409, valuePath, ask)
	})
	t.Run("grpc", func(t *testing.T) {
		locks := schema.NewLocksClient(newHarness(t, nil, nil).conn)
		name := "x"
		got, err := locks.Acquire(t.Context(), &schema.AcquireRequest{Name: &name})
		must(t, err)
		ask := &schema.SetValueRequest{Name: name, Token: got.GetLocks()[0].GetToken(), Session: got.GetSession(), Value: "a\nb"}
		answer, err := locks.SetValue(t.Context(), ask)
		must(t, err)
		if text := documentOf(answer); text != strings.TrimSpace(set.raw) {
			t.Errorf("over gRPC %s, over HTTP %s", text, set.raw)
		}
		ask.Token = 1
		_, err = locks.SetValue(t.Context(), ask)
		if text := documentOf(api.NewProblem(api.FromStatus("set value", err))); text != strings.TrimSpace(refused.raw) {
			t.Errorf("over gRPC %s, over HTTP %s", text, refused.raw)
		}
	})
}

// TestValuesAtOnce: of calls at the same time each gets a revision of its own, and the last of them is shown.
func TestValuesAtOnce(t *testing.T) {
	b := newWebHarness(t, nil)
	got := b.acquire(object{"name": "x"})
	const calls = 8
	var set []*started
	for i := range calls {
		set = append(set, b.start(valuePath, object{"name": "x", "token": got.text("token"), "session": got.text("session"), "value": fmt.Sprint("v", i)}))
	}
	var revisions []string
	last := ""
	for _, one := range set {
		a := one.wants(t, 200)
		if revisions = append(revisions, a.text("revision")); a.text("revision") == fmt.Sprint(calls) {
			last = a.text("value")
		}
	}
	slices.Sort(revisions)
	if want := []string{"1", "2", "3", "4", "5", "6", "7", "8"}; !slices.Equal(revisions, want) {
		t.Errorf("revisions %v, want %v", revisions, want)
	}
	if shown := b.get(200, "/v1/spaces/default/locks/x").list("holders"); shown[0]["value"] != last {
		t.Errorf("shown %v, want %q", shown, last)
	}
}

func opAmend(id uint64, name string, token, revision uint64, value string) *schema.Operation {
	return &schema.Operation{Id: id, Kind: &schema.Operation_Amend{Amend: &schema.Amend{Name: name, Token: token, Revision: revision, Value: value}}}
}

// amended hears the answer to an amend: the revision in force, or a problem with a code.
func (c *talk) amended(id, revision uint64, code string) {
	c.t.Helper()
	event := c.hear()
	a := event.GetAmended()
	if event.GetId() != id || a == nil || a.GetRevision() != revision || a.GetProblem().GetCode() != code {
		c.t.Fatalf("request %d: want revision %d and code %q, heard %v", id, revision, code, event)
	}
}

// TestValueOfStreamAndCall: a session that has a stream gets values over it and by calls in turn. The stream hears which
// revision is in force, and goes on above it.
func TestValueOfStreamAndCall(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	c.say(opAcquire(1, "x"))
	token := c.granted(1).GetToken()
	locks := schema.NewLocksClient(b.conn)
	call := func(value string, revision uint64) {
		t.Helper()
		answer, err := locks.SetValue(t.Context(), &schema.SetValueRequest{Name: "x", Token: token, Session: c.id + "." + c.secret, Value: value})
		must(t, err)
		if answer.GetRevision() != revision || answer.GetValue() != value {
			t.Errorf("answered %v, want %q with revision %d", answer, value, revision)
		}
	}
	shown := func(value string) {
		t.Helper()
		lock, err := locks.Show(t.Context(), &schema.ShowRequest{Name: "x"})
		must(t, err)
		if got := lock.GetHolders()[0].GetValue(); got != value {
			t.Errorf("shown is %q, want %q", got, value)
		}
	}
	c.say(opAmend(1, "x", token, 1, "stream 1"))
	c.amended(1, 1, "")
	call("call 2", 2)
	call("call 3", 3)
	c.say(opAmend(1, "x", token, 2, "stream 2"))
	c.amended(1, 3, "") // overtaken
	shown("call 3")
	c.say(opAmend(1, "x", token, 4, "stream 4"))
	c.amended(1, 4, "")
	shown("stream 4")
	call("call 5", 5)
	shown("call 5")
	// On its next stream the client repeats what has no answer: it does no harm.
	c = b.resume(c)
	c.say(opAcquire(1, "x"), opAmend(1, "x", token, 4, "stream 4"))
	c.granted(1)
	c.amended(1, 5, "")
	shown("call 5")
	c.say(opAmend(1, "x", token+1, 6, "a wrong token"))
	c.amended(1, 6, api.CodeNotHeld)
	c.say(opAmend(1, "x", token, 7, strings.Repeat("v", 4097)))
	c.amended(1, 7, api.CodeName)
	shown("call 5")
}

// TestValueIsConcealed: who may read other names does not see the value of a lock: neither in events and listings nor in
// refusals.
func TestValueIsConcealed(t *testing.T) {
	policy := strings.NewReplacer(
		`"group:https://login.example#lockers"]`, `"token:other"]`,
		"grants:", "  elsewhere: {rules: [{space: default, names: [\"public/**\"], verbs: [read, lock]}]}\ngrants:\n  - {role: elsewhere, to: [\"token:other\"]}",
	).Replace(onePolicy)
	g := newGuarded(t, policy, nil)
	const secret = "a-secret-value"
	holder, other, reader := &who{bearer: g.secrets["lock"]}, &who{bearer: g.secrets["other"]}, &who{bearer: g.secrets["read"]}
	ctx, cancel := contextWithin(t)
	defer cancel()
	feeds := map[*who]schema.Locks_WatchClient{}
	for _, w := range []*who{holder, other, reader} {
		w.connect(g)
		if w == holder {
			continue
		}
		var err error
		feeds[w], err = schema.NewLocksClient(w.conn).Watch(w.context(ctx), &schema.WatchRequest{})
		must(t, err)
		_, err = feeds[w].Header()
		must(t, err)
	}
	name, public := "deploy/x", "public/x"
	locks, theirs := schema.NewLocksClient(holder.conn), schema.NewLocksClient(other.conn)
	got, err := locks.Acquire(holder.context(ctx), &schema.AcquireRequest{Name: &name, Value: secret})
	must(t, err)
	set := &schema.SetValueRequest{Name: name, Token: got.GetLocks()[0].GetToken(), Session: got.GetSession(), Value: secret + "2"}
	_, err = locks.SetValue(holder.context(ctx), set)
	must(t, err)
	_, err = theirs.Acquire(other.context(ctx), &schema.AcquireRequest{Name: &public, Value: "shown"})
	must(t, err)

	for last, w := range map[string]*who{"shown": other, secret + "2": reader} {
		for seen := ""; seen != last; {
			e, err := feeds[w].Recv()
			must(t, err)
			if seen = e.GetValue(); w == other && (e.GetName() == name || seen == secret) {
				t.Errorf("who may not read the name gets the event %v", e)
			}
		}
	}
	page, err := theirs.List(other.context(ctx), &schema.ListRequest{})
	if text := fmt.Sprint(page); err != nil || strings.Contains(text, secret) || !strings.Contains(text, "shown") {
		t.Errorf("listed: %v, %v", page, err)
	}
	set.Value = "mine"
	for what, err := range map[string]error{
		"acquire":   second(theirs.Acquire(other.context(ctx), &schema.AcquireRequest{Name: &name})),
		"show":      second(theirs.Show(other.context(ctx), &schema.ShowRequest{Name: name})),
		"set value": second(theirs.SetValue(other.context(ctx), set)),
	} {
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", what, err)
		}
	}
	shown, err := schema.NewLocksClient(reader.conn).Show(reader.context(ctx), &schema.ShowRequest{Name: name})
	if err != nil || shown.GetHolders()[0].GetValue() != secret+"2" {
		t.Errorf("the reader is shown %v, %v", shown, err)
	}
}

func second[A any](_ A, err error) error { return err }
