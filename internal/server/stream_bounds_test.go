package server

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestBadOperations: each mistake is refused by itself, and what stands beside it
// in the frame is done.
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
				t.Errorf("told %v, want %s", refused, test.code)
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
	operations := make([]*schema.Operation, maxOperations+3)
	for i := range operations {
		operations[i] = opBeat(uint64(i+1), 0)
	}
	c.say(operations...)
	for range maxOperations {
		if event := c.hear(); event.GetBeat() == nil {
			t.Fatalf("heard %v", event)
		}
	}
	for i := range uint64(3) {
		problem := c.refused(maxOperations+i+1, api.CodeLimit)
		if problem.GetLimit() != "operations_per_frame" || problem.GetValue() != maxOperations {
			t.Errorf("the limit is told as %v", problem)
		}
	}
}

// TestSlowReader: a client that asks and does not read loses its stream and nothing
// else, and costs no more memory than the bound.
func TestSlowReader(t *testing.T) {
	const bound = 20_000
	b := newHarness(t, nil, func(g *grpcServer) { g.outboxEvents = bound })
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
	slow.box.mu.Lock()
	if len(slow.box.queue) > 0 || !slow.box.broken {
		t.Errorf("%d events are kept for a client that does not read", len(slow.box.queue))
	}
	slow.box.mu.Unlock()
	other.say(opTry(1, "x"))
	other.refused(1, api.CodeHeld) // the session lives until its TTL is over
	if got := status.Code(c.end()); got != codes.ResourceExhausted {
		t.Errorf("the stream of a slow reader ended with %v", got)
	}
	if err := <-done; !errors.Is(err, io.EOF) {
		t.Errorf("the sender was told %v", err)
	}
	again := b.resume(c)
	again.say(opRelease(1, "x", 0))
	again.released(1)
	other.say(opTry(2, "x"))
	other.granted(2)
}

// TestOutboxBound counts what is queued and what is being sent.
func TestOutboxBound(t *testing.T) {
	size := (&outgoing{}).size()
	plenty := &outboxes{most: 1 << 30}
	o := newOutbox(10, 5*size, plenty)
	for i := range 5 {
		if !o.put(outgoing{id: uint64(i)}) {
			t.Fatalf("event %d was not taken", i)
		}
	}
	batch := o.take(nil)
	if len(batch) != 5 {
		t.Fatalf("took %d events", len(batch))
	}
	o.sent(batch[:3])
	for i := range 3 {
		if !o.put(outgoing{id: uint64(i)}) {
			t.Fatalf("event %d was not taken, though 3 are on their way", i)
		}
	}
	if o.put(outgoing{}) {
		t.Error("the bound of bytes was passed")
	}
	if o.put(outgoing{}) || len(o.take(nil)) != 0 {
		t.Error("a broken outbox takes events or keeps some")
	}
	few := newOutbox(1, 1<<20, plenty)
	if !few.put(outgoing{}) || few.put(outgoing{}) {
		t.Error("the bound of events was not kept")
	}
	text := outgoing{text: "name", err: holdfast.ErrHeld}
	if text.size() <= size {
		t.Error("texts and errors count for nothing")
	}
}

// TestOutboxesTogether: many who do not read may not keep together what each may keep
// alone, and who keeps little is not disturbed by them.
func TestOutboxesTogether(t *testing.T) {
	size := (&outgoing{}).size()
	all := &outboxes{most: int64(10 * size), share: 2 * size}
	greedy, greedier, modest := newOutbox(100, 1<<20, all), newOutbox(100, 1<<20, all), newOutbox(100, 1<<20, all)
	for range 5 {
		if !greedy.put(outgoing{}) || !greedier.put(outgoing{}) {
			t.Fatal("there is room for it")
		}
	}
	for range 2 {
		if !modest.put(outgoing{}) {
			t.Error("a share is not to be had where others keep too much")
		}
	}
	if greedy.put(outgoing{}) {
		t.Error("more than a share is to be had where all keep too much")
	}
	greedy.close()
	if !greedier.put(outgoing{}) {
		t.Error("what was let go of is not to be had")
	}
	batch := greedier.take(nil)
	greedier.close()
	greedier.sent(batch)
	modest.sent(modest.take(nil))
	if left := all.bytes.Load(); left != 0 {
		t.Errorf("%d bytes are counted, and nothing is kept", left)
	}
	if greedy.put(outgoing{}) {
		t.Error("a closed outbox takes something")
	}
}

// TestFrameBound: a large batch is cut, a welcome and what belongs to it is not.
func TestFrameBound(t *testing.T) {
	b := newHarness(t, nil, nil)
	f := newFrame()
	batch := make([]outgoing, frameEvents+10)
	for i := range batch {
		batch[i] = outgoing{saying: sayReleased, id: uint64(i + 1)}
	}
	if n := f.fill(batch, b.service); n != frameEvents || len(f.message.GetEvents()) != n {
		t.Errorf("a frame took %d of %d events", n, len(batch))
	}
	f.empty()
	if len(f.slots) > keepSlots {
		t.Errorf("an idle frame keeps %d slots", len(f.slots))
	}
	batch[0] = outgoing{saying: sayWelcome, roster: &roster{}, opened: &credentials{}}
	if n := f.fill(batch, b.service); n != len(batch) {
		t.Errorf("a welcome took %d of %d events with it", n, len(batch))
	}
	f.empty()
	long := outgoing{saying: sayRefused, text: strings.Repeat("n", 500), err: holdfast.ErrConflict}
	for i := range batch {
		batch[i] = long
	}
	if n := f.fill(batch, b.service); n >= len(batch) || n < frameBytes/2000 {
		t.Errorf("a frame took %d refusals of %d", n, len(batch))
	}
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

// TestClosedWithoutEnd: who closes only its own direction hears its answers.
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
