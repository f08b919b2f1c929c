package codec

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

// hot are the messages of a lock and unlock, and of a poll, with what they usually
// have.
func hot() []protocol.Message {
	epoch, tenure := protocol.Epoch{Counter: 28_000_000, Candidate: 1 << 63}, protocol.Tenure{Incarnation: 7}
	stamp := authority.Stamp{Epoch: epoch, Tenure: tenure, Acks: []uint64{4711}, Known: true}
	tag := local.Tag{View: 3, Epoch: epoch, Tenure: tenure}
	session := lock.SessionID{Member: 1<<63 + 5, Number: 7<<32 | 12}
	place := local.Place{ID: protocol.ID(session.Member), Tenure: tenure, Since: 3}
	key := bakery.Key{Member: place.ID, Incarnation: 7, Number: 4712}
	envelope := bakery.Envelope{Term: bakery.Term{Epoch: epoch.Counter, View: 3}, From: place, To: place, Seq: 40_712, Seen: 40_711}
	saying := func(body bakery.Body) bakery.Envelope {
		envelope.Body = body
		return envelope
	}
	minute := func(m shard.Message) consensus.Envelope {
		return consensus.Envelope{Cluster: 1<<63 + 9, Shard: 3, Body: m}
	}
	op := replica.Op{
		ID: replica.OpID{Member: session.Member, Number: 4712}, Kind: replica.Acquire, Session: session, Request: 4712,
		Name: "accounts/4711/balance", Client: "teller@web-1 pid 4711", Wait: lock.Never,
	}
	entry := replica.Entry{At: 7 * time.Hour, Ops: []replica.Op{op}}
	ended := authority.Ended{Session: session, Seq: 4712}
	return []protocol.Message{
		authority.Acquire{Stamp: stamp, Entry: lock.Entry{
			Name: "accounts/4711/balance", Session: session, Request: 4712, Client: "teller@web-1 pid 4711", Left: protocol.Never,
		}},
		authority.Decided{Stamp: stamp, Ended: ended, Kind: lock.Granted, Name: "accounts/4711/balance", Token: 28_000_000<<32 | 99},
		authority.Release{Stamp: stamp, Ended: ended, Name: "accounts/4711/balance"},
		permission.Request{Tag: tag, Number: 4712, Clock: 28_000_000<<32 | 99, Name: "accounts/4711/balance"},
		permission.Reply{Tag: tag, Number: 4712, Last: 28_000_000<<32 | 98, Count: 1},
		saying(bakery.Entering{Ticket: bakery.Ticket{Key: key, For: place, Name: "accounts/4711/balance", Session: session}, Serial: 12_006}),
		saying(bakery.Add{Key: key, Number: 7, Activate: true, Count: 4_096}),
		saying(bakery.Locked{Key: key, Token: 28_000_000<<32 | 99}),
		minute(shard.Forward{Ops: []replica.Op{op}}),
		minute(shard.RaftMessage{Message: group.Message{
			Kind: 3, From: session.Member, To: 1<<63 + 6, Term: 12, LogTerm: 12, Index: 4_711_000, Commit: 4_711_000,
			Entries: []group.Entry{{Index: 4_711_001, Term: 12, Data: entry.Append(nil)}},
		}}),
		minute(shard.RaftMessage{Message: group.Message{Kind: 4, From: 1<<63 + 6, To: session.Member, Term: 12, Index: 4_711_001}}),
		minute(shard.Beat{ID: 4712, Sessions: []lock.SessionID{session}}),
		membership.Poll{Epoch: epoch, View: 3, Seq: 991, Echo: time.Hour, Tenure: tenure, Role: 3 * time.Second, Installed: true, Open: true},
	}
}

// TestAppendAllocatesNothing where there is room.
func TestAppendAllocatesNothing(t *testing.T) {
	b := make([]byte, 0, 1024)
	for _, m := range hot() {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := Append(b, 1, m); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", nameOf(m), n)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for _, m := range hot() {
		b.Run(nameOf(m), func(b *testing.B) {
			buffer := make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				encoded, err := Append(buffer, 1, m)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(encoded)))
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, m := range hot() {
		b.Run(nameOf(m), func(b *testing.B) {
			encoded, err := Append(nil, 1, m)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(encoded)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, _, err := Decode(encoded); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
