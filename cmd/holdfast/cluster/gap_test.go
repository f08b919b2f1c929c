package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// TestLeaderGap kills the leaders of protocol bakery in turn, by rank, under load, while a hot name is held
// through another one and a client waits for it through the victim, so that its ticket stands before those of
// all who come later. It reports for how long no client was granted the name then: in all, and from the first
// view without the victim on, which leaves out how long it takes to detect a failure. With it comes the
// longest such time before each crash: what the machine does by itself.
func TestLeaderGap(t *testing.T) {
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), LogLevel: "info", Flags: []string{led, "--log-format", "json"}})
	b.begin(6)
	var all, beyond, usual []time.Duration
	for i := range *crashes {
		victim := b.leaders(b.cluster.Members[0], 3)[i%3]
		throng := b.gather(b.cluster.Others(victim), "hot", 0)
		throng.awaitGrants(5)
		quiet := b.workers.Now()
		throng.awaitGrants(100)
		usual = append(usual, throng.standstill(quiet))

		release := b.hold(b.another(victim), "hot")
		giveUp := b.waitThrough(victim, "hot")
		wall := time.Now()
		_, at := b.kill("a leader through which others wait", victim)
		release()
		giveUp()
		seen := at + b.detected(victim, wall).Sub(wall)
		throng.awaitGrants(20)
		all, beyond = append(all, throng.standstill(at)), append(beyond, throng.standstill(seen))
		throng.disperse()
		b.logf("detected after %v; nothing granted for %v, of which %v beyond that", seen-at, all[i], beyond[i])
		b.revive()
	}
	b.judge()
	for _, figures := range []struct {
		of    string
		times []time.Duration
	}{{"gap after a leader's crash", all}, {"beyond its detection", beyond}, {"gap before", usual}} {
		slices.Sort(figures.times)
		t.Logf("%s: lease=%v crashes=%d p50=%v p99=%v max=%v", figures.of, *lease, *crashes,
			quantile(figures.times, 0.5), quantile(figures.times, 0.99), quantile(figures.times, 1))
	}
}

// hold takes a name through a member, and returns what gives it back.
func (b *harness) hold(through *clustertest.Member, name string) (release func()) {
	b.Helper()
	holder, err := client.Dial(b.ctx, through.Address)
	b.check(err)
	b.Cleanup(func() { _ = holder.Close() }) // its member has ended by then
	lock, err := holder.Lock(b.ctx, name)
	b.check(err)
	return func() { b.giveBack(lock) }
}

// waitThrough lets a client of this process wait for a name through a member, and nowhere else. When that was
// killed it gives up, so that it does not go on when the member is back.
func (b *harness) waitThrough(m *clustertest.Member, name string) (giveUp func()) {
	b.Helper()
	waiting, err := client.Dial(b.ctx, m.Address)
	b.check(err)
	ctx, stop := context.WithCancel(b.ctx)
	queued, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		lock, err := waiting.Lock(ctx, name, holdfast.OnQueued(func(int) { close(queued) }))
		if err == nil {
			err = errors.Join(errors.New("it was granted"), lock.Unlock(context.WithoutCancel(ctx)))
		}
		ended <- err
	}()
	giveUp = sync.OnceFunc(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			b.Errorf("a client that waited through %s: %v", m.Name, err)
		}
		_ = waiting.Close() // its member has been killed
	})
	b.Cleanup(giveUp)
	select {
	case <-queued:
	case <-b.ctx.Done():
		b.Fatalf("the client that waits through %s was not queued", m.Name)
	}
	return giveUp
}

// standstill is the longest time in which no client was granted the hot name, from a time on until the last
// grant.
func (th *throng) standstill(from time.Duration) (longest time.Duration) {
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, at := range th.grants {
		if at > from {
			longest, from = max(longest, at-from), at
		}
	}
	return longest
}

// detected waits until the members that are left have a view without one, and returns when the first of
// them had, by its log.
func (b *harness) detected(lost *clustertest.Member, since time.Time) (first time.Time) {
	b.Helper()
	left := b.cluster.Others(lost)
	for _, m := range left {
		b.check(b.cluster.AwaitView(b.ctx, m, left...))
		for line := range strings.Lines(m.Log()) {
			var said struct {
				Time    time.Time `json:"time"`
				Message string    `json:"msg"`
				Members []string  `json:"members"`
			}
			if err := json.Unmarshal([]byte(line), &said); err != nil || said.Message != "view" || said.Time.Before(since) {
				continue // the first line of what is kept of a log may be cut
			}
			if !slices.Contains(said.Members, lost.Name) && (first.IsZero() || said.Time.Before(first)) {
				first = said.Time
			}
		}
	}
	if first.IsZero() {
		b.Fatalf("no log tells of a view without %s", lost.Name)
	}
	return first
}
