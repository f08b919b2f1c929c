package membership

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// elected lets b win an election whose view c never hears: a is dead, c has promised.
func elected(t *testing.T) (*net, *process) {
	t.Helper()
	n := ready(t, 3, 0)
	n.filter = func(_, to *site, msg any) bool { _, is := msg.(NewView); return !is || to.name != "c" }
	n.site("a").crash()
	b := n.site("b").live
	n.until(3*second, "a reign of b", func() bool { return b.reign != nil })
	return n, b
}

// TestHorizonOfAProposal: a view that is not installed remembers nothing for whoever
// replaces it, though its coordinator alone is a quorum of it.
func TestHorizonOfAProposal(t *testing.T) {
	n, b := elected(t)
	if !b.reign.proposal.Electorate().Quorum(func(id protocol.ID) bool { return id == b.self }) {
		t.Fatal("b is not a quorum of what it proposes")
	}
	b.want(8*second, true)
	n.run(second / 2)
	if b.horizon.Confirmed != 0 {
		t.Errorf("b may promise %v, which only b remembers", b.horizon.Confirmed)
	}
	b.promiseClient()
	b.site.crash()
	n.start("a")
	n.run(12 * second)
	n.quiet()
	n.filter = nil
	n.gather(10*second, "a", "c")
}

// TestHorizonWhileTheViewChanges: what a quorum remembered before is in every
// acceptance of the next view, so nobody need promise less meanwhile.
func TestHorizonWhileTheViewChanges(t *testing.T) {
	n := formed(t, 3, 1, nil)
	p := n.site("c").live
	p.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return p.horizon.Confirmed == 8*second })
	least := p.horizon.Confirmed
	n.told = func(q *process, _ any) { least = min(least, p.horizon.Confirmed) }
	n.site("d").crash()
	n.gather(10*second, "a", "b", "c")
	n.start("d")
	n.gather(10*second, n.names()...)
	n.run(second)
	if least < 8*second {
		t.Errorf("c could promise only %v for a while", least)
	}
	n.kept("a", "b", "c")
}

// TestPromiseOfASinkingHorizon: a promise says which horizon the disk has when it is
// sent, not which one it had before the write that it waits for.
func TestPromiseOfASinkingHorizon(t *testing.T) {
	n := formed(t, 3, 0, nil)
	n.lag = func() time.Duration { return 50 * time.Millisecond }
	c, b := n.site("c").live, n.site("b").live
	c.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return c.horizon.Confirmed == 8*second && !b.saving })
	c.want(0, true)
	n.until(2*second, "a write of less", func() bool { return b.saving && b.inflight.Horizon < b.written.Horizon })
	var said *election.Promise
	n.filter = func(from, _ *site, msg any) bool {
		if p, is := msg.(election.Promise); is && from.name == "b" && said == nil {
			said = &p
			if cell, err := DecodeCell(from.disk); err != nil || p.Horizon != cell.Horizon {
				t.Errorf("b says that it remembers %v, and it is %v (%v)", p.Horizon, cell.Horizon, err)
			}
		}
		return true
	}
	asker := n.site("a").live.self // who asks though it coordinates has lost its role
	b.step(protocol.Event{Kind: protocol.Receive, From: asker, Fact: election.Election{Epoch: protocol.Epoch{Counter: 2000, Candidate: asker}}})
	n.until(second, "a promise", func() bool { return said != nil })
	n.filter = nil
	n.gather(10*second, n.names()...)
	n.quiet()
}

// TestHorizonOfAWinner: whoever wins remembers the horizon that others tell of in their
// promises before it promises any of it, for its next life must wait for that.
func TestHorizonOfAWinner(t *testing.T) {
	n := formed(t, 3, 0, nil)
	b := n.site("b").live
	b.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return b.horizon.Confirmed == 8*second })
	for _, name := range n.names() {
		n.site(name).crash()
	}
	n.site("a").lose()
	n.site("c").lose()
	n.filter = func(from, _ *site, msg any) bool { // b may promise, and not be the candidate
		_, asks := msg.(election.StatusPoll)
		return !asks || from.name != "b"
	}
	n.start()
	a := n.site("a").live
	n.until(20*second, "a reign of a", func() bool { return a.reign != nil && a.reign.installed })
	if a.reign.horizon < 8*second {
		t.Fatalf("a does not know of the horizon, but %v", a.reign.horizon)
	}
	a.want(4*second, true)
	n.until(second, "a horizon", func() bool { return a.horizon.Confirmed == 4*second })
	n.quiet()
}

// TestHorizonWithoutACell: a founder without a cell that is left alone promises nothing
// beyond its lease, though others had, and have told it.
func TestHorizonWithoutACell(t *testing.T) {
	n := formed(t, 2, 0, func(c *Config) { c.Kept = c.Name == "a" })
	n.site("b").crash()
	n.gather(10*second, "a")
	a := n.site("a").live
	a.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return a.horizon.Confirmed == 8*second })
	n.start("b")
	n.gather(10*second, "a", "b")
	b := n.site("b").live
	a.call(&Leave{})
	n.until(5*second, "a reign of b alone", func() bool { return b.alone() })
	b.want(4*second, true)
	n.run(second)
	if b.horizon.Confirmed != 0 {
		t.Errorf("b has no cell, and may promise %v", b.horizon.Confirmed)
	}
	n.quiet()
}
