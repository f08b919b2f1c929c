package parallel_test

import (
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/parallel"
)

func TestMain(m *testing.M) {
	parallel.Tests()
	goleak.VerifyTestMain(m)
}

// tell has a test program of this package print its -parallel.
const tell = "HOLDFAST_TEST_PARALLEL"

// TestTheDefaultIsRaised to six on few processors, and to no less than there are on many; the command line goes first.
func TestTheDefaultIsRaised(t *testing.T) {
	if os.Getenv(tell) != "" {
		t.Logf("parallel=%s.", flag.Lookup("test.parallel").Value)
		return
	}
	for _, tt := range []struct {
		processors, flag, want string
	}{{"2", "", "parallel=6."}, {"6", "", "parallel=6."}, {"9", "", "parallel=9."}, {"2", "-test.parallel=3", "parallel=3."}, {"9", "-test.parallel=1", "parallel=1."}} {
		arguments := []string{"-test.run=^TestTheDefaultIsRaised$", "-test.v"}
		if tt.flag != "" {
			arguments = append(arguments, tt.flag)
		}
		test := exec.Command(os.Args[0], arguments...)
		test.Env = append(os.Environ(), tell+"=1", "GOMAXPROCS="+tt.processors)
		out, err := test.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tt.want) {
			t.Errorf("%s processors %s: %v, %s; want %s", tt.processors, tt.flag, err, out, tt.want)
		}
	}
}
