package sim

import (
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// TestPeersAndTheirMessagesAreRead: only requests that wait for exclusive locks have a place, in
// the reign of their stamp; and a peer that has to do with no other meets something in a reply to several alone.
func TestPeersAndTheirMessagesAreRead(t *testing.T) {
	read := peersOfPermission{}
	space, err := permission.New(permission.Config{Self: 1})
	if err != nil {
		t.Fatal(err)
	}
	acquire := permission.Request{Number: 7, Clock: 5<<32 | 9, Name: "n"}
	if plea, is := read.PeerRequestIn(acquire); !is || plea != (PeerRequest{"n", 7, protocol.Epoch{Counter: 5}}) {
		t.Errorf("%v asks for %+v, %v", acquire, plea, is)
	}
	shares, tries := acquire, acquire
	shares.Mode, tries.Try = holdfast.ModeShared, true
	for _, m := range []protocol.Message{shares, tries, permission.Reply{Number: 7}, local.Query{Query: admin.Query{Number: 7}}} {
		if plea, is := read.PeerRequestIn(m); is {
			t.Errorf("%v asks for %+v", m, plea)
		}
	}
	if read.Heard(space, 2, acquire) || read.Heard(space, 2, permission.Reply{}) {
		t.Error("who has no view has heard something")
	}
	for _, at := range []struct {
		message protocol.Message
		want    Meeting
	}{{acquire, MeetsNothing}, {permission.Reply{Number: 7}, MeetsNothing}, {permission.Reply{Number: 7, Count: 2}, MeetsSeveral}, {local.Query{}, MeetsNothing}} {
		if got := read.Meets(space, 2, at.message); got != at.want {
			t.Errorf("%v meets %d; want %d", at.message, got, at.want)
		}
	}
	if d := read.Dealings(space); d != (Dealings{}) {
		t.Errorf("it has to do with %+v", d)
	}
}

// TestCrashesOfPeersAreCounted by what they take with them, and whether anybody asks meanwhile.
func TestCrashesOfPeersAreCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		crashes, other Dealings
		want           [peerCount]int
	}{
		"a holder":                      {Dealings{Holds: 1}, Dealings{Waits: 1}, [peerCount]int{peerHeld: 1}},
		"a holder whom nobody asks":     {Dealings{Holds: 1}, Dealings{}, [peerCount]int{}},
		"who asks and lets others wait": {Dealings{Waits: 1, Defers: 1}, Dealings{Waits: 1}, [peerCount]int{peerDefers: 1}},
		"who asks":                      {Dealings{Waits: 1}, Dealings{Waits: 1}, [peerCount]int{}},
		"who is idle":                   {Dealings{}, Dealings{Waits: 1}, [peerCount]int{peerIdle: 1}},
		"who is idle as all are":        {Dealings{}, Dealings{}, [peerCount]int{}},
		"who keeps permissions":         {Dealings{Keeps: 1}, Dealings{Waits: 1}, [peerCount]int{peerKeeps: 1, peerIdle: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w, spaces := peerStandIns(3)
			spaces[0].dealings, spaces[2].dealings = tt.crashes, tt.other
			w.strikes(w.members[0])
			if w.count.peers != tt.want {
				t.Errorf("counted: %v; want %v", w.count.peers, tt.want)
			}
		})
	}
}

// TestWhoJoinsIsCounted where it has a new place in a view, and another member asks.
func TestWhoJoinsIsCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		since uint64
		waits int
		want  int
	}{
		"while others ask": {2, 1, 1}, "while nobody asks": {2, 0, 0}, "who was there": {1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, spaces := peerStandIns(3)
			spaces[0].dealings.Waits, spaces[1].dealings.Waits = 1, tt.waits
			view := *w.members[0].view
			view.Members = append([]protocol.Member{{ID: 1, Since: tt.since}}, view.Members[1:]...)
			w.viewed(w.members[0], &view)
			if got := w.count.peers[peerJoins]; got != tt.want {
				t.Errorf("counted: %d; want %d", got, tt.want)
			}
		})
	}
}

// TestWhatMessagesOfPeersMeetIsCounted: a kept permission where it is given back, and late and
// merged replies.
func TestWhatMessagesOfPeersMeetIsCounted(t *testing.T) {
	w, spaces := peerStandIns(3)
	meets := func(before, then Meeting) {
		spaces[0].meets = before
		after := w.takes(w.members[0], w.members[1].id, "a message")
		spaces[0].meets = then
		if after != nil {
			after()
		}
	}
	meets(MeetsKept, MeetsNothing)
	meets(MeetsKept, MeetsKept) // it was void
	meets(MeetsNewer, MeetsNothing)
	meets(MeetsSeveral, MeetsNothing)
	meets(MeetsNothing, MeetsNothing)
	if got, want := w.count.peers, [peerCount]int{peerRecalled: 1, peerLate: 1, peerDebts: 1}; got != want {
		t.Errorf("counted: %v; want %v", got, want)
	}
}

// TestPeersAreInTheProfile, of a protocol whose members ask one another, and of no other.
func TestPeersAreInTheProfile(t *testing.T) {
	c := config("permission")
	s := full(&c, profileSeeds)
	p, err := s.Profile(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range peerNames {
		if !slices.Contains(p.Never, "peers "+name) {
			t.Errorf("%q is missing in what was never hit: %q", name, p.Never)
		}
	}
	sum, one := newCounts(true), newCounts(true)
	for i := range one.peers {
		one.peers[i] = 1
	}
	sum.add(one)
	sum.add(one)
	s.counts.peers = sum.peers
	if p, err = s.Profile(c); err != nil || len(p.Never) > 0 || sum.peers[peerDebts] != 2 {
		t.Errorf("all was hit: %v %q %v", err, p.Never, sum.peers)
	}
}
