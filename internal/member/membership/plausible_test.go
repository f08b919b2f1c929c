package membership_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestImplausible: a message that no member can have come by is ignored, and noted.
func TestImplausible(t *testing.T) {
	beyond := protocol.Epoch{Counter: protocol.MaxEpoch + 1, Candidate: 5}
	epoch := protocol.Epoch{Counter: 2000, Candidate: 5}
	stranger := election.Member{Member: protocol.Member{ID: 5, Name: "b"}}
	store := election.Member{Member: protocol.Member{ID: protocol.Storage, Name: "b"}}
	view := func(number uint64, members ...election.Member) *election.View {
		return &election.View{Cluster: 1, Number: number, Epoch: epoch, Members: members}
	}
	for _, message := range []protocol.Message{
		membership.Poll{Epoch: beyond},
		membership.Poll{Epoch: epoch, Echo: -1},
		membership.Poll{Epoch: epoch, Role: math.MinInt64},
		membership.Poll{Epoch: epoch, List: math.MaxUint64},
		membership.Poll{Epoch: epoch, Pledges: &election.Pledges{Of: []election.Pledge{{ID: 5}, {ID: 5}}}},
		membership.Poll{Epoch: epoch, Pledges: &election.Pledges{Of: []election.Pledge{{ID: 5, Version: math.MaxUint64}}}},
		membership.PollAnswer{Epoch: epoch, Version: math.MaxUint64},
		membership.Poll{Epoch: epoch, View: math.MaxUint64},
		membership.NewView{Poll: membership.Poll{Epoch: epoch, View: 1}},
		membership.NewView{Poll: membership.Poll{Epoch: epoch, View: 1}, View: view(1, stranger, stranger)},
		membership.NewView{Poll: membership.Poll{Epoch: epoch, View: 1}, View: view(1, store)},
		membership.PollAnswer{Epoch: epoch, At: -1},
		membership.ViewAck{Answer: membership.PollAnswer{Epoch: beyond}},
		membership.PollAnswer{Epoch: epoch, Unheard: []protocol.ID{7, 7}},
		membership.PollAnswer{Epoch: epoch, Unheard: []protocol.ID{8, 7}},
		membership.Join{Self: stranger, Promised: beyond},
		membership.Join{Self: stranger, Hears: make([]protocol.ID, 20_001)},
		membership.Dropped{Epoch: beyond},
		membership.Resign{Epoch: beyond},
		election.StatusAnswer{Self: stranger, Promised: beyond},
		election.StatusAnswer{Self: stranger, View: view(math.MaxUint64, stranger)},
		election.Election{Epoch: beyond},
		election.Promise{Epoch: epoch, Self: stranger, Owes: math.MaxInt64},
		election.Refuse{Epoch: epoch, Promised: beyond},
	} {
		m, _, _ := life(t, membership.Config{Wall: wall(1000)})
		before := m.Cell()
		var out protocol.Effects
		m.Step(time.Second, protocol.Event{Kind: protocol.Receive, From: 5, Fact: message}, &out)
		ignored := false
		for _, note := range out.Notes {
			if n, is := note.(membership.Ignored); is && n.From == 5 {
				ignored = true
			}
		}
		if !ignored || len(out.Sends) > 0 || len(out.Raises) > 0 || m.Cell().Promised != before.Promised {
			t.Errorf("%v: noted %v, sent %v, raised %v", message, out.Notes, out.Sends, out.Raises)
		}
	}
}

// TestLastEpoch: a member that claims to have promised the last epoch there is cannot
// be led, and takes no other member's role.
func TestLastEpoch(t *testing.T) {
	m, view, _ := life(t, membership.Config{Name: "a", Address: "a:1", Wall: wall(1000)})
	join := membership.Join{
		Self: election.Member{Member: protocol.Member{ID: 5, Name: "b", Address: "b:1"}}, Version: membership.ProtocolVersion,
		Promised: protocol.Epoch{Counter: protocol.MaxEpoch, Candidate: 5}, Lease: 3 * time.Second, Drift: 0.05,
	}
	var out protocol.Effects
	m.Step(time.Second, protocol.Event{Kind: protocol.Receive, From: 5, Fact: join}, &out)
	m.Step(2*time.Second, protocol.Event{Kind: protocol.Raised, Port: 1, Fact: &protocol.NeedEpoch{Above: view.Epoch.Counter}}, &out)
	noted := false
	for _, note := range out.Notes {
		if _, is := note.(membership.OutOfEpochs); is && strings.Contains(note.String(), "2147483647") {
			noted = true
		}
	}
	if !noted || len(out.Raises) > 0 || view.Lease.Role != protocol.Never {
		t.Errorf("noted %v, raised %v, its role ends at %v", out.Notes, out.Raises, view.Lease.Role)
	}
}

// TestWallTooLate: a clock that has run away is named before any epoch is drawn from it.
func TestWallTooLate(t *testing.T) {
	c := membership.Config{Rand: random(), Wall: wall(protocol.MaxEpoch)}
	if _, err := membership.New(c); err == nil || !strings.Contains(err.Error(), "Wall is 2094-") || !strings.Contains(err.Error(), "set the clock") {
		t.Errorf("error %v", err)
	}
	c.Wall = wall(1000)
	c.Kept, c.Cell = true, membership.Cell{ID: 1, Promised: protocol.MaxEpoch}
	if _, err := membership.New(c); err == nil || !strings.Contains(err.Error(), "Cell knows of epoch 2147483647") {
		t.Errorf("error %v", err)
	}
}
