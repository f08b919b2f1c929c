package server

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
)

// TestBadOperations: each mistake is refused by itself, and the other operations
// in the frame are done.
func TestBadOperations(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Limits.NameBytes = 20 }, nil)
	acquire := func(a *schema.Acquire) *schema.Operation {
		return &schema.Operation{Id: 7, Kind: &schema.Operation_Acquire{Acquire: a}}
	}
	for what, test := range map[string]struct {
		operation *schema.Operation
		code      string
	}{
		"unknown space":    {acquire(&schema.Acquire{Space: "nowhere", Name: "x"}), api.CodeUnknownSpace},
		"no name":          {acquire(&schema.Acquire{}), api.CodeName},
		"control":          {acquire(&schema.Acquire{Name: "a\x00b"}), api.CodeName},
		"long name":        {acquire(&schema.Acquire{Name: strings.Repeat("n", 21)}), api.CodeName},
		"very long name":   {acquire(&schema.Acquire{Name: strings.Repeat("ü", 5000)}), api.CodeName},
		"mode":             {acquire(&schema.Acquire{Name: "x", Mode: 9}), api.CodeBadRequest},
		"class number":     {acquire(&schema.Acquire{Name: "x", Require: -1}), api.CodeBadRequest},
		"class":            {acquire(&schema.Acquire{Space: "any", Name: "x", Require: schema.Class_CLASS_FENCED}), api.CodeClass},
		"units":            {acquire(&schema.Acquire{Name: "x", Mode: schema.Mode_MODE_SLOTS, Units: 3, Capacity: 2}), api.CodeConflict},
		"negative wait":    {acquire(&schema.Acquire{Name: "x", Wait: -1}), api.CodeConflict},
		"zero id":          {opAcquire(0, "x"), api.CodeBadRequest},
		"large id":         {opAcquire(1<<63, "x"), api.CodeBadRequest},
		"no kind":          {&schema.Operation{Id: 7}, api.CodeBadRequest},
		"empty acquire":    {&schema.Operation{Id: 7, Kind: &schema.Operation_Acquire{}}, api.CodeName},
		"second hello":     {&schema.Operation{Id: 7, Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}}, api.CodeBadRequest},
		"extend unknown":   {opExtend(7, "unheld", 5, time.Second), api.CodeNotHeld},
		"release unknown":  {opRelease(7, "unheld", 5), api.CodeNotHeld},
		"release bad name": {opRelease(7, "", 5), api.CodeName},
		"cancel bad name":  {opCancel(7, ""), api.CodeName},
	} {
		t.Run(what, func(t *testing.T) {
			c := b.open()
			c.say(opAcquire(1, "first of "+what[:3]), test.operation, opAcquire(2, "second of "+what[:3]))
			var granted int
			var refused *schema.Event
			for range 3 {
				if event := c.hear(); event.GetGranted() != nil {
					granted++
				} else {
					refused = event
				}
			}
			problem := refused.GetRefused().GetProblem()
			if problem == nil {
				problem = refused.GetReleased().GetProblem()
			}
			if refused.GetId() != test.operation.GetId() || problem.GetCode() != test.code || problem.GetDetail() == "" || len(problem.GetDetail()) > 500 {
				t.Errorf("got %v, want %s", refused, test.code)
			}
			if granted != 2 {
				t.Errorf("%d of the two others were granted", granted)
			}
			c.say(opEnd())
			must(t, c.end())
		})
	}
}

// TestReusedID: an id that names a request of another lock changes nothing of that.
func TestReusedID(t *testing.T) {
	b := newHarness(t, nil, nil)
	c, other := b.open(), b.open()
	c.say(opAcquire(1, "x"))
	token := c.granted(1).GetToken()
	c.say(opRelease(1, "y", token), opCancel(1, "y"))
	if event := c.hear(); event.GetReleased().GetProblem().GetCode() != api.CodeNotHeld {
		t.Errorf("a release of another name: %v", event)
	}
	c.released(1) // what was never asked for is not waited for
	other.say(opTry(1, "x"))
	other.refused(1, api.CodeHeld)
}

func TestOperationsPerFrame(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	operations := make([]*schema.Operation, edge.MaxOperations+3)
	for i := range operations {
		operations[i] = opBeat(uint64(i+1), 0)
	}
	c.say(operations...)
	for range edge.MaxOperations {
		if event := c.hear(); event.GetBeat() == nil {
			t.Fatalf("heard %v", event)
		}
	}
	for i := range uint64(3) {
		problem := c.refused(edge.MaxOperations+i+1, api.CodeLimit)
		if problem.GetLimit() != "operations_per_frame" || problem.GetValue() != edge.MaxOperations {
			t.Errorf("the limit is reported as %v", problem)
		}
	}
}

// TestSlowReader: a client that asks and does not read loses its stream and nothing
// else, and costs no more memory than the bound.
func TestSlowReader(t *testing.T) {
	const bound = 20_000
	b := newHarness(t, nil, func(g *grpcServer) { g.edge.Events = bound })
	c, other := b.open(), b.open()
	c.say(opAcquire(1, "x"))
	c.granted(1)
	var slow *stream
	for _, s := range b.streams() {
		if s.session.String() == c.id {
			slow = s
		}
	}
	done := make(chan error, 1)
	go func() {
		operations := make([]*schema.Operation, 1000)
		for i := range operations {
			operations[i] = opBeat(uint64(i+1), 0)
		}
		for {
			if err := c.stream.Send(&schema.ClientFrame{Operations: operations}); err != nil {
				done <- err
				return
			}
		}
	}()
	<-slow.gone
	if n := slow.waiting(); n > 0 || !slow.over.Load() {
		t.Errorf("%d events are kept for a client that does not read", n)
	}
	other.say(opTry(1, "x"))
	other.refused(1, api.CodeHeld) // the session lives until its TTL is over
	if got := status.Code(c.end()); got != codes.ResourceExhausted {
		t.Errorf("the stream of a slow reader ended with %v", got)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("the sender got %v", err)
	}
	again := b.resume(c)
	again.say(opRelease(1, "x", 0))
	again.released(1)
	other.say(opTry(2, "x"))
	other.granted(2)
}

// TestOversizedFrame is refused before it is understood.
func TestOversizedFrame(t *testing.T) {
	b := newHarness(t, func(c *Config) { c.Limits.MessageBytes = 10_000 }, nil)
	c, other := b.open(), b.open()
	c.say(opAcquire(1, strings.Repeat("n", 20_000)))
	if got := status.Code(c.end()); got != codes.ResourceExhausted {
		t.Errorf("an oversized frame ended the stream with %v", got)
	}
	again := b.resume(c)
	again.say(opAcquire(1, "x"))
	again.granted(1)
	other.say(opTry(1, "x"))
	other.refused(1, api.CodeHeld)
}

// TestSilence: a stream that never says hello is not kept.
func TestSilence(t *testing.T) {
	b := newHarness(t, nil, func(g *grpcServer) { g.patience = 10 * time.Millisecond })
	c := b.call(b.conn)
	// An empty frame is no hello. It may come too late, where the stream has ended before.
	if err := c.stream.Send(&schema.ClientFrame{}); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	if got := status.Code(c.end()); got != codes.DeadlineExceeded {
		t.Errorf("a silent stream ended with %v", got)
	}
}

// TestClosedWithoutEnd: a client that closes only its own direction gets its answers.
func TestClosedWithoutEnd(t *testing.T) {
	b := newHarness(t, nil, nil)
	c := b.open()
	c.say(opAcquire(1, "x"))
	must(t, c.stream.CloseSend())
	c.granted(1)
	must(t, c.end())
	early := b.call(b.conn)
	must(t, early.stream.CloseSend())
	must(t, early.end())
	again := b.resume(c)
	again.say(opAcquire(1, "x"))
	again.granted(1)
}
