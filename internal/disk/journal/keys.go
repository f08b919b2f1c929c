package journal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The first byte of a database key is its kind, in the order of verification: each kind vouches for later ones.
const (
	rootKind     = 0x00 // alone
	headKind     = 0x01 // followed by the log
	snapshotKind = 0x02 // followed by the log
	recordKind   = 0x03 // followed by the log and the index
	chunkKind    = 0x04 // followed by the log, the snapshot and the number
	endKind      = 0x05 // end of the key space
)

// numbersOf returns how many numbers of eight bytes follow a kind.
func numbersOf(kind byte) int {
	return [...]int{rootKind: 0, headKind: 1, snapshotKind: 1, recordKind: 2, chunkKind: 3}[kind]
}

// key makes a key: numbers are big endian, so that records are in order.
func key(kind byte, numbers ...uint64) []byte {
	return appendKey(make([]byte, 0, 1+8*len(numbers)), kind, numbers...)
}

func appendKey(b []byte, kind byte, numbers ...uint64) []byte {
	b = append(b, kind)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

// parseKey decodes a key. Numbers that the kind does not have are 0.
func parseKey(b []byte) (kind byte, numbers [3]uint64, err error) {
	if len(b) == 0 || b[0] >= endKind || len(b) != 1+8*numbersOf(b[0]) {
		return 0, numbers, fmt.Errorf("a key %x; it has none of the forms that a journal writes", b)
	}
	for i := range numbersOf(b[0]) {
		numbers[i] = binary.BigEndian.Uint64(b[1+8*i:])
	}
	return b[0], numbers, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sumSize = 4

// sum is the checksum over a key, the preceding sum, and the content.
func sum(before uint32, at, content []byte) uint32 {
	var b [1 + 3*8 + 8 + sumSize]byte
	n := copy(b[:], at)
	binary.BigEndian.PutUint64(b[n:], uint64(len(content)))
	binary.BigEndian.PutUint32(b[n+8:], before)
	return crc32.Update(crc32.Checksum(b[:n+8+sumSize], castagnoli), castagnoli, content)
}

// sealed returns content prefixed with its sum.
func sealed(before uint32, at, content []byte) ([]byte, uint32) {
	s := sum(before, at, content)
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, sumSize+len(content)), s), content...), s
}

// unseal returns the content of a value at a key, and its sum. The content is a part of value.
func unseal(before uint32, at, value []byte) ([]byte, uint32, error) {
	if len(value) < sumSize {
		return nil, 0, fmt.Errorf("it has %d bytes; its checksum alone has %d", len(value), sumSize)
	}
	written, content := binary.BigEndian.Uint32(value), value[sumSize:]
	if found := sum(before, at, content); found != written {
		return content, written, fmt.Errorf("its checksum is %08x, and that of what is there %08x", written, found)
	}
	return content, written, nil
}

// root vouches for all heads.
type root struct {
	batches  uint64 // number of batches written
	synced   uint64 // number of them synced before this one was written
	heads    uint64 // the sum of the checksums of all heads
	identity uint32 // the checksum of the identity
}

const rootSize = 8 + 8 + 8 + 4

func (r *root) encode() []byte {
	b := make([]byte, 0, rootSize)
	b = binary.BigEndian.AppendUint64(b, r.batches)
	b = binary.BigEndian.AppendUint64(b, r.synced)
	b = binary.BigEndian.AppendUint64(b, r.heads)
	return binary.BigEndian.AppendUint32(b, r.identity)
}

func decodeRoot(b []byte) (root, error) {
	if len(b) != rootSize {
		return root{}, fmt.Errorf("it has %d bytes; there must be %d", len(b), rootSize)
	}
	return root{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:]), binary.BigEndian.Uint32(b[24:])}, nil
}

// head is the summary of a log.
type head struct {
	base     uint64 // the log begins after it
	last     uint64 // its last index; base, if it has no records
	baseSum  uint32 // seed of the first record's sum
	lastSum  uint32 // the sum of the last record
	snapshot uint32 // sum of the snapshot; 0 if there is none
	state    []byte // nil if there is none
}

const headSize = 8 + 8 + 4 + 4 + 4 + 1

func (h *head) encode() []byte {
	b := make([]byte, 0, headSize+len(h.state))
	b = binary.BigEndian.AppendUint64(b, h.base)
	b = binary.BigEndian.AppendUint64(b, h.last)
	b = binary.BigEndian.AppendUint32(b, h.baseSum)
	b = binary.BigEndian.AppendUint32(b, h.lastSum)
	b = binary.BigEndian.AppendUint32(b, h.snapshot)
	if h.state == nil {
		return append(b, 0)
	}
	return append(append(b, 1), h.state...)
}

func decodeHead(b []byte) (head, error) {
	if len(b) < headSize || b[headSize-1] > 1 || b[headSize-1] == 0 && len(b) > headSize {
		return head{}, fmt.Errorf("its %d bytes are not a head", len(b))
	}
	h := head{
		base: binary.BigEndian.Uint64(b), last: binary.BigEndian.Uint64(b[8:]),
		baseSum: binary.BigEndian.Uint32(b[16:]), lastSum: binary.BigEndian.Uint32(b[20:]), snapshot: binary.BigEndian.Uint32(b[24:]),
	}
	if b[headSize-1] == 1 {
		h.state = append([]byte{}, b[headSize:]...)
	}
	if h.last < h.base || h.last == h.base && h.lastSum != h.baseSum {
		return head{}, fmt.Errorf("it begins behind %d and ends at %d, with checksums %08x and %08x, which does not fit", h.base, h.last, h.baseSum, h.lastSum)
	}
	return h, nil
}

// snapshot is the summary of a log's snapshot.
type snapshot struct {
	number uint64
	chunks uint64
	sums   uint32 // over the sums of all chunks
	meta   []byte
}

const snapshotSize = 8 + 8 + 4

func (s *snapshot) encode() []byte {
	b := make([]byte, 0, snapshotSize+len(s.meta))
	b = binary.BigEndian.AppendUint64(b, s.number)
	b = binary.BigEndian.AppendUint64(b, s.chunks)
	b = binary.BigEndian.AppendUint32(b, s.sums)
	return append(b, s.meta...)
}

func decodeSnapshot(b []byte) (snapshot, error) {
	if len(b) < snapshotSize {
		return snapshot{}, fmt.Errorf("it has %d bytes; there must be %d or more", len(b), snapshotSize)
	}
	s := snapshot{number: binary.BigEndian.Uint64(b), chunks: binary.BigEndian.Uint64(b[8:]), sums: binary.BigEndian.Uint32(b[16:])}
	s.meta = append([]byte{}, b[snapshotSize:]...)
	if s.number == 0 {
		return snapshot{}, fmt.Errorf("it has the number 0; snapshots are numbered from 1 on")
	}
	return s, nil
}

// addSum adds the sum of a chunk to that of all before it.
func addSum(before, chunk uint32) uint32 {
	var b [sumSize]byte
	binary.BigEndian.PutUint32(b[:], chunk)
	return crc32.Update(before, castagnoli, b[:])
}
