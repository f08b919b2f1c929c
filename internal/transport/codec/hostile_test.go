package codec

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/lock/wire"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/authority"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/consensus"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/protocol/permission"
	"github.com/holdfast-locks/holdfast/storage"
)

type stranger struct{}

func (stranger) String() string { return "stranger" }

// TestAppendRefuses what members do not send, and leaves the bytes before it alone.
func TestAppendRefuses(t *testing.T) {
	for _, tt := range []struct {
		message protocol.Message
		want    error
	}{
		{stranger{}, wire.ErrKind},
		{&authority.Acks{}, wire.ErrKind}, // all are sent as values
		{nil, wire.ErrKind},
		{bakery.Locked{}, wire.ErrKind}, // said in envelopes only
		{bakery.Envelope{}, wire.ErrKind},
		{bakery.Envelope{Body: stranger{}}, wire.ErrKind},
		{bakery.Envelope{Body: &bakery.Locked{}}, wire.ErrKind},
		{bakery.Envelope{Body: bakery.Elected{}}, wire.ErrKind}, // never said in one
		{bakery.Envelope{Body: bakery.Envelope{Body: bakery.Heard{}}}, wire.ErrKind},
		{authority.Release{Name: strings.Repeat("x", wire.MaxText+1)}, wire.ErrLong},
		{shard.ReadRequest{}, wire.ErrKind},
		{consensus.Envelope{}, wire.ErrKind},
		{consensus.Envelope{Body: &shard.ReadRequest{}}, wire.ErrKind},
		{consensus.Envelope{Body: consensus.Envelope{Body: shard.ReadRequest{}}}, wire.ErrKind},
		{consensus.Envelope{Body: shard.SnapshotPart{Data: make([]byte, storage.MaxPart+1)}}, wire.ErrLong},
		{consensus.Envelope{Body: shard.RaftMessage{Message: group.Message{Context: make([]byte, 64+1)}}}, wire.ErrLong},
		{consensus.Envelope{Body: shard.RaftMessage{Message: group.Message{Entries: []group.Entry{{Data: make([]byte, storage.MaxPart+1)}}}}}, wire.ErrLong},
		{consensus.Envelope{Body: shard.Forward{Ops: make([]replica.Op, shard.MostForwarded+1)}}, wire.ErrLong},
		{consensus.Envelope{Body: shard.Forward{Ops: []replica.Op{{}}}}, wire.ErrRange},
		{consensus.Envelope{Body: shard.Forward{Ops: []replica.Op{{Kind: replica.Amend + 1}}}}, wire.ErrRange},
		{consensus.Envelope{Body: shard.Forward{Ops: []replica.Op{{Kind: replica.Acquire, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Units: -1}}}}}}, wire.ErrRange},
		{consensus.Envelope{Body: shard.Forward{Ops: []replica.Op{{Kind: replica.Open, Client: strings.Repeat("x", wire.MaxText+1)}}}}, wire.ErrLong},
	} {
		b := make([]byte, 6, 8192)
		copy(b, "before")
		got, err := Append(b, 1, tt.message)
		if !errors.Is(err, tt.want) || string(got) != "before" {
			t.Errorf("%T: %q %v", tt.message, got, err)
		}
	}
}

// TestDecodeRefuses bytes that no member sends.
func TestDecodeRefuses(t *testing.T) {
	whole := func(m protocol.Message) []byte {
		b, err := Append(nil, 1, m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	changed := func(b []byte, at int, to byte) []byte {
		b[len(b)-at] = to
		return b
	}
	heard := whole(bakery.Envelope{Body: bakery.Heard{}})
	saying := func(k wire.Kind, fields ...byte) []byte { // an envelope
		return append(binary.AppendUvarint(bytes.Clone(heard[:len(heard)-2]), uint64(k)), fields...)
	}
	said := func(b bakery.Body) []byte { return whole(bakery.Envelope{Body: b}) }
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"nothing", nil, wire.ErrTruncated},
		{"a port alone", []byte{1}, wire.ErrTruncated},
		{"a port too high", []byte{0xff, 0xff, 0xff, 0x01, byte(kindOf(authority.Acks{}))}, wire.ErrRange},
		{"a number of 11 bytes", bytes.Repeat([]byte{0xff}, 11), wire.ErrRange},
		{"type 0", []byte{1, 0}, wire.ErrKind},
		{"a type that no message has", []byte{1, 127}, wire.ErrKind},
		{"a type between those of two protocols", []byte{1, byte(kindOf(authority.Amend{})) + 1}, wire.ErrKind},
		{"a truth of 2", changed(whole(authority.Acks{}), 2, 2), wire.ErrRange},
		{"a kind that no decision has", []byte(strings.Replace(string(whole(authority.Decided{Kind: lock.Granted, Name: "n"})), "\x01\x01n", "\x40\x01n", 1)), wire.ErrRange},
		{"a position beyond counting", whole(authority.Decided{Position: 1 << 40}), wire.ErrRange},
		{"an error of no kind", changed(whole(authority.Decided{}), 4, 200), wire.ErrRange},
		{"a text longer than allowed", append(whole(authority.InfoRequest{})[:0:0], hugeText(t)...), wire.ErrLong},
		{"a version that is neither there nor not", changed(whole(authority.Acks{}), 6, 2), wire.ErrRange},
		{"a question of no kind", changed(whole(grantor.Question{}), 4, byte(grantor.Count)+1), wire.ErrRange},
		{"a reign that begins in no way", changed(whole(grantor.Info{}), 14, byte(grantor.Inheriting)+1), wire.ErrRange},
		{"a request in no mode", changed(whole(permission.Request{}), 4, byte(holdfast.ModeSlots)+1), wire.ErrRange},
		{"an ask of no kind", changed(whole(local.Query{}), 7, byte(admin.LastKind)+1), wire.ErrRange},
		{"a body outside of an envelope", append([]byte{1}, said(bakery.Unlocked{})[len(heard)-2:]...), wire.ErrKind},
		{"an envelope that ends before its body", heard[:len(heard)-2], wire.ErrTruncated},
		{"an envelope without a body", saying(0), wire.ErrKind},
		{"an envelope with a body of no kind", saying(kindOf(bakery.Unlocking{}) + 1), wire.ErrKind},
		{"an envelope in an envelope", saying(kindOf(bakery.Envelope{}), heard[3:]...), wire.ErrKind},
		{"a message in an envelope", saying(kindOf(authority.Acks{}), whole(authority.Acks{})[2:]...), wire.ErrKind},
		{"a refusal of no kind", changed(whole(bakery.Refused{}), 3, byte(bakery.RefusedEpoch)+1), wire.ErrRange},
		{"a failure of no kind", changed(said(bakery.Failed{}), 4, byte(bakery.FailedLimit)+1), wire.ErrRange},
		{"a ticket in no mode", changed(said(bakery.Lock{}), 14, byte(holdfast.ModeSlots)+1), wire.ErrRange},
		{"more leaders than the bytes", changed(whole(bakery.Elect{}), 5, 2), wire.ErrLong},
		{"more candidates than the bytes", changed(whole(bakery.Leaders{}), 1, 1), wire.ErrLong},
		{"more who are missing than the bytes", changed(whole(bakery.Refused{}), 2, 1), wire.ErrLong},
		{"more who are choosing than the bytes", changed(said(bakery.Added{}), 5, 1), wire.ErrLong},
		{"more parts than the bytes", changed(said(bakery.Activated{}), 2, 1), wire.ErrLong},
		{"more names in a book than the bytes", changed(said(bakery.Tickets{}), 3, 1), wire.ErrLong},
		{"more tickets of a name than the bytes", changed(said(bakery.Tickets{Names: []bakery.NameState{{}}}), 3, 1), wire.ErrLong},
		{"more claims than the bytes", changed(said(bakery.Claim{}), 2, 1), wire.ErrLong},
		{"units beyond 32 bits", whole(permission.Free{Uses: 1 << 40}), wire.ErrRange},
		{"more locks than the bytes", changed(whole(local.Answer{}), 27, 100), wire.ErrLong},
		{"more entries than the bytes", changed(whole(grantor.TransferTable{}), 2, 1), wire.ErrLong},
		{"more words than the bytes", changed(whole(grantor.TransferTable{}), 1, 1), wire.ErrLong},
		{"a chunk beyond 32 bits", append(whole(grantor.TransferRequest{})[:3], 0xff, 0xff, 0xff, 0xff, 0x1f), wire.ErrRange},
		{"a list longer than the bytes", changed(whole(authority.InfoAnswer{}), 1, 100), wire.ErrLong},
	} {
		port, message, rest, err := Decode(tt.bytes)
		if !errors.Is(err, tt.want) || port != 0 || message != nil || rest != nil {
			t.Errorf("%s: %d %v %q %v, want %v", tt.name, port, message, rest, err, tt.want)
		}
	}
}

// TestDecodeRefusesOfShards what no member of protocol consensus says.
func TestDecodeRefusesOfShards(t *testing.T) {
	empty := said(t, shard.ReadRequest{})
	before := empty[:len(empty)-3] // what an envelope has before what it says
	saying := func(k wire.Kind, fields ...byte) []byte {
		return append(binary.AppendUvarint(bytes.Clone(before), uint64(k)), fields...)
	}
	changed := func(m shard.Message, at int, to ...byte) []byte {
		b := said(t, m)
		return append(b[:len(b)-at], to...)
	}
	founding, full := group.Founding([]uint64{1}), bytes.Repeat([]byte{0xff}, 9)
	marked := shard.RaftMessage{Message: group.Message{Snapshot: &founding}}
	data := func(size uint64) []byte {
		return append(binary.AppendUvarint([]byte{0, 0}, size), make([]byte, size)...)
	}
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"an envelope that ends before its body", before, wire.ErrTruncated},
		{"an envelope without a body", saying(0), wire.ErrKind},
		{"an envelope with a body of no kind", saying(kindOf(consensus.Reformed{})+1, 0), wire.ErrKind},
		{"a body of the other protocol", saying(kindOf(bakery.Heard{})), wire.ErrKind},
		{"an envelope in an envelope", saying(kindOf(consensus.Envelope{}), before[3:]...), wire.ErrKind},
		{"a body outside of an envelope", append([]byte{1}, empty[len(before):]...), wire.ErrKind},
		{"a message of no kind", saying(kindOf(shard.RaftMessage{}), group.LastKind+1), wire.ErrRange},
		{"an entry of no kind", changed(shard.RaftMessage{Message: group.Message{Entries: []group.Entry{{}}}}, 5, group.LastEntryKind+1, 0, 0, 0, 0), wire.ErrRange},
		{"more entries than the bytes", changed(shard.RaftMessage{}, 2, 1, 0), wire.ErrLong},
		{"an entry's data beyond the bytes", changed(shard.RaftMessage{Message: group.Message{Entries: []group.Entry{{}}}}, 2, 9, 0), wire.ErrTruncated},
		{"a context too long", changed(shard.RaftMessage{}, 3, append([]byte{64 + 1}, make([]byte, 100)...)...), wire.ErrLong},
		{"a snapshot that is neither there nor not", changed(shard.RaftMessage{}, 1, 2), wire.ErrRange},
		{"a snapshot that ends early", changed(marked, 1), wire.ErrTruncated},
		{"a joint configuration left in another way than two", changed(marked, 6, 2, 1, 1, 0, 0, 0), wire.ErrRange},
		{"more voters than the bytes", changed(marked, 5, 6, 1, 0, 0, 0), wire.ErrLong},
		{"more learners to come than the bytes", changed(marked, 1, 4, 1, 1, 1), wire.ErrLong},
		{"a voter beyond 64 bits", changed(marked, 4, append(full, 2, 0, 0, 0)...), wire.ErrRange},
		{"more operations than the bytes", changed(shard.Forward{}, 1, 2, 0, 0, 0, 0, 0), wire.ErrLong},
		{"more operations than are forwarded at once", append(changed(shard.Forward{}, 1, 0x81, 0x04), make([]byte, 1<<16)...), wire.ErrLong},
		{"an operation of no kind", changed(shard.Forward{}, 1, 1, 99, 0, 0, 0, 0), wire.ErrRange},
		{"an operation that ends early", changed(shard.Forward{Ops: []replica.Op{{Kind: replica.Open}}}, 1), wire.ErrTruncated},
		{"an operation whose text is too long", changed(shard.Forward{Ops: []replica.Op{{Kind: replica.Break}}}, 2, 0x81, 0x20), wire.ErrLong},
		{"more sessions than the bytes", changed(shard.Beat{}, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0), wire.ErrLong},
		{"more that are gone than the bytes", changed(shard.Beaten{}, 1, 1), wire.ErrLong},
		{"a part beyond the bytes", saying(kindOf(shard.SnapshotPart{}), 0, 0, 9, 0), wire.ErrTruncated},
		{"a part too large", saying(kindOf(shard.SnapshotPart{}), data(storage.MaxPart+1)...), wire.ErrLong},
		{"a part that is neither the last nor not", saying(kindOf(shard.SnapshotPart{}), 0, 0, 0, 2), wire.ErrRange},
		{"a member's id that ends early", changed(consensus.TransferLeader{}, 1), wire.ErrTruncated},
	} {
		port, message, rest, err := Decode(tt.bytes)
		if !errors.Is(err, tt.want) || port != 0 || message != nil || rest != nil {
			t.Errorf("%s: %d %v %q %v, want %v", tt.name, port, message, rest, err, tt.want)
		}
	}
}

// said is an envelope of protocol consensus.
func said(t testing.TB, m shard.Message) []byte {
	t.Helper()
	b, err := Append(nil, 1, consensus.Envelope{Body: m})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecodedIsOnesOwn: a frame's memory is used for the next one, and a message stays as it was.
func TestDecodedIsOnesOwn(t *testing.T) {
	for _, line := range examples(t) {
		name, encoded, _ := strings.Cut(line, " ")
		b := unhex(t, encoded)
		_, m, _, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		for i := range b {
			b[i] ^= 0xff
		}
		if again, err := Append(nil, 3, m); err != nil || hex.EncodeToString(again) != encoded {
			t.Errorf("%s changes with the frame that brought it (%v)", name, err)
		}
	}
}

// TestHostileFramesAreNoBurden: what a message of a whole frame may cost that is a list of the smallest, or promises
// what is missing.
func TestHostileFramesAreNoBurden(t *testing.T) {
	const size = 2 << 20
	frame := func(m shard.Message, tail, most, least int) []byte { // with as many elements of zeros as there is room for
		b := said(t, m)
		b = binary.AppendUvarint(b[:len(b)-tail], uint64(min(most, (size-len(b)-8)/least)))
		return append(b, make([]byte, size-len(b))...)
	}
	founding, part := group.Founding(nil), said(t, shard.SnapshotPart{})
	behind := len(said(t, shard.RaftMessage{})) - len(said(t, shard.ReadRequest{})) + 3 // of a part: the length of its data, and what follows that
	operations := make([]replica.Op, shard.MostForwarded)
	for i := range operations {
		operations[i].Kind = replica.End
	}
	for _, tt := range []struct {
		name     string
		bytes    []byte
		complete bool // it is a message
		times    uint64
	}{
		{"operations", said(t, shard.Forward{Ops: operations}), true, 72},
		{"more operations", frame(shard.Forward{}, 1, size, replica.LeastOp), false, 1},
		{"operations of which the first is wrong", frame(shard.Forward{}, 1, shard.MostForwarded, replica.LeastOp), false, 1},
		{"entries", frame(shard.RaftMessage{}, 2, size, 4), true, 16},
		{"sessions", frame(shard.Beat{}, 1, size, 9), true, 2},
		{"voters", frame(shard.RaftMessage{Message: group.Message{Snapshot: &founding}}, 4, size, 1), true, 9},
		{"data", frame(shard.SnapshotPart{}, behind, storage.MaxPart, 1), true, 1},
		{"data that is missing", append(part[:len(part)-behind:len(part)-behind], 0xff, 0xff, 0x3f), false, 1},
	} {
		_, m, _, err := Decode(tt.bytes)
		if part, is := m.(consensus.Envelope); is && tt.name == "data" && len(part.Body.(shard.SnapshotPart).Data) != storage.MaxPart {
			t.Errorf("the data is %d bytes long", len(part.Body.(shard.SnapshotPart).Data))
		}
		if got, most := leastMemory(tt.bytes), 4096+tt.times*uint64(len(tt.bytes)); got > most || tt.complete != (err == nil) {
			t.Errorf("%s: %d bytes took %d bytes of memory, of %d (%v)", tt.name, len(tt.bytes), got, most, err)
		}
	}
}

// hugeText is a release whose name claims to be long.
func hugeText(t *testing.T) []byte {
	t.Helper()
	b, err := Append(nil, 1, authority.Release{})
	if err != nil {
		t.Fatal(err)
	}
	return append(b[:len(b)-3], 0xff, 0xff, 0x7f)
}

// TestHalfAMessage: an early end of the bytes is seen at every position.
func TestHalfAMessage(t *testing.T) {
	for _, line := range examples(t) {
		name, encoded, _ := strings.Cut(line, " ")
		b, err := hex.DecodeString(encoded)
		if err != nil {
			t.Fatal(err)
		}
		for n := range b {
			if _, m, _, err := Decode(b[:n]); err == nil {
				t.Errorf("%d of %d bytes of a %s were read as %v", n, len(b), name, m)
			}
		}
	}
}

// TestFailuresComeBack: what a program may test an error for, and its sentence.
func TestFailuresComeBack(t *testing.T) {
	for _, want := range failures() {
		b, err := Append(nil, 1, authority.Decided{Err: want})
		if err != nil {
			t.Fatal(err)
		}
		_, m, _, err := Decode(b)
		if got := m.(authority.Decided).Err; err != nil || !sameError(want, got) {
			t.Errorf("%#v came back as %#v (%v)", want, got, err)
		}
	}
	var held *holdfast.HeldError
	b, err := Append(nil, 1, authority.Decided{Err: &lock.HeldBy{Owner: "o", Others: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if _, m, _, err := Decode(b); err != nil || !errors.As(m.(authority.Decided).Err, &held) || held.Others != 3 {
		t.Errorf("%v %v", m, err)
	}
}

// FuzzDecode: any bytes are a message that encodes to itself, or an error;
// neither takes much more memory than the bytes.
func FuzzDecode(f *testing.F) {
	file, err := os.Open(kept)
	if err != nil {
		f.Fatal(err)
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		_, encoded, _ := strings.Cut(lines.Text(), " ")
		b, err := hex.DecodeString(encoded)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		port, m, rest, err := Decode(b)
		if got, most := leastMemory(b), uint64(4096+64*len(b)); got > most {
			t.Errorf("%d bytes took %d bytes of memory, over %d", len(b), got, most)
		}
		if err != nil {
			return
		}
		if len(rest) > len(b) || m.String() == "" {
			t.Errorf("%v leaves %d of %d bytes", m, len(rest), len(b))
		}
		again, err := Append(nil, port, m)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v: %v", m, err)
		}
		gotPort, got, _, err := Decode(again)
		if err != nil || gotPort != port {
			t.Fatalf("%v: port %d for %d, %v", m, gotPort, port, err)
		}
		if diff := cmp.Diff(m, got, cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), bySentence()); diff != "" {
			t.Errorf("(-first +second):\n%s", diff)
		}
	})
}

// leastMemory returns how many bytes decoding b allocates. The counter is the process's,
// and the fuzzer's own goroutines allocate as well: never less, so the least of a few
// counts is the nearest.
func leastMemory(b []byte) uint64 {
	least := uint64(math.MaxUint64)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _, _ = Decode(b)
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
