package sim_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/simtest"
)

// Members repeatedly send the coordinator the names that they want, and the coordinator repeatedly sends its grants; a
// member that no longer wants a name answers that. So any message may be lost, late or duplicated.

// claim says of a request that it is wanted, or over; given, that it has its name.
type claim struct {
	simtest.Want
	epoch  protocol.Epoch
	tenure protocol.Tenure
	over   bool
}
type given struct{ claim }

func (c claim) String() string { return fmt.Sprint(c.Session, c.ID, c.Name, c.Token, c.over) }

type toy struct {
	simtest.Front
	naive bool // a coordinator does not wait for what an earlier one has promised
	table []claim
	count uint32
}

func (m *toy) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if m.Take(now, ev, out) {
		m.table, m.count = nil, m.View.Count
	}
	switch fact := ev.Fact.(type) {
	case claim: // to the coordinator
		taken := slices.ContainsFunc(m.table, func(c claim) bool { return c.Name == fact.Name })
		switch {
		case !m.Hears(ev.From, fact.epoch, fact.tenure):
		case fact.Name == "":
			m.Cleared(ev.From, fact.tenure)
		case fact.over:
			m.table = slices.DeleteFunc(m.table, func(c claim) bool { return c.Session == fact.Session && c.ID == fact.ID })
		case !taken && (m.MayGrant(now) || m.naive):
			m.count++
			fact.Token = holdfast.Token(m.View.Epoch.Counter<<32 | uint64(m.count))
			m.table = append(m.table, fact)
		}
	case given: // to the member
		if m.MayTake(now, fact.epoch, fact.tenure) && !m.Grant(fact.Session, fact.ID, fact.Token, out) {
			fact.over = true
			out.Send(ev.From, fact.claim)
		}
	}
	if !m.Due(now) {
		return
	}
	if m.Clear() { // nothing of an earlier coordinator is held here
		out.Send(m.View.Coordinator, claim{simtest.Want{}, m.View.Epoch, m.View.Lease.Tenure, false})
	}
	for _, want := range m.Wants {
		if want.Token == 0 {
			out.Send(m.View.Coordinator, claim{want, m.View.Epoch, m.View.Lease.Tenure, false})
		}
	}
	m.table = slices.DeleteFunc(m.table, func(c claim) bool { return m.Gone(now, protocol.ID(c.Session.Member), c.tenure) })
	m.Kept = len(m.table)
	for _, c := range m.table {
		out.Send(protocol.ID(c.Session.Member), given{c})
	}
}

func toyProtocol(naive bool) sim.Protocol {
	return sim.Of(simtest.Describe("toy", func(s *protocol.Setup) protocol.Machine {
		return &toy{Front: simtest.Front{Self: s.Self}, naive: naive}
	}))
}

// What stands between here and the imports is the whole protocol.

// manySeeds skips, with -short, a test that needs many seeds.
func manySeeds(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it needs many seeds; run without -short")
	}
}

// TestARightToyIsClean checks that a correct toy passes all faults and checks, though the simulator does not know it.
func TestARightToyIsClean(t *testing.T) {
	manySeeds(t)
	s, err := sim.RunMany(sim.Config{Protocol: toyProtocol(false), Faults: sim.Within, Linearizable: true}, 1, 30, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := s.Worst; w != nil {
		t.Fatalf("seed %d: %v %v\n%s", w.Seed, w.Outcome, w.Violation, w.Settings)
	}
	if s.Grants() < 100 {
		t.Errorf("%d grants in 30 seeds", s.Grants())
	}
}

// needy is a toy whose coordinator grants only while all members are there.
type needy struct {
	toy
	quorum int
}

func (m *needy) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	v := m.View
	if fact, is := ev.Fact.(claim); is && v != nil && fact.Name != "" && !fact.over && len(v.Members) < m.quorum {
		return
	}
	m.toy.Step(now, ev, out)
}

// TestAProtocolThatNeedsAllIsStuck checks that a needy toy is found, because some runs heal only a core without some
// member; once all are back it continues as if nothing had happened.
func TestAProtocolThatNeedsAllIsStuck(t *testing.T) {
	manySeeds(t)
	p := sim.Of(simtest.Describe("needy", func(s *protocol.Setup) protocol.Machine { return &needy{toy{Front: simtest.Front{Self: s.Self}}, 3} }))
	p.Fewest, p.Most = 3, 3
	c := sim.Config{Protocol: p, Faults: sim.Within, Duration: 20 * time.Second}
	drawn, err := sim.RunMany(c, 1, 40, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := drawn.Worst; w == nil || w.Outcome != sim.Stuck || w.Violation.Promise != "P4" || !strings.Contains(w.Violation.Detail, "after a core of") {
		t.Fatalf("no user is found stuck: %v", w)
	}
	t.Logf("seed %d: %v", drawn.Worst.Seed, drawn.Worst.Violation)
	c.Core = sim.CoreNever
	healed, err := sim.RunMany(c, 1, 40, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := healed.Worst; w != nil {
		t.Errorf("where all is healed at once seed %d shows it, too: %v", w.Seed, w.Violation)
	}
}

// TestANaiveToyIsCaught checks that users' answers reveal a coordinator that grants at once.
func TestANaiveToyIsCaught(t *testing.T) {
	s, err := sim.RunMany(sim.Config{Protocol: toyProtocol(true), Faults: sim.Within}, 1, 400, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Worst == nil || s.Worst.Outcome != sim.Violated || !slices.Contains([]string{"P1", "P3"}, s.Worst.Violation.Promise) {
		t.Fatalf("%v in %d seeds", s.Worst, s.Seeds)
	}
	t.Logf("seed %d: %v", s.Worst.Seed, s.Worst.Violation)
	var trace strings.Builder
	again, err := sim.Run(sim.Config{Protocol: toyProtocol(true), Faults: sim.Within}, s.Worst.Seed, &trace)
	if err != nil || again.Steps != s.Worst.Steps || !strings.Contains(trace.String(), "sim_test.given") {
		t.Errorf("it does not repeat with a trace: %v, %d and %d steps", err, s.Worst.Steps, again.Steps)
	}
}
