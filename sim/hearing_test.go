package sim

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// peerStandIn is a space whose state a test sets.
type peerStandIn struct {
	protocol.Machine
	dealings probe.Dealings
	requests map[uint64]requestKey
	deaf     bool
	meets    probe.Meeting
}

// peeringStandIn reads the state of a peerStandIn.
type peeringStandIn struct{}

func (peeringStandIn) PeerRequestIn(message any) (probe.PeerRequest, bool) {
	plea, is := message.(probe.PeerRequest)
	return plea, is
}

func (peeringStandIn) Request(space protocol.Machine, number uint64) (lock.SessionID, uint64, bool) {
	key, waits := space.(*peerStandIn).requests[number]
	return key.session, key.id, waits
}

func (peeringStandIn) Heard(space protocol.Machine, _ protocol.ID, _ any) bool {
	return !space.(*peerStandIn).deaf
}
func (peeringStandIn) Dealings(space protocol.Machine) probe.Dealings {
	return space.(*peerStandIn).dealings
}
func (peeringStandIn) Meets(space protocol.Machine, _ protocol.ID, _ any) probe.Meeting {
	return space.(*peerStandIn).meets
}

// peerStandIns makes a world of members with stand-ins as spaces, in one view.
func peerStandIns(members int) (*world, []*peerStandIn) {
	c := config("permission")
	c.Members, c.Protocol.PeerProbe = members, peeringStandIn{}
	return worldOf(&c, func() *peerStandIn { return &peerStandIn{requests: map[uint64]requestKey{}} })
}

// TestARequestStandsWhenAllHaveHeardIt checks that a request has its place once all members have heard it, each in its
// present life and in the asker's view, and as long as it asks.
func TestARequestStandsWhenAllHaveHeardIt(t *testing.T) {
	plea := probe.PeerRequest{Name: "n", Number: 7, Reign: protocol.Epoch{Counter: 1}}
	for name, tt := range map[string]struct {
		stands  bool
		happens func(w *world, spaces []*peerStandIn, hears func(member int))
	}{
		"all":               {true, func(_ *world, _ []*peerStandIn, hears func(int)) { hears(1); hears(2) }},
		"one has not heard": {false, func(_ *world, _ []*peerStandIn, hears func(int)) { hears(1); hears(1) }},
		"one has not taken it in": {false, func(_ *world, spaces []*peerStandIn, hears func(int)) {
			spaces[2].deaf = true
			hears(1)
			hears(2)
		}},
		"one has heard it in an earlier life": {false, func(w *world, _ []*peerStandIn, hears func(int)) {
			hears(1)
			w.members[1].life++
			hears(2)
		}},
		"one is down": {false, func(w *world, _ []*peerStandIn, hears func(int)) {
			hears(1)
			w.members[1].up = false
			hears(2)
		}},
		"all that are left in the view": {true, func(w *world, _ []*peerStandIn, hears func(int)) {
			w.members[0].view = &protocol.View{Number: 2, Members: w.members[0].view.Members[:2]}
			w.members[2].view = nil
			hears(1)
		}},
		"one that was left out can grant still": {false, func(w *world, _ []*peerStandIn, hears func(int)) {
			w.members[0].view = &protocol.View{Number: 2, Members: w.members[0].view.Members[:2]}
			hears(1)
		}},
		"one that was left out can grant no more": {true, func(w *world, _ []*peerStandIn, hears func(int)) {
			view := protocol.View{Number: 2, Members: w.members[0].view.Members[:2]}
			w.members[0].view = &view
			hears(1)
			w.now = 2 * time.Second
			w.members[2].view, view.Open = nil, true
			w.viewed(w.members[0], &view)
		}},
		"it has entered": {false, func(_ *world, spaces []*peerStandIn, hears func(int)) {
			hears(1)
			delete(spaces[0].requests, 7)
			hears(2)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w, spaces := peerStandIns(3)
			spaces[0].requests[7] = key(1)
			w.now = time.Second
			tt.happens(w, spaces, func(member int) {
				if after := w.takes(w.members[member], w.members[0].id, plea); after != nil {
					after()
				}
			})
			queue := w.judge.record("n").queue
			if stands := len(queue) == 1; stands != tt.stands {
				t.Fatalf("it stands: %v; want %v", stands, tt.stands)
			}
			if tt.stands && (queue[0].key != key(1) || queue[0].since != w.now || queue[0].reign.Counter != 1) {
				t.Errorf("%+v stands", queue[0])
			}
		})
	}
}

// TestWhoComesIntoAViewAgainStandsNowhere checks that a member that returns to a view has no places: its requests are
// made again, with other stamps.
func TestWhoComesIntoAViewAgainStandsNowhere(t *testing.T) {
	for since, stands := range map[uint64]bool{1: true, 2: false} {
		w, _ := peerStandIns(3)
		w.judge.requestsOf("n", key(9), key(1)) // of member 1
		w.judge.stands("n", key(9), protocol.Epoch{Counter: 1})
		view := *w.members[0].view
		view.Members = append([]protocol.Member{{ID: 1, Since: since}}, view.Members[1:]...)
		w.viewed(w.members[0], &view)
		if got := len(w.judge.record("n").queue) == 1; got != stands {
			t.Errorf("in the view since %d: it stands %v; want %v", since, got, stands)
		}
	}
}

// TestPleasAreForgotten checks that settled requests are dropped.
func TestPleasAreForgotten(t *testing.T) {
	w, spaces := peerStandIns(3)
	for number := range uint64(10 * mostPeerRequests) {
		spaces[0].requests = map[uint64]requestKey{number: key(1)}
		w.takes(w.members[1], w.members[0].id, probe.PeerRequest{Name: "n", Number: number})()
		if n := len(w.members[0].heard); n > mostPeerRequests {
			t.Fatalf("%d are remembered", n)
		}
	}
}
