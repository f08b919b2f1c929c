package server_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
)

// What is here are rows of docs/bad-input.md that are about both ports together, or about
// what is counted.

// victim holds "x" on a stream and "y" over HTTP, and shows that it still does.
type victim struct {
	m      *served
	stream *speaker
	id     string
	secret string
	held   *answer
	tokens [2]uint64
}

func (m *served) victim() *victim {
	m.t.Helper()
	c, event := m.hello(m.dial())
	v := &victim{m: m, stream: c, id: event.GetWelcome().GetSession(), secret: event.GetWelcome().GetSecret()}
	c.say(lockOf(1, "x"))
	v.tokens[0] = c.hear().GetGranted().GetToken()
	v.held = m.post(200, acquirePath, object{"name": "y", "ttl": "1h"})
	_, err := fmt.Sscan(v.held.object["token"].(string), &v.tokens[1])
	noError(m.t, err)
	return v
}

// stands checks that nothing was taken from it.
func (v *victim) stands() {
	v.m.t.Helper()
	v.stream.say(&schema.Operation{Id: 99, Kind: &schema.Operation_Beat{Beat: &schema.Beat{}}})
	if event := v.stream.hear(); event.GetBeat() == nil {
		v.m.t.Fatalf("its stream hears %v", event)
	}
	for i, name := range []string{"x", "y"} {
		holders := v.m.roundTrip(200, http.MethodGet, "/v1/spaces/default/locks/"+name, nil).object["holders"].([]any)
		if len(holders) != 1 || holders[0].(object)["token"] != fmt.Sprint(v.tokens[i]) {
			v.m.t.Fatalf("%s is held by %v", name, holders)
		}
	}
}

// TestForeignSessions: a session cannot be used without its secret, regardless of what a
// request says of it. A text that is no session is refused without being repeated.
func TestForeignSessions(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	v := m.victim()
	mine := m.post(200, acquirePath, object{"name": "z"}).object["session"].(string)
	_, secret, _ := strings.Cut(mine, ".")
	public, _, _ := strings.Cut(v.held.object["session"].(string), ".")
	zeros := strings.Repeat("0", 32)
	for _, c := range []struct {
		what, session string
		status        int
	}{
		{"a wrong secret", public + "." + zeros, 404},
		{"another's secret", public + "." + secret, 404},
		{"a session of a stream, and another's secret", v.id + "." + secret, 404},
		{"of a former incarnation", strings.Split(public, "-")[0] + "-1." + secret, 404},
		{"of another member", "1-1." + secret, 404},
		{"without a secret", public, 400},
		{"half a secret", public + "." + zeros[1:], 400},
		{"no hexadecimal", public + "." + strings.Repeat("g", 32), 400},
		{"an id beyond counting", "zzzzzzzzzzzzzzzz-zzzzzzzzzzzzzzzz." + zeros, 400},
		{"a long one", strings.Repeat("1", 10_000), 400},
		{"control characters", "1-1\x00." + zeros, 400},
		{"empty", "", 400},
	} {
		for path, body := range map[string]object{
			"/v1/sessions/renew":            {"session": c.session},
			"/v1/sessions/end":              {"session": c.session},
			"/v1/spaces/default/release":    {"session": c.session, "name": "y", "token": fmt.Sprint(v.tokens[1])},
			"/v1/spaces/default/acquire":    {"session": c.session, "name": "free"},
			"/v1/spaces/default/acquire?x=": {},
		} {
			want := c.status
			if strings.Contains(path, "?") {
				want = 400
			}
			if a := m.post(want, path, body); strings.Contains(a.text, zeros[1:]) || strings.Contains(a.text, secret) {
				t.Errorf("%s gets a secret: %s", c.what, a.text)
			}
		}
		id, private, _ := strings.Cut(c.session, ".")
		conn := m.dial()
		stream := m.call(conn)
		stream.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{Session: id, Secret: private}}})
		if event := stream.hear(); c.session != "" && event.GetRefused() == nil {
			t.Errorf("%s is welcomed: %v", c.what, event)
		}
		stream.cancel()
		if _, err := schema.NewLocksClient(conn).EndSession(context.Background(), &schema.EndSessionRequest{Session: c.session}); err == nil {
			t.Errorf("%s ends a session", c.what)
		}
	}
	v.stands()
}

// TestForeignTokens: a release acts on the grant of that token, of that session, alone.
func TestForeignTokens(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	v := m.victim()
	for _, c := range []struct {
		what, token string
		status      int
	}{
		{"none", "0", 400},
		{"of another name", fmt.Sprint(v.tokens[0]), 409},
		{"one that will come", fmt.Sprint(v.tokens[1] + 1), 409},
		{"one long past", "1", 409},
		{"the largest", "9223372036854775807", 409},
		{"beyond counting", "99999999999999999999", 400},
		{"negative", "-1", 400},
		{"no number", "token", 400},
		{"empty", "", 400},
	} {
		m.post(c.status, "/v1/spaces/default/release", object{"session": v.held.object["session"], "name": "y", "token": c.token})
		m.post(400, "/v1/spaces/default/release", object{"session": v.held.object["session"], "name": "y", "token": 5})
	}
	other := m.open(m.dial())
	for _, token := range []uint64{v.tokens[0], v.tokens[1], 1, math.MaxUint64} {
		for _, name := range []string{"x", "y"} {
			other.say(&schema.Operation{Id: 1, Kind: &schema.Operation_Release{Release: &schema.Release{Name: name, Token: token}}})
			if code := other.hear().GetReleased().GetProblem().GetCode(); code != api.CodeNotHeld {
				t.Errorf("a stranger's release of %s: %q", name, code)
			}
			other.say(&schema.Operation{Id: 1, Kind: &schema.Operation_Extend{Extend: &schema.Extend{Name: name, Token: token, Hold: 1}}})
			if code := other.hear().GetRefused().GetProblem().GetCode(); code != api.CodeNotHeld {
				t.Errorf("a stranger's extension of %s: %q", name, code)
			}
		}
	}
	v.stream.say(&schema.Operation{Id: 1, Kind: &schema.Operation_Release{Release: &schema.Release{Name: "x", Token: v.tokens[0] + 1}}})
	if code := v.stream.hear().GetReleased().GetProblem().GetCode(); code != api.CodeNotHeld {
		t.Errorf("a token that is not the grant's: %q", code)
	}
	v.stands()
}

// TestAbsurdNumbers: durations and counts without sense are refused, or mean what they
// say; none overflows.
func TestAbsurdNumbers(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	v := m.victim()
	for _, body := range []string{
		`"wait":"-1ns"`, `"wait":"9999999h"`, `"wait":"1e9s"`, `"wait":""`, `"ttl":"-1s"`, `"ttl":"9223372036854775808ns"`,
		`"hold":"-1h"`, `"hold":"0"`, `"mode":"slots","units":-1,"capacity":1`, `"mode":"slots","units":1,"capacity":-1`,
		`"mode":"slots","units":1,"capacity":2147483648`, `"mode":"slots","units":1e3,"capacity":5`, `"mode":"exclusive","units":1`,
		`"units":true`, `"wait":{}`, `"wait":[]`, `"owner":1`, `"reason":{"a":1}`, `"session":[]`, `"request":5`, `"require":1`, `"mode":0`,
		`"deadlock":1`, `"deadlock":"maybe"`,
	} {
		request, err := http.NewRequest(http.MethodPost, "http://"+m.http+acquirePath, strings.NewReader(`{"name":"n",`+body+`}`))
		noError(t, err)
		request.Header.Set("Content-Type", "application/json")
		response, err := m.client.Do(request)
		noError(t, err)
		noError(t, response.Body.Close())
		if response.StatusCode != 400 && response.StatusCode != 409 {
			t.Errorf("%s: status %d", body, response.StatusCode)
		}
	}
	for _, query := range []string{"limit=-1", "limit=0", "limit=1001", "limit=99999999999999999999", "limit=x", "limit=1&limit=2", "unknown=1", "limit=%zz"} {
		m.roundTrip(400, http.MethodGet, "/v1/spaces/default/locks?"+query, nil)
	}
	c := m.open(m.dial())
	for what, a := range map[string]*schema.Acquire{
		"wait":     {Wait: math.MinInt64},
		"hold":     {Hold: math.MinInt64},
		"units":    {Mode: schema.Mode_MODE_SLOTS, Units: math.MinInt32, Capacity: math.MaxInt32},
		"capacity": {Mode: schema.Mode_MODE_SLOTS, Units: 1, Capacity: math.MinInt32},
		"mode":     {Mode: math.MinInt32},
		"class":    {Require: math.MaxInt32},
	} {
		a.Name = "n"
		c.say(&schema.Operation{Id: 1, Kind: &schema.Operation_Acquire{Acquire: a}})
		if event := c.hear(); event.GetRefused() == nil {
			t.Errorf("%s: %v", what, event)
		}
	}
	c.say(&schema.Operation{Id: 2, Kind: &schema.Operation_Beat{Beat: &schema.Beat{Ttl: math.MaxInt64}}})
	if event := c.hear(); event.GetBeat().GetTtl() != int64(time.Minute) { // the longest of a member in memory
		t.Errorf("a ttl: %v", event)
	}
	for _, endless := range []*schema.Acquire{{Name: "n", Wait: math.MaxInt64, Hold: math.MaxInt64}} {
		c.say(&schema.Operation{Id: 3, Kind: &schema.Operation_Acquire{Acquire: endless}})
		if event := c.hear(); event.GetGranted() == nil {
			t.Errorf("for ever: %v", event)
		}
	}
	v.stands()
}

// TestBadBodies: what is no object of JSON, in every way that is not in the table of
// TestBadAcquireBodies.
func TestBadBodies(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	_, err := io.WriteString(packer, `{"name":"x"}`)
	noError(t, err)
	noError(t, packer.Close())
	deep := strings.Repeat("[", 200_000)
	for _, c := range []struct {
		what, body, encoding, detail string
	}{
		{"nested too deep", `{"name":` + deep, "", "no JSON"},
		{"nested, and of no use", `{"name":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}`, "", "want a string"},
		{"compressed, and said", packed.String(), "gzip", `content encoding "gzip"`},
		{"compressed, and not said", packed.String(), "", "not UTF-8"},
		{"said to be compressed", `{"name":"x"}`, "br", `content encoding "br"`},
		{"a byte order mark", "\ufeff" + `{"name":"x"}`, "", "no JSON object"},
		{"half a pair of UTF-16", `{"name":"\ud800"}`, "", "\uFFFD"},
		{"a key that is none", `{5:"x"}`, "", "no JSON"},
		{"a number", `5`, "", "no JSON object"},
	} {
		request, err := http.NewRequest(http.MethodPost, "http://"+m.http+acquirePath, strings.NewReader(c.body))
		noError(t, err)
		request.Header.Set("Content-Type", "application/json")
		if c.encoding != "" {
			request.Header.Set("Content-Encoding", c.encoding)
		}
		response, err := m.client.Do(request)
		noError(t, err)
		text, err := io.ReadAll(response.Body)
		noError(t, err)
		noError(t, response.Body.Close())
		if c.detail == "\uFFFD" { // JSON makes the replacement character of it: a name like any other
			if response.StatusCode != 200 || !strings.Contains(string(text), "\uFFFD") {
				t.Errorf("%s: %d %s", c.what, response.StatusCode, text)
			}
		} else if response.StatusCode != 400 || !strings.Contains(strings.ReplaceAll(string(text), `\"`, `"`), c.detail) {
			t.Errorf("%s: %d %.300s", c.what, response.StatusCode, text)
		}
	}
	if n := m.refused(api.CodeBadRequest); n != 8 {
		t.Errorf("%v were counted", n)
	}
}

// TestUnknownCalls of port 4040 are answered, and counted, whether one message comes or
// many.
func TestUnknownCalls(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	conn := m.dial()
	for _, method := range []string{"/holdfast.v1.Locks/Steal", "/unknown.v1.Nothing/Do", "/holdfast.v1.Sessions/Close", "/holdfast.v1.Members/Link", "/"} {
		err := conn.Invoke(context.Background(), method, &schema.StatusRequest{}, &schema.Lock{})
		if code := status.Code(err); code != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
	stream, err := conn.NewStream(m.patience, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, "/unknown.v1.Nothing/Talk")
	noError(t, err)
	if err := stream.RecvMsg(&schema.Lock{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("a stream: %v", err)
	}
	if n := m.refused(api.CodeUnknownPath); n != 5 { // "/" is malformed to gRPC itself
		t.Errorf("%v were counted", n)
	}
	m.open(conn).serves(1, "x")
}

// TestCallsThatDoNotDecode are refused and counted.
func TestCallsThatDoNotDecode(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	conn := m.dial()
	for _, garbage := range []string{"\xff\xff\xff\xff", "\x0a\xff", "\x0a\x02\xff\xfe"} {
		err := conn.Invoke(context.Background(), "/holdfast.v1.Locks/Show", garbage, &schema.Lock{}, grpc.ForceCodec(plain{}))
		if code := status.Code(err); code != codes.Internal {
			t.Errorf("%q: %v", garbage, err)
		}
		stream, err := conn.NewStream(m.patience, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, schema.Sessions_Open_FullMethodName, grpc.ForceCodec(plain{}))
		noError(t, err)
		noError(t, stream.SendMsg(garbage))
		if err := stream.RecvMsg(new(string)); status.Code(err) != codes.Internal {
			t.Errorf("%q on a stream: %v", garbage, err)
		}
	}
	// A stream is counted after gRPC has answered it.
	m.until("all are counted", func() bool { return m.refused("malformed") == 6 })
	m.open(conn).serves(1, "x")
}

// plain is a codec of bytes as they are.
type plain struct{}

func (plain) Marshal(v any) ([]byte, error)   { return []byte(v.(string)), nil }
func (plain) Unmarshal(b []byte, v any) error { *v.(*string) = string(b); return nil }
func (plain) Name() string                    { return "proto" }

// TestGarbageIsCounted: bytes on port 4040 that are no HTTP/2.
func TestGarbageIsCounted(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	good := m.open(m.dial())
	random := rand.New(rand.NewPCG(5, 6))
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	said := []string{
		string(noise), "GET / HTTP/1.1\r\nHost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", // TLS, to a port in plain text
		"P", "\x00",
	}
	for _, say := range said {
		c, err := net.Dial("tcp", m.grpc)
		noError(t, err)
		_, err = io.WriteString(c, say)
		noError(t, err)
		if err := c.(*net.TCPConn).CloseWrite(); err != nil && !strings.Contains(err.Error(), "not connected") {
			t.Fatal(err)
		}
		readToEnd(t, c)
		noError(t, c.Close())
		good.serves(1, "x")
	}
	m.until("all are counted", func() bool { return m.refused("malformed") == float64(len(said)) })
}

// TestResetInAFrame: a connection that is cut within a frame is an end like any other.
func TestResetInAFrame(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	good := m.open(m.dial())
	good.serves(1, "x")
	before := levelNow()
	for _, say := range []string{
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x40\x00\x00\x00\x00\x00\x00\x01half",
		"POST " + acquirePath + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{\"name\"",
	} {
		for i := range 50 {
			address := m.grpc
			if say[1] == 'O' {
				address = m.http
			}
			c, err := net.Dial("tcp", address)
			noError(t, err)
			_, err = io.WriteString(c, say)
			noError(t, err)
			if i%2 == 0 {
				noError(t, c.(*net.TCPConn).SetLinger(0)) // a reset, not an end
			}
			noError(t, c.Close())
			good.serves(1, "x")
		}
	}
	for _, port := range []string{"grpc", "http"} {
		m.until("all are closed", func() bool { return m.metric(fmt.Sprintf("holdfast_connections{port=%q}", port)) <= 1 })
	}
	m.backTo(before, slack)
}

// TestReusedIDWithOtherContent: on a stream an id and a name are the request, even if the
// rest of it differs later: it gets its outcome again. Over HTTP, where any client may
// have chosen the id, it is a conflict.
func TestReusedIDWithOtherContent(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{})
	v := m.victim()
	v.stream.say(&schema.Operation{Id: 1, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{Name: "x", Mode: schema.Mode_MODE_SHARED, Owner: "other"}}})
	if event := v.stream.hear(); event.GetGranted().GetToken() != v.tokens[0] {
		t.Errorf("the same id and name: %v", event)
	}
	v.stands()
	m.post(200, acquirePath, object{"name": "a", "request": "r", "ttl": "1h"})
	if a := m.post(409, acquirePath, object{"name": "b", "request": "r", "ttl": "1h"}); a.object["code"] != api.CodeConflict {
		t.Errorf("the same request id: %s", a.text)
	}
}
