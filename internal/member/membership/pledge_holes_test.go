package membership

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// pledgeHoles are the ways in which a client may be promised too much, or others wait for too
// long, each with the rule that closes it.
func pledgeHoles() []hole {
	return []hole{
		{"promised before it is recorded", "promised before it is recorded", nil},
		{"the coordinator alone records", "the coordinator alone records", nil},
		{"the last pledge to arrive wins", "the last pledge to arrive wins", nil},
		{"clients freed at the lease", "clients freed at the lease", nil},
		{"pledges counted before they are written", "pledges counted before they are written", unwrittenPledge},
		{"a promise without its pledges", "promise without its pledges", promiseWithoutPledges},
		{"a view without its pledges", "view without its pledges", viewWithoutPledges},
		{"a horizon remembered by a proposal", "horizon remembered by a proposal", rememberedByAProposal},
		{"a withdrawn pledge does not count", "a withdrawn pledge does not count", withdrawnBetween},
		{"pledges of the gone are forgotten", "pledges of the gone are forgotten", goneTwice},
		{"attendance forgets the longest promise", "attendance forgets the longest promise", attendedWithoutMemory},
		{"one horizon for all", "one horizon for all", survivorsPledge},
		{"pledges are never withdrawn", "pledges are never withdrawn", endedPledge},
	}
}

const longReach = 8 * second

// foundersWithPledges makes founders that are together, and have agreed on how far clients may believe,
// of which none does.
func foundersWithPledges(t testing.TB, founders int) *net {
	n := ready(t, founders, 0)
	p := n.site("b").live
	p.want(longReach, true)
	n.until(2*second, "a horizon", func() bool { return p.horizon.Confirmed == longReach })
	p.want(0, true)
	n.until(2*second, "no pledge", func() bool { return !n.pledged() })
	n.run(second)
	return n
}

// pledged reports whether any process remembers a pledge.
func (n *net) pledged() bool {
	return slices.ContainsFunc(n.sites, func(s *site) bool {
		return s.live != nil && s.live.cell.Pledges.Longest() > 0
	})
}

// tempt lets a client want much of a process, and believe for as long as that may say.
func (p *process) tempt() {
	p.want(longReach, true)
	p.site.net.run(second / 4)
	p.promiseClient()
}

// unlisted keeps lists of pledges from some.
func (n *net) unlisted(names ...string) {
	n.filter = func(_, to *site, msg any) bool {
		poll, is := msg.(Poll)
		return !is || poll.Pledges == nil || !slices.Contains(names, to.name)
	}
}

func (n *net) crash(names ...string) {
	for _, name := range names {
		n.site(name).crash()
	}
}

// unwrittenPledge: three of five have heard of a pledge, and have not written it down. They
// restart, and are a quorum.
func unwrittenPledge(t testing.TB) string {
	n := foundersWithPledges(t, 5)
	n.faulty = func(s *site) bool { return slices.Contains([]string{"b", "d", "e"}, s.name) }
	n.site("c").live.tempt()
	n.faulty = nil
	n.crash(n.names()...)
	n.start("b", "d", "e")
	n.run(12 * second)
	return n.found
}

// promiseWithoutPledges: a quorum has written down a pledge. The candidate is not of it, and
// one of those who promise is.
func promiseWithoutPledges(t testing.TB) string {
	n := foundersWithPledges(t, 5)
	n.unlisted("b", "e")
	n.site("c").live.tempt()
	n.filter = nil
	n.crash("a", "c")
	n.run(12 * second)
	return n.found
}

// viewWithoutPledges: the next coordinator knows of a pledge and is lost too, with the only other one
// that did, as soon as its view is installed. Those who have accepted that are a quorum of it.
func viewWithoutPledges(t testing.TB) string {
	n := foundersWithPledges(t, 7)
	n.unlisted("d", "e", "g")
	n.site("c").live.tempt()
	n.crash("a", "c")
	b, g := n.site("b").live, n.site("g").live
	installed := func() bool { return b.reign != nil && b.reign.installed }
	listless := n.filter
	n.filter = func(from, to *site, msg any) bool {
		_, is := msg.(NewView)
		return listless(from, to, msg) && !(is && to.name == "g" && !installed()) // it hears of the view and that it is installed at once
	}
	n.until(5*second, "a view of b", installed)
	n.until(5*second, "g knows of it", func() bool { return g.written.Accepted.Epoch == b.reign.epoch && g.written.Accepted.Installed })
	n.filter = nil
	n.crash("b", "f")
	n.run(12 * second)
	return n.found
}

// rememberedByAProposal: of a view that is not installed its coordinator alone is a quorum. It
// crashes, and the view is forgotten with it.
func rememberedByAProposal(t testing.TB) string {
	n := foundersWithPledges(t, 3)
	n.filter = func(_, to *site, msg any) bool { _, is := msg.(NewView); return !is || to.name != "c" }
	n.crash("a")
	b := n.site("b").live
	n.until(3*second, "a reign of b", func() bool { return b.reign != nil })
	b.tempt()
	n.crash("b")
	n.start("a")
	n.run(12 * second)
	return n.found
}

// withdrawnBetween: a pledge is withdrawn and made again; no member hears of the second time.
func withdrawnBetween(t testing.TB) string {
	n := foundersWithPledges(t, 3)
	c := n.site("c").live
	c.want(longReach, true)
	n.until(2*second, "a horizon", func() bool { return c.horizon.Confirmed == longReach })
	withdrawn := c.latest().Version + 1
	cut := false
	n.filter = func(from, to *site, msg any) bool {
		if answer, is := msg.(PollAnswer); is && from.name == "c" && answer.Version == withdrawn && !cut {
			cut = true
			return true
		}
		return !cut || from.name != "c" && to.name != "c"
	}
	c.want(0, true)
	n.until(2*second, "c withdraws its pledge", func() bool { return cut })
	n.run(second / 10)
	c.tempt()
	n.crash("c")
	n.filter = nil
	n.run(12 * second)
	return n.found
}

// goneTwice: the coordinator that has counted out a member is lost before its clients have stopped
// to believe.
func goneTwice(t testing.TB) string {
	n := foundersWithPledges(t, 5)
	n.site("e").live.tempt()
	n.crash("e")
	n.gather(5*second, "a", "b", "c", "d")
	n.crash("a")
	n.run(12 * second)
	return n.found
}

// attendedWithoutMemory: all members that have written down a pledge have lost their cells, and the one
// that has not knows only what all had agreed on.
func attendedWithoutMemory(t testing.TB) string {
	n := foundersWithPledges(t, 3)
	n.unlisted("c")
	n.site("b").live.tempt()
	n.filter = nil
	n.crash(n.names()...)
	n.site("a").lose()
	n.site("b").lose()
	n.start()
	n.run(2 * second)
	n.crash("a") // the member that is elected next knows of the wait too
	n.run(12 * second)
	return n.found
}

// bound is how long names wait for a member whose clients were promised nothing beyond its lease:
// until that is noticed and another is elected, and for the lease by the slower clock.
const bound = 2*second + 3150*time.Millisecond

// survivorsPledge: the belief of a survivor's client costs no other member anything.
func survivorsPledge(t testing.TB) string {
	n := foundersWithPledges(t, 3)
	n.site("c").live.tempt()
	n.crash("a")
	lost := n.now
	n.until(20*second, "another who acts", func() bool { return n.authority() != nil })
	if took := n.now - lost; took > bound {
		return fmt.Sprintf("%v after the loss of a member without clients another one acts", took)
	}
	return n.found
}

// endedPledge: nor does what no client believes any more.
func endedPledge(t testing.TB) string {
	n := ready(t, 3, 0)
	c := n.site("c").live
	c.want(longReach, true)
	n.until(2*second, "a horizon", func() bool { return c.horizon.Confirmed == longReach })
	c.want(0, true)
	n.run(second)
	n.crash("c")
	lost := n.now
	n.until(20*second, "an open view without c", func() bool { v := n.authority().view; return len(v.Members) == 2 && v.Open })
	if took := n.now - lost; took > bound {
		return fmt.Sprintf("%v after the loss of a member whose sessions had ended its names are free", took)
	}
	return n.found
}
