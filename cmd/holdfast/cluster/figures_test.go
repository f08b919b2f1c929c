package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// drift is how much longer than a lease a member waits for it to end: the members' default.
const drift = 0.05

// bound is how long no client is granted anything after the death of the coordinator, or of
// a grantor, where nothing else goes wrong: a poll interval in which it was well, the
// silence that makes it suspect, four waits of an election, and the lease that it may have
// left. A grantor that is not the elder is elected for too: its successor counts in an
// epoch of its own, because no member knows what the lost one has counted.
func bound(lease time.Duration) time.Duration {
	poll, patience := lease/10, lease/10
	return poll + 3*poll + 4*patience + lease + time.Duration(float64(lease)*drift)
}

// TestGap kills the coordinator again and again, and reports how long no client was
// granted a lock each time.
func TestGap(t *testing.T) {
	b := lay(t, 6)
	b.gaps("coordinator", bound(*lease), b.coordinator)
}

// TestGrantorGap kills the grantor, who is not the elder.
func TestGrantorGap(t *testing.T) {
	b := lay(t, 6, grantors)
	b.gaps("grantor", bound(*lease), func() *clustertest.Member {
		grantor := b.another(b.coordinator())
		b.appoint(grantor)
		return grantor
	})
}

// TestLastingGap kills the leader of a space of protocol consensus. What it led goes on when the others have found another
// leader: one is missed after an election timeout, and calls an election within another one, regardless of the
// lease. A second election, where votes were split, is beyond that.
func TestLastingGap(t *testing.T) {
	t.Parallel()
	settings := lasting(t)
	settings.Addresses, settings.Lease = loopback(t, 3), max(*lease, 3*time.Second) // sessions outlast the election
	b := prepare(t, settings)
	b.begin(6)
	b.gaps("leader", 2*time.Second, func() *clustertest.Member { return b.leader() })
}

// gaps kills a member again and again that has some role, and reports the standstills.
func (b *harness) gaps(role string, bound time.Duration, choose func() *clustertest.Member) {
	b.Helper()
	var gaps []time.Duration
	for range *crashes {
		b.workers.Note(clustertest.Event{Kind: clustertest.Calm})
		victim, since := choose(), b.workers.Mark()
		before := b.await("a grant", since, func(e clustertest.Event) bool { return e.Kind == clustertest.Entered })
		mark, _ := b.kill("the "+role, victim)
		b.awaitReign(mark, before.Token)
		gaps = append(gaps, clustertest.LongestGap(b.workers.History(since)))
		b.revive()
	}
	b.judge()
	slices.Sort(gaps)
	b.Logf("gap after the %s's crash: lease=%v crashes=%d p50=%.2fs p99=%.2fs max=%.2fs bound=%.2fs", role, b.cluster.Lease(), len(gaps),
		quantile(gaps, 0.5).Seconds(), quantile(gaps, 0.99).Seconds(), quantile(gaps, 1).Seconds(), bound.Seconds())
}

// TestReconcile lets clients hold many locks through the members that stay, kills the
// coordinator, and reports how long it takes until all of them are known to the next
// and it grants. No lock that is held may be granted again.
func TestReconcile(t *testing.T) {
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3)})
	b.check(b.cluster.Start(b.ctx))
	victim := b.coordinator()
	others := b.cluster.Others(victim)
	locks := b.holdMany(others, *held)
	b.logf("%d locks are held through %s and %s", len(locks), others[0].Name, others[1].Name)

	probe, err := client.Dial(b.ctx, others[0].Address)
	b.check(err)
	defer probe.Close()
	first, err := probe.Lock(b.ctx, "probe")
	b.check(err)
	b.giveBack(first)
	_, at := b.kill("the coordinator", victim)
	var known time.Duration
	var looking sync.WaitGroup
	looking.Go(func() {
		// The senior one of the others is the next authority, and answers while it waits.
		_, err := b.cluster.AwaitStatus(b.ctx, others[0], "the next authority knows all locks", func(s *schema.Status) bool {
			return s.View.Coordinator != victim.Name && int(s.Spaces[0].Locks) >= alive(locks)
		})
		if err != nil {
			b.Error(err)
		}
		known = b.workers.Now() - at
	})
	next, err := probe.Lock(b.ctx, "probe")
	b.check(err)
	took := b.workers.Now() - at
	looking.Wait()
	if reign(next.Token()) <= reign(first.Token()) {
		b.Errorf("token %v after %v: it is of the same reign", next.Token(), first.Token())
	}
	kept, lost := alive(locks), map[string]int{}
	for _, lock := range locks {
		if lock.Context().Err() != nil {
			lost[string(holdfast.Why(context.Cause(lock.Context())))]++
		}
	}
	status, err := b.cluster.AwaitStatus(b.ctx, b.coordinator(), "the new authority serves", func(s *schema.Status) bool {
		return s.Spaces[0].State == "ready"
	})
	b.check(err)
	// A lock whose holder's member lapsed, on a starved machine, may be gone; none that
	// its holder believes in may be unknown.
	if of := status.Spaces[0].Locks; int(of) < alive(locks) {
		b.Errorf("%d locks are held, and the new authority knows of %d", alive(locks), of)
	}
	b.wantHeld(probe, locks)
	t.Logf("reconciled after the coordinator's crash: lease=%v held=%d kept=%d lost=%v all_known_after=%.2fs next_grant_after=%.2fs bound_without_locks=%.2fs",
		*lease, len(locks), kept, lost, known.Seconds(), took.Seconds(), bound(*lease).Seconds())
	b.check(b.cluster.End(b.ctx))
}

// giveBack unlocks what may have been lost meanwhile: where nothing is asserted of a stay, a
// lapse of the member's lease on a starved machine is no fault.
func (b *harness) giveBack(lock *holdfast.Lock) {
	b.Helper()
	if err := lock.Unlock(b.ctx); !errors.Is(err, holdfast.ErrLost) {
		b.check(err)
	}
}

// alive counts the locks that their holders have.
func alive(locks []*holdfast.Lock) (count int) {
	for _, lock := range locks {
		if lock.Context().Err() == nil {
			count++
		}
	}
	return count
}

// holdMany holds that many names, each by one of eight clients of some members.
func (b *harness) holdMany(through []*clustertest.Member, count int) []*holdfast.Lock {
	b.Helper()
	const clients, each = 8, 16
	locks := make([]*holdfast.Lock, count)
	var work sync.WaitGroup
	for i := range clients {
		holder, err := client.Dial(b.ctx, through[i%len(through)].Address)
		b.check(err)
		b.Cleanup(func() { _ = holder.Close() }) // its member has ended by then
		for j := range each {
			work.Go(func() {
				for k := i*each + j; k < count; k += clients * each {
					var err error
					if locks[k], err = holder.Lock(b.ctx, fmt.Sprintf("held/%06d", k)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	work.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return locks
}

// wantHeld asks for some of the names that are held: a client that believes in a lock
// afterwards has kept others out before.
func (b *harness) wantHeld(probe *client.Client, locks []*holdfast.Lock) {
	b.Helper()
	for k := 0; k < len(locks); k += max(1, len(locks)/100) {
		lock := locks[k]
		got, err := probe.TryLock(b.ctx, lock.Name())
		if err != nil {
			continue
		}
		if lock.Context().Err() == nil {
			b.Errorf("%s was granted under %v while its holder has it under %v", lock.Name(), got.Token(), lock.Token())
		}
		b.giveBack(got)
	}
}

// TestFirstView starts clusters of several sizes, and reports how long it takes until
// every member can grant. Of that a lease, and what is added for drift, is the wait for
// clients of a former life, who may still believe.
func TestFirstView(t *testing.T) {
	for text := range strings.SplitSeq(*sizes, ",") {
		size, err := strconv.Atoi(text)
		if err != nil || size < 1 {
			t.Fatalf("-members %q: %q is no number of members", *sizes, text)
		}
		t.Run(text, func(t *testing.T) {
			b := prepare(t, clustertest.Settings{Addresses: loopback(t, size)})
			b.check(b.cluster.Start(b.ctx))
			took := b.workers.Now() - b.began
			for _, m := range b.cluster.Members {
				b.check(b.cluster.AwaitView(b.ctx, m, b.cluster.Members...))
			}
			locks, err := client.Dial(b.ctx, b.cluster.Servers(size-1))
			b.check(err)
			lock, err := locks.Lock(b.ctx, "first")
			b.check(err)
			b.giveBack(lock)
			b.check(locks.Close())
			t.Logf("first view: members=%d lease=%v all_ready=%.2fs of which the wait for a former life is %.2fs",
				size, *lease, took.Seconds(), (*lease + time.Duration(float64(*lease)*drift)).Seconds())
			ending, cancel := context.WithTimeout(b.ctx, patience)
			defer cancel()
			b.check(b.cluster.End(ending))
		})
	}
}
