package run_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/run"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// doResult is what a Do returned.
type doResult struct {
	reply protocol.Reply
	err   error
}

// doLater asks on a goroutine of its own, and returns when the machine has the question.
func doLater(ctx context.Context, d *run.Driver, fact any) <-chan doResult {
	result := make(chan doResult, 1)
	go func() {
		reply, err := d.Do(ctx, 2, fact)
		result <- doResult{reply, err}
	}()
	synctest.Wait()
	return result
}

func TestDoAnsweredAtOnce(t *testing.T) {
	m, d := standing(t)
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		if ev.Call.Op != 0 {
			out.Reply(ev.Call, "answer")
		}
	}
	reply, err := d.Do(context.Background(), 2, "question")
	if err != nil || reply.Result != "answer" {
		t.Errorf("%+v %v", reply, err)
	}
	same(t, "steps", m.steps[1:], []string{"call port=2 from=0 call=1/1 string at 0s"})
}

func TestDoAnsweredLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, d := standing(t)
		var call protocol.CallID
		m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
			switch {
			case ev.Kind == protocol.Call && ev.Call.Op != 0:
				call = ev.Call
			case ev.Kind == protocol.Receive:
				out.Reply(protocol.CallID{Sink: call.Sink}, "unasked word")
				out.Reply(call, "answer")
				out.Reply(call, "second answer")
			}
		}
		result := doLater(context.Background(), d, "question")
		if len(result) != 0 {
			t.Fatalf("returned %+v without an answer", <-result)
		}
		d.Step(protocol.Event{Kind: protocol.Receive})
		if got := <-result; got.err != nil || got.reply.Result != "answer" {
			t.Errorf("%+v", got)
		}
	})
}

// TestDoEndsWithItsContext: and an answer that comes later reaches no caller.
func TestDoEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, d := standing(t)
		ctx, cancel := context.WithCancelCause(context.Background())
		result := doLater(ctx, d, "question")
		cancel(errors.New("no more interest"))
		if got := <-result; !errors.Is(got.err, context.Canceled) {
			t.Errorf("%+v", got)
		}
		same(t, "steps", m.steps[1:], []string{"call port=2 from=0 call=1/1 string at 0s"})
		m.do = func(_ protocol.Time, _ protocol.Event, out *protocol.Effects) {
			out.Reply(protocol.CallID{Sink: 1, Op: 1}, "too late")
		}
		d.Step(protocol.Event{Kind: protocol.Receive})
	})
}

// TestCloseEndsDo: a caller that waits for an answer learns that there will be none.
func TestCloseEndsDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d := standing(t)
		var results []<-chan doResult
		for range 3 {
			results = append(results, doLater(context.Background(), d, "question"))
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		for _, result := range results {
			if got := <-result; !errors.Is(got.err, run.ErrClosed) {
				t.Errorf("%+v", got)
			}
		}
		if _, err := d.Do(context.Background(), 2, "question"); !errors.Is(err, run.ErrClosed) {
			t.Errorf("a question after Close: %v", err)
		}
	})
}

// TestManyDo: answers do not get mixed up.
func TestManyDo(t *testing.T) {
	m := &scripted{wake: protocol.Never}
	var parked []protocol.Event
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		m.steps = m.steps[:0]
		for _, waiting := range parked {
			out.Reply(waiting.Call, waiting.Fact)
		}
		parked = parked[:0]
		switch {
		case ev.Kind != protocol.Call || ev.Call.Op == 0:
		case ev.Fact.(int)%2 == 0:
			out.Reply(ev.Call, ev.Fact)
		default: // answered by the next step of another caller
			parked = append(parked, ev)
		}
	}
	d := start(t, run.Config{Machine: m})
	var askers, steppers sync.WaitGroup
	done := make(chan struct{})
	steppers.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				d.Step(protocol.Event{Kind: protocol.Receive})
			}
		}
	})
	for i := range 16 {
		askers.Go(func() {
			for j := range 50 {
				want := i*1000 + j
				if reply, err := d.Do(context.Background(), 1, want); err != nil || reply.Result != want {
					t.Errorf("asked %d: %+v %v", want, reply, err)
				}
			}
		})
	}
	askers.Wait()
	close(done)
	steppers.Wait()
}

// TestConverseAtOnce: what is answered at once is one step, of which a sink hears in one go.
func TestConverseAtOnce(t *testing.T) {
	m, d := standing(t)
	box := &mailbox{}
	sink := d.Attach(box)
	m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
		out.Reply(protocol.CallID{Sink: sink}, ev.Fact)
		out.Reply(ev.Call, ev.Fact.(int)+1)
	}
	question := func(n int) *run.Question { return &run.Question{Port: 2, Fact: n, Within: t.Context()} }
	waited, err := d.Converse(question(1), func(answer *protocol.Reply) *run.Question {
		if n := answer.Result.(int); n < 4 {
			return question(n)
		}
		return nil
	})
	if waited || err != nil {
		t.Errorf("%v, %v", waited, err)
	}
	same(t, "the sink gets", box.take(), [][]string{{"2/0 1", "2/0 2", "2/0 3"}})
}

// TestConverseWaits for the answer that does not come at once, and for what ends the wait of a request that is queued. The number of a
// call that has been answered is no other's.
func TestConverseWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, d := standing(t)
		var call protocol.CallID
		m.do = func(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
			switch {
			case ev.Kind == protocol.Receive:
				out.Decide(call, &lock.Decision{Kind: lock.Granted, Token: 7})
				out.Decide(call, &lock.Decision{Kind: lock.Lost, Token: 7})
			case ev.Fact == "queue":
				out.Decide(ev.Call, &lock.Decision{Kind: lock.Queued})
				fallthrough
			default:
				call = ev.Call
			}
		}
		kinds := make(chan lock.Kind, 3)
		facts := []string{"queue", "later"}
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error, 1)
		go func() {
			waited, err := d.Converse(&run.Question{Fact: "now", Within: ctx}, func(answer *protocol.Reply) *run.Question {
				kinds <- answer.Decision.Kind
				fact := facts[0]
				facts = facts[1:]
				return &run.Question{Fact: fact, Within: ctx}
			})
			if !waited {
				t.Error("it has not waited")
			}
			done <- err
		}()
		for range 2 {
			synctest.Wait()
			d.Step(protocol.Event{Kind: protocol.Receive})
			if got := <-kinds; got != lock.Granted {
				t.Errorf("answered %v", got)
			}
		}
		why := errors.New("no more interest")
		cancel(why)
		if err := <-done; err != why {
			t.Errorf("ended with %v", err)
		}
		d.Step(protocol.Event{Kind: protocol.Receive}) // it reaches no caller
		if len(kinds) > 0 {
			t.Errorf("answered %v", <-kinds)
		}
	})
}

// TestAnswerTo: an answer, none because no member decides, and one of another type.
func TestAnswerTo(t *testing.T) {
	fact := &protocol.Show{Name: "x"}
	shown := &lock.Lock{Name: "x"}
	if got, err := run.AnswerTo[*lock.Lock](fact, protocol.Reply{Result: shown}); got != shown || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	got, err := run.AnswerTo[*lock.Lock](fact, protocol.Reply{Result: &protocol.Unanswered{Err: holdfast.ErrUnavailable}})
	if got != nil || !errors.Is(err, holdfast.ErrUnavailable) || !strings.HasSuffix(err.Error(), ": the member that decides does not answer") {
		t.Errorf("%v, %v", got, err)
	}
	got, err = run.AnswerTo[*lock.Lock](fact, protocol.Reply{Result: &protocol.Broken{}})
	if got != nil || err == nil || err.Error() != "*protocol.Show was answered with *protocol.Broken" {
		t.Errorf("%v, %v", got, err)
	}
}
