package sim

import (
	"bytes"
	"strings"
	"testing"
)

// TestCoverageNamesWhatWasNeverHit checks that a run without faults names every fault as never hit.
func TestCoverageNamesWhatWasNeverHit(t *testing.T) {
	c := config("central")
	c.Coverage = true
	s, err := RunMany(c, 1, 2, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := s.WriteCoverage(&out, &c); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{"fault    delay ", "message  membership.Poll ", "handler  space raised *protocol.View ", "handler  sessions tick "} {
		if !strings.Contains(text, want) {
			t.Errorf("coverage does not list %q:\n%s", want, text)
		}
	}
	s.counts = newCounts(true)
	out.Reset()
	complete, err := s.WriteCoverage(&out, &c)
	if err != nil || complete || !strings.Contains(out.String(), "never hit: ") || !strings.Contains(out.String(), "message membership.Poll;") {
		t.Errorf("%v %v\n%s", complete, err, out.String())
	}
}

// TestWhatIsCountedIsListed checks that everything that runs of any protocol hit is a row of some protocol's coverage.
func TestWhatIsCountedIsListed(t *testing.T) {
	t.Parallel()
	listed, hits := map[mark]bool{chain(1): true}, map[mark]int{} // a table through one successor is an ordinary transfer
	for _, p := range Protocols() {
		for _, faults := range []Faults{0, Within} {
			c := config(p.Name)
			c.Faults = faults
			s, err := RunMany(c, 1, 4, 2, nil)
			if err != nil {
				t.Fatal(err)
			}
			sumBy(hits, s.counts.hits)
			for _, m := range c.marks() {
				listed[m] = true
			}
		}
	}
	for m, n := range hits {
		if !listed[m] {
			t.Errorf("%q of %q was hit %d times, and is no row", m.name, m.sort, n)
		}
	}
}
