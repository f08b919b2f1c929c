package sim

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// BenchmarkSteps runs seeds of central with 5 members, all faults and all checks except the comparison with a model, on
// one core. It reports members' events per second, and machine steps per second: an event goes through the session
// machine, the membership and the space, as far as it concerns them. The steps are counted in a second run of each
// seed, as counting takes time.
//
//	go test ./sim -run xxx -bench Steps -benchtime 300x -cpu 1
func BenchmarkSteps(b *testing.B) {
	c := config("central")
	c.Members = 5
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as the command does
	runtime.GC()
	events, last := 0, uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		last = uncompared(last + 1)
		result, err := Run(c, last, nil)
		if err != nil || result.Outcome != OK {
			b.Fatal(last, err, result.Outcome, result.Violation)
		}
		events += result.Steps
	}
	b.StopTimer()
	c.Coverage = true
	steps := 0
	for seed := uint64(1); seed <= last; seed++ {
		if seed != uncompared(seed) {
			continue
		}
		result, err := Run(c, seed, nil)
		if err != nil {
			b.Fatal(seed, err)
		}
		for _, list := range result.counts.steps {
			for _, t := range list {
				steps += t.n
			}
		}
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}

// uncompared is the first seed, from a given one on, without a comparison with a model.
func uncompared(seed uint64) uint64 {
	if seed%slice == 0 {
		seed++
	}
	return seed
}
