package host_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestDefinitionsAreReadAgain: what a member says of its spaces makes the same spaces at a guest, with each option of each protocol.
func TestDefinitionsAreReadAgain(t *testing.T) {
	for _, spaces := range [][]host.Space{
		{{Name: "default"}},
		{{Name: "default", Options: map[string]string{"partition": "any", "preempt": "true"}}, {Name: "g", Protocol: "grantor", Options: map[string]string{"partition": "any", "placement": "1m30s", "hold_on": "2s"}}},
		{{Name: "p", Protocol: "permission", Options: map[string]string{"capacity": "3", "defer": "true", "retain": "true"}}},
		{{Name: "b", Protocol: "bakery", Options: map[string]string{"messages": "published", "grace": "1.5s"}}, {Name: "s", Protocol: "bakery", Options: map[string]string{"grace": "snaplock"}}},
		{{Name: "c", Protocol: "consensus", Options: map[string]string{"shards": "4", "autopilot": "20m"}}, {Name: "n", Protocol: "consensus", Options: map[string]string{"autopilot": "off"}}},
	} {
		c := host.Config{Spaces: spaces, Data: t.TempDir(), Lease: 4 * time.Second, Drift: 0.1}
		_, terms := host.TermsOf(t, c)
		guest := host.Config{Address: "m2:4040", Listen: "m2:4040", Join: []string{"m1:4040"}, Data: "data", Terms: func(context.Context, string) ([]string, error) { return terms, nil }}
		adopted, err := host.Adopt(t.Context(), guest)
		if err != nil {
			t.Fatal(err)
		}
		if _, again := host.TermsOf(t, adopted); !slices.Equal(again, terms) {
			t.Errorf("of %q a guest makes %+v, and says %q", terms, adopted.Spaces, again)
		}
		keeps := strings.Contains(strings.Join(terms, "\n"), "consensus")
		if keeps != (adopted.Data != "") {
			t.Errorf("of %q a guest keeps its data in %q, and its state in %q", terms, adopted.Data, adopted.State)
		}
	}
}

// TestGuestTakesTheSpaces: a guest without definitions has those of the cluster, its lease and its drift. One that defines spaces
// does not ask; and one that cannot take a space over, or reaches no member, says why.
func TestGuestTakesTheSpaces(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startCluster(t, 3, steady, func(c *host.Config) {
		c.Drift, c.Spaces = 0.1, []host.Space{{Name: "default", Protocol: "permission"}, {Name: "x", Protocol: "grantor"}}
	})
	guest, err := host.Start(t.Context(), host.Config{Name: "guest", Listen: "unix://" + filepath.Join(t.TempDir(), "g"), Join: c.configs[0].Join})
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	if err := guest.WaitReady(bounded(t)); err != nil {
		t.Fatal(err)
	}
	give(t, take(t, guest, "n"))
	give(t, take(t, guest.Space("x"), "n"))
	if there := guest.Insiders(); there != nil {
		t.Errorf("it has a part in all spaces, and passes on to %q", there)
	}

	refused := func(config host.Config, parts ...string) {
		t.Helper()
		ctx, done := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer done()
		_, err := host.Start(ctx, config)
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v; want %q in it", err, part)
			}
		}
	}
	away := "unix://" + filepath.Join(t.TempDir(), "away")
	refused(host.Config{Name: "h", Listen: away + "-own", Join: []string{away}}, away+": ", "start the members of Join, or define Spaces")
	says := func(lines ...string) func(context.Context, string) ([]string, error) {
		return func(context.Context, string) ([]string, error) { return lines, nil }
	}
	refused(host.Config{Name: "h", Listen: away + "-own", Join: []string{away}, Terms: says("space s: protocol claim, partition primary, store memory, group s")},
		"space s: protocol claim", "its claims are kept in a store")
	refused(host.Config{Name: "h", Listen: away + "-own", Join: []string{away}, Terms: says("space s: protocol central, gravity 3")},
		`this version does not know "gravity 3"`)
	refused(host.Config{Name: "h", Listen: away + "-own", Join: []string{away}, Terms: says("version 1")}, "have no space")
}

// TestGuestOfMembersWithoutClients: a guest without a folder has no part in a space on disks, and where no member
// serves clients it says that at once, and what to do.
func TestGuestOfMembersWithoutClients(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := startClusterOf(t, "consensus")
	guest, err := host.Start(t.Context(), host.Config{Name: "guest", Listen: "unix://" + filepath.Join(t.TempDir(), "g"), Join: c.configs[0].Join})
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	_, err = guest.Lock(bounded(t), "x")
	if err == nil || !strings.Contains(err.Error(), `lock "x": unavailable: this member has no part in the space, and no member that has one serves clients outside its process: give this one a Data folder and a part (Reform)`) {
		t.Errorf("%v", err)
	}
}
