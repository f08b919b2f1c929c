package cluster

import (
	"testing"

	"github.com/holdfast-locks/holdfast/client"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/test/clustertest"
)

// TestForcedView: two of three are killed under load. The third grants nothing until an
// operator forces a view, and then goes on under higher tokens; the killed ones join
// again, both at once.
func TestForcedView(t *testing.T) { forced(t, lay(t, 4)) }

// TestForcedViewOfLeaders: in protocol bakery the one that is left leads alone then, and the others again when they
// have come back.
func TestForcedViewOfLeaders(t *testing.T) {
	t.Parallel()
	b := prepare(t, clustertest.Settings{Addresses: loopback(t, 3), Lease: steady(), Flags: []string{led}})
	b.begin(4)
	forced(t, b)
}

func forced(t *testing.T, b *harness) {
	t.Helper()
	survivor := b.another(b.coordinator())
	keeper, kept := b.keep(survivor)
	lost := b.cluster.Others(survivor)
	mark, _ := b.kill("all but "+survivor.Name, lost...)
	admin, err := client.DialAdmin(survivor.Address)
	b.check(err)
	defer admin.Close()
	var plan *schema.ForcePlan
	_, err = b.cluster.AwaitStatus(b.ctx, survivor, "a view can be forced", func(*schema.Status) bool {
		plan, err = admin.PlanForce(b.ctx, []string{survivor.Name})
		return err == nil
	})
	b.check(err)
	forced, err := admin.ForceView(b.ctx, &schema.ForceViewRequest{Members: plan.Named, Reason: "a test", Confirm: plan.Code})
	b.check(err)
	b.fault("view %d was forced in the place of %d", forced.View, forced.Replaced)
	if _, end := b.goOn(keeper, kept); end.Kind != clustertest.Lost {
		b.Errorf("the client that held without a quorum got %s", end.Kind)
	}
	b.awaitReign(mark, kept.Token)
	b.revive()
	b.judge()
}
