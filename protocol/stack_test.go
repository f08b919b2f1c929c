package protocol_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// scripted is a machine that records its events and performs the actions of its test.
type scripted struct {
	name string
	log  *[]string
	wake protocol.Time
	do   func(ev protocol.Event, out *protocol.Effects)
}

func (m *scripted) Wake() protocol.Time { return m.wake }

func (m *scripted) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	*m.log = append(*m.log, fmt.Sprintf("%s %s %v at %v", m.name, kindNames[ev.Kind], ev.Fact, now))
	if m.do != nil {
		m.do(ev, out)
	}
}

var kindNames = map[protocol.Kind]string{
	protocol.Start: "start", protocol.Tick: "tick", protocol.Receive: "receive",
	protocol.Call: "call", protocol.Raised: "raised",
}

// text is a message, a note and a fact.
type text string

func (w text) String() string { return string(w) }

// harness is a stack of one machine below and two above.
type harness struct {
	stack           protocol.Machine
	below, one, two *scripted
	log             []string
	out             protocol.Effects
}

func newHarness() *harness {
	b := &harness{}
	b.below = &scripted{name: "below", log: &b.log, wake: protocol.Never}
	b.one = &scripted{name: "one", log: &b.log, wake: protocol.Never}
	b.two = &scripted{name: "two", log: &b.log, wake: protocol.Never}
	b.stack = protocol.Stack(b.below, b.one, b.two)
	return b
}

// step returns what the machines saw of one event.
func (b *harness) step(ev protocol.Event) []string {
	b.log = nil
	b.stack.Step(time.Second, ev, &b.out)
	return b.log
}

func same(t *testing.T, what string, got any, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestStackRoutesByPort(t *testing.T) {
	b := newHarness()
	for port, name := range []string{"below", "one", "two"} {
		ev := protocol.Event{Kind: protocol.Call, Port: protocol.Port(port), Fact: "wish"}
		same(t, "a call", b.step(ev), []string{name + " call wish at 1s"})
		ev.Kind = protocol.Receive
		same(t, "a message", b.step(ev), []string{name + " receive wish at 1s"})
	}
	if len(b.out.Notes) != 0 {
		t.Errorf("noted %v", b.out.Notes)
	}
}

func TestStackNotesTheMisrouted(t *testing.T) {
	b := newHarness()
	for _, port := range []protocol.Port{3, 65535} {
		b.out.Reset()
		if seen := b.step(protocol.Event{Kind: protocol.Receive, Port: port, Fact: "stray"}); seen != nil {
			t.Errorf("an event for port %d was seen: %v", port, seen)
		}
		same(t, "notes", b.out.Notes, []protocol.Note{protocol.Misrouted{Port: port}})
	}
	if text := (protocol.Misrouted{Port: 3}).String(); text != "event for port 3, where no machine is" {
		t.Error(text)
	}
}

func TestStackStartsAllFromBelow(t *testing.T) {
	b := newHarness()
	same(t, "start", b.step(protocol.Event{Kind: protocol.Start}), []string{
		"below start <nil> at 1s", "one start <nil> at 1s", "two start <nil> at 1s",
	})
}

// TestStackTicksWhatIsDue checks that a machine is not stepped before the time that it has asked for.
func TestStackTicksWhatIsDue(t *testing.T) {
	for _, tt := range []struct {
		below, one, two protocol.Time
		wake            protocol.Time
		want            []string
	}{
		{protocol.Never, protocol.Never, protocol.Never, protocol.Never, nil},
		{time.Second, time.Second, time.Second, time.Second, []string{"below tick <nil> at 1s", "one tick <nil> at 1s", "two tick <nil> at 1s"}},
		{2 * time.Second, 0, time.Second + 1, 0, []string{"one tick <nil> at 1s"}},
		{protocol.Never, 3 * time.Second, 500 * time.Millisecond, 500 * time.Millisecond, []string{"two tick <nil> at 1s"}},
		{time.Second, 2 * time.Second, 3 * time.Second, time.Second, []string{"below tick <nil> at 1s"}},
	} {
		b := newHarness()
		b.below.wake, b.one.wake, b.two.wake = tt.below, tt.one, tt.two
		b.step(protocol.Event{Kind: protocol.Start}) // a Wake only changes with a Step
		if got := b.stack.Wake(); got != tt.wake {
			t.Errorf("wakes of %v, %v, %v: the stack wants %v, not %v", tt.below, tt.one, tt.two, got, tt.wake)
		}
		same(t, "tick", b.step(protocol.Event{Kind: protocol.Tick}), tt.want)
	}
}

// TestStackPassesUpWhatIsRaised checks that each fact reaches all machines above, one fact after the other, within the
// step, and then the driver of the stack.
func TestStackPassesUpWhatIsRaised(t *testing.T) {
	b := newHarness()
	b.below.do = func(protocol.Event, *protocol.Effects) {
		b.out.Raise(text("first"))
		b.out.Raise(text("second"))
	}
	same(t, "seen", b.step(protocol.Event{Kind: protocol.Receive}), []string{
		"below receive <nil> at 1s",
		"one raised first at 1s", "two raised first at 1s",
		"one raised second at 1s", "two raised second at 1s",
	})
	same(t, "raised", b.out.Raises, []any{text("first"), text("second")})
	// A fact raised in an earlier step that is not drained yet is not repeated.
	b.below.do = nil
	same(t, "seen later", b.step(protocol.Event{Kind: protocol.Receive}), []string{"below receive <nil> at 1s"})
}

// TestStackRaisesAtTheStart checks that the machines above know an initial view before they start.
func TestStackRaisesAtTheStart(t *testing.T) {
	b := newHarness()
	b.below.do = func(_ protocol.Event, out *protocol.Effects) { out.Raise(text("view")) }
	same(t, "seen", b.step(protocol.Event{Kind: protocol.Start}), []string{
		"below start <nil> at 1s", "one raised view at 1s", "two raised view at 1s",
		"one start <nil> at 1s", "two start <nil> at 1s",
	})
}

// TestStackPassesDownRequests checks that a fact raised by a machine above goes only to the one below.
func TestStackPassesDownRequests(t *testing.T) {
	b := newHarness()
	b.two.do = func(ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Call {
			out.Raise(text("wish a"))
			out.Raise(text("wish b"))
		}
	}
	same(t, "seen", b.step(protocol.Event{Kind: protocol.Call, Port: 2}), []string{
		"two call <nil> at 1s", "below raised wish a at 1s", "below raised wish b at 1s",
	})
	if len(b.out.Raises) != 0 {
		t.Errorf("the stack raised a wish of its own machine: %v", b.out.Raises)
	}
}

// TestStackAnswersARequest checks that the answer to a request reaches all above in the same step.
func TestStackAnswersARequest(t *testing.T) {
	b := newHarness()
	b.below.do = func(ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Raised {
			out.Raise(text("answer to " + ev.Fact.(text)))
		}
	}
	b.one.do = func(ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Call {
			out.Raise(text("a"))
			out.Raise(text("b"))
		}
	}
	same(t, "seen", b.step(protocol.Event{Kind: protocol.Call, Port: 1}), []string{
		"one call <nil> at 1s",
		"below raised a at 1s", "one raised answer to a at 1s", "two raised answer to a at 1s",
		"below raised b at 1s", "one raised answer to b at 1s", "two raised answer to b at 1s",
	})
	same(t, "raised", b.out.Raises, []any{text("answer to a"), text("answer to b")})
}

// TestStackKeepsTheOrderOfFacts checks that a fact that is raised while an earlier one is on its way up does not
// overtake it. A second machine must not see view 2 before view 1 because the first one, at view 1, asked for another.
func TestStackKeepsTheOrderOfFacts(t *testing.T) {
	b := newHarness()
	b.below.do = func(ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Raised {
			out.Raise(text("view 2"))
		} else {
			out.Raise(text("view 1"))
		}
	}
	b.one.do = func(ev protocol.Event, out *protocol.Effects) {
		if ev.Fact == any(text("view 1")) {
			out.Raise(text("another"))
		}
	}
	seen := b.step(protocol.Event{Kind: protocol.Receive})
	for _, name := range []string{"one", "two"} {
		first := slices.Index(seen, name+" raised view 1 at 1s")
		second := slices.Index(seen, name+" raised view 2 at 1s")
		if first < 0 || second < first {
			t.Errorf("machine %s: view 1 is event %d, view 2 is event %d of %q", name, first, second, seen)
		}
	}
	same(t, "raised", b.out.Raises, []any{text("view 1"), text("view 2")})
}

// TestStackStampsPorts checks that all messages and answers of a machine have its port, also those caused by a fact
// from below.
func TestStackStampsPorts(t *testing.T) {
	b := newHarness()
	speak := func(name string) func(protocol.Event, *protocol.Effects) {
		return func(ev protocol.Event, out *protocol.Effects) {
			out.Send(7, text(name))
			out.Reply(protocol.CallID{Sink: 1, Op: 2}, name)
			out.Decide(protocol.CallID{}, &lock.Decision{Kind: lock.Granted, Name: name})
			if name == "below" {
				out.Raise(text("fact"))
			}
		}
	}
	b.below.do, b.one.do, b.two.do = speak("below"), speak("one"), speak("two")
	b.step(protocol.Event{Kind: protocol.Call, Port: 2})
	b.step(protocol.Event{Kind: protocol.Call, Port: protocol.Below})
	wantPorts := []struct {
		name string
		port protocol.Port
	}{{"two", 2}, {"below", 0}, {"one", 1}, {"two", 2}}
	if len(b.out.Sends) != len(wantPorts) || len(b.out.Replies) != 2*len(wantPorts) {
		t.Fatalf("%d sends and %d replies", len(b.out.Sends), len(b.out.Replies))
	}
	for i, want := range wantPorts {
		if e := b.out.Sends[i]; e.Port != want.port || e.Message != protocol.Message(text(want.name)) || e.To != 7 {
			t.Errorf("message %d is %+v, want %+v", i, e, want)
		}
		result, decision := b.out.Replies[2*i], b.out.Replies[2*i+1]
		if result.Port != want.port || result.Result != want.name || result.To != (protocol.CallID{Sink: 1, Op: 2}) {
			t.Errorf("result %d is %+v, want %+v", i, result, want)
		}
		if decision.Port != want.port || decision.Decision.Name != want.name {
			t.Errorf("decision %d is %+v, want %+v", i, decision, want)
		}
	}
}

// TestTimeComesFirst checks that the lower machine's due work comes before any other event, so that no machine acts on
// a lease that has ended.
func TestTimeComesFirst(t *testing.T) {
	b := newHarness()
	b.below.do = func(ev protocol.Event, out *protocol.Effects) {
		if ev.Kind == protocol.Tick {
			b.below.wake = protocol.Never
			out.Raise(text("lapsed"))
		}
	}
	b.step(protocol.Event{Kind: protocol.Start})
	b.below.wake = 0 // as the machine would have said after its last step
	b.step(protocol.Event{Kind: protocol.Receive, Fact: text("poll")})
	want := []string{
		"below tick <nil> at 1s", "one raised lapsed at 1s", "two raised lapsed at 1s",
		"two receive grant at 1s",
	}
	same(t, "a message late", b.step(protocol.Event{Kind: protocol.Receive, Port: 2, Fact: text("grant")}), want)
}
