package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/central"
)

// counter is a member's machine that tells a sink of its own of every event, but for the looks that the server takes by itself:
// the driver calls a sink once a step.
type counter struct {
	protocol.Machine
	sink          uint64
	steps, events int
}

func (c *counter) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	c.Machine.Step(now, ev, out)
	if _, look := ev.Fact.(*protocol.Inspect); !look && c.sink != 0 {
		out.Reply(protocol.CallID{Sink: c.sink}, c)
	}
}

func (c *counter) Deliver(replies []protocol.Reply) {
	c.steps++
	c.events += len(replies)
}

// TestAcquireIsOneStep counts how often a call takes the driver, and how many events the machine is stepped with.
func TestAcquireIsOneStep(t *testing.T) {
	space, err := central.New(central.Config{Self: harnessMember})
	must(t, err)
	sessions, err := session.New(session.Config{
		Member: harnessMember, Incarnation: 1, Rand: rand.New(rand.NewPCG(1, 2)), Spaces: 1,
	}, protocol.Stack(calm{}, space))
	must(t, err)
	count, observer := &counter{Machine: sessions}, NewObserver([]string{"default"})
	driver, err := run.New(run.Config{Machine: count, Clock: clocktest.NewManual(), Observe: observer.Observe})
	must(t, err)
	defer func() { must(t, driver.Close()) }()
	server, err := New(Config{
		Driver: driver, Observer: observer, Spaces: []Space{{Name: "default", Port: 1, Protocol: "central"}},
		Identity: func() Identity { return Identity{Member: &schema.Member{Name: "a", Id: harnessMember}} },
	})
	must(t, err)
	defer func() { must(t, server.Shutdown(context.Background())) }()
	count.sink = driver.Attach(count)
	ctx, s := t.Context(), server.service
	check := func(what string, steps, events int) {
		t.Helper()
		driver.Attach(count) // it takes the driver's mutex, under which is counted
		if count.steps != steps || count.events != events {
			t.Errorf("%s: %d steps, %d events; want %d, %d", what, count.steps, count.events, steps, events)
		}
		count.steps, count.events = 0, 0
	}
	check("begin", 0, 0)
	name := "x"
	got, err := s.Acquire(ctx, &schema.AcquireRequest{Name: &name})
	must(t, err)
	check("one name, a new session", 1, 3)
	_, err = s.Acquire(ctx, &schema.AcquireRequest{Session: &got.Session, Names: []string{"c", "b", "a"}})
	must(t, err)
	check("three names, a session that there is", 1, 5)
	_, err = s.Release(ctx, &schema.ReleaseRequest{Session: got.Session, Name: "x", Token: got.Locks[0].Token})
	must(t, err)
	check("a release", 1, 2)
	if _, err = s.Acquire(ctx, &schema.AcquireRequest{Names: []string{"a", "z"}}); err == nil {
		t.Error("a name that is held was granted")
	}
	check("a refusal, and the end of the session that it had opened", 2, 4)
}

// BenchmarkHTTPAcquire takes one name and releases it, over one connection of HTTP.
func BenchmarkHTTPAcquire(b *testing.B) {
	h := newWebHarness(b, nil)
	post := func(path, body string) string {
		response, err := h.client.Post("http://"+h.address+path, "application/json", strings.NewReader(body))
		must(b, err)
		defer response.Body.Close()
		answer, err := io.ReadAll(response.Body)
		must(b, err)
		if response.StatusCode != http.StatusOK {
			b.Fatalf("%s: %s", path, answer)
		}
		return string(answer)
	}
	field := func(answer, name string) string {
		_, behind, _ := strings.Cut(answer, `"`+name+`":"`)
		value, _, _ := strings.Cut(behind, `"`)
		return value
	}
	b.ReportAllocs()
	for b.Loop() {
		answer := post(acquirePath, `{"name":"x"}`)
		post("/v1/spaces/default/release", fmt.Sprintf(`{"name":"x","session":%q,"token":%q}`, field(answer, "session"), field(answer, "token")))
	}
}

// BenchmarkServiceAcquire is BenchmarkHTTPAcquire without the connection and the documents, by many at once.
func BenchmarkServiceAcquire(b *testing.B) {
	s := newWebHarness(b, nil).server.service
	b.ReportAllocs()
	b.SetParallelism(8)
	var last atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		name := fmt.Sprint("name/", last.Add(1))
		for pb.Next() {
			got, err := s.Acquire(b.Context(), &schema.AcquireRequest{Name: &name})
			if err == nil {
				_, err = s.Release(b.Context(), &schema.ReleaseRequest{Session: got.Session, Name: name, Token: got.Locks[0].Token})
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}
