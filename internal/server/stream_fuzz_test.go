package server

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
)

// FuzzOperations performs frames of any content for two clients in turn: none is a mistake
// of the server, none grants a lock that excludes another client's, nor one that the end
// of the session does not give back, and none gives a lock a value that may not be.
func FuzzOperations(f *testing.F) {
	for _, operations := range [][]*schema.Operation{
		{opAcquire(1, "x"), opRelease(1, "x", 0)},
		{opTry(1, "x"), opExtend(1, "x", 1, 5), opCancel(1, "x"), opBeat(2, 7)},
		{opEnd(), opAcquire(2, "y")},
		{opAcquire(1, "x"), opAmend(1, "x", 0, 2, "two\nlines"), opAmend(1, "x", 0, 1, "late"), opAmend(1, "x", 0, 2, ""), opAmend(2, "y", 1, 0, "\x1b[31m")},
		{opAmend(1, "x", 0, 1<<64-1, strings.Repeat("v", holdfast.MaxValue)), opAmend(1, "x", 0, 3, strings.Repeat("v", holdfast.MaxValue+1)), opRelease(1, "x", 0)},
		{{Id: 1<<64 - 1, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{
			Name: "x", Mode: schema.Mode_MODE_SLOTS, Units: 1, Capacity: 1<<31 - 1, Wait: 1<<63 - 1, Hold: 1<<63 - 1, Owner: "o",
		}}}},
		{{Id: 3, Kind: &schema.Operation_Acquire{Acquire: &schema.Acquire{Name: "x", Mode: schema.Mode_MODE_SHARED}}}, opAcquire(4, "x"), opAcquire(4, "y"), opCancel(3, "x")},
		{{Kind: &schema.Operation_Hello{}}, {Kind: &schema.Operation_Acquire{}}, {Kind: &schema.Operation_Release{}}, {}},
	} {
		frame, err := proto.Marshal(&schema.ClientFrame{Operations: operations})
		must(f, err)
		other, err := proto.Marshal(&schema.ClientFrame{Operations: []*schema.Operation{opAcquire(1, "x"), opTry(2, "y")}})
		must(f, err)
		f.Add(frame, other, frame)
		f.Add(other, frame, other)
	}
	b := newHarness(f, func(c *Config) { c.Logger = nil }, nil)
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		one, two := b.openRaw(t), b.openRaw(t)
		for i, data := range [][]byte{first, second, third} {
			frame := &schema.ClientFrame{}
			if s := []*stream{one, two}[i%2]; proto.Unmarshal(data, frame) == nil && !s.over.Load() {
				s.perform(frame.GetOperations(), b.service.now())
				b.compatible(t)
			}
		}
		b.closeRaw(t, one)
		b.closeRaw(t, two)
		state, err := b.service.Status(t.Context(), &schema.StatusRequest{})
		must(t, err)
		for _, space := range state.Spaces {
			if space.Locks != 0 || space.Waiters != 0 || space.Sessions != 0 {
				t.Errorf("space %s has %d locks, %d waiters and %d sessions after the end", space.Name, space.Locks, space.Waiters, space.Sessions)
			}
		}
	})
}

// openRaw opens a session for a stream that only the test reads and writes.
func (b *harness) openRaw(t *testing.T) *stream {
	t.Helper()
	s := newStream(b.server, nil)
	s.owner = b.service.clients.enter(caller{}, 0)
	s.sending.Lock() // what it answers stays in the box
	event, out := edge.Event{Operations: []*schema.Operation{{Kind: &schema.Operation_Hello{Hello: &schema.Hello{}}}}}, edge.Effects{}
	for s.machine.Step(0, &event, &out); out.Do.Kind != edge.Welcome; s.machine.Step(0, &event, &out) {
		if event = (edge.Event{}); out.Do.Kind == edge.Occupy {
			s.session = out.Do.Session
		} else {
			event.Answer, event.Err = s.provide(&out.Do, 0)
		}
		must(t, event.Err)
		out.Reset()
	}
	s.say(&out)
	return s
}

// closeRaw ends a session, and checks what its client would get.
func (b *harness) closeRaw(t *testing.T, s *stream) {
	t.Helper()
	if s.over.Load() && status.Code(s.result()) != codes.ResourceExhausted {
		t.Errorf("the stream ended with %v", s.result())
	}
	s.perform([]*schema.Operation{opEnd()}, b.service.now())
	if batch := s.box.Take(nil); !s.over.Load() && len(batch) > 0 {
		out := newFrame()
		if n := out.fill(batch, b.server); n == 0 {
			t.Error("nothing of a batch fits a frame")
		}
		if _, err := proto.Marshal(&out.Message); err != nil {
			t.Errorf("an event cannot be encoded: %v", err)
		}
	}
	b.driver.Detach(s.sink)
}

// compatible checks that the holders of a name may hold it at the same time.
func (b *harness) compatible(t *testing.T) {
	t.Helper()
	for _, space := range []string{"default", "any"} {
		listed, err := b.service.List(t.Context(), &schema.ListRequest{Space: space})
		must(t, err)
		for _, l := range listed.Locks {
			units := 0
			for _, g := range l.Holders {
				units += int(g.Units)
				if err := holdfast.CheckValue(g.Value); err != nil {
					t.Errorf("%q is held with a %v", l.Name, err)
				}
			}
			if l.Mode == schema.Mode_MODE_EXCLUSIVE && len(l.Holders) > 1 || l.Mode == schema.Mode_MODE_SLOTS && units > int(l.Capacity) {
				t.Errorf("%q is held by %d, %d units of %d", l.Name, len(l.Holders), units, l.Capacity)
			}
			if len(l.Holders) == 0 && len(l.Waiters) == 0 || holdfast.CheckName(l.Name) != nil {
				t.Errorf("%q is live, and no session holds it or waits for it", l.Name)
			}
		}
	}
}
