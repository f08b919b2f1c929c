package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
)

// small is a file of two shards, and what its parts are.
func small(t testing.TB) (file []byte, parts []string) {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, &Header{
		Cluster: "8000000000000001", Space: "jobs", Protocol: "consensus", Shards: 2,
		Saved: api.At(time.Date(2026, 11, 24, 1, 2, 3, 4, time.UTC)), TTL: api.Duration(time.Hour), Member: "a", Version: "v1",
	})
	if err != nil {
		t.Fatal(err)
	}
	parts = []string{"first", "second", ""}
	for _, err := range []error{
		w.Shard(&Shard{Shard: 0, Reign: 7, Sessions: 2, Holds: 1, Waiters: 1, Parts: 2}), w.Part([]byte(parts[0])), w.Part([]byte(parts[1])),
		w.Shard(&Shard{Shard: 1, Reign: 9, Sessions: 1, Holds: 3, Parts: 1}), w.Part([]byte(parts[2])), w.End(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes(), parts
}

// TestFormatStays: what this version writes others will read.
func TestFormatStays(t *testing.T) {
	t.Parallel()
	file, _ := small(t)
	const header = "holdfast snapshot 1\n" + "H\x00\x00\x00\xa3" +
		`{"cluster":"8000000000000001","space":"jobs","protocol":"consensus","shards":2,"saved":"2026-11-24T01:02:03.000000004Z","ttl":"1h0m0s","member":"a","version":"v1"}`
	if is := string(file[:min(len(header), len(file))]); is != header {
		t.Errorf("a file begins with\n%q, want\n%q", is, header)
	}
	const shard = `{"shard":0,"reign":"7","sessions":2,"holds":1,"waiters":1,"parts":2}`
	if !bytes.Contains(file, []byte("S\x00\x00\x00\x44"+shard)) {
		t.Errorf("%q does not have a shard's\n%s", file, shard)
	}
	sum := sha256.Sum256(file)
	if is := hex.EncodeToString(sum[:]); is != "b897f3c094d9bf294f0c0ad79db5d2ab3ba2c2b50cd4b80d7ea515b835108ad3" {
		t.Errorf("the file has the checksum %s: what is written has changed, so change its first line, and read both", is)
	}
}

// TestWhatIsWrittenIsRead, also when it comes byte by byte.
func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()
	file, want := small(t)
	r, err := NewReader(iotest.OneByteReader(bytes.NewReader(file)))
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for shard := range 2 {
		s, err := r.Shard()
		if err != nil || s.Shard != shard {
			t.Fatalf("shard %d is read as %+v: %v", shard, s, err)
		}
		if _, err := r.Shard(); err == nil {
			t.Error("a shard is read before the parts of the one before")
		}
		for {
			part, err := r.Part()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, string(part))
		}
	}
	if _, err := r.Shard(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is read as %v", err)
	}
	if !slices.Equal(parts, want) {
		t.Errorf("parts %q are read as %q", want, parts)
	}
	if s := r.Summary(); s.Reign != 9 || s.Sessions != 3 || s.Holds != 4 || s.Waiters != 1 || s.Bytes != int64(len(file)) || s.Space != "jobs" {
		t.Errorf("the summary of the file is %+v", s)
	}
}

// TestDamageIsFound, at every position: a bit that was flipped, an end that is missing or too much, parts that are missing,
// twice or of another file.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	file, _ := small(t)
	if _, err := Read(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, file []byte, parts ...string) {
		t.Helper()
		_, err := Read(bytes.NewReader(file))
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("%s is read: %v", what, err)
			return
		}
		for _, part := range parts {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v\nlacks %q", what, err, part)
			}
		}
	}
	for at := range file {
		for bit := range 8 {
			flipped := slices.Clone(file)
			flipped[at] ^= 1 << bit
			refused("a file with a bit flipped", flipped)
		}
	}
	refused("an empty file", nil, "it is empty")
	for size := range len(file) - 1 {
		refused("a file that was cut off", file[:size+1], "the rest is missing; take another copy")
	}
	refused("a file with more behind it", append(slices.Clone(file), 0), "more follows its end")
	refused("the file of another version", []byte(strings.Replace(string(file), "snapshot 1", "snapshot 2", 1)),
		`it is a "holdfast snapshot 2", and this version reads "holdfast snapshot 1"; use the version that wrote it`)
	refused("another kind of file", []byte("holdfast spaces 1\n\"default\" consensus 1\n"), `it is no snapshot: it begins with "holdfast spaces 1\n`)
	first := bytes.Index(file, []byte("P\x00\x00\x00\x05first"))
	size := before + len("first") + behind
	refused("a file in which a part is missing", slices.Delete(slices.Clone(file), first, first+size))
	refused("a file in which a part is twice", slices.Insert(slices.Clone(file), first, file[first:first+size]...))
	if other := bytes.Replace(file, file[first:first+size], frame(framePart, "fIrst"), 1); bytes.Equal(other, file) {
		t.Error("no part was replaced")
	} else {
		refused("a file with a part of another one", other, "put together of two")
	}
	refused("a file of 257 shards", append([]byte(magic), frame(frameHeader, `{"shards":257}`)...), "257 shards; 1 to 256 is possible")
	refused("a file whose shards are in no order", append(append([]byte(magic), frame(frameHeader, `{"shards":2}`)...), frame(frameShard, `{"shard":1,"parts":1}`)...), "where shard 0 is due")
	refused("a part that says it is huge", append([]byte(magic), 'H', 0xff, 0xff, 0xff, 0xff), "damaged at byte 20")
	broken := errors.New("the disk is broken")
	if _, err := Read(io.MultiReader(bytes.NewReader(file[:100]), iotest.ErrReader(broken))); !errors.Is(err, broken) || errors.Is(err, ErrInvalid) {
		t.Errorf("a disk that fails is reported as %v", err)
	}
}

// frame is one as a writer makes it.
func frame(kind byte, content string) []byte {
	var b bytes.Buffer
	w := Writer{to: &b, sum: sha256.New()}
	if err := w.append(kind, []byte(content)); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestWriterWantsOrder: what is not announced is not written, and what is announced is.
func TestWriterWantsOrder(t *testing.T) {
	t.Parallel()
	w, err := NewWriter(io.Discard, &Header{Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	if w.Part(nil) == nil || w.End() == nil {
		t.Error("a part, or the end, comes before its shard")
	}
	if err := w.Shard(&Shard{Parts: 1}); err != nil {
		t.Fatal(err)
	}
	if w.Shard(&Shard{}) == nil || w.End() == nil || w.Part(make([]byte, MaxPart+1)) == nil {
		t.Error("a shard too many is written, the end before the last part, or too large a part")
	}
	if err := errors.Join(w.Part(make([]byte, MaxPart)), w.End()); err != nil {
		t.Error(err)
	}
}

// FuzzRead: reading any file ends, and takes no more memory than it has parts.
func FuzzRead(f *testing.F) {
	file, _ := small(f)
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Fuzz(func(t *testing.T, file []byte) {
		if _, err := Read(bytes.NewReader(file)); err != nil && !errors.Is(err, ErrInvalid) {
			t.Errorf("%q is read with %v", file, err)
		}
	})
}
