package parallel_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/test/parallel"
)

func TestMain(m *testing.M) {
	if os.Getenv(printVariable) == "programs" {
		parallel.Programs()
	} else {
		parallel.Tests()
	}
	goleak.VerifyTestMain(m)
}

// printVariable makes a test program of this package print its -parallel: for tests of one package, or of programs.
const printVariable = "HOLDFAST_TEST_PARALLEL"

// TestTheDefaultIsRaised checks that the default is raised on few processors, is not lowered on many, and gives way to
// the command line.
func TestTheDefaultIsRaised(t *testing.T) {
	if os.Getenv(printVariable) != "" {
		t.Logf("parallel=%s.", flag.Lookup("test.parallel").Value)
		return
	}
	raised, ofPrograms := fmt.Sprintf("parallel=%d.", parallel.AtOnce), fmt.Sprintf("parallel=%d.", parallel.OfPrograms)
	for _, tt := range []struct {
		of, processors, flag, want string
	}{
		{"tests", "2", "", raised}, {"tests", "6", "", raised}, {"tests", "40", "", "parallel=40."},
		{"tests", "2", "-test.parallel=3", "parallel=3."}, {"tests", "40", "-test.parallel=1", "parallel=1."},
		{"programs", "2", "", ofPrograms}, {"programs", "40", "", "parallel=40."},
	} {
		arguments := []string{"-test.run=^TestTheDefaultIsRaised$", "-test.v"}
		if tt.flag != "" {
			arguments = append(arguments, tt.flag)
		}
		test := exec.Command(os.Args[0], arguments...)
		test.Env = append(os.Environ(), printVariable+"="+tt.of, "GOMAXPROCS="+tt.processors)
		out, err := test.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s with %s processors %s: %v, %s; want %s", tt.of, tt.processors, tt.flag, err, out, tt.want)
		}
	}
}

// TestBriefLeavesOut checks that -short skips a test that is not brief, except with the race detector.
func TestBriefLeavesOut(t *testing.T) {
	if os.Getenv(printVariable) != "" {
		parallel.SkipBrief(t)
		return
	}
	for _, short := range []bool{false, true} {
		test := exec.Command(os.Args[0], "-test.run=^TestBriefLeavesOut$", "-test.v", fmt.Sprintf("-test.short=%t", short))
		test.Env = append(os.Environ(), printVariable+"=tests")
		out, err := test.CombinedOutput()
		if left := strings.Contains(string(out), "--- SKIP"); err != nil || left != (short && !parallel.Raced) {
			t.Errorf("-short=%t: %v, %s", short, err, out)
		}
	}
}
