package replica

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

var rewrite = flag.Bool("rewrite", false, "write testdata/format.txt anew")

// kinds are operations of all forms, with all their fields.
func kinds() (ops []Op) {
	o := Op{
		ID: OpID{1 << 63, 300}, Session: lock.SessionID{Member: 1<<63 + 1, Number: 70_000}, Request: 1<<64 - 1, Name: "customers/17", Token: 1<<40 | 5,
		Other: lock.SessionID{Member: 4, Number: 5}, Try: true,
		Attributes: holdfast.Attributes{
			Shape: holdfast.Shape{Mode: holdfast.ModeSlots, Units: 300, Capacity: math.MaxInt32}, Owner: "o", Reason: "räson", Hold: -1,
		},
		Age: time.Minute, Wait: lock.Never, Belief: 7 * time.Second, Content: 1 << 50, Client: "client", Identity: "cn", TTL: time.Hour,
	}
	copy(o.Secret[:], "0123456789abcdef0123456789abcdef")
	for o.Kind = Open; o.Kind <= Amend; o.Kind++ {
		if o.Kind == Amend {
			o.Value, o.Revision = "http://10.0.0.7:8080\n", 1<<40
		}
		if o.Kind != Attach {
			ops = append(ops, o)
		}
		with := o
		switch o.Kind {
		case Acquire:
			with.Once = "intent"
			ops = append(ops, with)
			with.By = lock.Attachment{Client: 9, Generation: 2}
			ops = append(ops, with)
			with.Once, with.Value = "", "wert"
			ops = append(ops, with)
			with.Deadlock = holdfast.Fail
			ops = append(ops, with)
			with.Value = ""
		case Cancel:
			with.GivenUp = true
		case Open, End, Attach:
			with.Attached = &lock.Attachments{Attachment: lock.Attachment{Client: 1 << 60, Generation: 3}, Former: [lock.MostFormer]uint64{8, 7}}
			ops = append(ops, with)
			with.Attached = &lock.Attachments{Attachment: lock.Attachment{Client: 1}, Former: [lock.MostFormer]uint64{4, 3, 2, 1 << 33}}
			if o.Kind != End {
				ops = append(ops, with)
				with.Tied = true
				ops = append(ops, with)
				with.Attached = nil
			}
		default:
			continue
		}
		ops = append(ops, with)
	}
	return ops
}

// TestFormatStays checks that entries and snapshots keep their format, byte for byte, because logs and copies last.
func TestFormatStays(t *testing.T) {
	const path = "testdata/format.txt"
	var lines []string
	write := func(what string, b []byte) { lines = append(lines, fmt.Sprintf("%s %x", what, b)) }
	add := func(what string, e Entry) {
		var read Entry
		b := e.Append(nil)
		if err := read.Decode(b); err != nil || !bytes.Equal(read.Append(nil), b) {
			t.Errorf("%s: %v", what, err)
		}
		write(what, b)
	}
	add("begins", Entry{Begin: true, At: -5})
	add("begins-above", Entry{Begin: true, Above: 300, At: time.Hour})
	for i, o := range kinds() {
		add(fmt.Sprintf("%s-%d", strings.ReplaceAll(o.Kind.String(), " ", "-"), i), Entry{At: time.Second, Ops: []Op{o}})
	}
	b, rand := newHarness(t, Config{Part: 2000}), rand.New(rand.NewPCG(27, 49))
	b.apply(Entry{Begin: true})
	for range 60 {
		e := Entry{At: b.Now() + time.Duration(rand.IntN(1e8))}
		for range rand.IntN(8) {
			e.Ops = append(e.Ops, random(rand))
		}
		b.apply(e)
	}
	add("many", Entry{Ops: []Op{random(rand), random(rand), random(rand)}})
	for i, part := range snapshotParts(t, b.Replica) {
		write(fmt.Sprint("part-", i), part)
	}
	write("digest", fmt.Appendf(nil, "%016x", b.Digest()))
	got := strings.Join(lines, "\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what is written now:\n%s", path, got)
	}
}

// TestEntriesAreRefused checks that entries that no replica writes are refused, with a description of the error.
func TestEntriesAreRefused(t *testing.T) {
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, tt := range map[string]struct{ bytes, says string }{
		"nothing":                     {"", "early"},
		"another version":             {"02 00 00 00", "version 2, where this program knows 1"},
		"no reign":                    {"01 00", "early"},
		"a fourth word on the reign":  {"01 00 03 00", "3"},
		"a reign above all":           {"01 00 02 ffffffffffffffffff01 00", "18446744073709551615"},
		"more operations than bytes":  {"01 00 00 02 02 00 00 00", ""},
		"a number in more bytes":      {"01 8000 00 00", "number"},
		"a number beyond 64 bits":     {"01 ffffffffffffffffff02 00 00", "number"},
		"bytes behind it":             {"01 00 00 00 00 00", "2 bytes"},
		"an operation of kind 0":      {"01 00 00 01 00 00 00 00 00", "kind 0"},
		"an operation of kind 99":     {"01 00 00 01 63 00 00 00 00", "kind 99"},
		"a text beyond the bytes":     {"01 00 00 01 08 00 00 02 61", ""},
		"a text too long":             {"01 00 00 01 08 00 00 8120 61", "4097"},
		"an empty value":              {"01 00 00 01 18 00 00 00 00 01 01 61 00 00 00 00 00 00 00 00 00 00 00 00", "empty"},
		"no policy":                   {"01 00 00 01 1c 00 00 00 00 01 01 61 00 00 00 00 00 00 00 00 00 00 00 00", "deadlock"},
		"an attachment to no client":  {"01 00 00 01 0e 00 00 00 00 00 00 00", "no number"},
		"five former clients":         {"01 00 00 01 0e 00 00 00 00 01 00 05 0101010101", "5"},
		"a former client of number 0": {"01 00 00 01 0e 00 00 00 00 01 00 01 00", "former client"},
		"an intent without a name":    {"01 00 00 01 0b 0000 0000 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "once"},
		"a client that asks, 0":       {"01 00 00 01 11 0000 0000 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00", "asks"},
		"a mode beyond a byte":        {"01 00 00 01 04 0000 0000 00 00 00 00 00 8002 00 00 00 00 00 00 00", "256"},
		"units beyond 31 bits":        {"01 00 00 01 04 0000 0000 00 00 00 00 00 00 8080808008 00 00 00 00 00 00", "2147483648"},
		"a third truth":               {"01 00 00 01 04 0000 0000 00 00 00 00 00 00 00 00 02 00 00 00 00", "2"},
	} {
		var e Entry
		if err := e.Decode(unhex(tt.bytes)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want an error that says %q", name, err, tt.says)
		}
	}
}
