package central_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol/central"
	"github.com/holdfast-locks/holdfast/protocol/protocoltest"
)

// TestGivenUpRequestsLeaveNothing checks that a flood of requests with a wait of an hour, each given up at once, keeps
// no memory at their member until the hour is over.
func TestGivenUpRequestsLeaveNothing(t *testing.T) {
	c := protocoltest.New(t, central.Descriptor())
	c.Say("members a b")
	c.Say("view epoch=4")
	c.Say("lock a1 #1 X")
	number := 0
	churn := func(n int) {
		for range n {
			number++
			c.Say(fmt.Sprintf("lock b1 #%d X wait=1h", number))
			c.Say(fmt.Sprintf("cancel b1 #%d X", number))
		}
	}
	churn(1000)
	before := heapInUse()
	churn(50_000) // 16 bytes for each would be 800 kB
	if grown := heapInUse() - before; grown > 300<<10 {
		t.Errorf("the heap has grown by %d bytes", grown)
	}
	if got := c.Say("lock b1 #999999 X wait=1h"); !strings.Contains(got, "told b1 #999999 queued X position=0") {
		t.Errorf("a request that waits is answered\n%s", got)
	}
}

// heapInUse is the heap in use after a collection.
func heapInUse() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
