package host_test

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestMain looks for goroutines that outlive what began them. A probe of memberlist's
// that is under way at its end, its own or one for another member, cannot be ended: it waits for
// its own deadline, and goes.
func TestMain(m *testing.M) {
	const memberlist = "github.com/hashicorp/memberlist.(*Memberlist)."
	parallel.Tests()
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(memberlist+"probeNode"), goleak.IgnoreAnyFunction(memberlist+"handleIndirectPing.func2"))
}

func start(t testing.TB, c host.Config) *host.Member {
	t.Helper()
	n, err := host.Start(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func TestLockUnlock(t *testing.T) {
	ctx := context.Background()
	n := start(t, host.Config{})
	var last holdfast.Token
	for range 3 {
		l, err := n.Lock(ctx, "orders/42")
		if err != nil {
			t.Fatal(err)
		}
		if l.Token() <= last {
			t.Fatalf("token %v after %v", l.Token(), last)
		}
		last = l.Token()
		if err := l.Unlock(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkLockUnlock(b *testing.B) {
	ctx := context.Background()
	n := start(b, host.Config{})
	b.ReportAllocs()
	for b.Loop() {
		l, err := n.Lock(ctx, "orders/42")
		if err != nil {
			b.Fatal(err)
		}
		if err := l.Unlock(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
