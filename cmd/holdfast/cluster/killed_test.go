package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// Tests of several protocols, under any names that their members have: each runs for
// those that it lists, and tests of one protocol alone are in its
// file.

// spaceOf is the flag that gives the default space to a protocol.
func spaceOf(protocol string) string { return "--space=default=" + protocol }

// inEach runs a test for the default space of each of some protocols.
func inEach(t *testing.T, test func(t *testing.T, space string), protocols ...string) {
	t.Helper()
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) { test(t, spaceOf(protocol)) })
	}
}

// kill kills members together, and returns where the history stood.
func (b *harness) kill(what string, victims ...*clustertest.Member) (mark int, at time.Duration) {
	b.Helper()
	var names []string
	b.check(clustertest.KillAll(victims...)) // it looks at the exit status
	for _, m := range victims {
		names = append(names, m.Name)
	}
	return b.fault("killed: %s, %s", strings.Join(names, " and "), what)
}

// revive starts all members that do not run, and waits until all is well.
func (b *harness) revive() {
	b.Helper()
	for _, m := range b.cluster.Members {
		if !m.Running() {
			b.check(m.Start())
		}
	}
	b.healed()
}

// killHolder kills a member while the register is held through it: that passes on when no
// client can believe in it any more, under a higher token, and its holder learns of the loss.
func (b *harness) killHolder(victim *clustertest.Member, what string) {
	b.Helper()
	keeper, kept := b.keep(victim)
	mark, _ := b.kill(what+" through which the register is held", victim)
	b.awaitPassed(mark, kept)
	b.lostAndRefused(keeper, kept)
	b.revive()
}

// killWithHolder kills a member while the register is held through another one, and others wait
// through it: they ask elsewhere, the holder writes and gives back, and all go on.
func (b *harness) killWithHolder(victim *clustertest.Member, what string) (write, end clustertest.Event) {
	b.Helper()
	keeper, kept := b.keep(b.another(victim))
	mark, at := b.kill(what+" through which others wait", victim)
	write, end = b.goOn(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	b.revive()
	return write, end
}

// killAuthority kills members that decide while the register is held through another one: the
// next authority learns of that from the member that has it, and gives higher tokens. Where no
// majority is left, the first of them is started again.
//
// Whether the register was held all the while is not asserted: on a starved machine its
// member's lease may have lapsed. Either way the judge sees it.
func (b *harness) killAuthority(what string, victims ...*clustertest.Member) {
	b.Helper()
	keeper, kept := b.keep(b.another(victims...))
	mark, _ := b.kill(what, victims...)
	if 2*len(b.cluster.Others()) <= len(b.cluster.Members) {
		b.check(victims[0].Start())
	}
	b.awaitReign(mark, kept.Token)
	b.goOn(keeper, kept)
	b.revive()
}

// hireAwayFrom starts a cluster, and workers that never go to one of its members.
func (b *harness) hireAwayFrom(victim func() *clustertest.Member, workers int) *clustertest.Member {
	b.Helper()
	b.check(b.cluster.Start(b.ctx))
	spared := victim()
	var used []string
	for _, m := range b.cluster.Others(spared) {
		used = append(used, m.Address)
	}
	for i := range workers {
		first := i % len(used)
		_, err := b.workers.Start("holdfast://"+strings.Join(append(used[first:len(used):len(used)], used[:first]...), ","), i >= (workers+1)/2)
		b.check(err)
	}
	b.check(b.workers.AwaitAll(b.ctx, 0, 0, b.workers.Workers()...))
	return spared
}

// TestHolderKilled, whether or not the member coordinates.
func TestHolderKilled(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, space string) {
		b := lay(t, 6, space)
		b.killHolder(b.coordinator(), "the coordinator,")
		b.killHolder(b.another(b.coordinator()), "a member")
		b.judge()
	}, "permission", "bakery")
}

// TestKilledWithAHolder: each member in turn, regardless of its part.
func TestKilledWithAHolder(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, space string) {
		t.Parallel()
		b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Lease: steady(), Flags: []string{space}})
		b.begin(6)
		for _, victim := range b.cluster.Members {
			if write, end := b.killWithHolder(victim, "a member"); write.Kind == clustertest.Refused || end.Kind == clustertest.Lost {
				b.Errorf("the holder got %s and %s: it holds through a member that lives", write.Kind, end.Kind)
			}
		}
		b.judge()
	}, "permission", "bakery")
}

// TestIdleMemberKilled: no client uses it. With permission no client can enter without it until it is
// known to be gone.
func TestIdleMemberKilled(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, space string) {
		t.Parallel()
		b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Flags: []string{space}})
		victim := b.hireAwayFrom(func() *clustertest.Member { return b.another(b.coordinator()) }, 4)
		mark, at := b.kill("which no worker uses", victim)
		b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
		b.revive()
		b.judge()
	}, "permission", "bakery")
}

// TestLeaveInTurn: each member leaves in good order, under load, and is started again. A client that
// keeps the register through another one keeps it, and every waiter asks the newcomer, too.
func TestLeaveInTurn(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, space string) {
		b := lay(t, 6, space)
		for _, m := range b.cluster.Members {
			if space == spaceOf("grantor") {
				b.appoint(m)
			}
			keeper, kept := b.keep(b.another(m))
			mark := b.workers.Mark()
			b.leave(m)
			b.goOn(keeper, kept)
			b.awaitPassed(mark, kept)
			b.revive()
		}
		b.judge()
	}, "grantor", "permission", "bakery")
}
