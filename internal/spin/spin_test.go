package spin_test

import (
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/spin"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestOneAtATime: whoever has it has it alone, also where some look and some sleep.
func TestOneAtATime(t *testing.T) {
	const each = 2000
	var mu spin.Mutex
	count := 0
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range each {
				mu.Lock()
				count++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if count != 32*each {
		t.Errorf("counted %d of %d", count, 32*each)
	}
}

// TestWaitsForWhoeverHasIt, however long that takes.
func TestWaitsForWhoeverHasIt(t *testing.T) {
	var mu spin.Mutex
	mu.Lock()
	given := false
	done := make(chan bool)
	go func() {
		mu.Lock()
		done <- given
		mu.Unlock()
	}()
	given = true
	mu.Unlock()
	if !<-done {
		t.Error("it was taken before it was given back")
	}
}

func BenchmarkContended(b *testing.B) {
	var mu spin.Mutex
	count := 0
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			mu.Lock()
			count++
			mu.Unlock()
		}
	})
	if count < b.N {
		b.Errorf("counted %d of %d", count, b.N)
	}
}
