package host

import (
	"testing"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestAMemberKnowsItsOwnName: a view that has no place for this member, as one that it only agrees to, names it all the same.
func TestAMemberKnowsItsOwnName(t *testing.T) {
	view := &protocol.View{Members: []protocol.Member{{ID: 2, Name: "other"}}}
	n := &Member{cell: membership.Cell{ID: 1}, config: Config{Name: "own"}, view: view}
	if got := n.View(); got.Name(1) != "own" || got.Name(2) != "other" {
		t.Errorf("the members are named %q and %q", got.Name(1), got.Name(2))
	}
}

// TestWhatNeedsViews: a member whose spaces are all kept in stores is ready without a view.
func TestWhatNeedsViews(t *testing.T) {
	claim, central := Space{described: &protocol.Descriptor{Stores: true}}, Space{described: &protocol.Descriptor{}}
	if c := (Config{Spaces: []Space{claim}}); c.needsViews() {
		t.Error("a claim needs a view")
	}
	if c := (Config{Spaces: []Space{claim, central}}); !c.needsViews() {
		t.Error("a space of protocol central needs no view")
	}
}
