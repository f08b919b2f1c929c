package sim_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/sim"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTheGuideShowsWhatRuns checks that the guide's protocol is the one tested here, of 60 lines, and that its account
// of the naive one is true.
func TestTheGuideShowsWhatRuns(t *testing.T) {
	_, toy, begins := strings.Cut(read(t, "toy_test.go"), "\n// claim says")
	toy, _, ends := strings.Cut(toy, "\n// What stands between")
	if !begins || !ends {
		t.Fatal("toy_test.go does not say where the protocol is")
	}
	guide := read(t, "../docs/simulator.md")
	if !strings.Contains(guide, "```go\n// claim says"+strings.TrimRight(toy, "\n")+"\n```\n") {
		t.Error("the protocol of docs/simulator.md is not that of sim/toy_test.go")
	}
	lines := 0
	for line := range strings.Lines(toy) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			lines++
		}
	}
	if lines > 61 { // the rest of the first comment is one of them
		t.Errorf("it has %d lines, which is more than 60", lines-1)
	}
	result, err := sim.Run(sim.Config{Protocol: toyProtocol(true), Faults: sim.Within}, 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	if result.Violation == nil || !strings.Contains(guide, "```\n"+result.Violation.String()+"\n```\n") {
		t.Errorf("docs/simulator.md does not say what seed 10 says: %v", result.Violation)
	}
}
