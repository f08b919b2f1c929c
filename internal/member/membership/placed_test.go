package membership

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestJoinWaitsForAPromise: a coordinator is lost whose clients were promised far more than a lease. It comes back meanwhile, and its
// status says why it gets no place, and until when; then it gets one.
func TestJoinWaitsForAPromise(t *testing.T) {
	n := formed(t, 3, 0, nil)
	n.site("a").live.want(20*second, true)
	n.run(5 * second)
	n.site("a").crash()
	n.until(10*second, "another coordinator", func() bool {
		r := n.site("b").live.reign
		return r != nil && r.installed
	})
	n.start("a")
	self := func() *Self { return n.site("a").live.call(&Who{}).(*Self) }
	waits := func(s *Self) bool {
		return s.State == Joining && strings.Contains(s.Why, "before what was promised under an earlier authority has run out")
	}
	n.until(5*second, "a says why it is put off", func() bool { return waits(self()) })
	until := self().Until
	if left := until - n.site("a").live.local(); left < 10*second || left > 30*second {
		t.Fatalf("a is put off for %v more", left)
	}
	for n.site("a").live.local() < until-second {
		n.run(second / 10)
		if s := self(); !waits(s) || s.Until < until-second/2 || s.Until > until+second/2 {
			t.Fatalf("a is %v until %v: %s; it was put off until %v", s.State, s.Until, s.Why, until)
		}
	}
	n.gather(5*second, "a", "b", "c")
	if s := self(); s.State != Present || s.Until != protocol.Never {
		t.Errorf("a is %v until %v: %s", s.State, s.Until, s.Why)
	}
	n.quiet()
}
