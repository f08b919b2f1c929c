package sim

import (
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// TestTheJudgeSeesWhatCostsOtherwise checks that the allowed number of messages is accepted, and one more or fewer is
// not.
func TestTheJudgeSeesWhatCostsOtherwise(t *testing.T) {
	cost := probe.Cost{Deed: probe.CycleElsewhere, Least: 2, Most: 3, Tail: 1, Formula: "2 or 3"}
	for _, tt := range []struct {
		messages int
		promise  string
	}{{3, "cost"}, {4, ""}, {7, ""}, {8, "cost"}} {
		h := newWitness()
		seen := make([]string, tt.messages)
		for i := range seen {
			seen[i] = "b→a Lock"
		}
		h.cost(&cost, 2, seen)
		judgedAs(t, h.judge, tt.promise)
		if v := h.violation; v != nil {
			for _, want := range []string{"lock and unlock at another member, 2 times", "2 or 3", "b→a Lock, b→a Lock", "4 to 7 are allowed"} {
				if !strings.Contains(v.Detail, want) {
					t.Errorf("the story of %d messages does not say %q: %s", tt.messages, want, v.Detail)
				}
			}
		}
	}
}

// withoutFaults configures runs of a protocol without faults.
func withoutFaults(protocol string) Config {
	c := config(protocol)
	c.Faults, c.Duration = 0, usualDuration/20
	return c
}

// TestCostsAreTheFormulas checks the costs in many runs without faults, of any size.
func TestCostsAreTheFormulas(t *testing.T) {
	for _, name := range []string{"central", "grantor"} {
		c := withoutFaults(name)
		s, err := RunMany(c, 1, 30, 2, nil)
		if err != nil {
			t.Fatal(err)
		}
		if w := s.Worst; w != nil {
			t.Fatalf("%s, seed %d: %v\n%s", name, w.Seed, w.Violation, w.Settings)
		}
		for _, cost := range c.Protocol.Costs(3) {
			if n := s.counts.hits[costOf(cost.Deed)]; n < 20 {
				t.Errorf("%s, %v: counted %d times in 30 runs", name, cost.Deed, n)
			}
		}
	}
}

// talkative is a space of central that sends a kind of message once too often, every second time.
type talkative struct {
	protocol.Machine
	twice func(protocol.Message) bool
	said  bool
}

func (m *talkative) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	before := len(out.Sends)
	m.Machine.Step(now, ev, out)
	for _, e := range out.Sends[before:] {
		if m.twice(e.Message) {
			m.said = !m.said
			if m.said {
				out.Sends = append(out.Sends, e)
			}
		}
	}
}

// talkatives are options whose machines send every second release twice.
type talkatives struct{ protocol.Options }

func (o *talkatives) New(s *protocol.Setup) (protocol.Machine, error) {
	m, err := o.Options.New(s)
	return &talkative{Machine: m, twice: func(m protocol.Message) bool { _, is := m.(authority.Release); return is }}, err
}

// TestWhoSaysTooMuchIsFound checks that sending every second release twice is found: it breaks no promise to users, but
// its cost matches no formula.
func TestWhoSaysTooMuchIsFound(t *testing.T) {
	c := withoutFaults("central")
	quiet := c.Protocol.Options
	c.Protocol.Options = func() protocol.Options { return &talkatives{quiet()} }
	result, err := Run(c, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	v := result.Violation
	if result.Outcome != Violated || v.Promise != "cost" || !strings.Contains(v.Detail, "authority.Release") || !strings.Contains(v.Detail, "2 + 1") {
		t.Errorf("%v %v", result.Outcome, v)
	}
	script, again, err := Record(c, 1, nil)
	if err != nil || again.Outcome != Violated {
		t.Fatalf("recorded: %v, %v", again.Outcome, err)
	}
	played, err := Play(script, Stage{Protocol: c.Protocol})
	if err != nil || played.Outcome != Violated || played.Violation.Promise != "cost" {
		t.Errorf("its script: %v, %v", played.Verdict(), err)
	}
	c.Protocol.Costs = nil
	if result, err = Run(c, 1, nil); err != nil || result.Outcome != OK {
		t.Errorf("where messages are not counted: %v %v, %v", result.Outcome, result.Violation, err)
	}
}

// TestNothingIsCountedWithFaults checks that runs with faults count no costs, and are unchanged.
func TestNothingIsCountedWithFaults(t *testing.T) {
	c := config("central")
	s, err := RunMany(c, 1, 4, 2, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.counts.of("cost"); len(got) > 0 {
		t.Errorf("counted %v", got)
	}
}
