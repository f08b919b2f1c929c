package sim

import (
	"maps"
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// TestCrashesOfPeersAreCounted checks that crashes of peers count by what they destroy, and by whether others ask
// meanwhile.
func TestCrashesOfPeersAreCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		crashes, other probe.Dealings
		want           map[mark]int
	}{
		"a holder":                      {probe.Dealings{Holds: 1}, probe.Dealings{Waits: 1}, map[mark]int{peerHeld: 1}},
		"a holder that no member asks":  {probe.Dealings{Holds: 1}, probe.Dealings{}, map[mark]int{}},
		"who asks and lets others wait": {probe.Dealings{Waits: 1, Defers: 1}, probe.Dealings{Waits: 1}, map[mark]int{peerDefers: 1}},
		"who asks":                      {probe.Dealings{Waits: 1}, probe.Dealings{Waits: 1}, map[mark]int{}},
		"who is idle":                   {probe.Dealings{}, probe.Dealings{Waits: 1}, map[mark]int{peerIdle: 1}},
		"who is idle as all are":        {probe.Dealings{}, probe.Dealings{}, map[mark]int{}},
		"who keeps permissions":         {probe.Dealings{Keeps: 1}, probe.Dealings{Waits: 1}, map[mark]int{peerKeeps: 1, peerIdle: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w, spaces := peerStandIns(3)
			spaces[0].dealings, spaces[2].dealings = tt.crashes, tt.other
			w.strikes(w.members[0])
			if got := w.count.of("peers"); !maps.Equal(got, tt.want) {
				t.Errorf("counted: %v; want %v", got, tt.want)
			}
		})
	}
}

// TestWhoJoinsIsCounted checks that a new place in a view counts if another member asks.
func TestWhoJoinsIsCounted(t *testing.T) {
	for name, tt := range map[string]struct {
		since uint64
		waits int
		want  int
	}{
		"while others ask": {2, 1, 1}, "while no other asks": {2, 0, 0}, "who was there": {1, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w, spaces := peerStandIns(3)
			spaces[0].dealings.Waits, spaces[1].dealings.Waits = 1, tt.waits
			view := *w.members[0].view
			view.Members = append([]protocol.Member{{ID: 1, Since: tt.since}}, view.Members[1:]...)
			w.viewed(w.members[0], &view)
			if got := w.count.hits[peerJoins]; got != tt.want {
				t.Errorf("counted: %d; want %d", got, tt.want)
			}
		})
	}
}

// TestWhatMessagesOfPeersMeetIsCounted checks the rows for kept permissions that are returned, and for late and merged
// replies.
func TestWhatMessagesOfPeersMeetIsCounted(t *testing.T) {
	w, spaces := peerStandIns(3)
	meets := func(before, then probe.Meeting) {
		spaces[0].meets = before
		after := w.takes(w.members[0], w.members[1].id, "a message")
		spaces[0].meets = then
		if after != nil {
			after()
		}
	}
	meets(probe.MeetsKept, probe.MeetsNothing)
	meets(probe.MeetsKept, probe.MeetsKept) // it was void
	meets(probe.MeetsNewer, probe.MeetsNothing)
	meets(probe.MeetsSeveral, probe.MeetsNothing)
	meets(probe.MeetsNothing, probe.MeetsNothing)
	if got, want := w.count.of("peers"), (map[mark]int{peerRecalled: 1, peerLate: 1, peerDebts: 1}); !maps.Equal(got, want) {
		t.Errorf("counted: %v; want %v", got, want)
	}
}

// TestPeersAreInTheProfile checks that a protocol whose members ask one another has the rows of peers, and no other.
func TestPeersAreInTheProfile(t *testing.T) {
	c := config("permission")
	s := full(&c, profileSeeds)
	p, err := s.Profile(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []mark{peerHeld, peerDefers, peerIdle, peerKeeps, peerJoins, peerRecalled, peerLate, peerDebts} {
		if !slices.Contains(p.Never, "peers "+what.name) {
			t.Errorf("%q is missing in what was never hit: %q", what.name, p.Never)
		}
	}
	sum := s.hitTwice(&c, "peers")
	if p, err = s.Profile(c); err != nil || len(p.Never) > 0 || sum[peerDebts] != 2 {
		t.Errorf("all was hit: %v %q %v", err, p.Never, sum)
	}
}
