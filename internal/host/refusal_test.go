package host_test

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// startClusterOf starts three members with a space of a protocol.
// With -short these are of the two kinds that there are: one member keeps the table, or a quorum does.
func startClusterOf(t *testing.T, protocol string) *cluster {
	t.Helper()
	if testing.Short() && protocol != "central" && protocol != "consensus" {
		t.Skip("a cluster that waits for several leases; run without -short")
	}
	return startCluster(t, 3, steady, func(config *host.Config) {
		config.Spaces = []host.Space{{Name: "default", Protocol: protocol}}
		if protocol == "consensus" {
			config.Data = t.TempDir()
		}
	})
}

// TestRefusalsOfAFollower: a member that does not decide says who holds a name, as one that is asked over the wire,
// also where its wait ends or its context does; and why it does not know, while the member that does is silent.
func TestRefusalsOfAFollower(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, protocol := range []string{"central", "grantor", "permission", "bakery", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := startClusterOf(t, protocol)
			lead := c.coordinator(t)
			first, other := c.nodes[lead], c.nodes[c.other(t, lead)]
			ctx := bounded(t)
			if _, err := first.Lock(ctx, "x", holdfast.Owner("job")); err != nil {
				t.Fatal(err)
			}
			_, tried := other.TryLock(ctx, "x")
			_, waited := other.Lock(ctx, "x", holdfast.Wait(6*time.Second)) // a busy machine answers within it
			says := func(err error) bool {
				var held *holdfast.HeldError
				return errors.As(err, &held) && held.Owner == "job" && held.Member == first.Name() && !held.Since.IsZero()
			}
			// A context that ends leaves the other members lock.WaitGrace to say who holds the lock. A machine that
			// is busier than that is asked again.
			var ended error
			for !says(ended) && ctx.Err() == nil {
				short, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
				_, ended = other.Lock(short, "x")
				cancel()
			}
			for how, err := range map[string]error{"try": tried, "wait": waited, "context": ended} {
				if !says(err) {
					t.Errorf("%s: %v, want who holds it, and since when", how, err)
				}
			}
			if err := host.Crash(first); err != nil {
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

// TestRefusalsWithoutAQuorum: a member that has lost the others says in each refusal who they are, and since when it misses
// them; its status counts them among the missing, though no view without them was ever made.
func TestRefusalsWithoutAQuorum(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	for _, protocol := range []string{"central", "grantor", "permission", "bakery", "consensus"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			c := startClusterOf(t, protocol)
			left := c.nodes[0]
			lost := []string{c.nodes[1].Name(), c.nodes[2].Name()}
			for _, i := range []int{1, 2} {
				if err := host.Crash(c.nodes[i]); err != nil {
					t.Fatal(err)
				}
				c.nodes[i] = nil
			}
			ctx := bounded(t)
			again := time.NewTicker(50 * time.Millisecond)
			defer again.Stop()
			missing := func() (names []string) {
				self, err := left.Who(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, m := range self.Missing {
					names = append(names, m.Name)
				}
				return names
			}
			for len(missing()) < len(lost) {
				<-again.C
			}
			if names := slices.Sorted(slices.Values(missing())); !slices.Equal(names, lost) {
				t.Errorf("%v are missing, want %v", names, lost)
			}
			_, err := left.Lock(ctx, "x", holdfast.Wait(300*time.Millisecond))
			var unavailable *holdfast.UnavailableError
			if !errors.As(err, &unavailable) || !regexp.MustCompile(`the quorum is lost: .* without ([bc] \(last heard of at .*\))+`).MatchString(unavailable.Why) {
				t.Errorf("refused with %v, want who is missing, and since when", err)
			}
		})
	}
}

// TestBreakInNoView: the error of a break at a member that is in no view says why nothing was broken.
func TestBreakInNoView(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	join := []string{"unix://" + filepath.Join(folder, "a"), "unix://" + filepath.Join(folder, "b"), "unix://" + filepath.Join(folder, "c")}
	for _, protocol := range []string{"central", "permission"} {
		n, err := host.Start(t.Context(), host.Config{
			Name: "a", Listen: join[0], Join: join, Expect: 3, Spaces: []host.Space{{Name: "default", Protocol: protocol}},
		})
		if err != nil {
			t.Fatal(err)
		}
		err = n.Break(bounded(t), "default", "x", "test")
		var unavailable *holdfast.UnavailableError
		if !errors.As(err, &unavailable) || !strings.Contains(unavailable.Why, "there is no view yet; nothing was broken; this member is joining: ") {
			t.Errorf("%s: %v", protocol, err)
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
