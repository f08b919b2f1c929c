package sim

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// standIn is a space whose state a test sets.
type standIn struct {
	protocol.Machine
	becoming, decides bool
	unused            int
	keeping           probe.Keeping
}

// movingStandIn reads the state of a standIn.
type movingStandIn struct{ probe.Transfers }

func (movingStandIn) Becoming(space protocol.Machine) bool { return space.(*standIn).becoming }
func (movingStandIn) Unused(space protocol.Machine) int    { return space.(*standIn).unused }
func (movingStandIn) RecallIn(space protocol.Machine, _ any) probe.Keeping {
	return space.(*standIn).keeping
}

// standIns makes a world of members with stand-ins as spaces.
func standIns(members int) (*world, []*standIn) {
	c := config("grantor")
	c.Members = members
	c.Protocol.TransferProbe = movingStandIn{c.Protocol.TransferProbe}
	c.Protocol.Decides = func(space protocol.Machine) (uint64, bool) { return 1, space.(*standIn).decides }
	w, spaces := worldOf(&c, func() *standIn { return &standIn{} })
	w.settings.known.HoldOn, w.settings.strikes, w.settings.eager = 1, false, 0
	return w, spaces
}

// TestMembersThatBecomeAtOnceAreCounted checks that a further member that is to become the authority counts, and an
// unchanged number does not.
func TestMembersThatBecomeAtOnceAreCounted(t *testing.T) {
	w, spaces := standIns(5)
	becomes := func(i int, becoming bool) {
		spaces[i].becoming = becoming
		w.moved(w.members[i])
		w.moved(w.members[i])
	}
	becomes(0, true)
	becomes(1, true)
	becomes(2, true)
	becomes(1, false)
	becomes(1, true)
	w.ends(w.members[2])
	becomes(3, true)
	becomes(4, true)
	if got, want := w.count.of("transfer"), (map[mark]int{atOnce(2): 1, atOnce(3): 3, atOnce(4): 1}); !maps.Equal(got, want) {
		t.Errorf("at once: %v; want %v", got, want)
	}
}

// TestSuccessorsThatATableGoesThroughAreCounted checks that the successors of a table count when it reaches a member
// that decides.
func TestSuccessorsThatATableGoesThroughAreCounted(t *testing.T) {
	w, spaces := standIns(4)
	table := grantor.TransferTable{Last: true}
	hands := func(from, to int, decides bool) {
		spaces[to].becoming, spaces[to].decides = true, false
		w.moved(w.members[to])
		w.sends(w.members[from], w.members[to], table)
		after := w.takes(w.members[to], w.members[from].id, table)
		spaces[to].becoming, spaces[to].decides = false, decides
		w.moved(w.members[to])
		after()
	}
	hands(0, 1, false)
	hands(1, 2, false)
	hands(2, 3, true)
	if got, want := w.count.of("transfer"), (map[mark]int{chain(3): 1}); !maps.Equal(got, want) {
		t.Fatalf("chains: %v; want %v", got, want)
	}
	hands(3, 0, true)
	if got, want := w.count.of("transfer"), (map[mark]int{chain(1): 1, chain(3): 1}); !maps.Equal(got, want) {
		t.Errorf("a hand-over by a member that has decided is a new chain: %v; want %v", got, want)
	}
	if w.takes(w.members[1], w.members[0].id, table) != nil {
		t.Error("a table counts that no member waits for")
	}
}

// TestCrashesCountByWhatIsOnItsWay checks that a crash counts once for each step in flight, of the sender or the
// receiver.
func TestCrashesCountByWhatIsOnItsWay(t *testing.T) {
	w, spaces := standIns(3)
	sent := func(from, to int, m protocol.Message) {
		w.at(1, task{kind: taskMessage, to: int32(to), id: uint64(w.members[to].id), from: uint64(w.members[from].id), port: uint16(userSpace), fact: m})
	}
	sent(0, 1, grantor.Depose{})
	sent(0, 1, grantor.Depose{})
	sent(1, 0, grantor.TransferTable{Last: true})
	sent(1, 2, grantor.Deposed{})
	sent(2, 1, authority.Acks{})
	w.strikes(w.members[0])
	spaces[2].unused = 1
	w.strikes(w.members[2])
	want := map[mark]int{
		elderCrash: 2, heldLost: 1, transferCrash("sender", probe.StepDepose): 1, transferCrash("receiver", probe.StepTable): 1, transferCrash("receiver", probe.StepDeposed): 1,
	}
	if got := w.count.of("transfer", "held on"); !maps.Equal(got, want) {
		t.Errorf("counted: %v\nwant     %v", got, want)
	}
}

// TestWhatBecomesOfKeptGrantsIsCounted checks the outcomes of kept grants: recalled, unused and in use; void; and
// returned after their time.
func TestWhatBecomesOfKeptGrantsIsCounted(t *testing.T) {
	w, spaces := standIns(3)
	for _, at := range []struct{ before, then probe.Keeping }{
		{probe.KeepsUnused, probe.KeepsNothing}, {probe.KeepsUsed, probe.KeepsNothing}, {probe.KeepsUsed, probe.KeepsNothing}, {probe.KeepsUsed, probe.KeepsUsed},
	} {
		spaces[0].keeping = at.before
		after := w.takes(w.members[0], w.members[1].id, authority.Decided{})
		spaces[0].keeping = at.then
		after()
	}
	spaces[0].unused = 1
	w.woken(w.members[0], 3)
	if got, want := w.count.of("held on"), (map[mark]int{heldUnused: 1, heldUsed: 2, heldTooLong: 2}); !maps.Equal(got, want) {
		t.Errorf("held on: %v; want %v", got, want)
	}
}

// TestMovesAreInTheProfile checks that a protocol whose authority moves has the rows of moves, and no other.
func TestMovesAreInTheProfile(t *testing.T) {
	c := config("grantor")
	s := full(&c, profileSeeds)
	p, err := s.Profile(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"transfer crash of the sender of invite", "transfer crash of an elder between depose and deposed", "transfer four becoming at once", "transfer a table through three successors", "held on crash of who keeps something"} {
		if !slices.Contains(p.Never, want) {
			t.Errorf("%q is missing in what was never hit: %q", want, p.Never)
		}
	}
	s.counts.hits[followsLoad] = 1
	sum := s.hitTwice(&c, "transfer", "held on")
	if p, err = s.Profile(c); err != nil || len(p.Never) > 0 || sum[transferCrash("receiver", probe.StepTable)] != 2 || sum[heldLent] != 2 || sum[chain(4)] != 2 {
		t.Errorf("all was hit: %v %q %+v", err, p.Never, sum)
	}
}

// TestEagerRunsArePlayedAgain checks that a script has the acts of an eager run: members that are made the authority at
// once, crashed participants, and crashed keepers.
func TestEagerRunsArePlayedAgain(t *testing.T) {
	manySeeds(t)
	c := config("grantor")
	if err := c.check(); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for seed := uint64(1); seed <= 200 && (kinds["rush"] < 2 || kinds["strikes"] < 2 || kinds["snatch"] < 2); seed++ {
		s := newWorld(&c, seed, nil, newCounts(false)).settings
		of := map[string]bool{"rush": s.eager > 0 && !s.strikes, "strikes": s.strikes, "snatch": s.snatch > 0}
		if !slices.ContainsFunc([]string{"rush", "strikes", "snatch"}, func(kind string) bool { return of[kind] && kinds[kind] < 2 }) {
			continue
		}
		for kind, is := range of {
			if is {
				kinds[kind]++
			}
		}
		var drawn, replayed bytes.Buffer
		script, _, err := Record(c, seed, &drawn)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Play(script, Stage{Protocol: c.Protocol, Trace: &replayed})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(drawn.Bytes(), replayed.Bytes()) {
			t.Errorf("seed %d, played: %v, %s", seed, got.Outcome, differ(drawn.String(), replayed.String()))
		}
		for _, wrong := range got.Wrong {
			t.Errorf("seed %d: %v: %s", seed, &wrong.Choice, wrong.Allowed)
		}
	}
	if len(kinds) < 3 {
		t.Errorf("of 200 seeds there are %v", kinds)
	}
}
