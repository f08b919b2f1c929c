package node_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/node"
)

// TestOptionsAreAgreed: a member whose space has another placement, or holds on otherwise, is
// refused with both values.
func TestOptionsAreAgreed(t *testing.T) {
	theirs := node.Space{Name: "default", Protocol: "grantor", Placement: 10 * time.Second, HoldOn: time.Minute}
	c := startCluster(t, 3, func(c *node.Config) { c.Spaces = []node.Space{theirs} })
	for name, test := range map[string]struct {
		own   node.Space
		words []string
	}{
		"another window": {node.Space{Name: "default", Protocol: "grantor", Placement: 30 * time.Second, HoldOn: time.Minute}, []string{"placement 10s", "placement 30s"}},
		"no placement":   {node.Space{Name: "default", Protocol: "grantor", HoldOn: time.Minute}, []string{"placement 10s, hold_on 1m0s", "partition primary, hold_on 1m0s"}},
		"no holding on":  {node.Space{Name: "default", Protocol: "grantor", Placement: 10 * time.Second}, []string{"hold_on 1m0s", `partition primary, placement 10s"`}},
	} {
		t.Run(name, func(t *testing.T) {
			stranger, err := node.Start(context.Background(), node.Config{
				Name: "stranger", Listen: "unix://" + filepath.Join(t.TempDir(), "s"), Join: c.configs[0].Join, Lease: c.configs[0].Lease,
				Spaces: []node.Space{test.own},
			})
			if err != nil {
				t.Fatal(err)
			}
			says(t, stranger.Unfit(bounded(t)), test.words...)
			if err := stranger.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
