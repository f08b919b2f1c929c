package membership

import (
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestAnswerOutOfTurnIsOfNoOtherEpoch: a member that learns of its coordinator's next epoch by
// hearsay has heard none of its polls, and does not answer one by the number of another
// epoch's: it might be sent only after the answer, and count as agreed with.
func TestAnswerOutOfTurnIsOfNoOtherEpoch(t *testing.T) {
	n := ready(t, 3, 0)
	a, b, c := n.site("a").live, n.site("b").live, n.site("c").live
	n.run(2 * second)
	n.filter = func(from, to *site, _ any) bool { return from.name != "a" || to.name != "c" }
	first := a.view.Epoch.Counter
	a.step(protocol.Event{Kind: protocol.Raised, Port: 1, Fact: &protocol.NeedEpoch{Above: first}})
	n.until(second/2, "another epoch at b", func() bool { return b.cell.Accepted.Epoch.Counter > first && b.cell.Accepted.Installed })
	n.filter = func(from, to *site, msg any) bool {
		if answer, is := msg.(PollAnswer); is && from.name == "c" && answer.Epoch.Counter > first && answer.Seq != 0 {
			t.Errorf("c, which has heard no poll of epoch %d, answers number %d of it", answer.Epoch.Counter, answer.Seq)
		}
		return from.name != "a" || to.name != "c"
	}
	c.step(protocol.Event{Kind: protocol.Receive, From: b.self, Fact: b.answer(b.local(), 0, c.self)})
	if !c.followed || c.cell.Accepted.Epoch.Counter == first || c.round == 0 {
		t.Fatalf("c follows %v, has accepted %v and heard round %d; want that it follows, by hearsay", c.followed, c.cell.Accepted, c.round)
	}
	n.run(second / 10) // its cell is written
	said := false
	saw := n.filter
	n.filter = func(from, to *site, msg any) bool {
		_, is := msg.(PollAnswer)
		said = said || is && from.name == "c"
		return saw(from, to, msg)
	}
	c.want(8*second, true)
	n.run(second / 10)
	if !said {
		t.Error("c does not say what it wants")
	}
}
