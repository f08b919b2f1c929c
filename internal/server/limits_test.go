package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
)

// Each limit is reached and passed by one, over both ports; it is named with its value,
// counted, and there is room again when something has ended.

func TestLimitOfSessions(t *testing.T) {
	m := serve(t, host.Limits{Sessions: 3}, server.Limits{})
	conn := m.dial()
	m.open(conn)
	last := m.open(conn)
	one := m.post(200, acquirePath, object{"name": "x", "ttl": "1m"})
	_, event := m.hello(conn)
	limited(t, event, 0, "sessions", 3)
	m.limited(acquirePath, object{"name": "y"}, "sessions", 3)
	if n := m.refused("sessions"); n != 2 {
		t.Errorf("%v were counted", n)
	}
	if n := m.metric("holdfast_sessions"); n != 3 {
		t.Errorf("there are %v sessions", n)
	}
	last.say(endOf())
	noError(t, last.end())
	m.open(conn).serves(1, "y")
	m.post(200, "/v1/sessions/end", object{"session": one.object["session"]})
	m.post(200, acquirePath, object{"name": "y"})
}

func TestLimitOfLocksPerSession(t *testing.T) {
	m := serve(t, host.Limits{LocksPerSession: 3}, server.Limits{})
	c, other := m.open(m.dial()), m.open(m.dial())
	other.say(lockOf(1, "held"))
	other.hear()
	c.say(lockOf(1, "a"), lockOf(2, "b"), lockOf(3, "held"), lockOf(4, "c"))
	for range 3 {
		c.hear()
	}
	limited(t, c.hear(), 4, "locks_per_session", 3)
	other.serves(2, "c")
	c.say(cancelOf(3, "held"))
	c.hear()
	c.serves(5, "c")
	first := m.post(200, acquirePath, object{"names": []string{"d", "e", "f"}, "ttl": "1m"})
	m.limited(acquirePath, object{"name": "g", "session": first.object["session"]}, "locks_per_session", 3)
	m.limited(acquirePath, object{"names": []string{"h", "i", "j", "k"}}, "locks_per_session", 3)
	other.serves(3, "h") // an acquire of several that is refused holds nothing
	if n := m.refused("locks_per_session"); n != 3 {
		t.Errorf("%v were counted", n)
	}
}

func TestLimitOfWaitersPerName(t *testing.T) {
	m := serve(t, host.Limits{WaitersPerName: 2}, server.Limits{})
	holder, waiter := m.open(m.dial()), m.open(m.dial())
	holder.say(lockOf(1, "x"))
	holder.hear()
	waiter.say(lockOf(1, "x"), lockOf(2, "x"), lockOf(3, "x"))
	for range 2 {
		if event := waiter.hear(); event.GetQueued() == nil {
			t.Fatalf("within the limit: %v", event)
		}
	}
	limited(t, waiter.hear(), 3, "waiters_per_name", 2)
	m.limited(acquirePath, object{"name": "x", "wait": "10s"}, "waiters_per_name", 2)
	if n := m.refused("waiters_per_name"); n != 2 {
		t.Errorf("%v were counted", n)
	}
	if n := m.metric(`holdfast_waiters{space="default"}`); n != 2 {
		t.Errorf("%v wait", n)
	}
	holder.say(unlockOf(1, "x"))
	if event := waiter.hear(); event.GetId() != 1 || event.GetGranted() == nil {
		t.Fatalf("the first: %v", event)
	}
	waiter.say(lockOf(4, "x"))
	if event := waiter.hear(); event.GetQueued() == nil {
		t.Errorf("there is room again: %v", event)
	}
}

func TestLimitOfNames(t *testing.T) {
	m := serve(t, host.Limits{Names: 3}, server.Limits{})
	c := m.open(m.dial())
	c.say(lockOf(1, "a"), lockOf(2, "b"), lockOf(3, "c"), lockOf(4, "d"), lockOf(5, "c"))
	for range 3 {
		c.hear()
	}
	limited(t, c.hear(), 4, "names", 3)
	if event := c.hear(); event.GetQueued() == nil {
		t.Errorf("a name that is there: %v", event)
	}
	m.limited(acquirePath, object{"name": "d"}, "names", 3)
	if n := m.refused("names"); n != 2 {
		t.Errorf("%v were counted", n)
	}
	if n := m.metric(`holdfast_locks{space="default"}`); n != 3 {
		t.Errorf("there are %v names", n)
	}
	c.say(unlockOf(1, "a"))
	c.hear()
	m.post(200, acquirePath, object{"name": "d"})
}

func TestLimitOfNameBytes(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{NameBytes: 8})
	c := m.open(m.dial())
	c.serves(1, "12345678")
	c.say(lockOf(2, "123456789"))
	problem := c.hear().GetRefused().GetProblem()
	if problem.GetCode() != api.CodeName || !strings.Contains(problem.GetDetail(), "it has 9 bytes; name_bytes allows 8") {
		t.Errorf("one byte too many: %v", problem)
	}
	m.post(200, acquirePath, object{"name": "ÄÖÜß"}) // bytes, not characters
	if a := m.post(400, acquirePath, object{"name": "ÄÖÜßx"}); a.object["code"] != api.CodeName {
		t.Errorf("one byte too many: %s", a.text)
	}
	if n := m.refused(api.CodeName); n != 2 {
		t.Errorf("%v were counted", n)
	}
	whole := serve(t, host.Limits{}, server.Limits{})
	whole.open(whole.dial()).serves(1, strings.Repeat("n", holdfast.MaxName))
}

func TestLimitOfValueBytes(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{ValueBytes: 8})
	c := m.open(m.dial())
	over := lockOf(1, "x")
	over.GetAcquire().Value = "123456789"
	c.say(over)
	if problem := c.hear().GetRefused().GetProblem(); problem.GetLimit() != "value_bytes" || problem.GetValue() != 8 {
		t.Errorf("one byte too many with the request: %v", problem)
	}
	c.say(lockOf(2, "x"))
	token := c.hear().GetGranted().GetToken()
	c.say(&schema.Operation{Id: 2, Kind: &schema.Operation_Amend{Amend: &schema.Amend{Name: "x", Token: token, Revision: 1, Value: "123456789"}}})
	if a := c.hear().GetAmended(); a.GetProblem().GetLimit() != "value_bytes" || a.GetRevision() != 1 {
		t.Errorf("one byte too many in an amend: %v", a)
	}
	if a := m.post(429, acquirePath, object{"name": "y", "value": "123456789"}); a.object["limit"] != "value_bytes" {
		t.Errorf("one byte too many over HTTP: %s", a.text)
	}
	got := m.post(200, acquirePath, object{"name": "y", "value": "12345678"}).object
	set := func(status int, value string) *answer {
		return m.post(status, "/v1/spaces/default/value", object{"name": "y", "token": got["token"], "session": got["session"], "value": value})
	}
	if a := set(429, "123456789"); a.object["limit"] != "value_bytes" {
		t.Errorf("one byte too many in a new value: %s", a.text)
	}
	for revision := range 3 {
		if a := set(200, strings.Repeat("v", revision)); a.object["revision"] != fmt.Sprint(revision+1) || a.object["value"] != strings.Repeat("v", revision) {
			t.Errorf("a new value: %s", a.text)
		}
	}
}

func TestLimitOfMessageBytes(t *testing.T) {
	const most = 4096
	m := serve(t, host.Limits{}, server.Limits{MessageBytes: most})
	body := func(size int) []byte {
		return []byte(`{"name":"x"` + strings.Repeat(" ", size-len(`{"name":"x"}`)) + `}`)
	}
	m.roundTrip(200, http.MethodPost, acquirePath, body(most))
	if a := m.roundTrip(413, http.MethodPost, acquirePath, body(most+1)); a.object["code"] != api.CodeTooLarge || !strings.Contains(a.text, "4096 bytes, which message_bytes allows") {
		t.Errorf("a body: %s", a.text)
	}
	conn := m.dial()
	c := m.open(conn)
	noError(t, c.stream.Send(frameOf(most)))
	if event := c.hear(); event.GetId() != 1 {
		t.Errorf("a frame: %v", event)
	}
	noError(t, c.stream.Send(frameOf(most+1)))
	err := c.end()
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "4097 vs. 4096") {
		t.Errorf("a frame: %v", err)
	}
	locks := schema.NewLocksClient(conn)
	_, err = locks.Show(context.Background(), &schema.ShowRequest{Name: strings.Repeat("n", most-3)})
	if problem := api.FromStatus("", err); api.Code(problem) != api.CodeName {
		t.Errorf("a call: %v", err)
	}
	_, err = locks.Show(context.Background(), &schema.ShowRequest{Name: strings.Repeat("n", most-2)})
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "4097 vs. 4096") {
		t.Errorf("a call: %v", err)
	}
	// gRPC says what is wrong with a frame before the server hears of it.
	m.until("all three are counted", func() bool { return m.refused(api.CodeTooLarge) == 3 })
}

// TestLimitOfMessageBytesWithMembers: members' frames may be larger than those of
// clients, on the same port.
func TestLimitOfMessageBytesWithMembers(t *testing.T) {
	const most = 4096
	m := serve(t, host.Limits{}, server.Limits{MessageBytes: most}, func(c *server.Config) { c.Members = noMembers{} })
	c := m.open(m.dial())
	noError(t, c.stream.Send(frameOf(most)))
	c.hear()
	noError(t, c.stream.Send(frameOf(most+1)))
	if err := api.FromStatus("", c.end()); api.Code(err) != api.CodeTooLarge || !strings.Contains(err.Error(), "4096 bytes, which message_bytes allows") {
		t.Errorf("a frame: %v", err)
	}
	_, err := schema.NewLocksClient(m.dial()).Show(context.Background(), &schema.ShowRequest{Name: strings.Repeat("n", most)})
	if api.Code(api.FromStatus("", err)) != api.CodeTooLarge {
		t.Errorf("a call: %v", err)
	}
}

// frameOf is a frame of exactly that size.
func frameOf(size int) *schema.ClientFrame {
	acquire := &schema.Acquire{Reason: strings.Repeat("r", size-20), Name: "x"}
	frame := &schema.ClientFrame{Operations: []*schema.Operation{{Id: 1, Kind: &schema.Operation_Acquire{Acquire: acquire}}}}
	for proto.Size(frame) < size {
		acquire.Reason += "r"
	}
	for proto.Size(frame) > size {
		acquire.Reason = acquire.Reason[1:]
	}
	return frame
}

// TestLimitOfStreams: of one connection so many calls are served at once; those beyond
// wait in their client, as HTTP/2 has it, until one has ended.
func TestLimitOfStreams(t *testing.T) {
	const most = 1000
	m := serve(t, host.Limits{}, server.Limits{})
	conn := m.dial()
	var all []*speaker
	for range most {
		all = append(all, m.open(conn))
	}
	opened := make(chan *speaker, 1)
	go func() {
		ctx, cancel := context.WithCancel(m.patience)
		stream, err := schema.NewSessionsClient(conn).Open(ctx)
		if err != nil {
			t.Error(err)
		}
		opened <- &speaker{t: t, stream: stream, cancel: cancel}
	}()
	m.open(m.dial()).serves(1, "x") // another connection has room
	if n := m.metric("holdfast_sessions"); n != most+1 {
		t.Errorf("there are %v sessions", n)
	}
	select {
	case <-opened:
		t.Error("one call more was begun")
	default:
	}
	all[0].say(endOf())
	noError(t, all[0].end())
	next := <-opened
	defer next.cancel()
	next.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}})
	next.hear()
	next.serves(1, "x")
}

// TestLimitOfWatchers: over both ports together.
func TestLimitOfWatchers(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{Watchers: 2})
	locks := schema.NewLocksClient(m.dial())
	watch := func() (schema.Locks_WatchClient, context.CancelFunc) {
		ctx, cancel := context.WithCancel(m.patience)
		t.Cleanup(cancel)
		stream, err := locks.Watch(ctx, &schema.WatchRequest{})
		noError(t, err)
		return stream, cancel
	}
	_, first := watch()
	watch()
	m.until("two watch", func() bool { return m.metric("holdfast_watchers") == 2 })
	third, _ := watch()
	_, err := third.Recv()
	problem := api.FromStatus("", err)
	var limit *holdfast.LimitError
	if status.Code(err) != codes.ResourceExhausted || !asLimit(problem, &limit) || limit.Limit != "watchers" || limit.Value != 2 {
		t.Errorf("a third: %v", err)
	}
	if a := m.roundTrip(429, http.MethodGet, "/v1/events", nil); a.object["limit"] != "watchers" || a.object["value"] != 2.0 {
		t.Errorf("over HTTP: %s", a.text)
	}
	if n := m.refused("watchers"); n != 2 {
		t.Errorf("%v were counted", n)
	}
	first()
	m.until("one has left", func() bool { return m.metric("holdfast_watchers") == 1 })
}

// TestLimitOfRequests: of those that are remembered by their ids.
func TestLimitOfRequests(t *testing.T) {
	m := serve(t, host.Limits{}, server.Limits{Requests: 2})
	for i := range 2 {
		m.post(200, acquirePath, object{"name": fmt.Sprint(i), "request": fmt.Sprint(i)})
	}
	m.limited(acquirePath, object{"name": "2", "request": "2"}, "requests", 2)
	m.post(200, acquirePath, object{"name": "2"})
	m.post(200, acquirePath, object{"name": "0", "request": "0"}) // it is known
	if n := m.refused("requests"); n != 1 {
		t.Errorf("%v were counted", n)
	}
	if n := m.metric("holdfast_requests"); n != 2 {
		t.Errorf("%v are remembered", n)
	}
}
