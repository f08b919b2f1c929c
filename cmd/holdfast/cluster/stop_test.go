package cluster

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// standStill stops a process for three leases at least, until something else has
// happened, too. It looks before and after whether the process stands still.
func (b *harness) standStill(p *clustertest.Process, who string, meanwhile func(mark int)) {
	b.Helper()
	b.check(p.Stop()) // it looks at the process's state
	mark, at := b.fault("%s was stopped", who)
	meanwhile(mark)
	select {
	case <-time.After(3*b.cluster.Lease() - (b.workers.Now() - at)):
	case <-b.ctx.Done():
		b.Fatal(b.ctx.Err())
	}
	stopped, err := p.Stopped()
	b.check(err)
	if still := b.workers.Now() - at; !stopped || still < 3*b.cluster.Lease() {
		b.Fatalf("%s stood still for %v (stopped %v), which is no test", who, still, stopped)
	}
	b.check(p.Continue())
	b.logf("%s goes on", who)
}

// lostAndRefused: a holder whose lock has passed on finds it lost, and its write is
// refused.
func (b *harness) lostAndRefused(keeper *clustertest.Process, kept clustertest.Event) {
	b.Helper()
	write, end := b.goOn(keeper, kept)
	if write.Kind != clustertest.Refused || end.Kind != clustertest.Lost {
		b.Errorf("the holder got %s and %s: its lock has passed on", write.Kind, end.Kind)
	}
}

// TestMemberStopped: what is held through a member that stands still is lost, passes
// on, and the member finds itself outside when it wakes, and joins again.
func TestMemberStopped(t *testing.T) {
	b := lay(t, 6)
	victim := b.another(b.coordinator())
	keeper, kept := b.keep(victim)
	b.standStill(victim.Process, "member "+victim.Name, func(mark int) {
		b.awaitPassed(mark, kept)
	})
	b.lostAndRefused(keeper, kept)
	b.healed()
	b.judge()
}

// TestCoordinatorStopped: the others elect another, and the stopped one grants nothing
// when it wakes, though no member could tell it.
func TestCoordinatorStopped(t *testing.T) {
	b := lay(t, 6)
	victim := b.coordinator()
	keeper, kept := b.keep(victim)
	b.standStill(victim.Process, "member "+victim.Name+", the coordinator,", func(mark int) {
		b.awaitReign(mark, kept.Token)
		b.awaitPassed(mark, kept)
	})
	b.lostAndRefused(keeper, kept)
	b.healed()
	b.judge()
}

// TestHolderStopped: a client that stands still finds its lock lost when it wakes.
func TestHolderStopped(t *testing.T) {
	b := lay(t, 4)
	keeper, kept := b.keep(b.another(b.coordinator()))
	b.standStill(keeper, "a holder", func(mark int) {
		b.awaitPassed(mark, kept)
		b.check(keeper.Order("go on")) // it reads that when it wakes
	})
	mark := 0
	write := b.await("its write", mark, func(e clustertest.Event) bool {
		return e.Worker == keeper.Number && e.Token == kept.Token && (e.Kind == clustertest.Wrote || e.Kind == clustertest.Refused)
	})
	end := b.await("its end", mark, func(e clustertest.Event) bool {
		return e.Worker == keeper.Number && e.Token == kept.Token && (e.Kind == clustertest.Left || e.Kind == clustertest.Lost)
	})
	if write.Kind != clustertest.Refused || end.Kind != clustertest.Lost {
		b.Errorf("the holder got %s and %s: its lock has passed on", write.Kind, end.Kind)
	}
	b.healed()
	b.judge()
}
