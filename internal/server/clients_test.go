package server

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/access"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/protocol"
)

// rated is a member whose clients may make ten requests a second, five at once.
func rated(c *Config) { c.Limits.Rate, c.Limits.Burst = 10, 5 }

// openPolicy returns a policy without quotas.
func openPolicy() *access.Policy { return noQuotas }

var noQuotas = access.Open()

func overRate(t *testing.T, problem *schema.Problem) {
	t.Helper()
	if problem.GetCode() != api.CodeLimit || problem.GetLimit() != rateLimit || problem.GetValue() != 10 {
		t.Fatalf("want it refused by the rate, heard %v", problem)
	}
}

// TestRateOfStreams: at the limit and one past it, whichever of its streams a client
// uses; what it has is kept and given back all the same, and with time it may ask again.
func TestRateOfStreams(t *testing.T) {
	b := newHarness(t, rated, nil)
	c, other := b.open(), b.open() // two of five
	c.say(opAcquire(1, "a"), opAcquire(2, "b"), opAcquire(3, "c"), opAcquire(4, "d"))
	overRate(t, c.refused(4, api.CodeLimit)) // it never came to the step of the others
	for id := range uint64(3) {
		c.granted(id + 1)
	}
	other.say(opTry(1, "e"), opExtend(2, "e", 1, time.Second))
	overRate(t, other.refused(1, api.CodeLimit))
	overRate(t, other.refused(2, api.CodeLimit))
	another := b.call(b.conn)
	another.say(&schema.Operation{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}})
	overRate(t, another.refused(0, api.CodeLimit))
	must(t, another.end())
	again := b.resume(c) // one of five that keep
	again.say(opBeat(9, 0), opRelease(1, "a", 0), opCancel(2, "b"))
	if event := again.hear(); event.GetBeat() == nil {
		t.Fatalf("a beat: %v", event)
	}
	again.released(1)
	again.released(2)
	again.say(opRelease(3, "c", 0), opBeat(10, 0), opRelease(8, "x", 0)) // one is left
	overRate(t, again.refused(10, api.CodeLimit))
	if event := again.hear(); event.GetId() != 8 || event.GetReleased() == nil {
		t.Fatalf("a release that is refused is answered as a release: %v", event)
	} else {
		overRate(t, event.GetReleased().GetProblem())
	}
	again.released(3)
	b.clock.Advance(100 * time.Millisecond) // one token, and it fills what is kept for returns first
	other.say(opTry(3, "e"))
	overRate(t, other.refused(3, api.CodeLimit))
	b.clock.Advance(500 * time.Millisecond)
	other.say(opTry(4, "e"), opTry(5, "f"))
	overRate(t, other.refused(5, api.CodeLimit))
	other.granted(4)
	b.clock.Advance(2 * time.Second)
	var many []*schema.Operation
	for id := range uint64(6) {
		many = append(many, opTry(10+id, fmt.Sprint(id)))
	}
	other.say(many...)
	overRate(t, other.refused(15, api.CodeLimit))
	for id := range uint64(5) {
		other.granted(10 + id)
	}
}

// TestRateOfCalls: a call costs one, an acquire as many as it has names.
func TestRateOfCalls(t *testing.T) {
	b := newHarness(t, rated, nil)
	locks, ctx := schema.NewLocksClient(b.conn), context.Background()
	acquired, err := locks.Acquire(ctx, &schema.AcquireRequest{Names: []string{"a", "b", "c"}})
	must(t, err)
	_, err = locks.Acquire(ctx, &schema.AcquireRequest{Names: []string{"d", "e", "f"}})
	overRate(t, api.ToProblem(api.FromStatus("", err)))
	for range 2 {
		_, err = locks.Show(ctx, &schema.ShowRequest{Name: "a"})
		must(t, err)
	}
	_, err = locks.Status(ctx, &schema.StatusRequest{})
	overRate(t, api.ToProblem(api.FromStatus("", err)))
	for _, lock := range acquired.GetLocks() {
		_, err = locks.Release(ctx, &schema.ReleaseRequest{Name: lock.GetName(), Token: lock.GetToken(), Session: acquired.GetSession()})
		must(t, err)
	}
	b.clock.Advance(800 * time.Millisecond)
	_, err = locks.Status(ctx, &schema.StatusRequest{})
	must(t, err)
}

func TestRateOverHTTP(t *testing.T) {
	b := newWebHarness(t, rated)
	got := b.acquire(object{"names": []string{"a", "b", "c"}})
	b.get(200, "/v1/status")
	for range 3 {
		b.get(200, "/healthz")
		b.get(200, "/readyz")
	}
	if answer := b.post(429, acquirePath, object{"names": []string{"d", "e"}}); answer.text("limit") != rateLimit ||
		answer.json["value"] != 10.0 || answer.header.Get("Retry-After") != "1" {
		t.Errorf("an acquire: %s", answer.raw)
	}
	if answer := b.get(429, "/v1/spaces/default/locks/a"); answer.text("code") != "limit" {
		t.Errorf("a show: %s", answer.raw)
	}
	b.post(200, "/v1/sessions/renew", object{"session": got.text("session")})
	b.post(200, "/v1/sessions/end", object{"session": got.text("session")})
	if n := b.refused(rateLimit); n != 2 {
		t.Errorf("%v were counted", n)
	}
	b.clock.Advance(time.Second)
	b.acquire(object{"name": "a"})
}

// TestNoRate: without the limit no request is refused.
func TestNoRate(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	for id := range uint64(1000) {
		c.say(opTry(id+1, fmt.Sprint(id)))
		c.granted(id + 1)
	}
}

// TestClientsAreBounded: those who come from ever new addresses cost no more memory than
// a number of them, share what they may ask where there are more, and do not take from
// those who were there before.
func TestClientsAreBounded(t *testing.T) {
	c := newClients(Limits{Rate: 10, Burst: 5}, openPolicy)
	named := func(name string) caller { return caller{subject: access.Subject{Name: name}} }
	now := protocol.Time(time.Hour)
	early := c.enter(named("early"), now)
	if requests, _, _ := early.admit(now, 5, 0); requests != 5 {
		t.Fatalf("%d of 5", requests)
	}
	for i := range 3 * maxClients {
		c.find(named(fmt.Sprint(i)), now).admit(now, 1, 0)
	}
	if len(c.byName) != maxClients {
		t.Errorf("%d are known", len(c.byName))
	}
	if requests, returns, _ := c.find(named("late"), now).admit(now, 1, 1); requests != 0 || returns != 1 {
		t.Errorf("one of too many may make %d and %d requests", requests, returns)
	}
	if c.find(named("early"), now) != early {
		t.Error("a client with a stream is forgotten")
	}
	now += protocol.Time(time.Hour) // all have been quiet
	late := c.find(named("late"), now)
	if requests, _, _ := late.admit(now, 6, 0); requests != 5 {
		t.Errorf("there is room, and %d may be asked", requests)
	}
	if len(c.byName) != 2 {
		t.Errorf("%d are known", len(c.byName))
	}
	early.leave()
	if one := newClients(Limits{Rate: 7}, openPolicy).find(named("x"), 0); one.burst != 7 {
		t.Errorf("without a burst it is %d", one.burst)
	}
}

func TestClientName(t *testing.T) {
	for _, c := range []struct{ address, identity, want string }{
		{"10.0.0.1:555", "", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:5", "", "10.0.0.1"},
		{"[2001:db8:1:2:3:4:5:6]:5", "", "2001:db8:1:2::/64"},
		{"[fe80::1%eth0]:5", "", "fe80::/64"},
		{"@", "", "this machine"},
		{"10.0.0.1:5", "cert:worker-7", "cert:worker-7"},
	} {
		if got := clientName(c.address, c.identity); got != c.want {
			t.Errorf("%s: %q, want %q", c.address, got, c.want)
		}
	}
}

// TestLimitNamesOfOthers: what another member calls a limit is no label.
func TestLimitNamesOfOthers(t *testing.T) {
	if got := limitOf(&holdfast.LimitError{Limit: "orders/42"}); got != api.CodeLimit {
		t.Errorf("a label %q", got)
	}
	if got := limitOf(fmt.Errorf("wrapped: %w", &holdfast.LimitError{Limit: "names"})); got != "names" {
		t.Errorf("a label %q", got)
	}
}

// BenchmarkAdmit is what a frame costs where clients are bounded.
func BenchmarkAdmit(b *testing.B) {
	one := newClients(Limits{Rate: 1 << 30}, openPolicy).find(caller{}, 0)
	for i := range b.N {
		one.admit(protocol.Time(i), 64, 64)
	}
}
