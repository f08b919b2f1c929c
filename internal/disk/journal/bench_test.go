package journal_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/holdfast-locks/holdfast/internal/disk/journal"
	"github.com/holdfast-locks/holdfast/storage"
)

// BenchmarkAppend in a folder of TMPDIR: records of 100 bytes and a state of 20, each
// acknowledged before its appender goes on, for 1 to 256 of them, in 1 log and in 8.
func BenchmarkAppend(b *testing.B) {
	for _, logs := range []int{1, 8} {
		for _, appenders := range []int{1, 16, 256} {
			b.Run(fmt.Sprintf("logs=%d/appenders=%d", logs, appenders), func(b *testing.B) { benchAppend(b, logs, appenders) })
		}
	}
}

func benchAppend(b *testing.B, logs, appenders int) {
	var syncs atomic.Int64
	j, err := journal.Open(b.TempDir(), journal.Options{Identity: mine, FS: wrap(vfs.Default, errorfs.InjectorFunc(func(op errorfs.Op) error {
		if (op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData) && strings.HasSuffix(op.Path, ".log") {
			syncs.Add(1)
		}
		return nil
	}))})
	if err != nil {
		b.Fatal(err)
	}
	defer closeJournal(b, j)
	data, state := [][]byte{make([]byte, 100)}, make([]byte, 20)
	next := make([]struct {
		sync.Mutex
		last uint64
	}, logs)
	var left atomic.Int64
	left.Store(int64(b.N))
	syncs.Store(0)
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range appenders {
		all.Go(func() {
			answered := make(chan any, 1)
			answer := func(a any) { answered <- a }
			for left.Add(-1) >= 0 {
				l := &next[i%logs]
				l.Lock()
				l.last++
				err := j.Submit(storage.Append{Log: uint64(i % logs), First: l.last, Records: data, State: state}, answer)
				l.Unlock()
				if err == nil {
					err = errorOf(<-answered)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "appends/s")
	b.ReportMetric(float64(syncs.Load())/b.Elapsed().Seconds(), "syncs/s")
	b.ReportMetric(float64(b.N)/float64(max(syncs.Load(), 1)), "appends/sync")
}
