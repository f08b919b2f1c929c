package host_test

import (
	"context"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/internal/transport"
)

// stranger is a process that greets as a member would and then says what it likes.
type stranger struct {
	t      *testing.T
	stream grpc.BidiStreamingClient[schema.MemberFrame, schema.MemberReceipt]
}

// knock opens a stream as a member that no other member knows.
func knock(t *testing.T, address string, id uint64) *stranger {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	stream, err := schema.NewMembersClient(conn).Link(bounded(t))
	if err != nil {
		t.Fatal(err)
	}
	hello := &schema.MemberHello{
		Version: transport.Version, Id: id, Incarnation: 1, Name: "stranger", Address: "127.0.0.1:9", Process: id, Deadline: int64(4 * time.Millisecond),
	}
	if err := stream.Send(&schema.MemberFrame{Hello: hello}); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.Recv(); err != nil {
		t.Fatalf("a stranger is not welcomed: %v", err)
	}
	return &stranger{t, stream}
}

// taken sends a frame and waits until it was dealt with; frames counts them.
func (s *stranger) taken(frame *schema.MemberFrame, frames uint64) {
	s.t.Helper()
	if err := s.stream.Send(frame); err != nil {
		s.t.Fatal(err)
	}
	for {
		receipt, err := s.stream.Recv()
		if err != nil {
			s.t.Fatalf("the stream ended: %v", err)
		}
		if receipt.GetFrames() >= frames {
			return
		}
	}
}

// messages are one of every kind that members say, as bytes.
func messages(t *testing.T) (all [][]byte) {
	t.Helper()
	text, err := os.ReadFile("../transport/codec/testdata/messages.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		_, encoded, _ := strings.Cut(strings.TrimSpace(line), " ")
		message, err := hex.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, message)
	}
	return all
}

// TestMessagesOfStrangers: a process that is in no view may send any message of
// members, in any order and to any space, again and again; nothing is lost or granted
// by it.
func TestMessagesOfStrangers(t *testing.T) {
	c := startCluster(t, 1, func(config *host.Config) { config.Expect = 1 })
	n := c.nodes[0]
	held := take(t, n, "orders/42")
	s := knock(t, c.configs[0].Listen, 0xbad)
	said := messages(t)
	if len(said) < 20 {
		t.Fatalf("only %d kinds of messages", len(said))
	}
	random := rand.New(rand.NewPCG(7, 8))
	frames := uint64(1) // the greeting is not counted, and this one is the first
	for range 40 {
		var bytes []byte
		for range 50 {
			message := append([]byte(nil), said[random.IntN(len(said))]...)
			message[0] = byte(random.IntN(3)) // membership, the space, a space that is none
			bytes = append(bytes, message...)
		}
		s.taken(&schema.MemberFrame{Messages: bytes}, frames)
		frames++
		if err := held.Context().Err(); err != nil {
			t.Fatalf("the lock was lost: %v", context.Cause(held.Context()))
		}
	}
	give(t, take(t, n, "orders/43"))
	give(t, held)
	if got := n.View(); len(got.Members) != 1 {
		t.Errorf("the view is %v", got)
	}
}

// TestPacketsOfStrangers: garbage for the gossip harms no member.
func TestPacketsOfStrangers(t *testing.T) {
	c := startCluster(t, 1, func(config *host.Config) { config.Expect = 1 })
	held := take(t, c.nodes[0], "orders/42")
	s := knock(t, c.configs[0].Listen, 0xbad)
	random := rand.New(rand.NewPCG(9, 10))
	frames := uint64(1)
	for kind := range 256 {
		packet := make([]byte, 1+random.IntN(200))
		for i := range packet {
			packet[i] = byte(random.Uint32())
		}
		packet[0] = byte(kind)
		s.taken(&schema.MemberFrame{Packets: [][]byte{packet, {byte(kind)}, {}, make([]byte, 60<<10)}}, frames)
		frames++
	}
	if held.Context().Err() != nil {
		t.Errorf("the lock was lost: %v", context.Cause(held.Context()))
	}
	give(t, held)
	give(t, take(t, c.nodes[0], "orders/42"))
}
