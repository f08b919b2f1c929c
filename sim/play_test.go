package sim

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestWhatIsRecordedIsPlayedAgain checks that recording changes nothing, and that the script of a seed plays that
// seed's run, line by line, without any chance.
func TestWhatIsRecordedIsPlayedAgain(t *testing.T) {
	t.Parallel()
	for _, p := range Protocols() {
		for seed := uint64(1); seed <= rounds(3, 1); seed++ {
			var drawn, recorded, replayed bytes.Buffer
			c := config(p.Name)
			if seed == 3 {
				c.Bias = Bias{AllFaults: true, Often: 4, Crowd: true, Late: 500, Strand: true}
			}
			want, err := Run(c, seed, &drawn)
			if err != nil {
				t.Fatal(err)
			}
			script, _, err := Record(c, seed, &recorded)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(drawn.Bytes(), recorded.Bytes()) {
				t.Errorf("%s seed %d: recorded it is another run: %s", p.Name, seed, differ(drawn.String(), recorded.String()))
			}
			got, err := Play(script, Stage{Protocol: p, Trace: &replayed})
			if err != nil {
				t.Fatal(err)
			}
			if got.Outcome != want.Outcome || !bytes.Equal(drawn.Bytes(), replayed.Bytes()) {
				t.Errorf("%s seed %d (%v), played: %v, %s", p.Name, seed, script.Faults, got.Outcome, differ(drawn.String(), replayed.String()))
			}
			for _, wrong := range got.Wrong {
				t.Errorf("%s seed %d: %v: %s", p.Name, seed, &wrong.Choice, wrong.Allowed)
			}
		}
	}
}

// differ returns the first line in which two traces differ.
func differ(a, b string) string {
	lines := strings.Split(b, "\n")
	for i, line := range strings.Split(a, "\n") {
		if i >= len(lines) {
			return "it ends at " + line
		}
		if lines[i] != line {
			return line + " is " + lines[i]
		}
	}
	return "nothing"
}

// TestFoundSeedsArePlayedAgain checks seeds whose scripts once played differently: a script had a choice in another act
// than the one that made it, or in none, or a run used a setting that scripts do not have.
func TestFoundSeedsArePlayedAgain(t *testing.T) {
	t.Parallel()
	for _, found := range []struct {
		protocol string
		seed     uint64
	}{
		{"consensus", 3350701865}, // a client that was taken over starts again,
		{"grantor", 3350701909},
		{"consensus", 3350701995}, // an heir retires,
		{"consensus", 3350701879}, // operators would have changed who votes
		{"claim", 3},              // the end of a process is not reported to one that waits
	} {
		p, _ := Find(found.protocol)
		var recorded, replayed bytes.Buffer
		script, want, err := Record(Config{Protocol: p, Duration: time.Minute, Faults: p.Faults}, found.seed, &recorded)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Play(script, Stage{Protocol: p, Trace: &replayed})
		if err != nil {
			t.Fatal(err)
		}
		if want.Outcome != OK || got.Outcome != OK || !bytes.Equal(recorded.Bytes(), replayed.Bytes()) {
			t.Errorf("%s seed %d: %v, played: %v, %s", p.Name, found.seed, want.Outcome, got.Outcome, differ(recorded.String(), replayed.String()))
		}
	}
}
