package membership

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
)

// sides makes founders in partition mode any.
func sides(t testing.TB, founders int) *net {
	return formed(t, founders, 0, func(c *Config) { c.Available = true })
}

// acting lists who acts.
func (n *net) acting() []*process {
	var all []*process
	for _, s := range n.sites {
		if s.live != nil && s.live.acts() {
			all = append(all, s.live)
		}
	}
	return all
}

// merged waits until one authority leads everybody, and checks that it knows that it
// joins sides.
func (n *net) merged() {
	n.t.Helper()
	before := uint64(0)
	for _, p := range n.acting() {
		before = max(before, p.view.Epoch.Counter)
	}
	n.heal()
	n.until(10*second, "one side", func() bool { return len(n.acting()) == 1 && n.together(n.names()...) })
	p := n.authority()
	if !p.view.Merged || p.view.Epoch.Counter <= before {
		n.t.Errorf("merged=%v under epoch %d, and a side was under %d", p.view.Merged, p.view.Epoch.Counter, before)
	}
	n.quiet()
}

// TestMergeOfTwoSides: each goes on at once, and nobody waits.
func TestMergeOfTwoSides(t *testing.T) {
	n := sides(t, 5)
	n.split(60*second, "a", "b")
	cut := n.now
	n.until(3*second, "two sides", func() bool { return len(n.acting()) == 2 })
	t.Logf("two sides act after %v", n.now-cut)
	n.run(5 * second)
	for _, p := range n.acting() {
		if p.view.Merged {
			t.Errorf("%s believes that it has merged", p.site.name)
		}
	}
	n.merged()
	for _, s := range n.sites {
		if s.live.lapses > 0 {
			t.Errorf("%s has lost its lease", s.name)
		}
	}
}

func TestMergeOfThreeSides(t *testing.T) {
	n := sides(t, 6)
	for _, side := range [][]string{{"a", "b"}, {"c", "d"}} {
		n.split(60*second, side...)
	}
	n.until(6*second, "three sides", func() bool { return len(n.acting()) == 3 })
	n.run(5 * second)
	n.merged()
}

// TestEveryoneAlone: all links are cut, and all go on.
func TestEveryoneAlone(t *testing.T) {
	n := sides(t, 3)
	for _, name := range n.names() {
		n.isolate(name, 60*second)
	}
	n.until(8*second, "three sides", func() bool { return len(n.acting()) == 3 })
	n.run(5 * second)
	for _, p := range n.acting() {
		if p.Wake() == protocol.Never {
			t.Errorf("%s does not look for the others", p.site.name)
		}
	}
	n.merged()
}

// TestCoordinatorCrashInModeAny: nobody is waited for.
func TestCoordinatorCrashInModeAny(t *testing.T) {
	n := sides(t, 3)
	n.site("a").crash()
	crashed := n.now
	n.gather(3*second, "b", "c")
	t.Logf("acts after %v", n.now-crashed)
	n.start("a")
	n.gather(10*second, n.names()...)
	n.quiet()
}
