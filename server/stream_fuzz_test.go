package server

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/session"
	"github.com/holdfast-locks/holdfast/wire/api"
)

// FuzzOperations performs frames of any content: none is a mistake of the server,
// none gives its stream a lock that the end of the session does not give back.
func FuzzOperations(f *testing.F) {
	for _, operations := range [][]*api.Operation{
		{opAcquire(1, "x"), opRelease(1, "x", 0)},
		{opTry(1, "x"), opExtend(1, "x", 1, 5), opCancel(1, "x"), opBeat(2, 7)},
		{opEnd(), opAcquire(2, "y")},
		{{Id: 1<<64 - 1, Kind: &api.Operation_Acquire{Acquire: &api.Acquire{
			Name: "x", Mode: api.Mode_MODE_SLOTS, Units: 1, Capacity: 1<<31 - 1, Wait: 1<<63 - 1, Hold: 1<<63 - 1, Owner: "o",
		}}}},
		{{Kind: &api.Operation_Hello{}}, {Kind: &api.Operation_Acquire{}}, {Kind: &api.Operation_Release{}}, {}},
	} {
		frame, err := proto.Marshal(&api.ClientFrame{Operations: operations})
		must(f, err)
		f.Add(frame)
	}
	b := newBed(f, func(c *Config) { c.Logger = nil }, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		frame := &api.ClientFrame{}
		if proto.Unmarshal(data, frame) != nil {
			return
		}
		s := newStream(b.server, nil)
		s.sending.Lock() // what it answers stays in the box
		s.sink = b.driver.Attach(s)
		answer, err := s.ask(&session.Open{Sort: session.Stream})
		must(t, err)
		s.session = answer.(*session.Opened).ID
		s.perform(frame.GetOperations(), b.service.now())
		if s.over.Load() && status.Code(s.result) != codes.ResourceExhausted {
			t.Errorf("the stream ended with %v", s.result)
		}
		s.perform([]*api.Operation{opEnd()}, b.service.now())
		if batch := s.box.take(nil); !s.over.Load() && len(batch) > 0 {
			out := newFrame()
			if n := out.fill(batch, b.service); n == 0 {
				t.Error("nothing of a batch fits a frame")
			}
			if _, err := proto.Marshal(&out.message); err != nil {
				t.Errorf("what is told cannot be encoded: %v", err)
			}
		}
		b.driver.Detach(s.sink)
		state, err := b.service.status()
		must(t, err)
		for _, space := range state.Spaces {
			if space.Locks != 0 || space.Waiters != 0 {
				t.Errorf("space %s has %d locks and %d waiters after the end", space.Name, space.Locks, space.Waiters)
			}
		}
	})
}
