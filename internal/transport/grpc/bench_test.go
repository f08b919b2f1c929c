package grpc

import (
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// BenchmarkStream is messages one way, so many handed over at once.
func BenchmarkStream(b *testing.B) {
	for _, batch := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { benchmark(b, batch, false) })
	}
}

// BenchmarkRoundTrip is a batch of questions and their answers.
func BenchmarkRoundTrip(b *testing.B) {
	for _, batch := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) { benchmark(b, batch, true) })
	}
}

// underWay is how many messages a benchmark sends ahead of what has arrived.
const underWay = 1 << 14

func benchmark(b *testing.B, batch int, answered bool) {
	arrived := make(chan int, underWay)
	count := func(events []protocol.Event) { arrived <- len(events) }
	one := benchmarked(b, 1, count)
	var two *Transport
	two = benchmarked(b, 2, func(events []protocol.Event) {
		if !answered {
			count(events)
			return
		}
		back := make([]protocol.Envelope, len(events))
		for i := range events {
			back[i] = protocol.Envelope{To: 1, Port: 1, Message: events[i].Fact.(protocol.Message)}
		}
		two.Send(back)
	})
	one.Send(at(two.identity().Address, 1))
	<-arrived // and both are known to each other
	message := authority.Decided{
		Stamp: authority.Stamp{Epoch: protocol.Epoch{Counter: 28_000_000, Candidate: 1 << 63}, Tenure: protocol.Tenure{Incarnation: 7}},
		Kind:  1, Name: "accounts/4711/balance", Token: 28_000_000<<32 | 99,
	}
	envelopes := make([]protocol.Envelope, batch)
	for i := range envelopes {
		envelopes[i] = protocol.Envelope{To: 2, Port: 1, Message: message}
	}
	ahead := underWay
	if answered {
		ahead = 0
	}
	missing := 0
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		one.Send(envelopes)
		for missing += batch; missing > ahead; {
			missing -= <-arrived
		}
	}
	for missing > 0 {
		missing -= <-arrived
	}
	b.ReportMetric(float64(b.N)*float64(batch)/b.Elapsed().Seconds(), "messages/s")
}

// benchmarked starts a member whose queue holds all that a benchmark sends ahead.
func benchmarked(b *testing.B, id protocol.ID, deliver transport.Deliver) *Transport {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	identity := identityAt(id, l)
	t, err := New(Config{Identity: func() transport.Identity { return identity }, Queue: 2 * underWay, Deadline: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	t.Listen(deliver)
	served := make(chan error, 1)
	go func() { served <- t.Serve(l) }()
	b.Cleanup(func() {
		if err := t.Close(); err != nil {
			b.Error(err)
		}
		if err := <-served; err != nil {
			b.Error(err)
		}
	})
	return t
}
