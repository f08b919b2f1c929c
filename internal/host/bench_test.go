package host_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
)

func cycle(tb testing.TB, locks holdfast.Locker, name string) {
	l, err := locks.Lock(context.Background(), name)
	if err != nil {
		tb.Error(err)
		return
	}
	if err := l.Unlock(context.Background()); err != nil {
		tb.Error(err)
	}
}

// TestLocalAllocations: an uncontended lock costs its Lock, and little else.
func TestLocalAllocations(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates too")
	}
	n := start(t, host.Config{})
	const allowed = 2
	if got := testing.AllocsPerRun(2000, func() { cycle(t, n, "orders/42") }); got > allowed {
		t.Errorf("a lock and its unlock allocate %v times, %d are allowed", got, allowed)
	}
}

// BenchmarkLockUnlockParallel is many goroutines, each with a name of its own: 32 for
// each processor.
func BenchmarkLockUnlockParallel(b *testing.B) {
	n := start(b, host.Config{})
	var last atomic.Int64
	b.ReportAllocs()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		name := "orders/" + strconv.FormatInt(last.Add(1), 10)
		for pb.Next() {
			cycle(b, n, name)
		}
	})
}

// BenchmarkHotName is many goroutines that want one name: each cycle waits for those
// before it, and is handed the lock.
func BenchmarkHotName(b *testing.B) {
	n := start(b, host.Config{})
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			cycle(b, n, "orders/42")
		}
	})
}
