package membership

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestMembersKnowWhenAViewOpens: the coordinator tells the others when the view without a lost member is expected to be open, and
// the view is open then.
func TestMembersKnowWhenAViewOpens(t *testing.T) {
	n := formed(t, 3, 1, nil)
	n.run(30*second - n.now)
	n.site("c").crash()
	views := func(holds func(v *protocol.View) bool) func() bool {
		return func() bool {
			for _, name := range []string{"a", "b", "d"} {
				if v := n.site(name).live.view; v == nil || len(v.Members) != 3 || !holds(v) {
					return false
				}
			}
			return true
		}
	}
	n.until(20*second, "all know when it opens", views(func(v *protocol.View) bool { return v.Installed && v.Opens(n.now) != protocol.Never }))
	var first, last protocol.Time = protocol.Never, 0
	for _, name := range []string{"a", "b", "d"} {
		at := n.site(name).live.view.Opens(n.now)
		first, last = min(first, at), max(last, at)
	}
	if last-first > second/10 {
		t.Errorf("members expect it between %v and %v", first, last)
	}
	n.until(20*second, "it is open", views(func(v *protocol.View) bool { return v.Open }))
	if n.now < first-second/10 || n.now > last+second {
		t.Errorf("it is open at %v, and was expected between %v and %v", n.now, first, last)
	}
	for _, name := range []string{"a", "b", "d"} {
		if at := n.site(name).live.view.Opens(n.now); at != protocol.Never {
			t.Errorf("%s expects an open view to open at %v", name, at)
		}
	}
}
