package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/trace"
	"github.com/holdfast-locks/holdfast/sim/replay"
)

// TestTrace: what an embedded member does for many at once is recorded, and fresh machines
// do it again; its next life is recorded behind it.
func TestTrace(t *testing.T) {
	ctx := context.Background()
	c := host.Config{
		Trace: filepath.Join(t.TempDir(), "trace.txt"), State: t.TempDir(),
		Spaces: []host.Space{{Name: "billing", Protocol: "grantor"}}, Lease: time.Second,
	}
	for range 2 {
		n, err := host.Start(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		var work sync.WaitGroup
		for i := range 4 {
			work.Go(func() { lockALot(t, n, i) })
		}
		work.Wait()
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	result := replayed(t, c.Trace)
	if len(result.Lives) != 2 || result.Steps() < 2*4*50 {
		t.Fatalf("%d lives, %d steps", len(result.Lives), result.Steps())
	}
	for i, life := range result.Lives {
		if life.Ending != "the member has ended" || life.Header.Incarnation != uint64(i+1) {
			t.Errorf("life %d of incarnation %d: %s", i+1, life.Header.Incarnation, life.Ending)
		}
	}
}

// replayed feeds a trace to fresh machines, which must do the same.
func replayed(t *testing.T, path string) *replay.Result {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	result, err := replay.Run(file, replay.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if result.Difference != nil {
		t.Fatalf("%s: %v", path, result.Difference)
	}
	return result
}

// lockALot takes locks in all ways, some of which are others'.
func lockALot(t *testing.T, n *host.Member, worker int) {
	ctx := context.Background()
	for i := range 25 {
		from := holdfast.Locker(n)
		if i%2 == 0 {
			from = n.Space("billing")
		}
		lock, err := from.Lock(ctx, fmt.Sprint("n", i%3), holdfast.Owner(fmt.Sprint(worker)), holdfast.Hold(time.Minute))
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := from.TryLock(ctx, lock.Name(), holdfast.Owner("another")); !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("a second holder got %v", err)
		}
		if err := lock.Unlock(ctx); err != nil {
			t.Error(err)
		}
	}
}

// TestTraceThatCannotBe: a member that is to be recorded and cannot be does not start, and
// one whose trace is full goes on.
func TestTraceThatCannotBe(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "trace.txt")
	if err := os.WriteFile(path, []byte("my thesis\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var wrong *trace.OpenError
	if _, err := host.Start(ctx, host.Config{Trace: path}); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "field Trace: open the trace "+path+": it is there, and is no trace") {
		t.Error(err)
	}
	if _, err := host.Start(ctx, host.Config{TraceSize: -1}); err == nil || !strings.Contains(err.Error(), "TraceSize is negative") {
		t.Error(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	n, err := host.Start(ctx, host.Config{Trace: path, TraceSize: 4096, Spaces: []host.Space{{Name: "billing"}}})
	if err != nil {
		t.Fatal(err)
	}
	lockALot(t, n, 1)
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, `end "step `) || !strings.HasSuffix(last, ` and what follows: the file has reached its size limit of 4096 bytes"`) || len(text) > 8192 {
		t.Errorf("%d bytes, which end with %s", len(text), last)
	}
}

// BenchmarkLockUnlockTraced is BenchmarkLockUnlock while all is recorded.
func BenchmarkLockUnlockTraced(b *testing.B) {
	n := start(b, host.Config{Trace: filepath.Join(b.TempDir(), "trace.txt"), TraceSize: 1 << 40})
	b.ReportAllocs()
	for b.Loop() {
		cycle(b, n, "orders/42")
	}
}
