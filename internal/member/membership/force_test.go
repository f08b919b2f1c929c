package membership

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// force asks for a view of the named members, and waits for the end of it.
func (p *process) force(names ...string) *Forced {
	n := p.site.net
	n.t.Helper()
	p.call(&Force{Reason: "a fire", Members: names, By: "ops"})
	n.until(10*second, "an end of forcing", func() bool { return len(p.last) > 0 })
	return p.last[len(p.last)-1].Result.(*Forced)
}

// bereft makes founders of which some are lost for good; the others know it.
func bereft(t testing.TB, founders int, lost ...string) *net {
	n := formed(t, founders, 0, nil)
	for _, name := range lost {
		n.site(name).crash()
	}
	n.run(10 * second)
	return n
}

// TestForcedView: an operator goes on without the quorum that is lost for good.
func TestForcedView(t *testing.T) {
	n := bereft(t, 5, "a", "b", "c")
	p := n.site("d").live
	forced := n.now
	if got := p.force("d", "e"); got.Err != nil {
		t.Fatal(got.Err)
	}
	if v := p.cell.Accepted; !v.Installed || len(v.Members) != 2 {
		t.Errorf("answered when the view is %v", v)
	}
	n.gather(10*second, "d", "e")
	if took := n.now - forced; took < 3*second {
		t.Errorf("acts after %v", took)
	}
	n.start()
	n.gather(20*second, n.names()...)
	n.quiet()
	for _, s := range n.sites {
		if got, want := s.live.cell.Accepted.Order, (election.Order{Reason: "a fire", By: "ops"}); got != want {
			t.Errorf("%s knows of %+v, want %+v", s.name, got, want)
		}
		if n.heard[s.name] != 1 {
			t.Errorf("%s has reported %d times that a view was forced", s.name, n.heard[s.name])
		}
	}
}

// TestForceIsRefused where it is not safe, or cannot be.
func TestForceIsRefused(t *testing.T) {
	n := bereft(t, 5, "a", "b", "c")
	d, e := n.site("d").live, n.site("e").live
	d.call(&Force{Reason: "a fire", Members: []string{"d", "e"}})
	for _, tt := range []struct {
		p     *process
		names []string
		want  string
	}{
		{e, []string{"e", "x"}, `member "x" is not in view`},
		{e, []string{"d"}, `"e", must be a founder and among the named`},
		{d, []string{"d"}, "another call forces a view now"},
	} {
		if got := tt.p.call(&Force{Reason: "a fire", Members: tt.names}).(*Forced); got.Err == nil || !strings.Contains(got.Err.Error(), tt.want) || got.Silent != nil {
			t.Errorf("%q: %+v, want %q", tt.names, got, tt.want)
		}
	}
	n.gather(10*second, "d", "e")
	if got := d.call(&Force{Reason: "a fire", Members: []string{"d"}}).(*Forced); got.Err == nil || !strings.Contains(got.Err.Error(), "nothing need be forced") {
		t.Errorf("a well coordinator was replaced: %+v", got)
	}
	n = bereft(t, 3, "a", "b")
	c := n.site("c").live
	c.call(&Leave{Empty: true})
	if got := c.call(&Force{Reason: "a fire", Members: []string{"c"}}).(*Forced); got.Err == nil || !strings.Contains(got.Err.Error(), "is leaving") {
		t.Errorf("forced by one that leaves: %+v", got)
	}
	n = sides(t, 3)
	if got := n.site("c").live.call(&Force{Reason: "a fire", Members: []string{"c"}}).(*Forced); got.Err == nil || !strings.Contains(got.Err.Error(), "mode any") {
		t.Errorf("forced in mode any: %+v", got)
	}
}

// TestForceIsTriedAgain: messages are lost, and once all of them.
func TestForceIsTriedAgain(t *testing.T) {
	n := bereft(t, 5, "a", "b", "c")
	heard := n.now + 1500*time.Millisecond
	n.filter = func(_, _ *site, msg any) bool {
		_, is := msg.(election.Election)
		return !is || n.now >= heard
	}
	if got := n.site("d").live.force("d", "e"); got.Err != nil {
		t.Fatal(got.Err)
	}
	n.gather(10*second, "d", "e")
	n.quiet()
}

// TestForceWithoutOneOfTheNamed: it says who is silent, and the view is as it was.
func TestForceWithoutOneOfTheNamed(t *testing.T) {
	n := bereft(t, 5, "a", "b", "c")
	n.site("e").crash()
	d := n.site("d").live
	before := d.cell.Accepted
	if got := d.force("d", "e"); got.Err == nil || !slices.Equal(got.Silent, []string{"e"}) {
		t.Errorf("%+v", got)
	}
	if d.cell.Accepted != before {
		t.Errorf("the view is %v", d.cell.Accepted)
	}
	n.start()
	n.gather(20*second, n.names()...)
	n.quiet()
}

// TestForceWithOneLeaving: the senior of two is named, promises, and is leaving. Alone it
// is a quorum of the view that is replaced, so the forced one is not there before it has
// accepted that, and one that it has not accepted is none after it is back.
func TestForceWithOneLeaving(t *testing.T) {
	for _, hears := range []bool{true, false} {
		t.Run(fmt.Sprintf("hears=%t", hears), func(t *testing.T) {
			n := bereft(t, 2, "a")
			n.start("a")
			n.until(second, "a is back", func() bool { return !n.site("a").live.starting })
			n.site("a").live.call(&Leave{})
			lost := 0
			n.filter = func(_, to *site, msg any) bool {
				_, view := msg.(NewView)
				if view && to.name == "a" && !hears {
					lost++
					return false
				}
				return true
			}
			b := n.site("b").live
			got := b.force("a", "b")
			switch {
			case hears != (got.Err == nil):
				t.Errorf("b forces: %v", got.Err)
			case hears && (len(b.cell.Accepted.Members) != 1 || n.site("a").live.cell.Accepted.Number != b.cell.Accepted.Number):
				t.Errorf("b has %v, a %v", b.cell.Accepted, n.site("a").live.cell.Accepted)
			case !hears && (lost == 0 || b.cell.Accepted.Installed && len(b.cell.Accepted.Members) == 1):
				t.Errorf("b has %v, %d views were lost", b.cell.Accepted, lost)
			}
			n.site("a").crash()
			n.site("b").crash() // before another member knows
			n.filter = nil
			n.isolate("a", 15*second)
			n.start()
			n.run(15 * second) // both by themselves
			n.heal()
			n.gather(30*second, "a", "b")
			n.quiet()
		})
	}
}

// TestForceEndsWhereAnotherLeads: the others have a coordinator of a newer view, of
// which the one that is asked to force has not heard.
func TestForceEndsWhereAnotherLeads(t *testing.T) {
	n := formed(t, 3, 0, nil)
	n.isolate("c", time.Hour)
	n.site("a").crash()
	n.start("a")
	n.gather(20*second, "a", "b")
	newest := n.site("b").live.cell.Accepted
	c := n.site("c").live
	c.call(&Force{Reason: "a fire", Members: []string{"c", "b"}})
	n.heal()
	n.until(3*second, "the end", func() bool { return len(c.last) > 0 })
	if got := c.last[0].Result.(*Forced); got.Err == nil || !strings.Contains(got.Err.Error(), "nothing need be forced") {
		t.Errorf("%+v, and %v is led well", got, newest)
	}
	n.gather(20*second, "a", "b", "c")
	n.quiet()
}

// TestForceEndsWhereTheViewIsWell: the one that is asked to force does not hear the
// coordinator, which all others hear.
func TestForceEndsWhereTheViewIsWell(t *testing.T) {
	n := formed(t, 3, 0, nil)
	n.isolate("c", time.Hour, "a")
	n.run(1200 * time.Millisecond)
	c := n.site("c").live
	c.call(&Force{Reason: "a fire", Members: []string{"c", "b"}})
	n.until(second/10, "the end", func() bool { return len(c.last) > 0 })
	if got := c.last[0].Result.(*Forced); got.Err == nil || !strings.Contains(got.Err.Error(), `is led well by "a"`) {
		t.Errorf("%+v", got)
	}
	n.heal()
	n.gather(20*second, "a", "b", "c")
	n.quiet()
}

// TestForcedEpoch: it is above the wall clock's second, and no member acts under it
// before that clock has reached it: so forgetting everything takes no token back.
func TestForcedEpoch(t *testing.T) {
	n := formed(t, 3, 0, nil)
	n.run(100 * second)
	for _, name := range []string{"a", "b"} {
		n.site(name).crash()
	}
	n.run(10 * second)
	c := n.site("c").live
	second0 := uint64(1000 + n.now/second)
	c.call(&Force{Reason: "a fire", Members: []string{"c"}, Wall: (Origin+1000)*second + n.now})
	n.until(10*second, "an authority", func() bool { return n.authority() != nil })
	epoch, acts := n.authority().view.Epoch.Counter, uint64(1000+n.now/second)
	if epoch <= second0 || epoch > acts {
		t.Errorf("forced at second %d, acts at %d under epoch %d", second0, acts, epoch)
	}
	for _, s := range n.sites {
		s.crash()
		s.disk = nil
	}
	n.acceptors, n.acted = map[protocol.ID]acceptorState{}, nil
	n.start()
	n.gather(20*second, n.names()...)
	n.quiet()
	if v := n.authority().view; v.Epoch.Counter < epoch || v.Epoch.Counter == epoch && v.Count == 0 {
		t.Errorf("tokens begin at %d:%d after epoch %d was forced", v.Epoch.Counter, v.Count, epoch)
	}
}

// TestForcedEpochOfASlowClock: the wall clock that the operator's member reads counts,
// however far behind the member's own is; and one that was set back does not.
func TestForcedEpochOfASlowClock(t *testing.T) {
	for _, tt := range []struct {
		name string
		wall time.Duration // 0 where it is unknown
		own  bool          // the member's own counts
		want uint64
	}{
		{"unknown", 0, true, 0},
		{"far ahead of the member's", (Origin + 5000) * second, false, 5003},
		{"set back", (Origin + 10) * second, true, 0},
		{"set back to before there was any epoch", (Origin - 1000) * second, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := bereft(t, 3, "a", "b")
			c := n.site("c").live
			if tt.own {
				tt.want = Second(c.wall(c.local()) + 3*second)
			}
			c.call(&Force{Reason: "a fire", Members: []string{"c"}, Wall: tt.wall})
			if got := c.cell.Promised; got != tt.want || got <= 1010 {
				t.Errorf("the epoch is %d, want %d", got, tt.want)
			}
		})
	}
}

// TestForcedWrongly: the founders that an operator has left out are alive, with a quorum
// of their own, or with another operator who does the same in the same second. When the
// sides hear of each other, the older authority ends.
func TestForcedWrongly(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprintf("both=%v", both), func(t *testing.T) {
			n := formed(t, 4, 0, nil)
			for _, name := range n.names() {
				n.isolate(name, 10*second)
			}
			n.split(time.Hour, "c", "d")
			n.run(10 * second)
			n.rivals = true
			wall := (Origin + 5000) * second
			n.site("c").live.call(&Force{Reason: "a fire", Members: []string{"c", "d"}, Wall: wall})
			if both {
				n.site("a").live.call(&Force{Reason: "a fire", Members: []string{"a", "b"}, Wall: wall})
			}
			n.run(8 * second)
			acting := n.acting()
			if len(acting) != 2 || both != (acting[0].view.Epoch.Counter == acting[1].view.Epoch.Counter) {
				t.Fatalf("%d sides act\n%s", len(acting), n.dump())
			}
			n.heal()
			n.gather(20*second, n.names()...)
			n.rivals = false
			n.run(5 * second)
			if len(n.acting()) != 1 || n.authority().view.Epoch.Counter < acting[1].view.Epoch.Counter {
				t.Errorf("in the end:\n%s", n.dump())
			}
			n.quiet()
		})
	}
}

// leaverWithoutADisk: the senior of two leaves, and its disk does not take the view without it. Its next life knows the view of
// both, of which it is a quorum by itself; so what it has not written must be no quorum. An operator has made the junior one
// coordinate.
func leaverWithoutADisk(t testing.TB) string {
	n := bereft(t, 5, "a", "b", "d")
	c, e := n.site("c").live, n.site("e").live
	if got := e.force("c", "e"); got.Err != nil {
		t.Fatal(got.Err)
	}
	n.gather(10*second, "c", "e")
	if p := n.authority(); p != e {
		t.Fatalf("e does not coordinate, which is no test: %s", n.dump())
	}
	full := true
	n.faulty = func(s *site) bool { return full && s.name == "c" }
	c.call(&Leave{Empty: true})
	n.run(2 * second)
	if v := c.written.Accepted; len(v.Members) != 2 {
		t.Fatalf("c has written %v, which is no test", v)
	}
	n.site("c").crash()
	n.site("e").crash()
	full = false
	n.isolate("c", 15*second)
	n.start("c", "e")
	n.run(15 * second) // both by themselves
	return n.found
}

// deafLeaver: the senior of two is named and promises, is leaving, and does not hear of the
// forced view. Back with the view before in its cell it is a quorum of that by itself.
func deafLeaver(t testing.TB) string {
	n := bereft(t, 2, "a")
	n.start("a")
	n.until(second, "a is back", func() bool { return !n.site("a").live.starting })
	n.site("a").live.call(&Leave{})
	n.filter = func(_, to *site, msg any) bool {
		_, view := msg.(NewView)
		return !view || to.name != "a"
	}
	b := n.site("b").live
	if got := b.force("a", "b"); got.Err == nil {
		return fmt.Sprintf("b has forced %v, of which a has not heard", b.cell.Accepted)
	}
	return n.found
}
