package membership

import (
	"testing"
	"time"
)

// TestACountedMemberMayReplaceAnother: a member comes back, and the coordinator is lost. Where the member had said that its place is a
// proposal, the two that are left wait for the coordinator: the view before, which counts on it, has not agreed. Where it had not, they go
// on without it.
func TestACountedMemberMayReplaceAnother(t *testing.T) {
	for proposed, formsAnother := range map[bool]bool{true: false, false: true} {
		n := formed(t, 3, 0, nil)
		n.site("c").crash()
		n.gather(20*second, "a", "b")
		n.start("c")
		comes := false
		for end := n.now + 20*second; ; n.run(time.Millisecond / 10) {
			self := n.site("c").live.call(&Who{}).(*Self)
			if comes = self.State != Joining && self.Proposed == proposed; comes || n.now > end {
				break
			}
		}
		if !comes {
			t.Fatalf("the member that comes back never has a place with Proposed=%v", proposed)
		}
		n.site("a").crash()
		n.run(30 * second)
		if together := n.together("b", "c"); together != formsAnother {
			t.Errorf("with Proposed=%v the other two form a view: %v, want %v\n%s", proposed, together, formsAnother, n.dump())
		}
		if self := n.site("c").live.call(&Who{}).(*Self); self.Proposed != proposed {
			t.Errorf("Proposed is %v at the end, was %v", self.Proposed, proposed)
		}
		n.start("a")
		n.gather(20*second, "a", "b", "c")
		if n.site("c").live.call(&Who{}).(*Self).Proposed {
			t.Error("the member's place is a proposal when all are here")
		}
		n.quiet()
	}
}
