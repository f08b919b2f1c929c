package storagetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// Bench measures a store under the load of locks, on one handle and the given numbers of goroutines, each with its own
// rows: a Mutate that adds a column and deletes the previous one, a Slice of a small row, and a Swap of a column that
// no other goroutine writes. It reports the median latency as p50-µs and the 99th percentile as p99-µs.
func Bench(b *testing.B, store storage.Store, goroutines ...int) {
	for _, n := range goroutines {
		b.Run(fmt.Sprintf("Mutate/%d", n), func(b *testing.B) { measure(b, store, n, benchMutate) })
		b.Run(fmt.Sprintf("Slice/%d", n), func(b *testing.B) { measure(b, store, n, benchSlice) })
		if store.Features().Swap {
			b.Run(fmt.Sprintf("Swap/%d", n), func(b *testing.B) { measure(b, store, n, benchSwap) })
		}
	}
}

// measure shares b.N requests among n goroutines; do makes the i-th request of each.
func measure(b *testing.B, store storage.Store, n int, do func(b *testing.B, store storage.Store, key string, i int) error) {
	took := make([][]time.Duration, n)
	var all sync.WaitGroup
	s := &stage{TB: b}
	keys := make([]string, n)
	for g := range n {
		// Excludes one-time work, such as a connection and a prepared statement.
		keys[g] = s.row()
		for i := range 2 {
			if err := do(b, store, keys[g], i); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ResetTimer()
	for g := range n {
		all.Go(func() {
			for i := g; i < b.N; i += n {
				began := time.Now()
				if err := do(b, store, keys[g], 2+i/n); err != nil {
					b.Error(err)
					return
				}
				took[g] = append(took[g], time.Since(began))
			}
		})
	}
	all.Wait()
	b.StopTimer()
	if sorted := slices.Concat(took...); len(sorted) > 0 {
		slices.Sort(sorted)
		b.ReportMetric(float64(sorted[len(sorted)/2])/1e3, "p50-µs")
		b.ReportMetric(float64(sorted[len(sorted)*99/100])/1e3, "p99-µs")
	}
}

func benchMutate(b *testing.B, store storage.Store, key string, i int) error {
	m := storage.Mutate{Key: key, Additions: []storage.Entry{entry(fmt.Sprintf("%09d", i), "v")}, Timestamp: int64(i)}
	if i > 0 {
		m.Deletions = []string{fmt.Sprintf("%09d", i-1)}
	}
	return store.Mutate(b.Context(), &m)
}

func benchSlice(b *testing.B, store storage.Store, key string, i int) error {
	if i < 2 {
		return store.Mutate(b.Context(), &storage.Mutate{Key: key, Additions: []storage.Entry{entry("a", "1"), entry("b", "2")}, Timestamp: 1})
	}
	_, err := store.Slice(b.Context(), &storage.Slice{Key: key, Start: "a", End: "z", Limit: 10})
	return err
}

func benchSwap(b *testing.B, store storage.Store, key string, i int) error {
	w := storage.Swap{Key: key, Column: "c", Absent: i == 0, New: fmt.Sprintf("%09d", i)}
	if i > 0 {
		w.Old = fmt.Sprintf("%09d", i-1)
	}
	swapped, err := store.Swap(b.Context(), &w)
	if err == nil && !swapped.Done {
		return fmt.Errorf("swap %d was not done: %v", i, swapped)
	}
	return err
}
