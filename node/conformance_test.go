package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/node"
)

func TestConformance(t *testing.T) {
	conforms(t, start(t, node.Config{
		Spaces: []node.Space{{Name: "billing"}},
		Limits: node.Limits{WaitersPerName: 300, LocksPerSession: 250},
	}))
}

// TestConformanceElsewhere: the same through a member that another one decides for. The
// lease is long enough for a busy machine: whoever loses it loses what it holds.
func TestConformanceElsewhere(t *testing.T) {
	c := startCluster(t, 3, func(c *node.Config) {
		c.Lease = 6 * time.Second
		c.Spaces = []node.Space{{Name: "billing"}}
		c.Limits = node.Limits{WaitersPerName: 300, LocksPerSession: 250}
	})
	conforms(t, c.nodes[c.other(t, c.coordinator(t))])
}

func conforms(t *testing.T, n *node.Node) {
	lockertest.Run(t, func(tb testing.TB) holdfast.Locker {
		locks, err := n.Session(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		return locks
	}, lockertest.Caps{
		Class:             holdfast.Fenced,
		Spaces:            []string{"billing"},
		MaxWaitersPerName: 300,
		LocksPerSession:   250,
		Kill:              func(tb testing.TB, locks holdfast.Locker) { node.Vanish(locks) },
		Break: func(tb testing.TB, space, name string) {
			if err := n.Break(context.Background(), space, name, "conformance"); err != nil {
				tb.Error(err)
			}
		},
		Release: func(tb testing.TB, locks holdfast.Locker, lock *holdfast.Lock) error {
			return node.ReleaseForeign(locks, lock)
		},
	})
}
