package member

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
	"github.com/holdfast-locks/holdfast/authority"
	"github.com/holdfast-locks/holdfast/clientele"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/bakery"
	"github.com/holdfast-locks/holdfast/protocol/grantor"
	"github.com/holdfast-locks/holdfast/protocol/permission"
)

type stranger struct{}

func (stranger) String() string { return "stranger" }

// TestAppendRefuses what members do not send, and leaves the bytes before it alone.
func TestAppendRefuses(t *testing.T) {
	for _, tt := range []struct {
		message protocol.Message
		want    error
	}{
		{stranger{}, ErrKind},
		{&authority.Acks{}, ErrKind}, // all are sent as values
		{nil, ErrKind},
		{bakery.Locked{}, ErrKind}, // said in letters only
		{bakery.Letter{}, ErrKind},
		{bakery.Letter{Body: stranger{}}, ErrKind},
		{bakery.Letter{Body: &bakery.Locked{}}, ErrKind},
		{bakery.Letter{Body: bakery.Elected{}}, ErrKind}, // never said in one
		{bakery.Letter{Body: bakery.Letter{Body: bakery.Heard{}}}, ErrKind},
		{authority.Release{Name: strings.Repeat("x", maxText+1)}, ErrLong},
	} {
		b := make([]byte, 6, 8192)
		copy(b, "before")
		got, err := Append(b, 1, tt.message)
		if !errors.Is(err, tt.want) || string(got) != "before" {
			t.Errorf("%T: %q %v", tt.message, got, err)
		}
		if Name(stranger{}) != "" {
			t.Errorf("a stranger is called %q", Name(stranger{}))
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
	heard := whole(bakery.Letter{Body: bakery.Heard{}})
	saying := func(k kind, fields ...byte) []byte { // a letter
		return append(binary.AppendUvarint(bytes.Clone(heard[:len(heard)-2]), uint64(k)), fields...)
	}
	said := func(b bakery.Body) []byte { return whole(bakery.Letter{Body: b}) }
	for _, tt := range []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"nothing", nil, ErrTruncated},
		{"a port alone", []byte{1}, ErrTruncated},
		{"a port too high", []byte{0xff, 0xff, 0xff, 0x01, byte(kindAcks)}, ErrRange},
		{"a number of 11 bytes", bytes.Repeat([]byte{0xff}, 11), ErrRange},
		{"type 0", []byte{1, 0}, ErrKind},
		{"a type that nobody has", []byte{1, 127}, ErrKind},
		{"a type between those of two protocols", []byte{1, byte(kindVouch) + 1}, ErrKind},
		{"a truth of 2", changed(whole(authority.Acks{}), 1, 2), ErrRange},
		{"a kind of decision that nobody has", []byte(strings.Replace(string(whole(authority.Decided{Kind: lock.Granted, Name: "n"})), "\x01\x01n", "\x40\x01n", 1)), ErrRange},
		{"a position beyond counting", whole(authority.Decided{Position: 1 << 40}), ErrRange},
		{"an error of no kind", changed(whole(authority.Decided{}), 4, 200), ErrRange},
		{"a text longer than allowed", append(whole(authority.InfoRequest{})[:0:0], hugeText(t)...), ErrLong},
		{"a version that is neither there nor not", changed(whole(authority.Acks{}), 5, 2), ErrRange},
		{"a question of no kind", changed(whole(grantor.Question{}), 4, byte(grantor.Count)+1), ErrRange},
		{"a reign that begins in no way", changed(whole(grantor.Info{}), 14, byte(grantor.Inheriting)+1), ErrRange},
		{"a request in no mode", changed(whole(permission.Request{}), 4, byte(holdfast.ModeSlots)+1), ErrRange},
		{"an ask of no kind", changed(whole(clientele.Ask{}), 7, byte(clientele.AskCount)+1), ErrRange},
		{"what letters say, outside of one", append([]byte{1}, said(bakery.Unlocked{})[len(heard)-2:]...), ErrKind},
		{"a letter that ends before what it says", heard[:len(heard)-2], ErrTruncated},
		{"a letter that says nothing", saying(0), ErrKind},
		{"a letter that says what nobody does", saying(kindUnlocking + 1), ErrKind},
		{"a letter in a letter", saying(kindLetter, heard[3:]...), ErrKind},
		{"a message in a letter", saying(kindAcks, whole(authority.Acks{})[2:]...), ErrKind},
		{"a refusal of no kind", changed(whole(bakery.Refused{}), 3, byte(bakery.RefusedEpoch)+1), ErrRange},
		{"a failure of no kind", changed(said(bakery.Failed{}), 4, byte(bakery.FailedLimit)+1), ErrRange},
		{"a ticket in no mode", changed(said(bakery.Lock{}), 14, byte(holdfast.ModeSlots)+1), ErrRange},
		{"more leaders than the bytes", changed(whole(bakery.Elect{}), 5, 2), ErrLong},
		{"more candidates than the bytes", changed(whole(bakery.Leaders{}), 1, 1), ErrLong},
		{"more who are missing than the bytes", changed(whole(bakery.Refused{}), 2, 1), ErrLong},
		{"more who are choosing than the bytes", changed(said(bakery.Added{}), 5, 1), ErrLong},
		{"more parts than the bytes", changed(said(bakery.Activated{}), 2, 1), ErrLong},
		{"more names in a book than the bytes", changed(said(bakery.Tickets{}), 3, 1), ErrLong},
		{"more tickets of a name than the bytes", changed(said(bakery.Tickets{Names: []bakery.NameState{{}}}), 3, 1), ErrLong},
		{"more claims than the bytes", changed(said(bakery.Claim{}), 2, 1), ErrLong},
		{"units beyond 32 bits", whole(permission.Free{Uses: 1 << 40}), ErrRange},
		{"more names than the bytes", changed(whole(clientele.Ask{}), 6, 100), ErrLong},
		{"more locks than the bytes", changed(whole(clientele.Answer{}), 8, 1), ErrLong},
		{"more seats than the bytes", changed(whole(grantor.TransferTable{}), 2, 1), ErrLong},
		{"more words than the bytes", changed(whole(grantor.TransferTable{}), 1, 1), ErrLong},
		{"a chunk beyond 32 bits", append(whole(grantor.TransferRequest{})[:3], 0xff, 0xff, 0xff, 0xff, 0x1f), ErrRange},
		{"a list longer than the bytes", changed(whole(authority.InfoAnswer{}), 1, 100), ErrLong},
	} {
		port, message, rest, err := Decode(tt.bytes)
		if !errors.Is(err, tt.want) || port != 0 || message != nil || rest != nil {
			t.Errorf("%s: %d %v %q %v, want %v", tt.name, port, message, rest, err, tt.want)
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
	return append(b[:len(b)-2], 0xff, 0xff, 0x7f)
}

// TestHalfAMessage: wherever the bytes end, that is seen.
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

// FuzzDecode: bytes of anybody are a message that encodes to itself, or an error;
// neither takes much more memory than the bytes.
func FuzzDecode(f *testing.F) {
	file, err := os.Open(golden)
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
