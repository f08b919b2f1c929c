package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// movable is a space whose authority is handed over, and which is opened and closed, as
// a test says; all else a coordinator does.
type movable struct {
	protocol.Machine

	mu     sync.Mutex
	answer func(fact any) any // nil: there is no answer
}

// says sets what the space answers from now on.
func (m *movable) says(answer func(fact any) any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answer = answer
}

func (m *movable) wrap(inner protocol.Machine) protocol.Machine {
	m.Machine = inner
	return m
}

func (m *movable) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch ev.Fact.(type) {
	case *protocol.Transfer, *protocol.OpenSpace, *protocol.CloseSpace:
		if answer := m.answer(ev.Fact); answer != nil {
			out.Reply(ev.Call, answer)
		}
		return
	case *protocol.Inspect, *protocol.Show:
		if m.answer != nil {
			if answer := m.answer(ev.Fact); answer != nil {
				out.Reply(ev.Call, answer)
				return
			}
		}
	}
	m.Machine.Step(now, ev, out)
}

// two is the view of a member a with another, b.
func two() protocol.View {
	view := alone(&schema.Member{Id: harnessMember, Name: "a", Address: "a.example:4040"})()
	view.Members = append(view.Members, protocol.Member{ID: 8, Name: "b", Address: "b.example:4040"})
	return view
}

// obliging answers as it is asked: the member that is named is the authority, and what
// shall be open is.
func obliging(fact any) any {
	switch fact := fact.(type) {
	case *protocol.Transfer:
		return &protocol.Transferred{Authority: []protocol.ID{fact.To}}
	case *protocol.OpenSpace:
		return &protocol.SpaceOpen{Open: true}
	case *protocol.CloseSpace:
		return &protocol.SpaceOpen{}
	}
	return nil
}

// TestTransferRow: the member that is named is the authority, by whichever of its names,
// and watchers see what was done.
func TestTransferRow(t *testing.T) {
	m := &movable{answer: obliging}
	b := newWebHarnessOf(t, calm{}, m.wrap, func(c *Config) { c.View = two })
	watching := b.watch()
	for _, member := range []string{"b", "b.example:4040"} {
		if got := b.post(200, "/v1/spaces/any/transfer", object{"member": member}); got.raw != `{"space":"any","authority":["b"]}`+"\n" {
			t.Errorf("transferred: %s", got.raw)
		}
		if e := watching.operation("transferred to " + member + " by anonymous, http 127.0.0.1:"); e.Space != "any" {
			t.Errorf("the event is %+v", e)
		}
	}
}

// TestTransferRefusals: each has its code and a sentence.
func TestTransferRefusals(t *testing.T) {
	m := &movable{answer: obliging}
	b := newWebHarnessOf(t, calm{}, m.wrap, func(c *Config) { c.View, c.Limits.LongPoll = two, 10*time.Millisecond })
	for _, c := range []struct {
		space  string
		body   object
		answer *protocol.Transferred
		status int
		code   string
		detail string
	}{
		{"default", object{"member": "b"}, nil, 422, "unsupported", "protocol central does not offer transfer"},
		{"any", object{"member": "x"}, &protocol.Transferred{Err: holdfast.ErrConflict}, 409, "conflict", `member "x" is not in view 1, whose members are a, b; name one of these`},
		{"any", object{"member": "b"}, &protocol.Transferred{Err: holdfast.ErrConflict}, 409, "conflict", `member "b" cannot be the authority of space "any"`},
		{"any", object{"member": "b"}, &protocol.Transferred{Err: holdfast.ErrUnavailable}, 503, "unavailable", `unavailable: no member decides in space "any" now`},
		{"any", object{"member": "b"}, nil, 503, "unavailable", "unavailable: no answer within 10ms; it may be done nevertheless"},
		{"any", object{}, nil, 400, "bad_request", "member: it is missing"},
		{"any", object{"member": ""}, nil, 400, "bad_request", "member: it is missing"},
		{"any", object{"member": "b\n"}, nil, 400, "name", "member: bad name: control character"},
		{"any", object{"to": "b"}, nil, 400, "bad_request", `unknown field "to": want member`},
		{"any", object{"member": 7}, nil, 400, "bad_request", "member: 7: want a string"},
		{"nowhere", object{"member": "b"}, nil, 404, "unknown_space", `unknown space "nowhere"`},
	} {
		m.says(func(fact any) any {
			if _, is := fact.(*protocol.Transfer); is && c.answer != nil {
				return c.answer
			}
			return nil
		})
		got := b.post(c.status, "/v1/spaces/"+c.space+"/transfer", c.body)
		if got.text("code") != c.code || !strings.Contains(got.text("detail"), ": "+c.detail) {
			t.Errorf("%s %v: %s, want %s", c.space, c.body, got.raw, c.detail)
		}
		if c.status != 404 && got.text("space") != c.space {
			t.Errorf("%s %v: %s", c.space, c.body, got.raw)
		}
	}
}

// TestOpenAndCloseRows: one answer each, an event each, and what is refused.
func TestOpenAndCloseRows(t *testing.T) {
	m := &movable{answer: obliging}
	b := newWebHarnessOf(t, calm{}, m.wrap, func(c *Config) { c.Limits.LongPoll = 10 * time.Millisecond })
	watching := b.watch()
	for _, c := range []struct{ call, want, why string }{
		{"close", `{"space":"any","open":false}`, "closed on member a by anonymous, http "},
		{"open", `{"space":"any","open":true}`, "opened on member a by anonymous, http "},
	} {
		if got := b.post(200, "/v1/spaces/any/"+c.call, object{}); got.raw != c.want+"\n" {
			t.Errorf("%s: %s", c.call, got.raw)
		}
		if e := watching.operation(c.why); e.Space != "any" {
			t.Errorf("the event is %+v", e)
		}
		b.post(404, "/v1/spaces/nowhere/"+c.call, object{})
		if got := b.post(400, "/v1/spaces/any/"+c.call, object{"reason": "x"}); !strings.Contains(got.text("detail"), `unknown field "reason": want none`) {
			t.Errorf("%s: %s", c.call, got.raw)
		}
		m.says(func(fact any) any { return &protocol.SpaceOpen{Err: holdfast.ErrConflict} })
		if got := b.post(409, "/v1/spaces/any/"+c.call, object{}); got.text("code") != "conflict" {
			t.Errorf("%s: %s", c.call, got.raw)
		}
		m.says(obliging)
	}
	m.says(func(any) any { return nil })
	slow := b.post(503, "/v1/spaces/any/close", object{})
	if want := `close in space "any": unavailable: holders at this member have not stopped yet; space "any" takes nothing new here`; slow.text("detail") != want {
		t.Errorf("%s, want %s", slow.text("detail"), want)
	}
}

// TestStatusOfAMovableSpace has its elder, its version, what is being handed over, who waits for
// whose reply, that
// it is closed here, and its options; of others it says that there is nothing of the kind.
func TestStatusOfAMovableSpace(t *testing.T) {
	m := &movable{answer: func(fact any) any {
		if _, is := fact.(*protocol.Inspect); !is {
			return nil
		}
		return &protocol.Condition{
			State: protocol.Transferring, Why: "the table is on its way", Until: protocol.Never, Reign: 3, Version: 7, Elder: harnessMember,
			Authority: []protocol.ID{8}, Closed: true, Transfers: []protocol.Handover{{From: harnessMember, To: 8, Since: time.Second}},
			Awaited: []protocol.Awaited{{Member: 8, Reply: harnessMember, Requests: 3}},
		}
	}}
	b := newWebHarnessOf(t, calm{}, m.wrap, func(c *Config) {
		c.View = two
		c.Spaces[1].Options = map[string]string{"placement": "10s", "hold_on": "1m"}
		c.Spaces[0].Options = map[string]string{"capacity": "2", "retain": "true"}
	})
	got := b.get(200, "/v1/status")
	for _, want := range []string{
		`"authority":["b"],"reign":"3","state":"transferring","why":"the table is on its way","locks":0,"waiters":0,"sessions":0,"elder":"a","version":"7","transfers":[{"from":"a","to":"b","since":"`,
		`"}],"awaited":[{"member":"b","reply":"a","requests":3}],"closed":true,"closed_at":["a"],"options":{"hold_on":"1m","placement":"10s"}}`,
		`"sessions":0,"elder":"","version":"0","transfers":[],"closed":false,"options":{"capacity":"2","retain":"true"}}`,
	} {
		if !strings.Contains(got.raw, want) {
			t.Errorf("%s\nhas no %s", got.raw, want)
		}
	}
}

// TestStatusOfLeaders has the leaders, their term, who could be one and why, and the options.
func TestStatusOfLeaders(t *testing.T) {
	m := &movable{answer: func(fact any) any {
		if _, is := fact.(*protocol.Inspect); !is {
			return nil
		}
		return &protocol.Condition{
			State: protocol.Unavailable, Why: "leaders are being elected", Until: protocol.Never, Reign: 3, Version: 7, Authority: []protocol.ID{8},
			Candidates: []protocol.Candidate{{Member: harnessMember, Priority: 15, Why: "its candidate is off"}, {Member: 8, Priority: 2, Eligible: true, Why: "can be elected"}},
		}
	}}
	b := newWebHarnessOf(t, calm{}, m.wrap, func(c *Config) {
		c.View = two
		c.Spaces[1].Options = map[string]string{"messages": "published", "grace": "snaplock"}
		c.Spaces[0].Options = map[string]string{"grace": "90s"}
	})
	got := b.get(200, "/v1/status")
	const candidates = `"candidates":[{"member":"a","priority":15,"eligible":false,"why":"its candidate is off"},{"member":"b","priority":2,"eligible":true,"why":"can be elected"}]}`
	for _, want := range []string{
		`"authority":["b"],"reign":"3","state":"unavailable","why":"leaders are being elected"`,
		`"version":"7","transfers":[],"closed":false,"options":{"grace":"snaplock","messages":"published"},` + candidates,
		`"version":"0","transfers":[],"closed":false,"options":{"grace":"90s"}}`,
	} {
		if !strings.Contains(got.raw, want) {
			t.Errorf("%s\nhas no %s", got.raw, want)
		}
	}
	if got := b.get(503, "/readyz"); !strings.Contains(got.raw, "unavailable: leaders are being elected") {
		t.Errorf("readyz: %s", got.raw)
	}
}

// TestStatusOfVoters has the options of spaces whose members vote.
func TestStatusOfVoters(t *testing.T) {
	b := newWebHarnessOf(t, calm{}, nil, func(c *Config) {
		c.Spaces[0].Options = map[string]string{"shards": "3", "autopilot": "1h"}
		c.Spaces[1].Options = map[string]string{"shards": "1", "autopilot": "off"}
	})
	got := b.get(200, "/v1/status")
	for _, want := range []string{`"closed":false,"options":{"autopilot":"1h","shards":"3"}}`, `"closed":false,"options":{"autopilot":"off","shards":"1"}}`} {
		if !strings.Contains(got.raw, want) {
			t.Errorf("%s\nhas no %s", got.raw, want)
		}
	}
}

// TestClientsAreSentToTheGrantor: where an elder names the authority of the default space,
// clients learn of that one, and of no member while there is none.
func TestClientsAreSentToTheGrantor(t *testing.T) {
	condition := &protocol.Condition{State: protocol.Ready}
	m := &movable{answer: func(fact any) any {
		if _, is := fact.(*protocol.Inspect); is {
			answer := *condition
			return &answer
		}
		return nil
	}}
	b := newHarnessOf(t, calm{}, m.wrap, func(c *Config) { c.View = two }, nil)
	space := &Space{Name: holdfast.DefaultSpace, Port: 2}
	for _, c := range []struct {
		elder     protocol.ID
		authority []protocol.ID
		want      string
	}{
		{0, []protocol.ID{8}, "a.example:4040"},
		{harnessMember, []protocol.ID{8}, "b.example:4040"},
		{harnessMember, nil, ""},
		{harnessMember, []protocol.ID{99}, ""},
		{0, nil, "a.example:4040"},
	} {
		condition.Elder, condition.Authority = c.elder, c.authority
		b.service.lookAt(space, &spaceState{})
		if got := b.service.roster().Authority; got != c.want {
			t.Errorf("with the elder %v and the authority %v clients are sent to %q, want %q", c.elder, c.authority, got, c.want)
		}
	}
}

// TestShowNamesMissingPermission: by the members' names, and without any for a request
// that has asked no member.
func TestShowNamesMissingPermission(t *testing.T) {
	m := &movable{answer: func(fact any) any {
		shown, is := fact.(*protocol.Show)
		if !is {
			return nil
		}
		return &lock.Lock{Name: shown.Name, Waiters: []lock.Wait{
			{Session: lock.SessionID{Member: harnessMember, Number: 1}, Until: lock.Never, For: []uint64{8, 99}},
			{Session: lock.SessionID{Member: 8, Number: 2}, Until: lock.Never},
		}}
	}}
	b := newWebHarnessOf(t, calm{}, m.wrap, func(c *Config) { c.View = two })
	got := b.get(200, "/v1/spaces/any/locks/x")
	for _, want := range []string{
		`"member":"a","client":"","mode":"exclusive","units":0,"since":`, `"position":0,"reason":"","for":["b","2r"]}`,
		`"position":1,"reason":""}`,
	} {
		if !strings.Contains(got.raw, want) {
			t.Errorf("%s\nhas no %s", got.raw, want)
		}
	}
}

// TestClientsStayWhereAllDecide: in a space without a deciding member no client is sent to the
// view's coordinator.
func TestClientsStayWhereAllDecide(t *testing.T) {
	condition := &protocol.Condition{State: protocol.Ready}
	m := &movable{answer: func(fact any) any {
		if _, is := fact.(*protocol.Inspect); is {
			answer := *condition
			return &answer
		}
		return nil
	}}
	b := newHarnessOf(t, calm{}, m.wrap, func(c *Config) {
		c.View = func() protocol.View {
			view := two()
			view.Coordinator = 8
			return view
		}
	}, nil)
	space := &Space{Name: holdfast.DefaultSpace, Port: 2}
	for want, authority := range map[string][]protocol.ID{
		"a.example:4040": {harnessMember, 8},
		"b.example:4040": {8},
	} {
		condition.Authority = authority
		b.service.lookAt(space, &spaceState{})
		if got := b.service.roster().Authority; got != want {
			t.Errorf("where %v decide clients are sent to %q, want %q", authority, got, want)
		}
	}
}

// TestOperationsOverGRPC: each has the document of its HTTP call, is counted, is in the log with
// the caller's name, and ends with its call.
func TestOperationsOverGRPC(t *testing.T) {
	var log bytes.Buffer
	m := &movable{answer: obliging}
	b := newHarnessOf(t, calm{}, m.wrap, func(c *Config) {
		c.View, c.Logger = two, slog.New(slog.NewTextHandler(&log, nil))
	}, nil)
	admin := schema.NewAdminClient(b.conn)
	for want, got := range map[string]string{
		`{"space":"any","authority":["b"]}`: documentOr(admin.Transfer(t.Context(), &schema.TransferRequest{Space: "any", Member: "b", By: "ops"})),
		`{"space":"any","open":false}`:      documentOr(admin.CloseSpace(t.Context(), &schema.CloseSpaceRequest{Space: "any", By: "ops"})),
		`{"space":"any","open":true}`:       documentOr(admin.OpenSpace(t.Context(), &schema.OpenSpaceRequest{Space: "any", By: "ops"})),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for _, want := range []string{
		`level=INFO msg="space transferred to b" space=any by="anonymous, ops"`, `level=WARN msg="space closed on member a" space=any by="anonymous, ops"`,
		`level=INFO msg="space opened on member a" space=any by="anonymous, ops"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %s:\n%s", want, &log)
		}
	}
	_, err := admin.Transfer(t.Context(), &schema.TransferRequest{Member: "b"})
	if failure := api.FromStatus("transfer", err); !errors.Is(failure, holdfast.ErrUnsupported) || failure.Error() != "transfer: protocol central does not offer transfer" {
		t.Errorf("got %v", failure)
	}
	_, err = admin.Suspend(t.Context(), &schema.SuspendRequest{Reason: "x\x00"})
	if failure := api.FromStatus("suspend", err); api.Code(failure) != api.CodeName {
		t.Errorf("got %v", failure)
	}
	_, err = admin.Suspend(t.Context(), &schema.SuspendRequest{Wait: api.Span(-1)})
	if failure := api.FromStatus("suspend", err); api.Code(failure) != api.CodeBadRequest {
		t.Errorf("got %v", failure)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m.says(func(any) any { cancel(); return nil })
	if _, err := admin.CloseSpace(ctx, &schema.CloseSpaceRequest{Space: "any"}); status.Code(err) != codes.Canceled {
		t.Errorf("a call that was given up ends with %v", err)
	}
}

// TestStatusIsLocal: what is looked at every second is what this member knows by itself.
func TestStatusIsLocal(t *testing.T) {
	var inspected []*protocol.Inspect
	m := &movable{answer: func(fact any) any {
		if inspect, is := fact.(*protocol.Inspect); is {
			inspected = append(inspected, inspect)
			return &protocol.Condition{State: protocol.Ready}
		}
		return nil
	}}
	b := newHarnessOf(t, calm{}, m.wrap, nil, nil)
	b.service.lookAt(&Space{Name: "any", Port: 2}, &spaceState{})
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, inspect := range inspected {
		if !inspect.Here {
			t.Errorf("%+v asks other members", inspect)
		}
	}
	if len(inspected) == 0 {
		t.Error("nothing was looked at")
	}
}
