package membership

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestExclusionsAreBounded: members that come back as others, again and again, are not remembered for
// as long as their coordinator leads; the newest are.
func TestExclusionsAreBounded(t *testing.T) {
	n := ready(t, 3, 0)
	m := n.site("a").live.Machine
	b := n.site("b").live.self
	now := m.config.Lease
	for id := protocol.ID(1); id <= maxExclusions+10; id++ {
		m.reign.apart, m.reign.outcasts = []apart{{says: id, of: b}}, []protocol.ID{id}
		m.noteExclusions(now)
	}
	if len(m.reign.exclusions) != maxExclusions {
		t.Errorf("%d pairs are remembered; want %d", len(m.reign.exclusions), maxExclusions)
	}
	is := func(id protocol.ID, hears ...protocol.ID) bool {
		j := Join{Hears: hears}
		j.Self.ID = id
		_, excluded := m.reign.stillExcluded(&j)
		return excluded
	}
	if is(10) || !is(11) || !is(maxExclusions+10) || is(maxExclusions+10, b) {
		t.Error("want the oldest ten forgotten, and others parted until they have heard b")
	}
}
