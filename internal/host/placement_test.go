package host_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

// TestGrantorshipFollowsTheLoad: with placement the member that locks most becomes the grantor
// by itself, and what others hold and wait for stays as it is.
func TestGrantorshipFollowsTheLoad(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	c := newGrantors(t, steady, func(c *host.Config) { c.Spaces[0].Options = map[string]string{"placement": "1s"} })
	mine := take(t, c.nodes[0], "x")
	waits := queue(t, bounded(t), c.nodes[1], "x")
	busy := c.nodes[2]
	id := busy.Identity().ID
	ctx := bounded(t)
	before := condition(t, busy)
	if len(before.Authority) != 1 || before.Authority[0] == id {
		t.Fatalf("before it has locked the busy member reports %+v", before)
	}
	for at := before; len(at.Authority) != 1 || at.Authority[0] != id; at = condition(t, busy) {
		if ctx.Err() != nil {
			t.Fatalf("the busy member has not become the grantor: %+v", at)
		}
		for range 100 {
			give(t, take(t, busy, "y"))
		}
	}
	after := condition(t, busy)
	if after.Locks != 1 || after.Waiters != 1 || after.Version != before.Version+1 || after.Reign != before.Reign {
		t.Errorf("before %+v, and after %+v", before, after)
	}
	if err := mine.Check(); err != nil {
		t.Error(err)
	}
	give(t, mine)
	give(t, granted(t, waits))
	c.endAndReplay(t)
}

// TestOptionsMustMatch: a member whose space has other options is refused with both values.
func TestOptionsMustMatch(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	grantors := host.Space{Name: "default", Protocol: "grantor", Options: map[string]string{"placement": "10s", "hold_on": "1m"}}
	optionsMustMatch(t, grantors, map[string]disagreement{
		"another window": {host.Space{Name: "default", Protocol: "grantor", Options: map[string]string{"placement": "30s", "hold_on": "1m"}}, []string{"placement 10s", "placement 30s"}},
		"no placement":   {host.Space{Name: "default", Protocol: "grantor", Options: map[string]string{"hold_on": "1m"}}, []string{"placement 10s, hold_on 1m", "partition primary, hold_on 1m"}},
		"no holding on":  {host.Space{Name: "default", Protocol: "grantor", Options: map[string]string{"placement": "10s"}}, []string{"hold_on 1m", `partition primary, placement 10s"`}},
	})
	peers := host.Space{Name: "default", Protocol: "permission", Options: map[string]string{"capacity": "2", "defer": "true", "retain": "true"}}
	optionsMustMatch(t, peers, map[string]disagreement{
		"another capacity": {host.Space{Name: "default", Protocol: "permission", Options: map[string]string{"capacity": "3", "defer": "true", "retain": "true"}}, []string{"defer true, retain true, capacity 2", "defer true, retain true, capacity 3"}},
		"no deferring":     {host.Space{Name: "default", Protocol: "permission", Options: map[string]string{"capacity": "2", "retain": "true"}}, []string{"defer true, retain true, capacity 2", "primary, retain true, capacity 2"}},
		"no retaining":     {host.Space{Name: "default", Protocol: "permission", Options: map[string]string{"capacity": "2", "defer": "true"}}, []string{"defer true, retain true, capacity 2", `primary, defer true, capacity 2"`}},
	})
	leaders := host.Space{Name: "default", Protocol: "bakery", Options: map[string]string{"messages": "published", "grace": "snaplock"}}
	optionsMustMatch(t, leaders, map[string]disagreement{
		"merged messages": {host.Space{Name: "default", Protocol: "bakery", Options: map[string]string{"grace": "snaplock"}}, []string{"messages published, grace snaplock", "partition primary, grace snaplock"}},
		"another grace":   {host.Space{Name: "default", Protocol: "bakery", Options: map[string]string{"messages": "published", "grace": "5s"}}, []string{"grace snaplock", "grace 5s"}},
		"no grace":        {host.Space{Name: "default", Protocol: "bakery", Options: map[string]string{"messages": "published"}}, []string{"grace snaplock", `messages published"`}},
	})
}

// disagreement is a space of a member whose options are not those of the others, and the error
// it gets.
type disagreement struct {
	own  host.Space
	want []string
}

func optionsMustMatch(t *testing.T, theirs host.Space, strangers map[string]disagreement) {
	c := startCluster(t, 3, func(c *host.Config) { c.Spaces = []host.Space{theirs} })
	for name, test := range strangers {
		t.Run(theirs.Protocol+" "+name, func(t *testing.T) {
			stranger, err := host.Start(context.Background(), host.Config{
				Name: "stranger", Listen: "unix://" + filepath.Join(t.TempDir(), "s"), Join: c.configs[0].Join, Lease: c.configs[0].Lease,
				Spaces: []host.Space{test.own},
			})
			if err != nil {
				t.Fatal(err)
			}
			says(t, stranger.Unfit(bounded(t)), test.want...)
			if err := stranger.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
