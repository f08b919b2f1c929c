package node_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/node"
)

// TestRefusalsOfAFollower: a member that does not decide says who holds a name, as one that is asked over the wire,
// also where its wait ends or its context does; and why it does not know, while the member that does is silent.
func TestRefusalsOfAFollower(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"central", "grantor", "permission", "bakery", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := startCluster(t, 3, steady, func(config *node.Config) {
				config.Spaces = []node.Space{{Name: "default", Protocol: protocol}}
				if protocol == "consensus" {
					config.Data = t.TempDir()
				}
			})
			lead := c.coordinator(t)
			first, other := c.nodes[lead], c.nodes[c.other(t, lead)]
			ctx := bounded(t)
			if _, err := first.Lock(ctx, "x", holdfast.Owner("job")); err != nil {
				t.Fatal(err)
			}
			_, tried := other.TryLock(ctx, "x")
			_, waited := other.Lock(ctx, "x", holdfast.Wait(300*time.Millisecond))
			short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
			defer cancel()
			_, ended := other.Lock(short, "x")
			for how, err := range map[string]error{"try": tried, "wait": waited, "context": ended} {
				var held *holdfast.HeldError
				if !errors.As(err, &held) || held.Owner != "job" || held.Member != first.Name() || held.Since.IsZero() {
					t.Errorf("%s: %v, want who holds it, and since when", how, err)
				}
			}
			if err := node.Crash(first); err != nil {
				t.Fatal(err)
			}
			c.nodes[lead] = nil
			_, err := other.Lock(ctx, "x", holdfast.Wait(300*time.Millisecond))
			var unavailable *holdfast.UnavailableError
			var held *holdfast.HeldError
			switch {
			case err == nil: // the end of its session has come first
			case errors.As(err, &unavailable) && unavailable.Why != "":
			case errors.As(err, &held) && held.Member == first.Name():
			case errors.Is(err, holdfast.ErrHeld) && err.Error() == `lock "x": held: no member that knows the holder has answered`:
			default:
				t.Errorf("when the holder's member is lost: %v, want why", err)
			}
		})
	}
}
