package sim

import (
	"crypto/sha256"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/sim/timeline"
)

// observed runs a seed, and returns its result, its timeline and the digest of its trace.
func observed(t *testing.T, c Config, seed uint64) (Result, []timeline.Event, [32]byte) {
	t.Helper()
	var events []timeline.Event
	c.Observe = func(h timeline.Event) { events = append(events, h) }
	trace := sha256.New()
	result, err := Run(c, seed, trace)
	if err != nil {
		t.Fatal(err)
	}
	return result, events, [32]byte(trace.Sum(nil))
}

// TestEveryRunHasATimeline checks that the reported events are a timeline, the same for the same seed, and that an
// observer does not change the run.
func TestEveryRunHasATimeline(t *testing.T) {
	t.Parallel()
	kinds := map[timeline.Kind]int{}
	for _, p := range Protocols() {
		c := Config{Protocol: p, Faults: Within, Duration: 20 * time.Second}
		for seed := uint64(1); seed <= rounds(4, 1); seed++ {
			result, events, trace := observed(t, c, seed)
			if err := timeline.Check(events); err != nil {
				t.Fatalf("%s seed %d: %v", p.Name, seed, err)
			}
			_, again, _ := observed(t, c, seed)
			if !slices.EqualFunc(events, again, same) {
				t.Errorf("%s seed %d tells another story the second time", p.Name, seed)
			}
			alone := sha256.New()
			unheard, err := Run(c, seed, alone)
			if err != nil {
				t.Fatal(err)
			}
			if unheard.Steps != result.Steps || [32]byte(alone.Sum(nil)) != trace {
				t.Errorf("%s seed %d is another run without an observer", p.Name, seed)
			}
			for i := range events {
				kinds[events[i].Kind]++
			}
		}
	}
	for kind := timeline.Lane; kind < timeline.Violated; kind++ {
		if kind != timeline.Held && kinds[kind] == 0 && !testing.Short() {
			t.Errorf("no run tells of %v", kind)
		}
	}
}

// TestAScriptHasTheTimelineOfItsSeed checks that a recorded run has the same timeline when it is played again.
func TestAScriptHasTheTimelineOfItsSeed(t *testing.T) {
	c := Config{Protocol: config("central").Protocol, Faults: Within, Duration: 10 * time.Second}
	_, events, _ := observed(t, c, 7)
	script, _, err := Record(c, 7, nil)
	if err != nil {
		t.Fatal(err)
	}
	var again []timeline.Event
	if _, err := Play(script, Stage{Protocol: c.Protocol, Observe: func(h timeline.Event) { again = append(again, h) }}); err != nil {
		t.Fatal(err)
	}
	if err := timeline.Check(again); err != nil {
		t.Fatal(err)
	}
	alike := func(a, b timeline.Event) bool {
		return a.Kind == b.Kind && a.At == b.At && a.Who == b.Who && a.ID == b.ID
	}
	if !slices.EqualFunc(events, again, alike) {
		t.Errorf("the seed tells of %d happenings, its script of %d, or of others", len(events), len(again))
	}
}

// same compares two events.
func same(a, b timeline.Event) bool {
	sameLanes, sameGrants := slices.Equal(a.Lanes, b.Lanes), slices.Equal(a.Grants, b.Grants)
	a.Lanes, b.Lanes, a.Grants, b.Grants = nil, nil, nil, nil
	return sameLanes && sameGrants && a.At == b.At && a.Kind == b.Kind && a.Who == b.Who && a.To == b.To && a.ID == b.ID &&
		a.Of == b.Of && a.Name == b.Name && a.Token == b.Token && a.Until == b.Until && a.Short == b.Short && a.Text == b.Text && a.Why == b.Why
}

// TestAGrantIsReportedAsItsHolderBelievesIt checks that each counted grant is reported, and that none outlives the
// instant at which its holder's own clock ends it.
func TestAGrantIsReportedAsItsHolderBelievesIt(t *testing.T) {
	for seed := uint64(1); seed <= 10; seed++ {
		result, events, _ := observed(t, Config{Protocol: config("central").Protocol, Faults: Within, Duration: 20 * time.Second}, seed)
		open := map[uint64]time.Duration{}
		granted := 0
		for _, h := range events {
			switch h.Kind {
			case timeline.Granted:
				granted++
				open[h.ID] = h.At
			case timeline.Ended:
				if h.At < open[h.ID] {
					t.Errorf("seed %d: grant %d ends at %v, and was given at %v", seed, h.ID, h.At, open[h.ID])
				}
				delete(open, h.ID)
			}
		}
		if granted == 0 || granted > result.counts.grants { // no user believes in a late grant
			t.Errorf("seed %d tells of %d grants, and has %d", seed, granted, result.counts.grants)
		}
		if len(open) > 0 && result.Outcome == OK {
			t.Errorf("seed %d: %d grants are held when everything is settled", seed, len(open))
		}
	}
}

// TestAViolationNamesTheHolders checks that a violation names the holders concerned, by their bars.
func TestAViolationNamesTheHolders(t *testing.T) {
	w := newWorld(&Config{Protocol: config("central").Protocol, Members: 3, Duration: time.Minute, Observe: func(timeline.Event) {}}, 1, nil, newCounts(false))
	var events []timeline.Event
	w.reporter.hear = func(h timeline.Event) { events = append(events, h) }
	w.reporter.cast()
	for i := range 2 {
		c := w.clients[i]
		c.up = true
		r := heldFor(c, time.Duration(5+i)*time.Second)
		r.session.id.Number = uint64(i + 1)
		w.judge.noteHolder(grantOf(c, r))
	}
	if err := timeline.Check(events); err != nil {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if last.Kind != timeline.Violated || last.Promise != "P1" || last.Name != "n0" ||
		!slices.Equal(last.Grants, []uint64{1, 2}) || !slices.Equal(last.Lanes, []string{"client0", "client1"}) {
		t.Errorf("reported %+v", last)
	}
	until := events[len(events)-3]
	if until.Kind != timeline.Held || until.ID != 1 || until.Until < 4*time.Second || until.Until > 5*time.Second+time.Millisecond {
		t.Errorf("reported %+v of the first holder, whose session lasts 5 s", until)
	}
	if !strings.Contains(last.Text, "client1") {
		t.Errorf("the sentence is %q", last.Text)
	}
}
