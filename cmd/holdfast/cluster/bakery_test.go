package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// led is the flag that gives the default space to protocol bakery: of three founders all lead.
var led = spaceOf("bakery")

// leaders returns who leads, by rank, as a member sees it once that is so many, and none of those
// who must not.
func (b *harness) leaders(seenBy *clustertest.Member, count int, without ...*clustertest.Member) (all []*clustertest.Member) {
	b.Helper()
	status, err := b.cluster.AwaitStatus(b.ctx, seenBy, fmt.Sprintf("%d lead", count), func(s *schema.Status) bool {
		space := s.Spaces[0]
		return space.State == "ready" && len(space.Authority) == count && !slices.ContainsFunc(without, func(m *clustertest.Member) bool {
			return slices.Contains(space.Authority, m.Name)
		})
	})
	b.check(err)
	for _, name := range status.Spaces[0].Authority {
		all = append(all, b.cluster.Member(name))
	}
	return all
}

// queue is the line of clients that wait for what another client holds.
type queue struct {
	*harness
	held    []*holdfast.Lock
	granted chan *holdfast.Lock
	work    sync.WaitGroup
}

// line lets clients of some members hold names, and others of each of them wait for those.
func (b *harness) line(through []*clustertest.Member, names int) *queue {
	b.Helper()
	q := &queue{harness: b, held: b.holdMany(through, names), granted: make(chan *holdfast.Lock, names*len(through))}
	queued := make(chan struct{}, cap(q.granted))
	for _, m := range through {
		waiting, err := client.Dial(b.ctx, m.Address)
		b.check(err)
		b.Cleanup(func() { _ = waiting.Close() }) // its member has ended by then
		for _, lock := range q.held {
			q.work.Go(func() {
				next, err := waiting.Lock(b.ctx, lock.Name(), holdfast.OnQueued(func(int) { queued <- struct{}{} }))
				if err != nil {
					b.Errorf("%s through %s: %v", lock.Name(), m.Name, err)
				} else if err = next.Unlock(context.WithoutCancel(b.ctx)); err != nil {
					b.Errorf("%s through %s under %v: %v", lock.Name(), m.Name, next.Token(), err)
				}
				q.granted <- next
			})
		}
	}
	for range cap(queued) {
		select {
		case <-queued:
		case <-b.ctx.Done():
			b.Fatal("not all waiting requests were reported as queued")
		}
	}
	b.logf("%d names are held, and %d wait for them", names, cap(queued))
	return q
}

// pass gives back all that is held, none of which may be lost, and wants the name granted to each in line
// in turn, under rising tokens.
func (q *queue) pass() {
	q.Helper()
	last := map[string]holdfast.Token{}
	for _, lock := range q.held {
		last[lock.Name()] = lock.Token()
		if err := lock.Unlock(q.ctx); err != nil {
			q.Errorf("%s, held through a member that lives: %v", lock.Name(), err)
		}
	}
	q.work.Wait()
	close(q.granted)
	tokens := map[string][]holdfast.Token{}
	for next := range q.granted {
		if next != nil {
			tokens[next.Name()] = append(tokens[next.Name()], next.Token())
		}
	}
	for name, given := range tokens {
		slices.Sort(given)
		if len(slices.Compact(given)) != len(given) || given[0] <= last[name] {
			q.Errorf("%s was granted under %v after %v", name, given, last[name])
		}
	}
	q.logf("nothing was lost, and all in line were granted it")
}

// TestLeaderOfEachRankKilled under load: nothing is lost that is held through the others, one of which does
// not lead but has tickets at each of the leaders, and no waiter is lost. That one takes the place of the
// dead, who comes back with nothing, and does not lead.
func TestLeaderOfEachRankKilled(t *testing.T) {
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 4), Lease: steady(), Flags: []string{led}})
	b.begin(8)
	for rank := range 3 {
		victim := b.leaders(b.cluster.Members[0], 3)[rank]
		others := b.cluster.Others(victim)
		q := b.line(others, 24)
		mark, at := b.kill(fmt.Sprintf("the leader of rank %d,", rank), victim)
		b.leaders(others[0], 3, victim)
		q.pass()
		b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
		b.revive()
		b.leaders(victim, 3, victim)
	}
	b.judge()
}

// TestLeaderComesBack: where three founders are all there are, two lead until the third is back, and it
// leads again, with what the others know of.
func TestLeaderComesBack(t *testing.T) {
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Lease: steady(), Flags: []string{led}})
	b.begin(6)
	for rank := range 3 {
		victim := b.leaders(b.cluster.Members[0], 3)[rank]
		others := b.cluster.Others(victim)
		b.kill(fmt.Sprintf("the leader of rank %d,", rank), victim)
		q := b.line(others, 24)
		b.leaders(others[0], 2, victim)
		b.check(victim.Start())
		all := b.leaders(victim, 3)
		slices.SortFunc(all, func(x, y *clustertest.Member) int { return cmp.Compare(x.Name, y.Name) })
		if !slices.Equal(all, b.cluster.Members) {
			b.Errorf("%v lead, want all three founders", all)
		}
		q.pass()
		b.healed()
	}
	b.judge()
}

// TestLeadersWithoutTheMissing: one of three leaders is away, and another one dies and starts again. The two that are
// here lead, regardless of what they remember, and all go on; the third is not waited for, and leads again when it is
// back.
func TestLeadersWithoutTheMissing(t *testing.T) {
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Lease: steady(), Flags: []string{led}})
	b.begin(4)
	all := b.leaders(b.cluster.Members[0], 3)
	missing, restarted := all[0], all[1]
	b.kill("a leader", missing)
	b.leaders(all[2], 2, missing)
	mark, at := b.kill("another leader", restarted)
	b.check(restarted.Start())
	b.leaders(restarted, 2, missing)
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	if missing.Running() {
		b.Errorf("%s runs, and was to be away", missing.Name)
	}
	b.check(missing.Start())
	b.leaders(missing, 3)
	b.healed()
	b.judge()
}
