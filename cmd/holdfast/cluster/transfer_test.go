package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// TestTransfersUnderLoad: grantorship goes round in a circle, while workers on all members
// pass the register and the pool around and others lock many names. No worker loses
// anything for it, and all go on.
func TestTransfersUnderLoad(t *testing.T) {
	b := lay(t, 6, grantors)
	throng := b.gather(b.cluster.Members, "", 4)
	admins := b.admins()
	// The first grantor is made by the first request. A transfer that crosses it would fail, because another one was made meanwhile.
	b.await("a write", b.workers.Mark(), func(e clustertest.Event) bool { return e.Kind == clustertest.Wrote })
	for i := range 30 {
		mark := b.workers.Mark()
		b.move(admins[(i+1)%3], b.cluster.Members[i%3])
		b.await("a write", mark, func(e clustertest.Event) bool { return e.Kind == clustertest.Wrote })
	}
	b.logf("grantorship has gone round ten times")
	throng.disperse()
	b.healed()
	b.judge()
}

// TestTransferGap hands grantorship over again and again while a client of each member
// wants one hot name, and others lock many names, and reports for how long no client
// was granted the hot name around each transfer. With it comes the longest such time
// in windows of five grants each, before each transfer: what the machine does by
// itself.
func TestTransferGap(t *testing.T) {
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Flags: []string{grantors}})
	b.check(b.cluster.Start(b.ctx))
	throng := b.gather(b.cluster.Members, "hot", 1)
	admins := b.admins()
	var windows, before []window
	for i := range *moves {
		throng.awaitGrants(5)
		from := b.workers.Now()
		throng.awaitGrants(5)
		before = append(before, window{from, b.workers.Now()})
		from = b.workers.Now()
		b.move(admins[i%3], b.cluster.Members[i%3])
		windows = append(windows, window{from, b.workers.Now()})
	}
	throng.awaitGrants(5)
	throng.disperse()
	gaps, usual := throng.gaps(windows), throng.gaps(before)
	took := make([]time.Duration, len(windows))
	for i, w := range windows {
		took[i] = w.to - w.from
	}
	for _, figures := range []struct {
		of    string
		times []time.Duration
	}{{"gap at a transfer", gaps}, {"time of a transfer", took}, {"gap without a transfer", usual}} {
		slices.Sort(figures.times)
		t.Logf("%s: count=%d p50=%v p90=%v p99=%v max=%v", figures.of, len(figures.times),
			quantile(figures.times, 0.5), quantile(figures.times, 0.9), quantile(figures.times, 0.99), quantile(figures.times, 1))
	}
	b.check(b.cluster.End(b.ctx))
}

// move makes a member the grantor. Where a member's lease has lapsed, on a starved machine,
// no member can say which one grants: it is asked for again.
func (b *harness) move(through *client.Admin, to *clustertest.Member) {
	b.Helper()
	for {
		_, err := through.Transfer(b.ctx, "", to.Name)
		if b.ctx.Err() != nil || !errors.Is(err, holdfast.ErrUnavailable) {
			b.check(err)
			return
		}
		b.logf("not transferred to %s: %v", to.Name, err)
	}
}

// quantile is the time that a share of sorted times does not exceed.
func quantile(times []time.Duration, share float64) time.Duration {
	return times[min(int(share*float64(len(times))), len(times)-1)].Round(time.Microsecond)
}

// window is a stretch of time.
type window struct{ from, to time.Duration }

// admins reach the members, one each.
func (b *harness) admins() (admins []*client.Admin) {
	b.Helper()
	for _, m := range b.cluster.Members {
		admins = append(admins, b.adminOf(m))
	}
	return admins
}

// throng is clients of this process, which lock and unlock through members until they are
// dispersed. Of a hot name, that all of them want, it judges who has it, and notes when
// it was granted.
type throng struct {
	harness *harness
	stop    context.CancelFunc
	work    sync.WaitGroup
	checker load.Checker

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when something is granted
	count   []int         // locks that each worker was granted
	lost    int
	last    holdfast.Token
	grants  []time.Duration
}

// names is how many names a throng locks, besides the hot one.
const names = 1000

// gather begins to lock through each of some members: the hot name, unless it is "", by a client of
// one worker, and others by a client of some.
func (b *harness) gather(through []*clustertest.Member, hot string, others int) *throng {
	b.Helper()
	ctx, stop := context.WithCancel(b.ctx)
	th := &throng{harness: b, stop: stop, changed: make(chan struct{})}
	b.Cleanup(func() { stop(); th.work.Wait() })
	for _, m := range through {
		if hot != "" {
			th.hire(ctx, b.dial(m), true, func() string { return hot })
		}
		locks := b.dial(m)
		for range others {
			th.hire(ctx, locks, false, func() string { return fmt.Sprintf("orders/%d", rand.IntN(names)) })
		}
	}
	return th
}

// use keeps a name that is not the hot one for as long as a worker does.
func use(ctx context.Context) {
	select {
	case <-time.After(4 * time.Millisecond):
	case <-ctx.Done():
	}
}

// hire lets one worker more lock and unlock.
func (th *throng) hire(ctx context.Context, locks *client.Client, hot bool, name func() string) {
	th.mu.Lock()
	worker := len(th.count)
	th.count = append(th.count, 0)
	th.mu.Unlock()
	th.work.Go(func() {
		for ctx.Err() == nil {
			held, err := locks.Lock(ctx, name())
			if err != nil {
				if ctx.Err() == nil {
					th.harness.Errorf("worker %d: %v", worker, err)
				}
				return
			}
			if hot {
				th.checker.Enter(worker, held)
			}
			th.granted(worker, held, hot)
			if hot {
				th.checker.Leave(worker)
			} else {
				use(ctx)
			}
			switch err := held.Unlock(context.WithoutCancel(ctx)); {
			case errors.Is(err, holdfast.ErrLost):
				th.lose(held, err) // on a starved machine a member's lease may lapse
			case err != nil:
				th.harness.Errorf("worker %d unlocks: %v", worker, err)
			}
		}
	})
}

// granted notes that a worker has a lock.
func (th *throng) granted(worker int, held *holdfast.Lock, hot bool) {
	th.mu.Lock()
	defer th.mu.Unlock()
	th.count[worker]++
	if hot {
		if held.Token() <= th.last {
			th.harness.Errorf("worker %d was granted %s under token %v, after %v", worker, held.Name(), held.Token(), th.last)
		}
		th.last = held.Token()
		th.grants = append(th.grants, th.harness.workers.Now())
	}
	close(th.changed)
	th.changed = make(chan struct{})
}

// lose counts what was lost.
func (th *throng) lose(held *holdfast.Lock, why error) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.lost++; th.lost == 1 {
		th.harness.logf("%s was lost under token %v: %v", held.Name(), held.Token(), why)
	}
}

// awaitGrants waits until every worker has been granted so many locks more.
func (th *throng) awaitGrants(more int) {
	th.harness.Helper()
	th.mu.Lock()
	before := slices.Clone(th.count)
	th.mu.Unlock()
	for worker := 0; worker < len(before); {
		th.mu.Lock()
		has := th.count[worker]-before[worker] >= more
		changed := th.changed
		th.mu.Unlock()
		if has {
			worker++
			continue
		}
		select {
		case <-changed:
		case <-th.harness.ctx.Done():
			th.harness.Fatalf("worker %d is granted nothing any more: %v", worker, th.harness.ctx.Err())
		}
	}
}

// disperse waits until every worker has been granted something more, and ends them.
func (th *throng) disperse() {
	th.harness.Helper()
	th.awaitGrants(1)
	th.stop()
	th.work.Wait()
	total := 0
	for _, n := range th.count {
		total += n
	}
	if _, violations := th.checker.Counts(); violations > 0 {
		th.harness.Errorf("%d times two had the hot name", violations)
	}
	th.harness.logf("%d locks by %d workers, %d of the hot name, %d lost", total, len(th.count), len(th.grants), th.lost)
}

// gaps returns the longest time between two grants of the hot name around each of some
// windows, which follow each other.
func (th *throng) gaps(windows []window) []time.Duration {
	around := make([]time.Duration, len(windows))
	at := 0
	for i := 1; i < len(th.grants); i++ {
		from, to := th.grants[i-1], th.grants[i]
		for at < len(windows) && windows[at].to < from {
			at++
		}
		for k := at; k < len(windows) && windows[k].from <= to; k++ {
			around[k] = max(around[k], to-from)
		}
	}
	return around
}
