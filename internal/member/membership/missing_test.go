package membership

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// missed is what a member says of the founders that it misses: names, addresses, and when it
// missed them first, in whole seconds of its clock.
func (s *site) missed() (all []string) {
	self := s.live.call(&Who{}).(*Self)
	for _, f := range self.Missing {
		all = append(all, fmt.Sprintf("%s %s %v", f.Name, f.Address, f.Since.Truncate(time.Second)))
	}
	return append(all, fmt.Sprintf("%d of %d", self.Founders-len(self.Missing), self.Founders))
}

func (n *net) misses(name string, want ...string) {
	n.t.Helper()
	if got := n.site(name).missed(); !slices.Equal(got, want) {
		n.t.Errorf("after %v %s misses %q, want %q", n.now, name, got, want)
	}
}

// TestMissingAtTheFirstStart: before the first view members name the founders that have not
// answered, and by their names those that have answered and are silent since.
func TestMissingAtTheFirstStart(t *testing.T) {
	n := newNet(t, 1, 3, 0, nil)
	n.start("a")
	n.run(20 * second)
	n.misses("a", " b:1 0s", " c:1 0s", "1 of 3")
	n.start("b")
	n.run(5 * second)
	n.misses("a", " c:1 0s", "2 of 3")
	n.misses("b", " c:1 0s", "2 of 3")
	n.site("b").crash()
	n.run(20 * second)
	self := n.site("a").live.call(&Who{}).(*Self)
	if b := self.Missing[0]; b.Name != "b" || b.Since < 20*second || b.Since > 25*second {
		t.Errorf("a misses %+v, want b since 20 s to 25 s", b)
	}
}

// TestMissingFromTheView: a member that a view has lost is missing with a name, since then, for
// each member and a guest; a coordinator and a member alike; and not any more when it is back.
func TestMissingFromTheView(t *testing.T) {
	n := formed(t, 3, 1, nil)
	for _, name := range n.names() {
		n.misses(name, "3 of 3")
	}
	n.run(30*second - n.now)
	n.site("c").crash()
	n.run(10 * second)
	for _, name := range []string{"a", "b", "d"} {
		self := n.site(name).live.call(&Who{}).(*Self)
		if len(self.Missing) != 1 || self.Missing[0].Name != "c" || self.Missing[0].Since < 30*second || self.Missing[0].Since > 35*second {
			t.Errorf("%s misses %+v, want c since 30 s to 35 s", name, self.Missing)
		}
	}
	n.start("c")
	n.gather(20*second, n.names()...)
	n.run(second)
	for _, name := range n.names() {
		n.misses(name, "3 of 3")
	}
	n.quiet()
}

// TestMissingAfterARestart: a member that starts knows the names from its cell.
func TestMissingAfterARestart(t *testing.T) {
	n := formed(t, 3, 0, nil)
	for _, name := range n.names() {
		n.site(name).crash()
	}
	n.start("b")
	n.run(10 * second)
	for _, f := range n.site("b").live.call(&Who{}).(*Self).Missing {
		if f.Name == "" || f.Since > 12*second {
			t.Errorf("missing is %+v, want a name, and the start", f)
		}
	}
	if got := len(n.site("b").live.call(&Who{}).(*Self).Missing); got != 2 {
		t.Errorf("%d are missing, want a and c", got)
	}
}

// TestNeeds: a view of three needs two of them, one of two its first member, one of one itself.
func TestNeeds(t *testing.T) {
	n := formed(t, 3, 1, nil)
	called := map[protocol.ID]string{}
	for _, site := range n.sites {
		called[site.live.self] = site.name
	}
	names := func(ids []protocol.ID) (all []string) {
		for _, id := range ids {
			all = append(all, called[id])
		}
		return all
	}
	for i, tt := range []struct {
		crash string
		want  string
	}{
		{"", "[a b c] 2 half=false here=3 indispensable=[]"},
		{"c", "[a b] 2 half=true here=2 indispensable=[a]"},
		{"b", "[a] 1 half=false here=1 indispensable=[a]"},
	} {
		if tt.crash != "" {
			n.site(tt.crash).crash()
			n.run(15 * second)
		}
		need := n.site("a").live.call(&Who{}).(*Self).Needs()
		if got := fmt.Sprintf("%v %d half=%v here=%d indispensable=%v",
			names(need.Voters), need.Count, need.Half, len(need.Here), names(need.Indispensable)); got != tt.want {
			t.Errorf("%d: without %q: %s, want %s", i, tt.crash, got, tt.want)
		}
	}
	// The last view is a's alone: what b remembers names a.
	n.site("a").crash()
	n.start("b")
	n.run(15 * second)
	if need := n.site("b").live.call(&Who{}).(*Self).Needs(); len(need.Here) != 0 || !slices.Equal(names(need.Indispensable), []string{"a"}) {
		t.Errorf("b needs %+v, want a", need)
	}
}
