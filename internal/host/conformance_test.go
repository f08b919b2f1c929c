package host_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/test/parallel"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lockertest"
	"github.com/holdfast-locks/holdfast/protocol"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, spaces := range map[string][]host.Space{
		"central": spacesOf("central"), "grantor": spacesOf("grantor"),
		"permission": spacesOf("permission"), "permission kept": keeping(),
		"bakery": spacesOf("bakery"), "bakery published": published(),
		"consensus": spacesOf("consensus"), "consensus in shards": sharded(),
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && name != "central" && (name != "consensus in shards" || parallel.Brief()) {
				t.Skip("a member alone drives the other protocols as these; run without -short")
			}
			t.Parallel()
			c := host.Config{
				Spaces: spaces,
				Limits: host.Limits{WaitersPerName: 300, LocksPerSession: 250},
			}
			if spaces[0].Protocol == "consensus" { // a disk that is busy answers within the patience
				c.Data = t.TempDir()
				steady(&c)
			}
			conforms(t, start(t, c))
		})
	}
}

// sharded are spaces whose names have several leaders.
func sharded() []host.Space {
	spaces := spacesOf("consensus")
	for i := range spaces {
		spaces[i].Options = map[string]string{"shards": "3"}
	}
	return spaces
}

// spacesOf are those that the suite locks in, of one protocol.
func spacesOf(protocol string) []host.Space {
	return []host.Space{{Name: "default", Protocol: protocol}, {Name: "billing", Protocol: protocol}}
}

// keeping are spaces whose members defer in words, and keep the permissions that they get.
func keeping() []host.Space {
	spaces := spacesOf("permission")
	for i := range spaces {
		spaces[i].Options = map[string]string{"defer": "true", "retain": "true"}
	}
	return spaces
}

// published are spaces whose leaders tell each other each step of a lock.
func published() []host.Space {
	spaces := spacesOf("bakery")
	for i := range spaces {
		spaces[i].Options = map[string]string{"messages": "published"}
	}
	return spaces
}

// TestConformanceElsewhere: the same through a member that another one decides for. The
// lease is long enough for a busy machine: a member that loses it loses what it holds. So
// is the patience: if a wait is over and no answer has come for four times as long, no
// member can say more than that the authority is not available.
func TestConformanceElsewhere(t *testing.T) {
	parallel.SkipBrief(t)
	t.Parallel()
	holding := spacesOf("grantor")
	for i := range holding {
		holding[i].Options = map[string]string{"hold_on": "1m"}
	}
	for name, spaces := range map[string][]host.Space{
		"central": spacesOf("central"), "grantor": spacesOf("grantor"), "grantor holding on": holding,
		"permission": spacesOf("permission"), "permission kept": keeping(),
		"bakery": spacesOf("bakery"), "bakery published": published(), "consensus": spacesOf("consensus"),
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && (name == "grantor" || name == "permission") {
				t.Skip("with its options it does all this and more; run without -short")
			}
			if testing.Short() && name == "bakery published" {
				t.Skip("it sends more messages of the same kinds; run without -short")
			}
			t.Parallel()
			c := startCluster(t, 3, steady, func(c *host.Config) {
				c.Patience = 800 * time.Millisecond
				c.Spaces = spaces
				c.Limits = host.Limits{WaitersPerName: 300, LocksPerSession: 250}
				if spaces[0].Protocol == "consensus" {
					c.Data = t.TempDir()
				}
			})
			decider := c.coordinator(t)
			lockFirst(t, c.nodes[decider])
			here := c.other(t, decider)
			var others []*host.Member
			for i, n := range c.nodes {
				if i != here {
					others = append(others, n)
				}
			}
			conforms(t, c.nodes[here], others...)
		})
	}
}

// lockFirst lets a member be the first that locks: where there are grantors, it is one.
func lockFirst(t *testing.T, n *host.Member) {
	t.Helper()
	locks, err := n.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, space := range n.Spaces() {
		first, err := locks.Space(space.Name).Lock(t.Context(), "first")
		if err != nil {
			t.Fatal(err)
		}
		if err := first.Unlock(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := locks.Close(); err != nil {
		t.Error(err)
	}
}

// loose reports whether tokens of shared and slots grants do not order: grants that are held
// at the same time are given at the same time.
func loose(protocol string) bool { return protocol == "permission" || protocol == "bakery" }

// opens returns what opens sessions at members in turn; nil where there are none.
func opens(members ...*host.Member) func(testing.TB) holdfast.Locker {
	if len(members) == 0 {
		return nil
	}
	opened := 0
	return func(tb testing.TB) holdfast.Locker {
		n := members[opened%len(members)]
		opened++
		locks, err := n.Session(context.Background())
		if err != nil {
			tb.Fatal(err)
		}
		return locks
	}
}

// elsewhereRounds is how often the suite's races run where another member decides.
const elsewhereRounds = 400

// conforms runs the suite through a member of a cluster with others.
func conforms(t *testing.T, n *host.Member, others ...*host.Member) {
	rounds := 0
	if len(others) > 0 && !testing.Short() {
		rounds = elsewhereRounds
	}
	lockertest.Run(t, opens(n), lockertest.Caps{
		Rounds:            rounds,
		Elsewhere:         opens(others...),
		Class:             holdfast.Fenced,
		LooseTokens:       loose(n.Spaces()[0].Protocol),
		NoDeadlock:        loose(n.Spaces()[0].Protocol),
		Split:             n.Spaces()[0].Options["shards"] == "3",
		Repeats:           n.Spaces()[0].Protocol == "consensus",
		Spaces:            []string{"billing"},
		MaxWaitersPerName: 300,
		LocksPerSession:   250,
		Kill:              func(tb testing.TB, locks holdfast.Locker) { host.Vanish(locks) },
		Break: func(tb testing.TB, space, name string) {
			if err := n.Break(context.Background(), space, name, "conformance"); err != nil {
				tb.Error(err)
			}
		},
		Values: func(tb testing.TB, space, name string) []string { return valuesAt(tb, n, space, name) },
		Release: func(tb testing.TB, locks holdfast.Locker, lock *holdfast.Lock) error {
			return host.ReleaseForeign(locks, lock)
		},
	})
}

// valuesAt returns the values of a name's holders as a member shows them.
func valuesAt(tb testing.TB, n *host.Member, space, name string) (values []string) {
	tb.Helper()
	port := slices.IndexFunc(n.Spaces(), func(s host.Space) bool { return s.Name == space }) + 1
	reply, err := n.Driver().Do(context.Background(), protocol.Port(port), &protocol.Show{Name: name})
	if err != nil {
		tb.Errorf("show %q: %v", name, err)
		return nil
	}
	shown, is := reply.Result.(*lock.Lock)
	if !is {
		tb.Errorf("show %q: answered by %v", name, reply.Result)
		return nil
	}
	for _, grant := range shown.Holders {
		values = append(values, grant.Value)
	}
	return values
}
