package cluster

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// leave lets a member leave in good order, and waits for its end.
func (b *harness) leave(m *clustertest.Member) {
	b.Helper()
	b.check(m.Terminate())
	b.fault("member %s leaves", m.Name)
	b.check(m.AwaitEnd(b.ctx)) // it looks at the exit status
	b.logf("member %s has ended with 0", m.Name)
}

// TestLeave: a member that leaves under load, the coordinator or not, tells its clients,
// who go on elsewhere; one that holds something through it gets a revocation, and does not
// find out by a refused write.
func TestLeave(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		coordinator bool
	}{{"coordinator", true}, {"another", false}} {
		t.Run(tt.name, func(t *testing.T) {
			b := lay(t, 6)
			victim := b.coordinator()
			if !tt.coordinator {
				victim = b.another(victim)
			}
			keeper, kept := b.keep(victim)
			b.leave(victim)
			if _, end := b.goOn(keeper, kept); end.Kind != clustertest.Lost {
				b.Errorf("the holder through the member that left got %s", end.Kind)
			}
			b.healed() // the others see one another alone
			b.judge()
		})
	}
}

// TestRollingRestart: every member is restarted in turn, and no client has to do
// anything for it.
func TestRollingRestart(t *testing.T) {
	b := lay(t, 6)
	for _, m := range b.cluster.Members {
		b.leave(m)
		b.check(m.Start())
		b.healed()
	}
	b.judge()
}

// TestAllLeave: all leave at once, and are started again.
func TestAllLeave(t *testing.T) {
	b := lay(t, 4)
	_, kept := b.keep(b.coordinator())
	for _, w := range b.workers.Workers() {
		b.check(w.Order("go on"))
	}
	for _, m := range b.cluster.Members {
		b.check(m.Terminate())
	}
	mark, _ := b.fault("all members leave")
	for _, m := range b.cluster.Members {
		b.check(m.AwaitEnd(b.ctx))
	}
	for _, m := range b.cluster.Members {
		b.check(m.Start())
	}
	b.awaitReign(mark, kept.Token)
	b.healed()
	b.judge()
}
