package membership

import (
	"testing"
	"time"
)

// TestACountedMemberMayReplaceAnother: a member comes back, and the coordinator is lost. Where the member was counted, the two that are
// left go on without it. Where its place was a proposal they wait for the coordinator: the view before counts on that, and has not
// agreed.
func TestACountedMemberMayReplaceAnother(t *testing.T) {
	for uncounted, formsAnother := range map[bool]bool{true: false, false: true} {
		n := formed(t, 3, 0, nil)
		n.site("c").crash()
		n.gather(20*second, "a", "b")
		n.start("c")
		comes := false
		if self := n.site("c").live.call(&Who{}).(*Self); !self.Uncounted {
			t.Errorf("a member without a place is counted: %v, %s", self.State, self.Why)
		}
		for end := n.now + 20*second; ; n.run(time.Millisecond / 10) {
			self := n.site("c").live.call(&Who{}).(*Self)
			if comes = self.State != Joining && self.Uncounted == uncounted; comes || n.now > end {
				break
			}
		}
		if !comes {
			t.Fatalf("the member that comes back never has a place with Uncounted=%v", uncounted)
		}
		n.site("a").crash()
		n.run(30 * second)
		if together := n.together("b", "c"); together != formsAnother {
			t.Errorf("with Uncounted=%v the other two form a view: %v, want %v\n%s", uncounted, together, formsAnother, n.dump())
		}
		if self := n.site("c").live.call(&Who{}).(*Self); self.Uncounted != uncounted {
			t.Errorf("Uncounted is %v at the end, was %v", self.Uncounted, uncounted)
		}
		n.start("a")
		n.gather(20*second, "a", "b", "c")
		if n.site("c").live.call(&Who{}).(*Self).Uncounted {
			t.Error("the member is not counted when all are here")
		}
		n.quiet()
	}
}

// TestALeaverWithoutAViewIsUncounted: a founder is asked to leave before there is a first view, and says of itself how it is.
func TestALeaverWithoutAViewIsUncounted(t *testing.T) {
	n := newNet(t, 3, 3, 0, nil)
	n.start("a")
	n.run(second)
	n.site("a").live.call(&Leave{})
	if self := n.site("a").live.call(&Who{}).(*Self); self.State != Leaving || !self.Uncounted || self.Cell.Accepted != nil {
		t.Errorf("it is %v, uncounted %v, with view %v", self.State, self.Uncounted, self.Cell.Accepted)
	}
	n.quiet()
}
