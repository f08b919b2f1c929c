package run_test

import (
	"errors"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// granting grants every request under its id as token, and sends its sink a word as well.
func granting(m *scripted) {
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		switch fact := ev.Fact.(type) {
		case *lock.Request:
			out.Reply(protocol.CallID{Sink: ev.Call.Sink}, "aside")
			out.Decide(ev.Call, &lock.Decision{Kind: lock.Granted, Request: fact.ID, Name: fact.Name, Token: holdfast.Token(fact.ID), Hold: fact.Hold})
		case *protocol.Release:
			out.Decide(ev.Call, &lock.Decision{Kind: lock.Refused, Request: fact.Request, Err: holdfast.ErrNotHeld})
		}
	}
}

// TestAcquireNumbersRequests: each gets an id of its own, which is the call's as well, and
// the answer is the caller's alone.
func TestAcquireNumbersRequests(t *testing.T) {
	m, d := standing(t)
	box := &mailbox{}
	sink := d.Attach(box)
	granting(m)
	for id := range uint64(3) {
		id++
		got, err := d.Acquire(1, sink, &lock.Request{Name: "x", Attributes: holdfast.Attributes{Hold: 7}})
		if err != nil {
			t.Fatal(err)
		}
		same(t, "the answer", got, run.Answer{Request: id, Kind: lock.Granted, Token: holdfast.Token(id), Hold: 7})
		same(t, "delivered", box.take(), [][]string{{"2/0 aside"}})
	}
	same(t, "the last step", m.steps[3], "call port=1 from=0 call=2/3 *lock.Request at 0s")
}

// TestAcquireUnanswered: the caller gets the id under which the sink will get the answer.
func TestAcquireUnanswered(t *testing.T) {
	_, d := standing(t)
	got, err := d.Acquire(1, d.Attach(&mailbox{}), &lock.Request{Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "the answer", got, run.Answer{Request: 1})
}

// TestReleaseAnswers with what was decided, under the number that the caller chose.
func TestReleaseAnswers(t *testing.T) {
	m, d := standing(t)
	sink := d.Attach(&mailbox{})
	granting(m)
	got, err := d.Release(2, protocol.CallID{Sink: sink, Op: run.OwnCalls | 9}, &protocol.Release{Request: 4})
	if err != nil || got.Kind != lock.Refused || !errors.Is(got.Err, holdfast.ErrNotHeld) || got.Request != 4 {
		t.Errorf("%+v, %v", got, err)
	}
	same(t, "the last step", m.steps[1], "call port=2 from=0 call=2/4611686018427387913 *protocol.Release at 0s")
}

// TestHotCallsAfterClose are refused, and step nothing.
func TestHotCallsAfterClose(t *testing.T) {
	m, d := standing(t)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Acquire(1, 1, &lock.Request{}); !errors.Is(err, run.ErrClosed) {
		t.Errorf("acquire: %v", err)
	}
	if _, err := d.Release(1, protocol.CallID{Sink: 1, Op: 1}, &protocol.Release{}); !errors.Is(err, run.ErrClosed) {
		t.Errorf("release: %v", err)
	}
	same(t, "steps", len(m.steps), 1)
}

// yes is a machine that grants every call.
type yes struct{ decision lock.Decision }

func (*yes) Wake() protocol.Time { return protocol.Never }

func (m *yes) Step(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind == protocol.Call {
		out.Decide(ev.Call, &m.decision)
	}
}

// TestHotCallsAllocateNothing: the driver's own part of a lock and its release.
func TestHotCallsAllocateNothing(t *testing.T) {
	d := start(t, run.Config{Machine: &yes{lock.Decision{Kind: lock.Granted}}})
	sink := d.Attach(&mailbox{})
	cycle := func() {
		request, release := lock.Request{Name: "x"}, protocol.Release{Name: "x"}
		a, err := d.Acquire(1, sink, &request)
		if err != nil || a.Kind != lock.Granted {
			t.Errorf("%+v, %v", a, err)
		}
		call := protocol.CallID{Sink: sink, Op: run.OwnCalls | a.Request}
		if a, err = d.Release(1, call, &release); err != nil || a.Kind != lock.Granted {
			t.Errorf("%+v, %v", a, err)
		}
	}
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
