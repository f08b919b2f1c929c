package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestBiasBends checks that a bias changes its settings, and leaves the rest as drawn.
func TestBiasBends(t *testing.T) {
	c := config("central")
	c.Faults = 1<<Delay | 1<<Crash | 1<<Loss | 1<<Any
	for seed := uint64(1); seed <= 20; seed++ {
		unbent, bent := c, c
		unbent.Bias = Bias{AllFaults: true}
		bent.Bias = Bias{AllFaults: true, Often: 4, Crowd: true, Late: 1234, Strand: true}
		plain, s := drawn(&unbent, seed), drawn(&bent, seed)
		if s.faults != c.Faults {
			t.Errorf("seed %d: of %v it has %v", seed, c.Faults, s.faults)
		}
		if s.every[Crash] != plain.every[Crash]/4 {
			t.Errorf("seed %d: crashes every %v, and every %v without", seed, s.every[Crash], plain.every[Crash])
		}
		if len(s.names) != 1 || s.think != 20*time.Millisecond || s.weather.delay != 1234 || !s.bias.Strand {
			t.Errorf("seed %d: %d names, think %v, %d late, %+v", seed, len(s.names), s.think, s.weather.delay, s.bias)
		}
		if plain.members != s.members || plain.clients != s.clients {
			t.Errorf("seed %d: %d members and %d clients, and %d and %d with a bias", seed, plain.members, plain.clients, s.members, s.clients)
		}
		if strings.Contains(drawn(&c, seed).String(), "bias") || !strings.Contains(s.String(), "4 times as often, all want one name") {
			t.Errorf("seed %d: the settings do not say what is bent:\n%v\n%v", seed, plain, s)
		}
	}
}

// TestStrandedCoordinators checks that coordinators leave while some member has not heard their last messages, and that
// nothing goes wrong.
func TestStrandedCoordinators(t *testing.T) {
	c := config("central")
	c.Faults, c.Bias, c.Members = 0, Bias{Strand: true, Crowd: true}, 3
	var trace bytes.Buffer
	result, err := Run(c, 1, &trace)
	if err != nil {
		t.Fatal(err)
	}
	if held := strings.Count(trace.String(), " is held up for "); result.Outcome != OK || held < 3 {
		t.Errorf("%d coordinators were stranded; %v %v", held, result.Outcome, result.Violation)
	}
}

// TestWhoSurvivesKeepsItsLock checks that survivors keep their locks and, in runs that demand it, that the judge names
// those that do not.
func TestWhoSurvivesKeepsItsLock(t *testing.T) {
	w := still(t, 3, 1<<Crash)
	h := &holder{t: t}
	user(t, w, follower(w)).stream.acquire(wantedLock{name: "n"}, h)
	w.run(w.now + time.Second)
	w.judge.survivors.holders = w.judge.holdersElsewhere(uint64(w.coordinator().id))
	if len(w.judge.survivors.holders) != 1 {
		t.Fatalf("%d hold through other members than the coordinator", len(w.judge.survivors.holders))
	}
	through := h.lock.session.at
	through.crash(through.life)
	w.run(w.now + 10*time.Second)
	if got := w.judge.survival(); got != (Survival{Crashes: 1}) || !strings.Contains(w.judge.survivors.detail, `"n"`) {
		t.Errorf("%+v, and the story is %q", got, w.judge.survivors.detail)
	}
	w.checkSurvival(w.judge.survival())
	judgedAs(t, w.judge, "")
	w.settings.survive = true
	w.checkSurvival(Survival{Crashes: 1, Kept: 1})
	judgedAs(t, w.judge, "")
	w.checkSurvival(w.judge.survival())
	judgedAs(t, w.judge, "P9")
}
