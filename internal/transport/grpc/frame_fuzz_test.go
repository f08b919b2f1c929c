package grpc

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/codec"
	"github.com/holdfast-locks/holdfast/protocol"
)

// FuzzFrame: any bytes are a frame whose hello is judged and whose messages are
// delivered, or they are refused.
func FuzzFrame(f *testing.F) {
	messages, err := codec.Append(nil, 1, note(7))
	if err != nil {
		f.Fatal(err)
	}
	for _, frame := range []*schema.MemberFrame{
		{Hello: politely()}, {Messages: messages}, {Messages: append(messages, messages...), Packets: [][]byte{{1, 2}}}, {Messages: messages[1:]},
	} {
		b, err := proto.Marshal(frame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	identity := transport.Identity{ID: 1, Incarnation: 1, Cluster: 77, Name: "a", Address: "127.0.0.1:1"}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame := &schema.MemberFrame{}
		if proto.Unmarshal(b, frame) != nil {
			return
		}
		tr, err := New(Config{Identity: func() transport.Identity { return identity }})
		if err != nil {
			t.Fatal(err)
		}
		tr.Listen(func(events []protocol.Event) {
			for _, ev := range events {
				if ev.Kind != protocol.Receive || ev.From != 5 || ev.Fact == nil {
					t.Errorf("%+v", ev)
				}
			}
		})
		in := &incoming{t: tr, over: make(chan struct{})}
		in.from.ID = 5
		if err := in.deliver(frame); err == nil && len(frame.GetMessages()) > 0 && len(in.events) == 0 {
			t.Error("messages were lost")
		}
		if g, err := tr.read(frame.GetHello()); err == nil {
			if tr.compare(g) == nil && g.ID == identity.ID {
				t.Error("another process has this member's id")
			}
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
}
