package client_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/node"
)

// TestConformanceThroughAGuest: the suite of every Locker through a guest that has no folder, in spaces that are kept on
// disks. It has taken their definitions from the others. Its own clients' streams are passed on; and what the process itself
// locks is locked at the others.
func TestConformanceThroughAGuest(t *testing.T) {
	t.Parallel()
	for _, embedded := range []bool{false, true} {
		name := "served"
		if embedded {
			skipShort(t)
			name = "embedded"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := serveClusterOf(t, "consensus", steady)
			guest := &served{address: "unix://" + t.TempDir() + "/guest"}
			guest.config = node.Config{
				Name: "guest", Address: guest.address, Join: all[0].config.Join, Serves: true, Patience: all[0].config.Patience,
				TTL: suiteTTL(), Limits: all[0].config.Limits,
			}
			guest.start(t, guest.config)
			t.Cleanup(func() { guest.stop(t) })
			ctx, done := context.WithTimeout(t.Context(), time.Minute)
			defer done()
			if err := guest.node.WaitReady(ctx); err != nil {
				t.Fatal(err)
			}
			if there := guest.node.Elsewhere(); len(there) != 3 || len(guest.node.Spaces()) != len(all[0].node.Spaces()) {
				t.Fatalf("it passes on to %q, and has spaces %+v", there, guest.node.Spaces())
			}
			open := (&others{members: []*served{guest}}).open
			if embedded {
				open = func(tb testing.TB) holdfast.Locker {
					locks, err := guest.node.Session(context.Background())
					if err != nil {
						tb.Fatal(err)
					}
					return locks
				}
			}
			conformsBeside(t, "consensus", all[0], &others{members: all}, open)
		})
	}
}
