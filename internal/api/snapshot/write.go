package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// Writer writes a file. Call [Writer.Shard] for each shard, followed by its parts.
type Writer struct {
	to     io.Writer
	sum    hash.Hash
	frame  []byte // reused
	shards int    // remaining shards
	parts  int    // remaining parts of the latest shard
}

// NewWriter begins a file. Its error is that of to.
func NewWriter(to io.Writer, h *Header) (*Writer, error) {
	w := &Writer{to: to, sum: sha256.New(), shards: h.Shards}
	if err := w.write([]byte(magic)); err != nil {
		return nil, err
	}
	return w, w.text(frameHeader, h)
}

// Shard begins a shard.
func (w *Writer) Shard(s *Shard) error {
	if w.shards == 0 || w.parts != 0 {
		return fmt.Errorf("snapshot: shard %d comes while %d parts of the one before and %d shards are due", s.Shard, w.parts, w.shards)
	}
	w.shards, w.parts = w.shards-1, s.Parts
	return w.text(frameShard, s)
}

// Part writes a part of the latest shard.
func (w *Writer) Part(part []byte) error {
	if w.parts == 0 || len(part) > MaxPart {
		return fmt.Errorf("snapshot: a part of %d bytes comes where %d are due of at most %d bytes", len(part), w.parts, MaxPart)
	}
	w.parts--
	return w.append(framePart, part)
}

// End ends the file.
func (w *Writer) End() error {
	if w.shards != 0 || w.parts != 0 {
		return fmt.Errorf("snapshot: %d shards and %d parts are due before the end", w.shards, w.parts)
	}
	return w.append(frameEnd, w.sum.Sum(nil))
}

func (w *Writer) text(kind byte, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("snapshot: encode %T: %w", content, err)
	}
	return w.append(kind, text)
}

func (w *Writer) append(kind byte, content []byte) error {
	b := append(w.frame[:0], kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(content)))
	b = append(b, content...)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli()))
	w.frame = b
	return w.write(b)
}

func (w *Writer) write(b []byte) error {
	w.sum.Write(b) // never fails
	if _, err := w.to.Write(b); err != nil {
		return fmt.Errorf("write a snapshot: %w", err)
	}
	return nil
}
