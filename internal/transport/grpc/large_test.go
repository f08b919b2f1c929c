package grpc

import (
	"context"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/transport/codec"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
	"github.com/holdfast-locks/holdfast/storage"
)

// outgoingOf is what members of a shard say.
func outgoingOf(m shard.Message) protocol.Message {
	return consensus.Envelope{Cluster: math.MaxUint64, Shard: math.MaxUint16, Body: m}
}

// largest are the messages of protocol consensus that may be large, as large as they become.
func largest() []protocol.Message {
	text := strings.Repeat("x", holdfast.MaxText)
	op := replica.Op{
		Kind: replica.Acquire, Name: text[:holdfast.MaxName], Attributes: holdfast.Attributes{Owner: text, Reason: text, Hold: lock.Never}, Client: text, Request: math.MaxUint64,
		Wait: lock.Never, Belief: lock.Never,
	}
	const operations = 256 << 10 // of a Forward, and of an entry; one operation more may be in it
	voters := make([]uint64, 1024)
	for i := range voters {
		voters[i] = math.MaxUint64
	}
	snapshot := group.Message{Kind: 7, Term: math.MaxUint64, Snapshot: &group.Mark{Index: math.MaxUint64, Conf: group.Conf{Voters: voters, Outgoing: voters}}}
	return []protocol.Message{
		outgoingOf(shard.Forward{Ops: slices.Repeat([]replica.Op{op}, operations/op.Size()+1)}),
		outgoingOf(shard.RaftMessage{Message: group.Message{Kind: 3, Entries: []group.Entry{{Data: make([]byte, operations+op.Size())}}}}),
		outgoingOf(shard.RaftMessage{Message: group.Message{Kind: 3, Entries: make([]group.Entry, 64<<10)}}), // the empty ones that come to 256 KiB
		outgoingOf(shard.SnapshotPart{Data: make([]byte, storage.MaxPart*3/4), Message: snapshot}),           // replica.TestPartsFitAJournal
		outgoingOf(shard.Beat{Sessions: slices.Repeat([]lock.SessionID{{Number: math.MaxUint64}}, 4096)}),
		outgoingOf(shard.Beaten{Gone: slices.Repeat([]lock.SessionID{{Number: math.MaxUint64}}, 4096)}),
	}
}

// partOf is a part that is a message of so many bytes.
func partOf(t *testing.T, number uint64, size int) protocol.Message {
	t.Helper()
	data := size - 1024
	b, err := codec.Append(nil, 1, outgoingOf(shard.SnapshotPart{Number: number, Data: make([]byte, data)}))
	if err != nil {
		t.Fatal(err)
	}
	return outgoingOf(shard.SnapshotPart{Number: number, Data: make([]byte, data+size-len(b))})
}

// TestLargeMessages leave together, with packets of the gossip, in frames that a member accepts. One that is too large is
// left out.
func TestLargeMessages(t *testing.T) {
	packets := make(chan int, 64)
	l := listenAgain(t, "127.0.0.1:0")
	b := prepare(t, identityAt(2, l), nil)
	b.Gossip(func(_ string, packet []byte) { packets <- len(packet) }, echo)
	go func() { b.served <- b.Serve(l) }()
	t.Cleanup(b.stop)
	b.Listen(b.inbox.deliver)
	gate := make(chan struct{}) // until it is open everything waits
	a := start(t, 1, func(c *Config) {
		c.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			select {
			case <-gate:
				return new(net.Dialer).DialContext(ctx, "tcp", address)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	messages := append(largest(), partOf(t, 1, messageBytes), partOf(t, 2, messageBytes), partOf(t, 3, messageBytes))
	var batch []protocol.Envelope
	var want []string
	for _, m := range append(messages, partOf(t, 4, messageBytes+1), note(9)) {
		batch = append(batch, protocol.Envelope{To: protocol.AnyMember, Address: b.identity.Address, Port: 1, Message: m})
	}
	for _, m := range messages {
		want = append(want, fmt.Sprintf("1:%v", m))
	}
	a.Send(batch)
	for range cap(packets) {
		a.SendPacket(b.identity.Address, make([]byte, packetBytes))
	}
	close(gate)
	b.inbox.await(t, heard(1, 9))
	if got := b.inbox.all(); !slices.Equal(got, append(want, heard(1, 9))) {
		t.Errorf("heard %q", got)
	}
	a.counts.await(t, "dropped unsendable", 1)
	for range cap(packets) {
		if size := <-packets; size != packetBytes {
			t.Errorf("a packet of %d bytes", size)
		}
	}
	if lost, _ := a.counts.lost(); lost != 1 || b.counts.get("refused garbage") != 0 {
		t.Errorf("%d messages were lost, %d streams closed", lost, b.counts.get("refused garbage"))
	}
}
