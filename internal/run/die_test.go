package run_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
)

// liar is a machine that breaks an invariant when it is asked anything.
type liar struct{}

func (liar) Wake() protocol.Time { return protocol.Never }

func (liar) Step(_ protocol.Time, ev protocol.Event, _ *protocol.Effects) {
	if ev.Kind == protocol.Call {
		panic("three units are held of two")
	}
}

// TestBrokenMachineEndsTheProcess runs itself again as the process that must die,
// though its caller recovers, as a server's handler does.
func TestBrokenMachineEndsTheProcess(t *testing.T) {
	const variable = "RUN_TEST_LIAR"
	if os.Getenv(variable) != "" {
		d, err := run.New(run.Config{Machine: liar{}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			recover()
			os.Exit(0) // the member would go on lying
		}()
		d.Call(protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: 1}})
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^TestBrokenMachineEndsTheProcess$")
	again.Env = append(os.Environ(), variable+"=1")
	said, err := again.CombinedOutput()
	if err == nil || !strings.Contains(string(said), "a machine has broken an invariant: three units are held of two") {
		t.Errorf("the process ended with %v and said %s", err, said)
	}
}
