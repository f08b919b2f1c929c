package snapshot

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"
)

// Reader reads a file, one frame at a time. Its errors wrap ErrInvalid if the file is wrong, or come from the
// underlying reader.
type Reader struct {
	from    *bufio.Reader
	sum     hash.Hash
	at      int64 // number of bytes read
	frame   []byte
	summary Summary
	shards  int // number read
	parts   int // remaining parts of the latest shard
}

// NewReader reads the beginning of a file.
func NewReader(from io.Reader) (*Reader, error) {
	r := &Reader{from: bufio.NewReaderSize(from, 64<<10), sum: sha256.New()}
	if err := r.line(); err != nil {
		return nil, err
	}
	content, err := r.next(frameHeader, maxText)
	if err != nil {
		return nil, err
	}
	h := &r.summary.Header
	switch err := json.Unmarshal(content, h); {
	case err != nil:
		return nil, r.invalid("its header is not what a member writes: %v", err)
	case h.Shards < 1 || h.Shards > maxShards:
		return nil, r.invalid("its header says that there are %d shards; 1 to %d is possible", h.Shards, maxShards)
	case h.TTL < 0:
		return nil, r.invalid("its header says that clients believe for %v", h.TTL)
	}
	return r, nil
}

// Header returns the file's header.
func (r *Reader) Header() *Header { return &r.summary.Header }

// Shard reads the header of the next shard; it returns io.EOF at the verified end of the file. All parts of the
// previous one must have been read.
func (r *Reader) Shard() (*Shard, error) {
	if r.parts > 0 {
		return nil, fmt.Errorf("snapshot: %d parts of shard %d were not read", r.parts, r.shards-1)
	}
	if r.shards == r.summary.Shards {
		return nil, r.end()
	}
	content, err := r.next(frameShard, maxText)
	if err != nil {
		return nil, err
	}
	s := &Shard{}
	switch err := json.Unmarshal(content, s); {
	case err != nil:
		return nil, r.invalid("what it says of shard %d is not what a member writes: %v", r.shards, err)
	case s.Shard != r.shards || s.Parts < 1 || s.Sessions < 0 || s.Holds < 0 || s.Waiters < 0:
		return nil, r.invalid("where shard %d is due, it says %s", r.shards, content)
	}
	r.shards, r.parts = r.shards+1, s.Parts
	r.summary.add(s)
	return s, nil
}

// Part reads the next part of the current shard; it returns io.EOF after the last. The reader reuses the memory at the
// next call.
func (r *Reader) Part() ([]byte, error) {
	if r.parts == 0 {
		return nil, io.EOF
	}
	part, err := r.next(framePart, MaxPart)
	if err == nil {
		r.parts--
	}
	return part, err
}

// Summary summarizes the shards that were read.
func (r *Reader) Summary() *Summary {
	r.summary.Bytes = r.at
	return &r.summary
}

// Read reads a whole file, and summarizes it.
func Read(from io.Reader) (*Summary, error) {
	r, err := NewReader(from)
	for err == nil {
		if _, err = r.Shard(); err != nil {
			break
		}
		for err == nil {
			_, err = r.Part()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.Summary(), nil
}

// line reads the first line.
func (r *Reader) line() error {
	begins, err := r.from.Peek(len(magic))
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a snapshot: %w", err)
	}
	first, _, _ := strings.Cut(string(begins), "\n")
	switch {
	case string(begins) == magic:
	case len(begins) == 0:
		return r.invalid("it is empty")
	case strings.HasPrefix(magic, string(begins)):
		return r.invalid("it ends after %d bytes, and the rest is missing; take another copy of it", len(begins))
	case strings.HasPrefix(first, prefix):
		return r.invalid("it is a %q, and this version reads %q; use the version that wrote it", first, strings.TrimSpace(magic))
	default:
		return r.invalid("it is no snapshot: it begins with %q", begins)
	}
	read, err := r.from.Discard(len(magic))
	r.sum.Write(begins[:read]) // never fails
	r.at += int64(read)
	return err
}

// next reads a frame of a given kind.
func (r *Reader) next(kind byte, most int) ([]byte, error) {
	r.frame = r.frame[:0]
	head, err := r.take(before)
	if err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint32(head[1:]))
	if head[0] != kind || length > most {
		return nil, r.invalid("it is damaged at byte %d: where a part of kind %c and of up to %d bytes is due, there is one of kind %q and of %d bytes", r.at-before, kind, most, head[0], length)
	}
	rest, err := r.take(length + behind)
	if err != nil {
		return nil, err
	}
	if frame := r.frame[:before+length]; crc32.Checksum(frame, castagnoli()) != binary.BigEndian.Uint32(rest[length:]) {
		return nil, r.invalid("it is damaged between bytes %d and %d: what is there has another checksum", r.at-int64(len(r.frame)), r.at)
	}
	if kind != frameEnd {
		r.sum.Write(r.frame) // never fails
	}
	return rest[:length], nil
}

// take reads count more bytes of the frame.
func (r *Reader) take(count int) ([]byte, error) {
	from := len(r.frame)
	r.frame = append(r.frame, make([]byte, count)...)
	read, err := io.ReadFull(r.from, r.frame[from:])
	r.at += int64(read)
	switch {
	case err == nil:
		return r.frame[from:], nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.invalid("it ends after %d bytes, and the rest is missing; take another copy of it", r.at)
	}
	return nil, fmt.Errorf("read a snapshot: %w", err)
}

// end reads the end frame, and checks that nothing follows.
func (r *Reader) end() error {
	want := r.sum.Sum(nil)
	is, err := r.next(frameEnd, sha256.Size)
	if err != nil {
		return err
	}
	if !bytes.Equal(is, want) {
		return r.invalid("its checksum says %x, and what was read has %x: it has been changed, or put together of two", is, want)
	}
	if _, err := r.from.ReadByte(); err == nil {
		return r.invalid("more follows its end at byte %d", r.at)
	} else if !errors.Is(err, io.EOF) {
		return fmt.Errorf("read a snapshot: %w", err)
	}
	return io.EOF
}

func (r *Reader) invalid(format string, values ...any) error {
	return fmt.Errorf(format+": %w", append(values, ErrInvalid)...)
}
