package cluster

import "testing"

// TestCoordinatorKilled: the others go on under a new authority, whose tokens are
// higher, and the killed one joins again.
func TestCoordinatorKilled(t *testing.T) {
	b := lay(t, 6)
	b.killAuthority("the coordinator", b.coordinator())
	b.judge()
}

// TestCoordinatorKilledTwice: the successor dies while it may still be waiting, and the
// first one is back by then, so that there is a quorum.
func TestCoordinatorKilledTwice(t *testing.T) {
	b := lay(t, 6)
	first := b.coordinator()
	_, kept := b.keep(b.another(first))
	mark, _ := b.kill("the coordinator", first)
	b.check(first.Start())
	second, err := b.cluster.Coordinator(b.ctx, b.another(first))
	b.check(err)
	b.kill("which coordinates by now or still did", second)
	b.awaitReign(mark, kept.Token)
	if !second.Running() {
		b.check(second.Start())
	}
	for _, w := range b.workers.Workers() {
		b.check(w.Order("go on")) // one of them keeps it
	}
	b.healed()
	b.judge()
}

// TestAllKilled: no member is there for a while. Clients wait, and go on by themselves
// when all are back; tokens have not gone back.
func TestAllKilled(t *testing.T) {
	b := lay(t, 4)
	keeper, kept := b.keep(b.coordinator())
	mark, _ := b.kill("all of them", b.cluster.Members...)
	for _, m := range b.cluster.Members {
		b.check(m.Start())
	}
	b.awaitReign(mark, kept.Token)
	b.awaitPassed(mark, kept)
	b.lostAndRefused(keeper, kept)
	b.healed()
	b.judge()
}
