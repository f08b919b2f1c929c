package host_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// numbered are n names in one order.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("orders/%03d", i))
	}
	return names
}

// durable starts a member alone that keeps its locks on the disk, and counts how often it writes to its log.
func durable(t testing.TB) (n *host.Member, writes *atomic.Int64) {
	writes = new(atomic.Int64)
	n = start(t, host.Config{
		Data: t.TempDir(), Spaces: []host.Space{{Name: holdfast.DefaultSpace, Protocol: "consensus"}},
		Observe: func(_ protocol.Time, effects *protocol.Effects) {
			for i := range effects.Sends {
				switch effects.Sends[i].Message.(type) {
				case storage.Append, *storage.Append:
					writes.Add(1)
				}
			}
		},
	})
	if err := n.WaitReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n, writes
}

// TestLockAllTogether: a hundred free names of a durable space cost a few writes to its log, and not one each. Their number depends on how long
// a write takes compared with a request.
func TestLockAllTogether(t *testing.T) {
	n, writes := durable(t)
	give(t, take(t, n, "orders")) // its session is known
	before := writes.Load()
	locks, err := n.LockAll(t.Context(), numbered(100))
	if err != nil {
		t.Fatal(err)
	}
	if wrote := writes.Load() - before; wrote < 1 || wrote > 50 {
		t.Errorf("100 names cost %d writes, want at least 1 and at most 50", wrote)
	}
	for i, lock := range locks {
		if lock.Name() != numbered(100)[i] || lock.Check() != nil {
			t.Errorf("lock %d is of %q: %v", i, lock.Name(), lock.Check())
		}
		give(t, lock)
	}
}

// TestLockAllHoldsNothingBehind: while a durable name is waited for those before it are held, and none behind it.
func TestLockAllHoldsNothingBehind(t *testing.T) {
	n, _ := durable(t)
	blocker := take(t, n, "b")
	result := all(t, n, []string{"c", "a", "b"})
	give(t, take(t, n, "c"))
	if _, err := n.TryLock(t.Context(), "a"); err == nil {
		t.Error("a is not held while b is waited for")
	}
	give(t, blocker)
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// BenchmarkLockAll takes and releases a hundred names at a time, through a member that writes each decision to its disk. Its
// time is that of one name.
func BenchmarkLockAll(b *testing.B) {
	n, _ := durable(b)
	names := numbered(100)
	for done := 0; done < b.N; done += len(names) {
		locks, err := n.LockAll(context.Background(), names)
		if err != nil {
			b.Fatal(err)
		}
		for _, lock := range locks {
			if err := lock.UnlockAsync(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "names/s")
}
