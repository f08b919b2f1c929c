package sim

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// BenchmarkSteps runs seeds of central with 5 members, all faults and all checks, on one
// core, and reports how many steps of machines that makes a second: a step is one event
// that a member's machine was given.
//
//	go test ./sim -run xxx -bench Steps -benchtime 300x -cpu 1
func BenchmarkSteps(b *testing.B) {
	c := config("central")
	c.Members = 5
	defer debug.SetGCPercent(debug.SetGCPercent(1000)) // as the command does
	runtime.GC()
	steps := 0
	b.ReportAllocs()
	for seed := uint64(1); b.Loop(); seed++ {
		result, err := Run(c, seed, nil)
		if err != nil || result.Outcome != OK {
			b.Fatal(seed, err, result.Outcome, result.Violation)
		}
		steps += result.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}
