package cluster

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/trial"
	"github.com/holdfast-locks/holdfast/wire"
)

// grantors is the flag that gives the default space to protocol grantor.
const grantors = "--space=default=grantor"

// transfer makes a member the grantor, as an operator does who asks some member.
func (b *bed) transfer(through, to *trial.Member) {
	b.Helper()
	admin, err := client.DialAdmin(through.Address)
	b.check(err)
	defer admin.Close()
	b.move(admin, to)
}

// appoint makes a member the grantor, and waits until others see that it is.
func (b *bed) appoint(m *trial.Member) {
	b.Helper()
	b.transfer(m, m)
	_, err := b.cluster.AwaitStatus(b.ctx, m, m.Name+" grants", func(s *wire.Status) bool {
		return slices.Equal(s.Spaces[0].Authority, []string{m.Name})
	})
	b.check(err)
	b.tell("%s grants", m.Name)
}

// TestGrantorKilled: whoever has something keeps it, the next grantor learns it from
// them, and its tokens are higher. The elder stays.
func TestGrantorKilled(t *testing.T) {
	b := lay(t, 6, grantors)
	elder := b.coordinator()
	victim := b.another(elder)
	b.appoint(victim)
	keeper, kept := b.keep(b.another(elder, victim))
	b.check(victim.Kill())
	mark, _ := b.fault("%s, the grantor, was killed", victim.Name)
	b.awaitReign(mark, kept.Token)
	b.goOn(keeper, kept)
	b.check(victim.Start())
	b.healed()
	b.judge()
}

// TestElderKilled: the grantor goes on, and the next elder learns of it. Whether the lease
// of a member has lapsed meanwhile, on a starved machine, the judge sees.
func TestElderKilled(t *testing.T) {
	b := lay(t, 6, grantors)
	victim := b.coordinator()
	grantor := b.another(victim)
	b.appoint(grantor)
	keeper, kept := b.keep(b.another(victim, grantor))
	b.check(victim.Kill())
	mark, at := b.fault("%s, the elder, was killed", victim.Name)
	b.goOn(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(b.crew.AwaitAll(b.ctx, mark, at, b.crew.Workers()...))
	next := b.coordinator()
	b.transfer(next, b.another(victim, grantor))
	b.check(victim.Start())
	b.healed()
	b.judge()
}

// TestElderAndGrantorKilled at once: one member that is both, or two, after which there is
// no majority until one of them is back.
func TestElderAndGrantorKilled(t *testing.T) {
	t.Run("one member", func(t *testing.T) {
		b := lay(t, 6, grantors)
		victim := b.coordinator()
		b.appoint(victim)
		b.elderAndGrantorKilled(victim)
	})
	t.Run("two members", func(t *testing.T) {
		b := lay(t, 6, grantors)
		elder := b.coordinator()
		grantor := b.another(elder)
		b.appoint(grantor)
		b.elderAndGrantorKilled(elder, grantor)
	})
}

func (b *bed) elderAndGrantorKilled(victims ...*trial.Member) {
	b.Helper()
	keeper, kept := b.keep(b.another(victims...))
	for _, m := range victims {
		b.check(m.Kill())
	}
	mark, _ := b.fault("the elder and the grantor were killed")
	if len(victims) > 1 {
		b.check(victims[0].Start())
	}
	b.awaitReign(mark, kept.Token)
	b.goOn(keeper, kept)
	for _, m := range victims {
		if !m.Running() {
			b.check(m.Start())
		}
	}
	b.healed()
	b.judge()
}

// TestGrantorsLeave one after the other, each while it grants, and are started again: who
// keeps the register through another member keeps it, and who waits is granted it next.
func TestGrantorsLeave(t *testing.T) {
	b := lay(t, 6, grantors)
	for _, m := range b.cluster.Members {
		b.appoint(m)
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
