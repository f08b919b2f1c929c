package replay_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/sim"
	"github.com/holdfast-locks/holdfast/sim/replay"
)

// odd is a space of a protocol that only this test knows. It behaves like another space, with a hook after each step.
type odd struct {
	protocol.Machine
	step func(protocol.Event, *protocol.Effects)
}

func (o *odd) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	o.Machine.Step(now, ev, out)
	o.step(ev, out)
}

// oddOptions are the options of its spaces.
type oddOptions struct {
	protocol.Options
	step func(protocol.Event, *protocol.Effects)
}

func (o *oddOptions) New(s *protocol.Setup) (protocol.Machine, error) {
	m, err := o.Options.New(s)
	return &odd{m, o.step}, err
}

// oddProtocol is one of the simulator's, with a function called after each step of its spaces.
func oddProtocol(step func(protocol.Event, *protocol.Effects)) sim.Protocol {
	p, _ := sim.Find("election")
	plain := p.Options
	p.Name, p.Options = "odd", func() protocol.Options { return &oddOptions{plain(), step} }
	return p
}

// recordedOdd simulates an odd protocol, and returns the trace of member a.
func recordedOdd(t *testing.T, p sim.Protocol) (text bytes.Buffer, result sim.Result) {
	t.Helper()
	result, err := sim.Run(sim.Config{Protocol: p, Duration: 5 * time.Second, MemberTrace: func(member string) io.Writer {
		if member == "a" {
			return &text
		}
		return nil
	}}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return text, result
}

// TestUnknownProtocol checks that a simulated protocol is replayed without special support, and that another program
// names the protocol that it does not know.
func TestUnknownProtocol(t *testing.T) {
	p := oddProtocol(func(protocol.Event, *protocol.Effects) {})
	text, _ := recordedOdd(t, p)
	result := run(t, text.Bytes(), replay.Config{Protocols: sim.Nodes(p)})
	if result.Difference != nil || result.Steps() < 100 {
		t.Errorf("%d steps: %v", result.Steps(), result.Difference)
	}
	if _, err := replay.Run(&text, replay.Config{}); err == nil || err.Error() != `make the machines of "a": space "default" has protocol "odd", which is not among those that are known` {
		t.Error(err)
	}
}

// TestPanicIsReproduced checks that a broken invariant is broken again by the same event, and that otherwise the replay
// reports a difference.
func TestPanicIsReproduced(t *testing.T) {
	p := oddProtocol(func(ev protocol.Event, _ *protocol.Effects) {
		if view, is := ev.Fact.(*protocol.View); is && view.Installed {
			panic("two members coordinate")
		}
	})
	text, crashed := recordedOdd(t, p)
	if crashed.Outcome != sim.Crashed {
		t.Fatalf("the run ended %v", crashed.Outcome)
	}
	if !bytes.HasSuffix(text.Bytes(), []byte("\n  panic \"two members coordinate\"\n")) {
		// Another member may have been the first.
		t.Fatalf("the trace ends with %q", text.Bytes()[max(0, text.Len()-200):])
	}
	for size := text.Len(); size > text.Len()-30; size -= 29 { // also without its last line
		result := run(t, text.Bytes()[:size], replay.Config{Protocols: sim.Nodes(p)})
		if result.Difference != nil || result.Panic() != "two members coordinate" {
			t.Errorf("of %d bytes, it breaks %q, %v", size, result.Panic(), result.Difference)
		}
	}
	mended := oddProtocol(func(protocol.Event, *protocol.Effects) {})
	result := run(t, text.Bytes(), replay.Config{Protocols: sim.Nodes(mended)})
	if d := result.Difference; d == nil || d.What() != "panic" && d.Want[len(d.Want)-1] != `panic "two members coordinate"` {
		t.Errorf("a mended machine is reported as %v", d)
	}
}

// TestHiddenEntropy checks that the replay finds a machine with an input that is not in an event, such as the order of
// a map.
func TestHiddenEntropy(t *testing.T) {
	outside := rand.New(rand.NewPCG(1, 1))
	p := oddProtocol(func(ev protocol.Event, out *protocol.Effects) {
		if _, is := ev.Fact.(*protocol.View); is && outside.IntN(3) == 0 {
			out.Note(protocol.Serving{Reign: outside.Uint64()})
		}
	})
	text, _ := recordedOdd(t, p)
	if d := run(t, text.Bytes(), replay.Config{Protocols: sim.Nodes(p)}).Difference; d == nil {
		t.Error("the replay does not see it")
	}
}
