package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// verifier reads a whole database, in key order, and compares everything with its sums.
type verifier struct {
	folder string
	root   *root
	logs   map[uint64]*ledger
	chunks map[uint64]*chunks // of the logs' snapshots
	heads  uint64             // the sum of the heads' checksums
	// unfinished is set if there are chunks of snapshots that belong to no log yet.
	unfinished bool
	wrong      []*CorruptError
}

// chunks is the state of a snapshot's verification.
type chunks struct {
	snapshot
	found uint64
	sum   uint32
}

// maxWrong bounds the list of faults: beyond that more details are useless.
const maxWrong = 100

// errTooMuch ends a truncated list.
var errTooMuch = errors.New("there is more, which is not listed")

func (v *verifier) blame(part string, log, index uint64, text string, args ...any) {
	switch n := len(v.wrong); {
	case n < maxWrong:
		v.wrong = append(v.wrong, &CorruptError{v.folder, part, log, index, fmt.Errorf(text, args...)})
	case n == maxWrong:
		v.wrong = append(v.wrong, &CorruptError{v.folder, partDatabase, 0, 0, errTooMuch})
	}
}

// verify reads all of db.
func verify(folder string, db pebble.Reader) *verifier {
	v := &verifier{folder: folder, logs: map[uint64]*ledger{}, chunks: map[uint64]*chunks{}}
	all, err := db.NewIter(&pebble.IterOptions{})
	if err != nil {
		v.blame(partDatabase, 0, 0, "%w", err)
		return v
	}
	for ok := all.First(); ok; ok = all.Next() {
		value, err := all.ValueAndErr()
		if err != nil {
			v.blame(partDatabase, 0, 0, "read key %x: %w", all.Key(), err)
			continue
		}
		v.see(all.Key(), value)
	}
	if err := errors.Join(all.Error(), all.Close()); err != nil {
		v.blame(partDatabase, 0, 0, "%w", err)
	}
	v.end()
	return v
}

// see verifies one entry. It keeps neither slice.
func (v *verifier) see(at, value []byte) {
	kind, numbers, err := parseKey(at)
	if err != nil {
		v.blame(partDatabase, 0, 0, "%w", err)
		return
	}
	log := numbers[0]
	switch kind {
	case rootKind:
		content, _, err := unseal(0, at, value)
		if err == nil {
			var r root
			if r, err = decodeRoot(content); err == nil {
				v.root = &r
			}
		}
		if err != nil {
			v.blame(partRoot, 0, 0, "%w", err)
		}
	case headKind:
		v.seeHead(log, at, value)
	case snapshotKind:
		v.seeSnapshot(log, at, value)
	case recordKind:
		v.seeRecord(log, numbers[1], at, value)
	case chunkKind:
		v.seeChunk(log, numbers[1], numbers[2], at, value)
	}
}

func (v *verifier) seeHead(log uint64, at, value []byte) {
	content, s, err := unseal(0, at, value)
	var h head
	if err == nil {
		h, err = decodeHead(content)
	}
	if err != nil {
		v.blame(partHead, log, 0, "%w", err)
		return
	}
	v.heads += uint64(s)
	v.logs[log] = &ledger{log: log, head: h, sum: s, sums: []uint32{h.baseSum}}
}

func (v *verifier) seeSnapshot(log uint64, at, value []byte) {
	l := v.logs[log]
	if l == nil {
		v.blame(partSnapshot, log, 0, "the log has no head, or one that is wrong itself")
		return
	}
	content, sum, err := unseal(0, at, value)
	var s snapshot
	if err == nil {
		s, err = decodeSnapshot(content)
	}
	switch {
	case err != nil:
		v.blame(partSnapshot, log, 0, "%w", err)
	case sum != l.snapshot:
		v.blame(partSnapshot, log, 0, "its checksum is %08x, and the log's head names %08x", sum, l.snapshot)
	default:
		l.installed = s.number
		v.chunks[log] = &chunks{snapshot: s}
	}
}

func (v *verifier) seeRecord(log, index uint64, at, value []byte) {
	l := v.logs[log]
	if l == nil {
		v.blame(partRecord, log, index, "the log has no head, or one that is wrong itself")
		return
	}
	next := l.base + uint64(len(l.sums))
	if index <= l.base || index > l.last {
		v.blame(partRecord, log, index, "the log has records %d to %d", l.base+1, l.last)
		return
	}
	if index != next {
		v.blame(partRecord, log, next, "it is missing; the next one that is there is %d", index)
		// Data after a gap cannot be compared.
		l.sums = append(l.sums, make([]uint32, index-next)...)
	}
	_, written, err := unseal(l.sums[len(l.sums)-1], at, value)
	if err != nil && index == next {
		v.blame(partRecord, log, index, "%w", err)
	}
	l.sums = append(l.sums, written)
}

func (v *verifier) seeChunk(log, number, n uint64, at, value []byte) {
	c := v.chunks[log]
	if l := v.logs[log]; l != nil && number <= l.installed && (c == nil || c.number != number) {
		v.blame(partChunk, log, n, "it is of snapshot %d, and the log has snapshot %d", number, l.installed)
		return
	}
	if c == nil || c.number != number {
		v.unfinished = true
		return
	}
	_, written, err := unseal(0, at, value)
	switch {
	case n >= c.chunks:
		v.blame(partChunk, log, n, "snapshot %d has %d chunks", number, c.chunks)
		return
	case n != c.found:
		v.blame(partChunk, log, c.found, "it is missing; the next one of snapshot %d that is there is %d", number, n)
	case err != nil:
		v.blame(partChunk, log, n, "it is of snapshot %d: %w", number, err)
	}
	c.found, c.sum = n+1, addSum(c.sum, written)
}

// end checks for data missing at the very end.
func (v *verifier) end() {
	switch {
	case v.root == nil:
		if len(v.wrong) == 0 {
			v.blame(partRoot, 0, 0, "it is missing")
		}
	case v.root.heads != v.heads:
		v.blame(partRoot, 0, 0, "it vouches for heads with the sum %x, and those that are there have %x: some are missing, or not the latest", v.root.heads, v.heads)
	}
	for _, log := range slices.Sorted(maps.Keys(v.logs)) {
		l, c := v.logs[log], v.chunks[log]
		switch found := l.base + uint64(len(l.sums)) - 1; {
		case found < l.last:
			v.blame(partRecord, log, found+1, "it is missing, and so is all up to %d", l.last)
		case l.sums[len(l.sums)-1] != l.lastSum:
			v.blame(partRecord, log, l.last, "its checksum is %08x, and the log's head names %08x", l.sums[len(l.sums)-1], l.lastSum)
		}
		switch {
		case c == nil && l.snapshot != 0 && !v.blamed(partSnapshot, log):
			v.blame(partSnapshot, log, 0, "it is missing")
		case c != nil && c.found < c.chunks:
			v.blame(partChunk, log, c.found, "it is missing; snapshot %d has %d", c.number, c.chunks)
		case c != nil && c.sum != c.sums:
			v.blame(partSnapshot, log, 0, "the sum of its chunks is %08x, and it names %08x", c.sum, c.sums)
		}
	}
}

// blamed reports whether that part was already found faulty.
func (v *verifier) blamed(part string, log uint64) bool {
	return slices.ContainsFunc(v.wrong, func(e *CorruptError) bool { return e.Part == part && e.Log == log })
}
