package replica

import (
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// BenchmarkCopy tells the longest step of a copy of a million names, and of a change beside it.
func BenchmarkCopy(b *testing.B) {
	r, err := New(Config{})
	if err != nil {
		b.Fatal(err)
	}
	const sessions, each = 20, 50_000
	var out Effects
	r.Apply(&Entry{Begin: true}, &out)
	for n := range uint64(sessions) {
		o := open(n + 1)
		ops := []Op{o}
		for i := range uint64(each) {
			a := acquire(n+1, i+1, fmt.Sprintf("customers/%02d/orders/%07d", n, i))
			a.ID = OpID{1, n*each + i + 1}
			ops = append(ops, a)
		}
		out.Reset()
		r.Apply(&Entry{Ops: ops}, &out)
	}
	if r.Table().Holds() != sessions*each {
		b.Fatal(r.Table().Holds())
	}
	for b.Loop() {
		begun := time.Now()
		c := r.Copy()
		begins, longest, parts, change := time.Since(begun), time.Duration(0), 0, time.Duration(0)
		for more := true; more; parts++ {
			at := time.Now()
			_, more = c.Next()
			longest = max(longest, time.Since(at))
			at = time.Now()
			out.Reset()
			r.Apply(&Entry{Ops: []Op{{Kind: Extend, Session: lock.SessionID{Member: 1, Number: 20}, Name: fmt.Sprintf("customers/19/orders/%07d", parts), Attributes: holdfast.Attributes{Hold: time.Hour}}}}, &out)
			change = max(change, time.Since(at))
		}
		b.ReportMetric(float64(begins.Microseconds())/1000, "ms-to-begin")
		b.ReportMetric(float64(longest.Microseconds())/1000, "ms-longest-part")
		b.ReportMetric(float64(change.Microseconds())/1000, "ms-longest-change")
		b.ReportMetric(float64(parts), "parts")
	}
}
