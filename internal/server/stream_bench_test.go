package server

import (
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// BenchmarkRoundTrip locks and unlocks one name over loopback, one operation a
// frame; the release is not waited for.
func BenchmarkRoundTrip(b *testing.B) {
	c := newHarness(b, nil, nil).open()
	id := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		id++
		c.say(opAcquire(id, "x"))
		for c.hear().GetGranted() == nil { // the answer to the release before
		}
		c.say(opRelease(id, "x", 0))
	}
}

// BenchmarkBatch locks and unlocks 100 names, 100 operations a frame. Allocations
// include those of the client.
func BenchmarkBatch(b *testing.B) {
	const n = 100
	c := newHarness(b, nil, nil).open()
	id := uint64(0)
	acquire, release := make([]*schema.Operation, n), make([]*schema.Operation, n)
	b.ReportAllocs()
	for b.Loop() {
		for i := range n {
			id++
			name := fmt.Sprint("name/", i)
			acquire[i], release[i] = opAcquire(id, name), opRelease(id, name, 0)
		}
		c.say(acquire...)
		c.say(release...)
		for range 2 * n {
			c.hear()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/lock")
}
