package shrink

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/mutation"
	"github.com/holdfast-locks/holdfast/sim"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failing configures runs that break a promise without a rule.
func failing(t *testing.T, rule string) sim.Config {
	t.Helper()
	mutation.Switch(rule)
	t.Cleanup(func() { mutation.Switch("") })
	p, _ := sim.Find("central")
	return sim.Config{Protocol: p, Faults: sim.Within}
}

// TestShrink checks that a few readable choices remain of thousands, which break the same promise, and nothing with the
// rule on.
func TestShrink(t *testing.T) {
	c := failing(t, "exclusion wait off")
	var sizes []Size
	s, err := Seed(c, 32, Config{Runs: 1000, Jobs: 2, Progress: func(s Size) { sizes = append(sizes, s) }})
	if err != nil {
		t.Fatal(err)
	}
	first, err := sim.Run(c, 32, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.Played.Outcome != sim.Violated || s.Played.Violation.Promise != first.Violation.Promise {
		t.Errorf("it was %s, and is %s", first.Verdict(), s.Played.Verdict())
	}
	if s.Script.Members > 3 || s.Script.Clients > 2 || len(s.Script.Choices) > 10 || s.From.Choices < 1000 || !s.Done {
		t.Errorf("from %v to %v, done: %v\n%v", s.From, s.To, s.Done, s.Script)
	}
	if last := sizes[len(sizes)-1]; sizes[0].Choices != s.From.Choices || last.Choices != s.To.Choices {
		t.Errorf("reported %v at first and %v at last", sizes[0], last)
	}
	if len(s.Played.Void) > 0 || len(s.Played.Wrong) > 0 {
		t.Errorf("said in vain: %v, %v", s.Played.Void, s.Played.Wrong)
	}
	mutation.Switch("")
	if fine, err := sim.Play(s.Script, sim.Stage{Protocol: c.Protocol}); err != nil || fine.Outcome != sim.OK {
		t.Errorf("with the rule on: %s, %v", fine.Verdict(), err)
	}
}

// TestOnlyWhatIsAccepted checks that only accepted scripts are taken, however small others are.
func TestOnlyWhatIsAccepted(t *testing.T) {
	c := failing(t, "exclusion wait off")
	refused := 0
	s, err := Seed(c, 2, Config{Runs: 400, Accept: func(script *sim.Script) bool {
		if script.Members > 2 {
			return true
		}
		refused++
		return false
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s.Script.Members != 3 || refused == 0 || s.Played.Outcome != sim.Violated {
		t.Errorf("%d members after %d refusals: %v", s.Script.Members, refused, s.Played.Verdict())
	}
}

// TestOrdersLoseWhoIsGone checks that an order that names a dropped member becomes an order of the remaining ones,
// which fails by itself.
func TestOrdersLoseWhoIsGone(t *testing.T) {
	c := failing(t, "missing responder ignored")
	script, _, err := sim.ParseScript(sim.ScriptHeader + `
[settings]
protocol central
members 4
faults any,preempt
clients 2
workers 2
names n0
duration 2.13s
[processes]
client1 machine places c,d,b,a
[users]
client0.0 call#1 at 10ms
client1.0 call#1 at 10ms
client0.1 call#1 at 1.4s
client1.0 call#1 hold 2s
[messages]
b→a election.StatusPoll#1 latency 1s
`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Script(script, Config{Protocol: c.Protocol, Runs: 300})
	if err != nil {
		t.Fatal(err)
	}
	if s.Script.Members != 3 || !strings.Contains(s.Script.String(), "places c,b,a\n") || s.Played.Outcome != sim.Violated || len(s.Played.Wrong) > 0 {
		t.Errorf("%v, and cannot be as said: %v\n%v", s.Played.Verdict(), s.Played.Wrong, s.Script)
	}
}

// TestTheFirstMessageInsteadOfALaterOne checks that choices that only caused the later message are removed, also if it
// must be the last of all.
func TestTheFirstMessageInsteadOfALaterOne(t *testing.T) {
	c := failing(t, "unlock told once")
	script, _, err := sim.ParseScript(sim.ScriptHeader + `
[settings]
protocol central
members 2
workers 2
names n0 n1
duration 0s
[processes]
client0 machine places b,a
[users]
client0.0 call#1 at 4ms
client0.1 call#1 at 4ms
client0.1 call#2 at 10ms
client0.0 call#2 at 20ms
client0.1 call#3 at 10ms
client0.0 call#3 at 20ms
client0.1 call#4 at 20ms
client0.0 call#4 at 30ms
client0.1 call#5 at 30ms
client0.1 call#6 at 40ms
client0.0 call#5 at 40ms
client0.0 call#6 at 40ms
client0.0 call#7 at 50ms
client0.0 call#8 at 50ms
[messages]
b→a authority.Release#18 lost yes
`)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Script(script, Config{Protocol: c.Protocol, Runs: 300})
	if err != nil {
		t.Fatal(err)
	}
	if text := s.Script.String(); !strings.Contains(text, "authority.Release#") || len(s.Script.Choices) > 2 {
		t.Errorf("%v\n%v", s.Played.Verdict(), text)
	}
}

// TestJobsChangeNothing checks that the script does not depend on the number of jobs, also if the budget ends the
// search.
func TestJobsChangeNothing(t *testing.T) {
	c := failing(t, "token counter in memory")
	var texts []string
	for _, jobs := range []int{1, 3} {
		s, err := Seed(c, 2, Config{Runs: 90, Jobs: jobs})
		if err != nil {
			t.Fatal(err)
		}
		if s.Done || s.To.Runs < 90 || s.To.Runs >= 90+width {
			t.Errorf("%d runs, done: %v", s.To.Runs, s.Done)
		}
		texts = append(texts, s.Script.String())
	}
	if texts[0] != texts[1] {
		t.Errorf("one at a time:\n%s\nthree:\n%s", texts[0], texts[1])
	}
}

// TestMembersAndClientsTakePlaces checks that any member or client can be dropped, not only the last one.
func TestMembersAndClientsTakePlaces(t *testing.T) {
	s, _, err := sim.ParseScript(sim.ScriptHeader + `
[settings]
protocol central
members 3
clients 2
[faults]
crash#1 member c
[users]
client1.0 call#1 at 1s
[messages]
c→b membership.Poll#5 latency 2s
client1→c break#1 lost yes
`)
	if err != nil {
		t.Fatal(err)
	}
	exchange(s, "c", "a")
	exchange(s, "client1", "client0")
	for _, line := range []string{"crash#1 member a", "client0.0 call#1 at 1s", "a→b membership.Poll#5 latency 2s", "client0→a break#1 lost yes"} {
		if !strings.Contains(s.String(), line+"\n") {
			t.Errorf("%q is not in\n%s", line, s)
		}
	}
}

func TestSimplerDurations(t *testing.T) {
	for _, tt := range []struct {
		d       time.Duration
		shorter bool
		want    []time.Duration
	}{
		{0, true, nil},
		{time.Second, false, nil},
		{time.Second, true, []time.Duration{200 * time.Millisecond, 500 * time.Millisecond}},
		{1234567890, false, []time.Duration{time.Second, 1200 * time.Millisecond, 1230 * time.Millisecond, 1235 * time.Millisecond, 1234 * time.Millisecond}},
		{19 * time.Second, false, []time.Duration{20 * time.Second, 10 * time.Second}},
	} {
		if got := simplerThan(tt.d, tt.shorter); !slices.Equal(got, tt.want) {
			t.Errorf("simpler than %v: %v, want %v", tt.d, got, tt.want)
		}
	}
}

func TestWhatCannotBeShrunk(t *testing.T) {
	p, _ := sim.Find("central")
	c := sim.Config{Protocol: p, Duration: time.Second}
	if _, err := Seed(c, 1, Config{}); err == nil || !strings.Contains(err.Error(), "seed 1 does not fail") {
		t.Error(err)
	}
	script, _, err := sim.Record(c, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for want, config := range map[string]Config{
		"does not fail": {Protocol: p},
		"Runs -1":       {Protocol: p, Runs: -1},
		"Jobs -1":       {Protocol: p, Jobs: -1},
		"protocol":      {},
	} {
		if _, err := Script(script, config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
