package cluster

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/trial"
)

// peers is the flag that gives the default space to protocol permission: without the others'
// permission nobody enters, so every lost member is in everybody's way until it is gone.
const peers = "--space=default=permission"

// TestHoldingPeerKilled: what was held through it passes on when nobody can believe in it any
// more, under a higher token, and its holder is told.
func TestHoldingPeerKilled(t *testing.T) {
	b := lay(t, 6, peers)
	for _, coordinates := range []bool{true, false} {
		victim := b.coordinator()
		if !coordinates {
			victim = b.another(victim)
		}
		keeper, kept := b.keep(victim)
		b.check(victim.Kill())
		mark, _ := b.fault("%s, through which the register is held, was killed", victim.Name)
		b.awaitPassed(mark, kept)
		write, end := b.goOn(keeper, kept)
		if write.Kind != trial.Refused || end.Kind != trial.Lost {
			b.Errorf("the holder was told %s and %s: its lock has passed on", write.Kind, end.Kind)
		}
		b.check(victim.Start())
		b.healed()
	}
	b.judge()
}

// TestWaitingPeerKilled: who waits through it asks through another member, and who holds is not
// touched by that.
func TestWaitingPeerKilled(t *testing.T) {
	b := lay(t, 6, peers)
	victim := b.coordinator()
	keeper, kept := b.keep(b.another(victim)) // so the workers of the other members wait
	b.check(victim.Kill())
	mark, at := b.fault("%s, through which others wait, was killed", victim.Name)
	b.goOn(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(b.crew.AwaitAll(b.ctx, mark, at, b.crew.Workers()...))
	b.check(victim.Start())
	b.healed()
	b.judge()
}

// TestIdlePeerKilled: nobody uses it, and nobody can enter without it until it is known to be
// gone.
func TestIdlePeerKilled(t *testing.T) {
	t.Parallel()
	b := prepare(t, trial.Settings{Addresses: loopback(t, 3), Flags: []string{peers}})
	b.check(b.cluster.Start(b.ctx))
	victim := b.another(b.coordinator())
	var used []string
	for _, m := range b.cluster.Others(victim) {
		used = append(used, m.Address)
	}
	for i := range 4 {
		_, err := b.crew.Hire("holdfast://"+strings.Join(used, ","), i >= 2)
		b.check(err)
	}
	b.check(b.crew.AwaitAll(b.ctx, 0, 0, b.crew.Workers()...))
	b.check(victim.Kill())
	mark, at := b.fault("%s, which nobody uses, was killed", victim.Name)
	b.check(b.crew.AwaitAll(b.ctx, mark, at, b.crew.Workers()...))
	b.check(victim.Start())
	b.healed()
	b.judge()
}

// TestPeersJoin one after the other, under load, after each has left in good order: whoever
// waits asks the newcomer, too.
func TestPeersJoin(t *testing.T) {
	b := lay(t, 6, peers)
	for _, m := range b.cluster.Members {
		keeper, kept := b.keep(b.another(m))
		mark := b.crew.Mark()
		b.leave(m)
		b.goOn(keeper, kept)
		b.awaitPassed(mark, kept)
		b.check(m.Start())
		b.healed()
	}
	b.judge()
}
