package membership

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
)

// sinceOf is the time since which a member is what it is, as it says itself.
func (s *site) sinceOf(name string) protocol.Time {
	self := s.live.call(&Who{}).(*Self)
	for _, standing := range self.Members {
		if standing.Name == name {
			return standing.Since
		}
	}
	return -1
}

// TestSinceOfAMemberInNoView: a member without a place says since when it has none, and says the same whenever it is asked.
func TestSinceOfAMemberInNoView(t *testing.T) {
	n := newNet(t, 1, 3, 0, nil)
	n.start("a")
	for range 2 {
		n.run(10 * second)
		if since := n.site("a").sinceOf("a"); since != 0 {
			t.Errorf("after %v it is without a place since %v, and it started at 0", n.now, since)
		}
	}
}
