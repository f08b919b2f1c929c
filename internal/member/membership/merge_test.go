package membership

import (
	"fmt"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/election"
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

// merged waits until one authority leads all members, and checks that it knows that it
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

// TestMergeOfTwoSides: each goes on at once, and no member waits.
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

// TestCoordinatorCrashInModeAny: no member is waited for.
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

// laterPromise: a coordinator asks another side to follow it, and learns while the
// promises come in that this side has a newer epoch. It must not win.
func laterPromise(t testing.TB) string {
	n := sides(t, 3)
	a := n.site("a").live
	const other = protocol.ID(100)
	view := &election.View{
		Cluster: a.cell.Cluster, Number: 9, Epoch: protocol.Epoch{Counter: 999, Candidate: other}, Installed: true, Terms: a.terms,
		Members: []election.Member{{Member: protocol.Member{ID: other, Name: "x", Address: "x:1", Tenure: protocol.Tenure{Incarnation: 1}}}},
	}
	a.step(protocol.Event{Kind: protocol.Receive, From: other, Fact: election.StatusAnswer{
		Self: view.Members[0], Well: true, Coordinator: other, Address: "x:1", View: view, Promised: view.Epoch,
	}})
	if a.ballot == nil {
		t.Fatal("no merge is under way")
	}
	n.run(second / 10)
	newer := *view
	newer.Number, newer.Epoch.Counter = 10, 1005
	a.step(protocol.Event{Kind: protocol.Receive, From: other, Fact: election.Refuse{
		Epoch: a.ballot.Epoch, Promised: newer.Epoch, Well: true, View: &newer,
	}})
	p := n.gather(10*second, n.names()...)
	if n.found == "" && p.view.Epoch.Counter <= 1005 {
		return fmt.Sprintf("epoch %d is not above all that are known", p.view.Epoch.Counter)
	}
	return n.found
}

// sidesOfOneNumber: two sides have counted alike. The coordinator of one is lost, and
// its member asks the other for a place: it must not follow two epochs of one number,
// and what it holds must fit below the tokens that are given there.
func sidesOfOneNumber(t testing.TB) string {
	for _, highest := range []bool{false, true} {
		n := sides(t, 5)
		n.site("a").crash()
		n.split(60*second, "b", "c")
		n.until(5*second, "two sides", func() bool { return len(n.acting()) == 2 })
		n.run(second)
		lost, stays := n.acting()[0], n.acting()[1]
		if (lost.self > stays.self) != highest {
			lost, stays = stays, lost
		}
		number := stays.view.Epoch.Counter
		if lost.view.Epoch.Counter != number {
			t.Fatalf("the sides have counted to %d and %d", lost.view.Epoch.Counter, number)
		}
		lost.site.crash()
		n.heal()
		rest := []string{}
		for _, s := range n.sites {
			if s.live != nil {
				rest = append(rest, s.name)
			}
		}
		n.gather(10*second, rest...)
		n.run(second)
		if n.found != "" {
			return n.found
		}
		if v := n.authority().view; v.Epoch.Counter <= number || !v.Merged {
			return fmt.Sprintf("together under epoch %d, merged=%v, after both were in %d", v.Epoch.Counter, v.Merged, number)
		}
		n.kept(rest...)
	}
	return ""
}

// TestNoMemberHasAPlace: any member that has a place in the newest view has forgotten
// it, or is away. The others go on, and it joins them when it is back.
func TestNoMemberHasAPlace(t *testing.T) {
	for _, forgets := range []bool{false, true} {
		n := sides(t, 3)
		n.site("a").crash()
		n.site("b").crash()
		n.gather(10*second, "c")
		n.filter = func(_, _ *site, msg any) bool { _, joins := msg.(Join); return !joins }
		n.start("a", "b")
		n.run(2 * second)
		for _, name := range []string{"a", "b"} {
			if v := n.site(name).live.cell.Accepted; len(v.Members) != 1 || v.Members[0].Name != "c" {
				t.Fatalf("%s knows %v", name, v)
			}
		}
		c := n.site("c")
		c.crash()
		n.filter = nil
		if forgets {
			c.lose()
		} else {
			n.gather(10*second, "a", "b")
		}
		n.start("c")
		n.gather(10*second, "a", "b", "c")
		n.quiet()
	}
}
