package sim

import (
	"flag"
	"runtime"
	"testing"
	"time"
)

var days = flag.Duration("long", 5*time.Hour, "how long the run of TestMemoryIsFlat is, of simulated time")

// TestMemoryIsFlat checks every hour of a long run that its memory does not grow with time. The first hours fill the
// records that are kept for an hour.
//
//	go test ./sim -run MemoryIsFlat -v -long 24h -timeout 1h
func TestMemoryIsFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("some hours of simulated time")
	}
	for _, seed := range []uint64{3, 4} { // in partition mode any, and in mode primary
		c := config("central")
		c.Members, c.Duration = 5, *days
		if err := c.check(); err != nil {
			t.Fatal(err)
		}
		w := newWorld(&c, seed, nil, newCounts(false))
		w.begin()
		var early, late uint64
		for hour := time.Duration(1); hour <= *days/time.Hour; hour++ {
			w.run(hour * time.Hour)
			if w.judge.violation != nil {
				t.Fatal(w.judge.violation)
			}
			used := inUse()
			t.Logf("seed %d: after %v of simulated time and %d steps: %d kB", seed, w.now, w.steps, used>>10)
			if hour <= 2 {
				early = max(early, used)
			}
			late = max(late, used)
		}
		if late > 2*early+1<<22 {
			t.Errorf("seed %d: %d kB in use after an hour, and up to %d kB later", seed, early>>10, late>>10)
		}
	}
}

func inUse() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
