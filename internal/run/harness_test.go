package run_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripted is a machine that writes down what it is given and runs what its test sets.
// Like every machine it is stepped by one caller at a time, which the race detector
// checks here.
type scripted struct {
	wake  protocol.Time
	steps []string
	do    func(now protocol.Time, ev protocol.Event, out *protocol.Effects)
}

func (m *scripted) Wake() protocol.Time { return m.wake }

func (m *scripted) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.steps = append(m.steps, fmt.Sprintf("%s port=%d from=%d call=%d/%d %T at %v",
		kindNames[ev.Kind], ev.Port, ev.From, ev.Call.Sink, ev.Call.Op, ev.Fact, now))
	if m.do != nil {
		m.do(now, ev, out)
	}
}

var kindNames = map[protocol.Kind]string{
	protocol.Start: "start", protocol.Tick: "tick", protocol.Receive: "receive",
	protocol.Call: "call", protocol.Raised: "raised",
}

// mailbox is a sink that keeps its replies, batch by batch.
type mailbox struct {
	mu      sync.Mutex
	batches [][]string
}

func (m *mailbox) Deliver(replies []protocol.Reply) {
	var batch []string
	for _, reply := range replies {
		batch = append(batch, fmt.Sprintf("%d/%d %v", reply.To.Sink, reply.To.Op, reply.Result))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.batches = append(m.batches, batch)
}

// take returns the batches delivered since it was called last.
func (m *mailbox) take() [][]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	batches := m.batches
	m.batches = nil
	return batches
}

// start drives m until the test ends.
func start(t *testing.T, c run.Config) *run.Driver {
	t.Helper()
	d, err := run.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// standing returns a machine that never wants to be woken, and a driver of it whose
// clock stands at an hour.
func standing(t *testing.T) (*scripted, *run.Driver) {
	t.Helper()
	m := &scripted{wake: protocol.Never}
	c := clocktest.NewManual()
	c.Advance(time.Hour)
	return m, start(t, run.Config{Machine: m, Clock: c})
}

func call(sink, op uint64, fact any) protocol.Event {
	return protocol.Event{Kind: protocol.Call, Port: 1, Call: protocol.CallID{Sink: sink, Op: op}, Fact: fact}
}
