package cluster

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// grantors is the flag that gives the default space to protocol grantor.
var grantors = spaceOf("grantor")

// transfer makes a member the grantor, as an operator does who asks some member.
func (b *harness) transfer(through, to *clustertest.Member) {
	b.Helper()
	admin, err := client.DialAdmin(through.Address)
	b.check(err)
	defer admin.Close()
	b.move(admin, to)
}

// appoint makes a member the grantor, and waits until others see that it is.
func (b *harness) appoint(m *clustertest.Member) {
	b.Helper()
	b.transfer(m, m)
	_, err := b.cluster.AwaitStatus(b.ctx, m, m.Name+" grants", func(s *schema.Status) bool {
		return slices.Equal(s.Spaces[0].Authority, []string{m.Name})
	})
	b.check(err)
	b.logf("%s grants", m.Name)
}

// TestGrantorKilled: every holder keeps what it has, the next grantor learns it from
// them, and its tokens are higher. The elder stays.
func TestGrantorKilled(t *testing.T) {
	b := lay(t, 6, grantors)
	victim := b.another(b.coordinator())
	b.appoint(victim)
	b.killAuthority("the grantor", victim)
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
	mark, at := b.kill("the elder", victim)
	b.goOn(keeper, kept)
	b.awaitPassed(mark, kept)
	b.check(b.workers.AwaitAll(b.ctx, mark, at, b.workers.Workers()...))
	next := b.coordinator()
	b.transfer(next, b.another(victim, grantor))
	b.revive()
	b.judge()
}

// TestElderAndGrantorKilled at once: one member that is both, or two, after which there is
// no majority until one of them is back.
func TestElderAndGrantorKilled(t *testing.T) {
	t.Parallel()
	t.Run("one member", func(t *testing.T) {
		b := lay(t, 6, grantors)
		victim := b.coordinator()
		b.appoint(victim)
		b.killAuthority("the elder and the grantor", victim)
		b.judge()
	})
	t.Run("two members", func(t *testing.T) {
		b := lay(t, 6, grantors)
		elder := b.coordinator()
		grantor := b.another(elder)
		b.appoint(grantor)
		b.killAuthority("the elder and the grantor", elder, grantor)
		b.judge()
	})
}
