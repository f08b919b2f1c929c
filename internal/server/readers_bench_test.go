package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/server"
)

// BenchmarkWithWatchers measures what watchers cost those that lock: an operation is a lock and
// its release through port 4040, by 64 workers, while so many feeds of server-sent events are
// read slowly, 16 KiB in a tenth of a second. read-MB/s is what all of them have read.
func BenchmarkWithWatchers(b *testing.B) {
	for _, watchers := range []int{0, 1, 10, 50, 200, 500} {
		b.Run(fmt.Sprint(watchers), func(b *testing.B) {
			m := serve(b, host.Limits{}, server.Limits{})
			watching, stop := context.WithCancel(b.Context())
			read := watchSlowly(b, watching, m, watchers)
			var names sync.Mutex
			worker := 0
			c := dialBench(b, m)
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				names.Lock()
				worker++
				name := fmt.Sprint("name/", worker)
				names.Unlock()
				for pb.Next() {
					lock, err := c.Lock(context.Background(), name)
					if err == nil {
						err = lock.UnlockAsync()
					}
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "locks/s")
			stop()
			b.ReportMetric(float64(read())/1e6/b.Elapsed().Seconds(), "read-MB/s")
		})
	}
}

// watchSlowly opens feeds, and returns what waits for their end and tells how many bytes they have read.
func watchSlowly(b *testing.B, ctx context.Context, m *served, watchers int) (read func() int64) {
	b.Helper()
	var readers sync.WaitGroup
	counts := make([]int64, watchers)
	for i := range watchers {
		conn, err := net.Dial("tcp", m.http)
		noError(b, err)
		context.AfterFunc(ctx, func() { conn.Close() })
		request, err := http.NewRequest(http.MethodGet, "http://"+m.http+"/v1/events", nil)
		noError(b, err)
		noError(b, request.Write(conn))
		readers.Go(func() {
			pace := time.NewTicker(100 * time.Millisecond)
			defer pace.Stop()
			for buffer := make([]byte, 16<<10); ; {
				n, err := conn.Read(buffer)
				counts[i] += int64(n)
				if err != nil {
					return // the benchmark has closed it
				}
				select {
				case <-pace.C:
				case <-ctx.Done():
					return
				}
			}
		})
	}
	return func() (all int64) {
		readers.Wait()
		for _, n := range counts {
			all += n
		}
		return all
	}
}

// BenchmarkDuringListing measures a listing of a million held names, and what it costs those
// that lock meanwhile: an operation is one listing through port 4040, page by page; worst-ms and
// p99-ms are of the locks that one client has got meanwhile, and idle-worst-ms is of ten seconds
// before. The holders are in this process, too, and what they remember is in its heap.
func BenchmarkDuringListing(b *testing.B) {
	const names, sessions = 1_000_000, 10
	for _, space := range []host.Space{{Name: "default", Protocol: "central"}, {Name: "default", Protocol: "consensus"}} {
		b.Run(space.Protocol, func(b *testing.B) {
			member := host.Config{Spaces: []host.Space{space}, Limits: host.Limits{Names: names + 1000, LocksPerSession: names}}
			if member.State = b.TempDir(); space.Protocol == "consensus" {
				member.Data = b.TempDir()
			}
			m := serveAs(b, member, server.Limits{})
			for i := range sessions {
				takeMany(b, m, i*names/sessions, (i+1)*names/sessions)
			}
			admin, err := client.DialAdmin(m.grpc)
			noError(b, err)
			b.Cleanup(func() { admin.Close() })
			c := dialBench(b, m)
			idle := probe(b, c, func() { <-time.After(10 * time.Second) })
			var waits []time.Duration
			for b.Loop() {
				waits = append(waits, probe(b, c, func() { list(b, admin, names) })...)
			}
			slices.Sort(waits)
			slices.Sort(idle)
			b.ReportMetric(ms(waits[len(waits)-1]), "worst-ms")
			b.ReportMetric(ms(waits[len(waits)*99/100]), "p99-ms")
			b.ReportMetric(ms(idle[len(idle)-1]), "idle-worst-ms")
			b.ReportMetric(float64(len(waits))/float64(b.N), "locks")
		})
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// takeMany holds names by one session until the benchmark ends.
func takeMany(b *testing.B, m *served, from, to int) {
	b.Helper()
	c := dialBench(b, m)
	for next := from; next < to; {
		var together []string
		for ; next < to && len(together) < 1000; next++ {
			together = append(together, fmt.Sprintf("held/%07d", next))
		}
		_, err := c.LockAll(b.Context(), together)
		noError(b, err)
	}
}

func dialBench(b *testing.B, m *served) *client.Client {
	b.Helper()
	c, err := client.Dial(b.Context(), m.grpc, client.TTL(30*time.Second))
	noError(b, err)
	b.Cleanup(func() { _ = c.Close() }) // its member may have gone
	return c
}

// list reads a listing to its end.
func list(b *testing.B, admin *client.Admin, least int) {
	b.Helper()
	found := 0
	for after := ""; ; {
		page, err := admin.List(b.Context(), "default", "", after, 0)
		noError(b, err)
		found += len(page.Locks)
		if after = page.Next; after == "" {
			break
		}
	}
	if found < least {
		b.Fatalf("a listing of %d names, want at least %d", found, least)
	}
}

// probe locks and releases one name every other millisecond while f runs, and returns how long each took.
func probe(b *testing.B, c *client.Client, f func()) (took []time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	pace := time.NewTicker(2 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-done:
			return took
		case <-pace.C:
			took = append(took, lockOnce(b, c))
		}
	}
}

func lockOnce(b *testing.B, c *client.Client) time.Duration {
	began := time.Now()
	lock, err := c.Lock(b.Context(), "free")
	noError(b, err)
	took := time.Since(began)
	noError(b, lock.Unlock(b.Context()))
	return took
}
