package membership

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What happens when a coordinator gives up its role in good order.

// TestResignedHearsThatItIsOut: a coordinator that leaves gives its successor the voice that installs the next view,
// before the third member does. It hears at once that it is out, and once more where that is lost.
func TestResignedHearsThatItIsOut(t *testing.T) {
	for _, lose := range []int{0, 1} {
		n := ready(t, 3, 0)
		n.delay = func() time.Duration { return time.Millisecond }
		n.lag = n.delay
		n.run(second) // what was under way by other delays has arrived
		early, lost := 0, 0
		n.filter = func(from, to *site, msg any) bool {
			switch msg.(type) {
			case ViewAck:
				if from.name == "a" {
					early++
				}
				return from.name == "a"
			case Dropped:
				lost++
				return lost > lose
			}
			return true
		}
		leaver := n.site("a").live
		leaver.call(&Leave{Empty: true})
		sentAt := n.now
		n.until(2*leaver.config.poll(), "the answer", func() bool { return len(leaver.last) > 0 })
		if early != 1 || lost != lose+1 {
			t.Errorf("a has accepted %d times, and heard %d times that it is out; want 1 and %d", early, lost, lose+1)
		}
		t.Logf("after %v, with %d messages lost", n.now-sentAt, lose)
		n.filter = nil
		n.site("a").crash()
		n.gather(10*second, "b", "c")
		n.kept("b", "c")
	}
}

// TestResignationHeardLate: the successor asks a member for its promise that has not heard yet that the coordinator has resigned,
// and refuses. It is asked again, and has a place: without one it would lose what is held through it.
func TestResignationHeardLate(t *testing.T) {
	n := ready(t, 3, 0)
	n.delay = func() time.Duration { return time.Millisecond }
	n.lag = n.delay
	n.run(second) // what was under way by other delays has arrived
	refused := 0
	n.filter = func(from, to *site, msg any) bool {
		switch msg.(type) {
		case Resign:
			if to.name == "c" {
				sender, receiver := from.live.self, to.live
				n.after(20*time.Millisecond, func() { receiver.step(protocol.Event{Kind: protocol.Receive, From: sender, Fact: msg}) })
				return false
			}
		case election.Refuse:
			refused++
		}
		return true
	}
	n.site("a").live.call(&Leave{})
	n.run(second / 2)
	if refused != 1 {
		t.Fatalf("c has refused %d times, want once", refused)
	}
	for _, name := range []string{"b", "c"} {
		if p := n.site(name).live; len(p.view.Members) != 2 || !p.believes() || p.lease.Tenure.Lapses != 0 {
			t.Errorf("%s is in a view of %d members, believes %v, lapses %d; want both", name, len(p.view.Members), p.believes(), p.lease.Tenure.Lapses)
		}
	}
	n.filter = nil
	n.run(6 * second)
	n.quiet()
}

// TestOneSuccessorStands: when the coordinator resigns, one member hears of it a little before the
// other, which answers that the coordinator is well. Two that stood at once would each be halted by
// its own promise: one would win without the other, which would be out of the view for longer than
// what its clients hold lasts.
func TestOneSuccessorStands(t *testing.T) {
	for _, late := range []string{"b", "c"} {
		n := ready(t, 3, 0)
		n.delay = func() time.Duration { return time.Millisecond }
		n.lag = n.delay
		n.run(second) // what was under way by other delays has arrived
		epoch, resigned := n.site("b").live.view.Epoch.Counter, 0
		n.filter = func(from, to *site, msg any) bool {
			by := time.Duration(0)
			switch msg.(type) {
			case Resign:
				resigned++
				if to.name == late {
					by = 2100 * time.Microsecond
				}
			case election.StatusAnswer:
				if from.name == "a" && to.name != late {
					by = 1700 * time.Microsecond
				}
			}
			if by == 0 {
				return true
			}
			sender, receiver := from.live.self, to.live
			n.after(by, func() { receiver.step(protocol.Event{Kind: protocol.Receive, From: sender, Fact: msg}) })
			return false
		}
		n.site("a").live.call(&Leave{})
		n.run(second / 2)
		if resigned == 0 {
			t.Fatal("no member has resigned")
		}
		for _, name := range []string{"b", "c"} {
			p := n.site(name).live
			if v := p.view; v.Epoch.Counter != epoch+1 || len(v.Members) != 2 || !p.believes() || p.lease.Tenure.Lapses != 0 {
				t.Errorf("%s late: %s is in view %d of epoch %d with %d members, believes %v, lapses %d; want the two of them, by one election",
					late, name, v.Number, v.Epoch.Counter, len(v.Members), p.believes(), p.lease.Tenure.Lapses)
			}
		}
		n.filter = nil
		n.run(6 * second)
		n.quiet()
	}
}
