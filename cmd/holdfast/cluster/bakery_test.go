package cluster

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/trial"
)

// led is the flag that gives the default space to protocol bakery: of three founders all lead.
const led = "--space=default=bakery"

// TestHoldingLeaderKilled: what was held through it passes on when nobody can believe in it any
// more, under a higher token, and its holder is told.
func TestHoldingLeaderKilled(t *testing.T) {
	b := lay(t, 6, led)
	for _, coordinates := range []bool{true, false} {
		victim := b.coordinator()
		if !coordinates {
			victim = b.another(victim)
		}
		keeper, kept := b.keep(victim)
		b.check(victim.Kill())
		mark, _ := b.fault("%s, a leader through which the register is held, was killed", victim.Name)
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

// TestLeaderKilledBesideAHolder: who holds through another leader keeps what it has, and who waits is
// granted it in the end, whichever leader was the master of its ticket.
func TestLeaderKilledBesideAHolder(t *testing.T) {
	b := lay(t, 6, led)
	for _, victim := range b.cluster.Members {
		keeper, kept := b.keep(b.another(victim))
		b.check(victim.Kill())
		mark, at := b.fault("%s, a leader, was killed", victim.Name)
		write, end := b.goOn(keeper, kept)
		if write.Kind == trial.Refused || end.Kind == trial.Lost {
			b.Errorf("the holder was told %s and %s: it holds through a member that lives", write.Kind, end.Kind)
		}
		b.awaitPassed(mark, kept)
		b.check(b.crew.AwaitAll(b.ctx, mark, at, b.crew.Workers()...))
		b.check(victim.Start())
		b.healed()
	}
	b.judge()
}

// TestFourthMemberForwards: a member that does not lead asks those who do, and takes the place of one
// that is lost.
func TestFourthMemberForwards(t *testing.T) {
	t.Parallel()
	b := prepare(t, trial.Settings{Addresses: loopback(t, 4), Flags: []string{led}})
	b.check(b.cluster.Start(b.ctx))
	victim := b.another(b.coordinator())
	var used []string
	for _, m := range b.cluster.Others(victim) {
		used = append(used, m.Address)
	}
	for i := range used {
		// Each goes to another member first, and to none that will be killed.
		_, err := b.crew.Hire("holdfast://"+strings.Join(append(used[i:len(used):len(used)], used[:i]...), ","), i == 2)
		b.check(err)
	}
	b.check(b.crew.AwaitAll(b.ctx, 0, 0, b.crew.Workers()...))
	b.check(victim.Kill())
	mark, at := b.fault("%s was killed", victim.Name)
	b.check(b.crew.AwaitAll(b.ctx, mark, at, b.crew.Workers()...))
	b.check(victim.Start())
	b.healed()
	b.judge()
}
