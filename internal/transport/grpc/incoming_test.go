package grpc

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/protocol"
)

// hungUp is the stream of a caller that has said hello, and has gone.
type hungUp struct {
	grpc.BidiStreamingServer[schema.MemberFrame, schema.MemberReceipt]
	context context.Context
	said    bool
}

func (s *hungUp) Context() context.Context { return s.context }

func (s *hungUp) Send(*schema.MemberReceipt) error { return s.err() }

func (s *hungUp) err() error { return status.FromContextError(s.context.Err()).Err() }

func (s *hungUp) RecvMsg(frame any) error {
	if s.said {
		return s.err()
	}
	s.said = true
	proto.Merge(frame.(*schema.MemberFrame), &schema.MemberFrame{Hello: politely()})
	return nil
}

// TestWhoHangsUpGreeting: the end of a stream is seen while its hello is read, or before
// or after; then nothing of it is left. The race detector sees whether the two keep out of
// each other's way.
func TestWhoHangsUpGreeting(t *testing.T) {
	identity := transport.Identity{ID: 1, Incarnation: 1, Cluster: 77, Name: "a", Address: "127.0.0.1:1"}
	tr, err := New(Config{Identity: func() transport.Identity { return identity }})
	if err != nil {
		t.Fatal(err)
	}
	tr.Listen(func([]protocol.Event) { t.Error("something was heard") })
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 200 {
		if err := (service{t: tr}).Link(&hungUp{context: gone}); status.Code(err) != codes.Canceled {
			t.Fatalf("the stream ends with %v", err)
		}
	}
	tr.work.Wait()
	if k := tr.known[5]; len(tr.incoming) > 0 || k != nil && k.live() {
		t.Errorf("%d streams are open, and known is %+v", len(tr.incoming), k)
	}
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}

// TestAClosedStreamTakesNoPlace: its hello may be read after that of the stream that
// the caller has opened instead.
func TestAClosedStreamTakesNoPlace(t *testing.T) {
	identity := transport.Identity{ID: 1, Incarnation: 1, Cluster: 77, Name: "a", Address: "127.0.0.1:1"}
	tr, err := New(Config{Identity: func() transport.Identity { return identity }})
	if err != nil {
		t.Fatal(err)
	}
	from, err := tr.read(politely())
	if err != nil {
		t.Fatal(err)
	}
	before, instead := &incoming{t: tr, over: make(chan struct{})}, &incoming{t: tr, over: make(chan struct{})}
	before.finish(context.Canceled)
	if err := tr.learnCaller(instead, from); err != nil {
		t.Fatal(err)
	}
	if err := tr.learnCaller(before, from); status.Code(err) != codes.Canceled {
		t.Errorf("a caller that has hung up is let in: %v", err)
	}
	checkKnown(t, tr, []*incoming{instead})
	if _, listed := tr.known[from.ID].streams[instead]; !listed {
		t.Error("a caller that has hung up has taken the place of one that is there")
	}
	tr.forgetCaller(instead)
	if err := tr.Close(); err != nil {
		t.Error(err)
	}
}
