package cluster

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/trial"
)

// TestCoordinatorKilled: the others go on under a new authority, whose tokens are
// higher, and the killed one joins again.
func TestCoordinatorKilled(t *testing.T) {
	b := lay(t, 6)
	victim := b.coordinator()
	keeper, kept := b.keep(b.another(victim))
	b.check(victim.Kill()) // it looks at the exit status
	mark, _ := b.fault("%s, the coordinator, was killed", victim.Name)
	b.awaitReign(mark, kept.Token)
	// Whether it has held the register all the while is not asserted: on a starved
	// machine its member's lease may have lapsed. Either way the judge sees it.
	b.goOn(keeper, kept)
	b.check(victim.Start())
	b.healed()
	b.judge()
}

// TestCoordinatorKilledTwice: the successor dies while it may still be waiting, and the
// first one is back by then, so that there is a quorum.
func TestCoordinatorKilledTwice(t *testing.T) {
	b := lay(t, 6)
	first := b.coordinator()
	_, kept := b.keep(b.another(first))
	b.check(first.Kill())
	mark, _ := b.fault("%s, the coordinator, was killed", first.Name)
	b.check(first.Start())
	second, err := b.cluster.Coordinator(b.ctx, b.another(first))
	b.check(err)
	b.check(second.Kill())
	b.fault("%s, which coordinates by now or still did, was killed", second.Name)
	b.awaitReign(mark, kept.Token)
	if !second.Running() {
		b.check(second.Start())
	}
	for _, w := range b.crew.Workers() {
		b.check(w.Order("go on")) // whoever keeps it
	}
	b.healed()
	b.judge()
}

// TestAllKilled: nobody is there for a while. Clients wait, and go on by themselves
// when all are back; tokens have not gone back.
func TestAllKilled(t *testing.T) {
	b := lay(t, 4)
	keeper, kept := b.keep(b.coordinator())
	for _, m := range b.cluster.Members {
		b.check(m.Kill())
	}
	mark, _ := b.fault("all members were killed")
	for _, m := range b.cluster.Members {
		b.check(m.Start())
	}
	b.awaitReign(mark, kept.Token)
	b.awaitPassed(mark, kept)
	write, end := b.goOn(keeper, kept)
	if write.Kind != trial.Refused || end.Kind != trial.Lost {
		b.Errorf("the holder was told %s and %s: its lock has passed on", write.Kind, end.Kind)
	}
	b.healed()
	b.judge()
}
