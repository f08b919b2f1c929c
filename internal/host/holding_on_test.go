package host_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/protocol"
)

// holders starts three members with a space of grantors that hold on for an hour. It returns
// a session at one that does not grant, and how many messages members have sent about the
// space.
func holders(tb testing.TB) (elsewhere holdfast.Locker, grantor *host.Member, sent *atomic.Int64) {
	tb.Helper()
	sent = &atomic.Int64{}
	c := startCluster(tb, 3, steady, func(c *host.Config) {
		c.Spaces = []host.Space{{Name: "default", Protocol: "grantor", Options: map[string]string{"hold_on": "1h"}}}
		c.Observe = func(_ protocol.Time, effects *protocol.Effects) {
			for i := range effects.Sends {
				if effects.Sends[i].Port != protocol.Below {
					sent.Add(1)
				}
			}
		}
	})
	grantor = c.nodes[c.coordinator(tb)]
	cycle(tb, grantor, "first")
	elsewhere, err := c.nodes[c.other(tb, c.coordinator(tb))].Session(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	cycle(tb, elsewhere, "orders/42")
	return elsewhere, grantor, sent
}

// TestHoldingOn: what a member holds on to its clients lock without a message, under tokens
// that rise; and another member that asks gets it at once, with a higher one.
func TestHoldingOn(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	elsewhere, grantor, sent := holders(t)
	var last holdfast.Token
	before := sent.Load()
	for range 1000 {
		l, err := elsewhere.Lock(t.Context(), "orders/42")
		if err != nil {
			t.Fatal(err)
		}
		if l.Token() <= last {
			t.Fatalf("token %v follows %v", l.Token(), last)
		}
		last = l.Token()
		if err := l.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	// An acknowledgement of the first grant may have travelled by itself.
	if n := sent.Load() - before; n > 1 {
		t.Errorf("1000 locks of what the member holds on to cost %d messages", n)
	}
	l, err := grantor.TryLock(t.Context(), "orders/42")
	if err != nil {
		t.Fatal(err)
	}
	if l.Token() <= last {
		t.Errorf("token %v of another member follows %v", l.Token(), last)
	}
	if err := l.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

// BenchmarkHoldingOn is a lock and its unlock at a member that does not grant, and holds on to
// the name.
func BenchmarkHoldingOn(b *testing.B) {
	elsewhere, _, _ := holders(b)
	b.ReportAllocs()
	for b.Loop() {
		cycle(b, elsewhere, "orders/42")
	}
}
