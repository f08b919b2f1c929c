package grpc

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
	"github.com/holdfast-locks/holdfast/internal/transport"
	"github.com/holdfast-locks/holdfast/internal/transport/codec"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// TestClaimedCounts: a list or a text that claims to be longer than its frame costs no
// memory, regardless of the length that it claims: the stream is closed and counted.
func TestClaimedCounts(t *testing.T) {
	b := start(t, 2, nil)
	answer, err := codec.Append(nil, 1, authority.InfoAnswer{})
	if err != nil {
		t.Fatal(err)
	}
	end, err := codec.Append(nil, 1, authority.EndSession{})
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	attempts := 0
	for _, count := range []uint64{100, 1 << 16, 1 << 20, 1 << 31, 1<<32 - 1, 1 << 62, 1<<64 - 1} {
		for _, whole := range [][]byte{answer, end} {
			frame := binary.AppendUvarint(append([]byte(nil), whole[:len(whole)-1]...), count)
			c := knock(t, b)
			c.say(&schema.MemberFrame{Hello: politely()})
			// The stream may have ended already; how is what end tells.
			_ = c.stream.Send(&schema.MemberFrame{Messages: frame})
			if err := c.end(); status.Code(err) != codes.InvalidArgument {
				t.Errorf("a count of %d: %v", count, err)
			}
			attempts++
			b.counts.await(t, "refused "+transport.Garbage, attempts)
		}
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 64<<20 {
		t.Errorf("%d bytes were allocated for it", used)
	}
	if got := b.inbox.all(); len(got) != 0 {
		t.Errorf("heard %q", got)
	}
}

// TestHostileGreetings: who may not speak may neither gossip nor watch, and is counted as
// one who would speak.
func TestHostileGreetings(t *testing.T) {
	l := listenAgain(t, "127.0.0.1:0")
	b := prepare(t, identityAt(2, l), nil)
	b.Gossip(func(string, []byte) { t.Error("a packet was heard") }, func(net.Conn) { t.Error("a connection was opened") })
	b.PublishEvents(func(context.Context, *schema.MemberInterest, func(*schema.MemberEvents) error) error {
		return errors.New("heard")
	})
	go func() { b.served <- b.Serve(l) }()
	t.Cleanup(b.stop)
	b.Listen(b.inbox.deliver)
	for _, tt := range []struct {
		name  string
		hello *schema.MemberHello
		count string
	}{
		{"no hello", nil, transport.NoHello},
		{"another version", with(func(h *schema.MemberHello) { h.Version = 99 }), transport.OtherVersion},
		{"another cluster", with(func(h *schema.MemberHello) { h.Cluster = 78 }), transport.OtherCluster},
		{"this member's id", with(func(h *schema.MemberHello) { h.Id = 2 }), transport.SameID},
		{"no process", with(func(h *schema.MemberHello) { h.Process = 0 }), transport.Malformed},
		{"a name too long", with(func(h *schema.MemberHello) { h.Name = strings.Repeat("x", 600) }), transport.Malformed},
	} {
		before := b.counts.get("refused " + tt.count)
		members := schema.NewMembersClient(knock(t, b).conn)
		gossip, err := members.Gossip(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		// Whether it is taken is what the answer tells.
		_ = gossip.Send(&schema.MemberChunk{Hello: tt.hello, Data: []byte("\x00\x01\x02garbage")})
		if chunk, err := gossip.Recv(); err == nil {
			t.Errorf("%s: gossip is answered with %v", tt.name, chunk)
		}
		b.counts.await(t, "refused "+tt.count, before+1)
		watch, err := members.Events(t.Context(), &schema.MemberInterest{Hello: tt.hello})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = watch.Recv(); status.Code(err) != codes.FailedPrecondition {
			t.Errorf("%s: a watcher got %v", tt.name, err)
		}
		// A cluster has one spelling: the one that status shows.
		clusters := "belongs to cluster " + strconv.FormatUint(78, 36) + ", this one to cluster " + strconv.FormatUint(77, 36) + ";"
		if tt.count == transport.OtherCluster && !strings.Contains(err.Error(), clusters) {
			t.Errorf("%s: a watcher got %v, want %q in it", tt.name, err, clusters)
		}
		b.counts.await(t, "refused "+tt.count, before+2)
	}
}
