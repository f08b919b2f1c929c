//go:build unix

package client_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/client"
)

// BenchmarkIdleSessions tells what sessions cost that do nothing: an operation is the time from one heartbeat of
// theirs to the next. cores is the share of one processor that this process has used meanwhile, in which are the
// clients and their member; dial-s is how long it took to serve all of them, of which up to 5,000 and 500 come at once.
func BenchmarkIdleSessions(b *testing.B) {
	for _, size := range []struct{ many, together int }{{5_000, 5_000}, {20_000, 500}} {
		many, together := size.many, size.together
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			l := loopback(b)
			serveMember(b, l, nil)
			address := l.Addr().String()
			began := time.Now()
			clients := crowd(b, address, many-1, together)
			took := time.Since(began)
			beats := make(chan struct{}, 1)
			last, err := client.Dial(context.Background(), address, client.OnRenewed(func() {
				select {
				case beats <- struct{}{}:
				default:
				}
			}))
			if err != nil {
				b.Fatal(err)
			}
			<-beats
			began = time.Now()
			used := processorTime(b)
			for b.Loop() {
				<-beats
			}
			b.ReportMetric(float64(processorTime(b)-used)/float64(time.Since(began)), "cores")
			b.ReportMetric(took.Seconds(), "dial-s")
			disperse(b, append(clients, last))
		})
	}
}

// processorTime is what this process has used so far, of all processors together.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
