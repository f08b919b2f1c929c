package membership

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestSlowLinks: members with a lease of 3 s and a patience of 250 ms, as by default, form a view however long a round
// trip takes up to a fifth of the lease, and keep their leases; when their coordinator crashes there is another one.
// Where it takes a tenth of the lease the others' leases outlive that. Those who have looked for one twice say when links are
// too slow.
func TestSlowLinks(t *testing.T) {
	for _, way := range []time.Duration{1, 100, 125, 140, 150, 200, 250, 300} {
		way *= time.Millisecond
		t.Run(fmt.Sprint(way), func(t *testing.T) {
			for seed := range uint64(20) {
				n := newNet(t, seed, 3, 0, nil)
				n.delay = func() time.Duration { return way - time.Duration(n.random.Int64N(int64(way/20))) }
				slow := map[string]Slow{}
				n.noted = func(p *process, note protocol.Note) {
					if s, is := note.(Slow); is {
						slow[p.site.name] = s
					}
				}
				n.start()
				n.gather(20*second, "a", "b", "c")
				n.run(60 * second)
				n.kept("a", "b", "c")
				if said, must := len(slow), 2*way*19/20 > 250*time.Millisecond; must && said < 2 || said > 0 && 2*way < 200*time.Millisecond {
					t.Errorf("seed %d: links are reported slow by %v", seed, slow)
				}
				for name, s := range slow {
					if s.Patience <= s.Configured || s.Trip < 2*way*9/10 || s.Trip > 2*way+10*time.Millisecond { // by a clock that may be slow
						t.Errorf("seed %d: %s says: %v", seed, name, s)
					}
				}
				n.authority().site.crash()
				n.until(20*second, "another coordinator", func() bool { return n.authority() != nil })
				if way <= 150*time.Millisecond {
					for _, s := range n.sites {
						if s.live != nil && s.live.lapses > 0 {
							t.Errorf("seed %d: the lease of %s has not outlived the election", seed, s.name)
						}
					}
				}
				n.quiet()
			}
		})
	}
}

// TestLapsesInTurn: members whose leases end one after the other, because polls to them were lost, have leases again
// soon when no message is lost any more, also where a round trip takes a fifth of the lease. The member that lapses
// during an election makes it void, and the next one is over before another lease ends.
func TestLapsesInTurn(t *testing.T) {
	voids := 0
	for seed := range uint64(60) {
		elected, what := lapseInTurn(t, seed)
		if what != "" {
			t.Fatalf("seed %d: %s", seed, what)
		}
		voids += elected
	}
	if voids < 60 {
		t.Errorf("%d elections in 60 runs: no lease has ended during one", voids)
	}
}

// neverTogether is the story of a hole, see lapseInTurn.
func neverTogether(t testing.TB) string {
	for seed := range uint64(60) {
		if _, what := lapseInTurn(t, seed); what != "" {
			return what
		}
	}
	return ""
}

// lapseInTurn has seven members over slow links miss polls, each for 4 s that begin within 6 s, and counts the elections until
// all are in one view again. What is not empty if they are not.
func lapseInTurn(t testing.TB, seed uint64) (elections int, what string) {
	n := newNet(t, seed, 7, 0, nil)
	n.delay = func() time.Duration {
		return 295*time.Millisecond + time.Duration(n.random.Int64N(int64(10*time.Millisecond)))
	}
	n.start()
	n.gather(30*second, n.names()...)
	deaf := map[*site]time.Duration{}
	for _, s := range n.sites {
		deaf[s] = n.now + time.Duration(n.random.Int64N(int64(6*second)))
	}
	n.filter = func(_, to *site, msg any) bool {
		switch msg.(type) {
		case Poll, NewView:
			return n.now < deaf[to] || n.now > deaf[to]+4*second
		}
		return true
	}
	n.run(10 * second)
	n.filter = nil
	elected := map[protocol.Epoch]bool{}
	n.raised = func(_ *process, raised any) {
		if v, is := raised.(*protocol.View); is {
			elected[v.Epoch] = true
		}
	}
	for healed := n.now; !n.together(n.names()...); n.run(10 * time.Millisecond) {
		if n.now > healed+20*second {
			return len(elected), fmt.Sprintf("in 20 s without a fault and %d elections there was no view of all", len(elected))
		}
	}
	n.quiet()
	return len(elected), ""
}

// TestOneLateAnswer: an answer that comes late once does not have a member wait for longer than its lease allows for;
// the next one that comes in time is believed.
func TestOneLateAnswer(t *testing.T) {
	n := newNet(t, 1, 2, 0, nil)
	n.site("a").rate = 1
	n.start("a")
	n.run(second)
	a, b := n.site("a").live, n.site("b")
	survey := func() uint64 {
		t.Helper()
		now := a.surveys
		n.until(5*second, "a survey", func() bool { return a.surveys > now })
		return a.surveys
	}
	answer := func(number uint64, address string) {
		t.Helper()
		a.step(protocol.Event{Kind: protocol.Receive, From: 77, Fact: election.StatusAnswer{
			Number: number, Self: election.Member{Member: protocol.Member{ID: 77, Name: b.name, Address: address}}, Founders: a.config.Founders, Terms: a.terms,
		}})
	}
	expect := func(want time.Duration) {
		t.Helper()
		if got := a.patience(); got < want || got > want+20*time.Millisecond {
			t.Errorf("answers are waited for %v, want %v", got, want)
		}
	}
	number := survey()
	n.run(650 * time.Millisecond)
	answer(number, "elsewhere:1") // which was not asked
	expect(250 * time.Millisecond)
	answer(number, b.config.Address)
	expect(a.config.lasting())
	n.run(50 * time.Millisecond)
	answer(number, b.config.Address) // to the second question
	expect(a.config.lasting())
	answer(survey(), b.config.Address)
	expect(250 * time.Millisecond)
	for range 2 {
		number = survey()
		n.run(480 * time.Millisecond)
		answer(number, b.config.Address)
	}
	expect(600 * time.Millisecond)
}

// TestPreemptOverSlowLinks: where a round trip takes longer than a member waits by default, the member of the highest id takes
// the place of a coordinator that is well together with all members of its view.
func TestPreemptOverSlowLinks(t *testing.T) {
	preempted := 0
	for seed := range uint64(1000) {
		joined, what := preemptOverSlowLinks(t, seed)
		if what != "" {
			t.Errorf("seed %d: %s", seed, what)
		}
		if joined {
			preempted++
		}
	}
	t.Logf("%d have preempted", preempted)
	if preempted < 5 {
		t.Errorf("%d have preempted; that is too few to say anything", preempted)
	}
}

// preemptOverSlowLinks has the member of the highest id come back to the two others in partition any, and reports whether it
// has followed one of them before it leads all. What is not empty if it leads alone in between.
func preemptOverSlowLinks(t testing.TB, seed uint64) (joined bool, what string) {
	n := newNet(t, seed, 3, 0, func(c *Config) { c.Preempt, c.Available = true, true })
	n.delay = func() time.Duration {
		return 280*time.Millisecond + time.Duration(n.random.Int64N(int64(10*time.Millisecond)))
	}
	n.start()
	n.gather(60*second, n.names()...)
	highest := slices.MaxFunc(n.sites, func(a, b *site) int { return cmp.Compare(a.live.self, b.live.self) })
	highest.crash()
	n.run(10 * second)
	n.raised = func(p *process, raised any) {
		v, is := raised.(*protocol.View)
		switch {
		case !is || p.site != highest:
		case v.Coordinator != p.self:
			joined = true
		case joined && len(v.Members) == 1:
			what = fmt.Sprintf("the highest leads %v alone after it has joined the others", v)
		}
	}
	n.start(highest.name)
	n.until(60*second, "the highest leads all", func() bool {
		a := n.authority()
		return what != "" || a != nil && a.site == highest && len(a.view.Members) == 3
	})
	n.quiet()
	return joined, what
}

// aloneOverSlowLinks is the story of a hole, see preemptOverSlowLinks.
func aloneOverSlowLinks(t testing.TB) string {
	for seed := range uint64(1000) {
		if _, what := preemptOverSlowLinks(t, seed); what != "" {
			return what
		}
	}
	return ""
}
