package membership

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/election"
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

// TestHorizonOfAProposal: a view that is not installed remembers nothing for the member
// that replaces it, though its coordinator alone is a quorum of it.
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
// acceptance of the next view, so no member need promise less meanwhile.
func TestHorizonWhileTheViewChanges(t *testing.T) {
	n := formed(t, 3, 1, nil)
	p := n.site("c").live
	p.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return p.horizon.Confirmed == 8*second })
	least := p.horizon.Confirmed
	n.raised = func(q *process, _ any) { least = min(least, p.horizon.Confirmed) }
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

// TestHorizonOfAWinner: the winner remembers the horizon that others tell of in their
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
		_, is := msg.(election.StatusPoll)
		return !is || from.name != "b"
	}
	n.start()
	a := n.site("a").live
	n.until(20*second, "a reign of a", func() bool { return a.reign != nil && a.reign.installed })
	if known := a.cell.Pledges.Most().Span(); known < 8*second {
		t.Fatalf("a does not know how far clients may believe, but %v", known)
	}
	a.want(4*second, true)
	n.until(second, "a horizon", func() bool { return a.horizon.Confirmed == 4*second })
	n.quiet()
}

// TestHorizonWithoutAFounder: while a founder is missing clients are promised as much as before,
// and no more than all founders have agreed on.
func TestHorizonWithoutAFounder(t *testing.T) {
	n := formed(t, 2, 0, nil)
	a := n.site("a").live
	a.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return a.horizon.Confirmed == 8*second })
	durable := a.cell.Pledges.Durable.Span()
	n.site("b").crash()
	n.gather(10*second, "a")
	a.want(60*second, true)
	n.until(second, "an answer", func() bool { return !a.requested })
	if got := a.horizon.Confirmed; got < 8*second || got > durable {
		t.Errorf("a may promise %v, and %v is agreed", got, durable)
	}
	n.start("b")
	n.gather(10*second, "a", "b")
	a.want(60*second, true)
	n.until(2*second, "a longer horizon", func() bool { return a.horizon.Confirmed == 60*second })
	n.quiet()
}

// TestHorizonOfADroppedTenure: a tenure may end before its lease does. Its clients believe for
// all of that, and for their horizon after it.
func TestHorizonOfADroppedTenure(t *testing.T) {
	n := formed(t, 3, 0, nil)
	c := n.site("c").live
	c.want(8*second, true)
	n.until(2*second, "a horizon", func() bool { return c.horizon.Confirmed == 8*second })
	believed := c.lease.Member + 8*second
	dropped := Dropped{Epoch: c.cell.promised(), Tenure: c.lease.Tenure}
	c.step(protocol.Event{Kind: protocol.Receive, From: dropped.Epoch.Candidate, Fact: dropped})
	if c.leased || c.wait < believed {
		t.Errorf("leased=%v; its clients believe until %v, and are waited for until %v", c.leased, believed, c.wait)
	}
	n.quiet()
}
