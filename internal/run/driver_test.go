package run_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/protocol"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestNewNeedsAMachine(t *testing.T) {
	if _, err := run.New(run.Config{}); err == nil || !strings.Contains(err.Error(), "Machine") {
		t.Errorf("a driver of nothing: %v", err)
	}
}

// TestStartsFromZero: the machine's time begins with the driver, regardless of where the clock is.
func TestStartsFromZero(t *testing.T) {
	m, d := standing(t)
	same(t, "steps", m.steps, []string{"start port=0 from=0 call=0/0 <nil> at 0s"})
	c, began := d.Clock()
	if began != time.Hour || c.Now() != time.Hour || d.Now() != 0 {
		t.Errorf("began at %v of a clock at %v, now %v", began, c.Now(), d.Now())
	}
	c.(*clocktest.Manual).Advance(time.Minute)
	if d.Now() != time.Minute {
		t.Errorf("a minute later it is %v", d.Now())
	}
	if wall := d.Wall(2 * time.Minute); wall.Location() != time.UTC || !wall.After(time.Now()) || !d.Wall(0).Before(time.Now()) {
		t.Errorf("the wall time of the minute to come is %v, of the start %v", wall, d.Wall(0))
	}
}

// TestCallAnswersInTheSameStep: the answer is the caller's, and no caller gets it twice.
func TestCallAnswersInTheSameStep(t *testing.T) {
	m, d := standing(t)
	box := &mailbox{}
	sink := d.Attach(box)
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		out.Reply(protocol.CallID{Sink: sink, Op: 0}, "before")
		out.Reply(ev.Call, "answer")
		out.Reply(ev.Call, "later word")
		out.Reply(protocol.CallID{Sink: sink, Op: 0}, "after")
	}
	reply, answered, err := d.Call(call(sink, 5, "wish"))
	if err != nil || !answered || reply.Result != "answer" || reply.To != (protocol.CallID{Sink: sink, Op: 5}) {
		t.Errorf("answered=%v %+v %v", answered, reply, err)
	}
	same(t, "delivered", box.take(), [][]string{{"2/0 before", "2/5 later word", "2/0 after"}})
}

// TestCallAnsweredLater: without an answer in its step the sink gets it.
func TestCallAnsweredLater(t *testing.T) {
	m, d := standing(t)
	box := &mailbox{}
	sink := d.Attach(box)
	if reply, answered, err := d.Call(call(sink, 5, "wish")); answered || err != nil || reply.Result != nil {
		t.Errorf("answered=%v %+v %v", answered, reply, err)
	}
	same(t, "delivered at first", box.take(), [][]string(nil))
	m.do = func(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
		out.Reply(protocol.CallID{Sink: sink, Op: 5}, "answer")
	}
	d.Step(protocol.Event{Kind: protocol.Receive, From: 9})
	same(t, "delivered", box.take(), [][]string{{"2/5 answer"}})
}

// TestDeliversOncePerBatch: all events of one Step are one batch, in which each sink
// is called once, in the order of the decisions.
func TestDeliversOncePerBatch(t *testing.T) {
	m, d := standing(t)
	one, two := &mailbox{}, &mailbox{}
	first, second := d.Attach(one), d.Attach(two)
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		out.Reply(protocol.CallID{Sink: second, Op: 1}, ev.Fact)
		out.Reply(protocol.CallID{Sink: first, Op: 1}, ev.Fact)
		out.Reply(protocol.CallID{Sink: 99, Op: 1}, "no sink")
		out.Reply(protocol.CallID{}, "nowhere")
		out.Reply(protocol.CallID{Sink: second, Op: 2}, ev.Fact)
	}
	d.Step(call(0, 0, "x"), call(0, 0, "y"))
	same(t, "delivered to the first", one.take(), [][]string{{"2/1 x", "2/1 y"}})
	same(t, "delivered to the second", two.take(), [][]string{{"3/1 x", "3/2 x", "3/1 y", "3/2 y"}})
}

// TestDetach: the machine hears of it, and what it says then reaches no sink.
func TestDetach(t *testing.T) {
	m, d := standing(t)
	box, other := &mailbox{}, &mailbox{}
	sink, stays := d.Attach(box), d.Attach(other)
	m.do = func(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
		out.Reply(protocol.CallID{Sink: sink}, "gone")
		out.Reply(protocol.CallID{Sink: stays}, "news")
	}
	m.steps = nil
	d.Detach(sink)
	d.Detach(sink) // of one that is gone already the machine does not hear
	d.Step(protocol.Event{Kind: protocol.Receive})
	same(t, "steps", m.steps, []string{
		"call port=0 from=0 call=2/0 *session.Detach at 0s", "receive port=0 from=0 call=0/0 <nil> at 0s",
	})
	same(t, "delivered to the detached", box.take(), [][]string(nil))
	same(t, "delivered to the other", other.take(), [][]string{{"3/0 news"}, {"3/0 news"}})
	if again := d.Attach(box); again == sink || again == stays {
		t.Errorf("sink number %d is used again", again)
	}
}

// TestObserveSeesEveryStep, before what it caused is drained.
func TestObserveSeesEveryStep(t *testing.T) {
	m := &scripted{wake: protocol.Never}
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		out.Note(plainText(kindNames[ev.Kind]))
		out.Send(4, plainText("message"))
		out.Reply(protocol.CallID{Sink: 1}, "told")
		out.Raise(plainText("raised"))
	}
	var seen []string
	observe := func(now protocol.Time, effects *protocol.Effects) {
		if len(effects.Sends) != 1 || len(effects.Replies) != 1 || len(effects.Raises) != 1 {
			t.Errorf("observed %+v", effects)
		}
		seen = append(seen, effects.Notes[0].String())
	}
	d := start(t, run.Config{Machine: m, Clock: clocktest.NewManual(), Observe: observe})
	sink := d.Attach(&mailbox{})
	d.Step(protocol.Event{Kind: protocol.Receive}, protocol.Event{Kind: protocol.Raised})
	if _, _, err := d.Call(call(sink, 1, nil)); err != nil {
		t.Fatal(err)
	}
	d.Detach(sink)
	same(t, "observed", seen, []string{"start", "receive", "raised", "call", "call"})
}

type plainText string

func (w plainText) String() string { return string(w) }

// TestLogsWhatItCannotSend: a message for an unknown member is lost, as on
// any network, and the log says so.
func TestLogsWhatItCannotSend(t *testing.T) {
	m := &scripted{wake: protocol.Never}
	var text strings.Builder
	logger := slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d := start(t, run.Config{Machine: m, Clock: clocktest.NewManual(), Logger: logger})
	m.do = func(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
		out.Send(4711, plainText("hello"))
		out.Send(protocol.Storage, plainText("no write"))
		out.Note(plainText("remarkable"))
	}
	d.Step(protocol.Event{Kind: protocol.Receive})
	for _, want := range []string{"to=4711", "message=hello", `message="no write"`, "note=remarkable"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the log does not say %s:\n%s", want, text.String())
		}
	}
}

// TestClose: afterwards nothing is stepped or delivered, and closing again is harmless.
func TestClose(t *testing.T) {
	m, d := standing(t)
	box := &mailbox{}
	sink := d.Attach(box)
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) { out.Reply(ev.Call, "told") }
	for range 2 {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m.steps = nil
	if _, answered, err := d.Call(call(sink, 1, nil)); answered || !errors.Is(err, run.ErrClosed) {
		t.Errorf("a call after Close: answered=%v %v", answered, err)
	}
	d.Step(protocol.Event{Kind: protocol.Receive, Call: protocol.CallID{Sink: sink}})
	d.Detach(sink)
	same(t, "steps after Close", m.steps, []string(nil))
	same(t, "delivered after Close", box.take(), [][]string(nil))
}

// TestManyCallers: all that many goroutines ask at once is answered once each: to the
// caller, or to its sink.
func TestManyCallers(t *testing.T) {
	const callers, calls = 16, 300
	m := &scripted{wake: protocol.Never}
	var parked []protocol.CallID
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		m.steps = m.steps[:0]
		for _, call := range parked {
			out.Reply(call, "later")
		}
		parked = parked[:0]
		switch {
		case ev.Kind != protocol.Call || ev.Call.Op == 0:
		case ev.Call.Op%3 == 0:
			parked = append(parked, ev.Call)
		default:
			out.Reply(ev.Call, "now")
		}
	}
	d := start(t, run.Config{Machine: m})
	var group sync.WaitGroup
	sinks := make([]*counting, callers)
	for i := range sinks {
		sinks[i] = &counting{counts: map[uint64]int{}}
		group.Go(func() {
			sink := d.Attach(sinks[i])
			passing := d.Attach(&counting{counts: map[uint64]int{}})
			for op := range uint64(calls) {
				reply, answered, err := d.Call(call(sink, op+1, nil))
				if err != nil || answered != ((op+1)%3 != 0) || answered && reply.Result != "now" {
					t.Errorf("call %d: answered=%v %+v %v", op+1, answered, reply, err)
				}
			}
			d.Detach(passing)
		})
	}
	group.Wait()
	d.Step(protocol.Event{Kind: protocol.Receive})
	for i, sink := range sinks {
		if len(sink.counts) != calls/3 {
			t.Errorf("caller %d heard of %d calls later, want %d", i, len(sink.counts), calls/3)
		}
		for op, n := range sink.counts {
			if n != 1 || op%3 != 0 {
				t.Errorf("caller %d heard %d times of call %d", i, n, op)
			}
		}
	}
}

// counting counts its replies, under the driver's mutex alone.
type counting struct{ counts map[uint64]int }

func (c *counting) Deliver(replies []protocol.Reply) {
	for _, reply := range replies {
		c.counts[reply.To.Op]++
	}
}

// TestCloseAmongCallers: calls that cross Close are answered or refused, and nothing
// is delivered after it.
func TestCloseAmongCallers(t *testing.T) {
	m := &scripted{wake: protocol.Never}
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		m.steps = m.steps[:0]
		out.Reply(ev.Call, "now")
		out.Reply(protocol.CallID{Sink: ev.Call.Sink}, "news")
	}
	d := start(t, run.Config{Machine: m})
	var group sync.WaitGroup
	begun := make(chan struct{}, 8)
	sinks := make([]*counting, cap(begun))
	for i := range sinks {
		sinks[i] = &counting{counts: map[uint64]int{}}
		group.Go(func() {
			sink := d.Attach(sinks[i])
			for op := uint64(1); ; op++ {
				_, answered, err := d.Call(call(sink, op, nil))
				if op == 1 {
					begun <- struct{}{}
				}
				if err != nil {
					if answered || !errors.Is(err, run.ErrClosed) {
						t.Errorf("answered=%v %v", answered, err)
					}
					return
				}
			}
		})
	}
	for range cap(begun) {
		<-begun
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, sink := range sinks {
		total += sink.counts[0] // read without a lock: nothing is delivered any more
	}
	group.Wait()
	for _, sink := range sinks {
		total -= sink.counts[0]
	}
	if total != 0 {
		t.Errorf("%d deliveries after Close", -total)
	}
}

// TestNothingDeliveredWhileClosed lets a timer fire into a driver that was closed.
func TestNothingDeliveredWhileClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clocktest.NewManual()
		m := &scripted{wake: time.Second}
		d := start(t, run.Config{Machine: m, Clock: c})
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Hour)
		synctest.Wait()
		same(t, "steps", m.steps, []string{"start port=0 from=0 call=0/0 <nil> at 0s"})
	})
}
