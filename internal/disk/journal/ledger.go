package journal

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// ledger is the writer's state of one log: enough to write without reading.
type ledger struct {
	log uint64
	head
	sum  uint32   // of the head, as counted in the root
	sums []uint32 // of the record before the first, and of all records
	// installed is the number of the log's snapshot.
	installed uint64
	// pending is the number of the snapshot being written, and parts the sums of its chunks.
	pending uint64
	parts   []uint32
	changed bool // the head must be written
}

// batch is a group of requests written at once.
type batch struct {
	*pebble.Batch
	sync bool
}

// set adds content, prefixed with its sum, to the batch, and returns the sum.
func (b *batch) set(before uint32, content []byte, kind byte, numbers ...uint64) (uint32, error) {
	var space [1 + 3*8]byte
	at := appendKey(space[:0], kind, numbers...)
	s := sum(before, at, content)
	op := b.SetDeferred(len(at), sumSize+len(content))
	copy(op.Key, at)
	binary.BigEndian.PutUint32(op.Value, s)
	copy(op.Value[sumSize:], content)
	return s, op.Finish()
}

// append adds an Append to the batch. Its error concerns only the request if it is an ErrInvalid, and the batch
// otherwise.
func (l *ledger) append(b *batch, a *storage.Append) error {
	if a.First != 0 && (a.First <= l.base || a.First > l.last+1) {
		return fmt.Errorf("records of log %d from index %d on; it begins at %d and ends at %d, so %d to %d is allowed: %w",
			l.log, a.First, l.base+1, l.last, l.base+1, l.last+1, storage.ErrInvalid)
	}
	b.sync = true
	if a.First != 0 && a.First <= l.last {
		if err := b.DeleteRange(key(recordKind, l.log, a.First), key(recordKind, l.log, l.last+1), nil); err != nil {
			return fmt.Errorf("remove records: %w", err)
		}
		l.truncate(a.First - 1)
	}
	for i, record := range a.Records {
		s, err := b.set(l.lastSum, record, recordKind, l.log, a.First+uint64(i))
		if err != nil {
			return fmt.Errorf("add a record: %w", err)
		}
		l.sums = append(l.sums, s)
		l.last, l.lastSum = a.First+uint64(i), s
	}
	l.replace(a.State)
	return nil
}

// truncate makes last the last record.
func (l *ledger) truncate(last uint64) {
	l.sums = l.sums[:last-l.base+1]
	l.last, l.lastSum = last, l.sums[last-l.base]
}

// replace sets a new state, which is written with the head. It copies the caller's bytes.
func (l *ledger) replace(state []byte) {
	l.changed = true
	if state != nil {
		l.state = append([]byte{}, state...)
	}
}

// chunk adds a Chunk to the batch.
func (l *ledger) chunk(b *batch, c *storage.Chunk) error {
	switch {
	case c.Snapshot <= l.installed:
		return fmt.Errorf("a chunk of snapshot %d of log %d, which has snapshot %d already; a higher number is allowed: %w", c.Snapshot, l.log, l.installed, storage.ErrInvalid)
	case c.Snapshot == l.pending && c.Number > uint64(len(l.parts)), c.Snapshot != l.pending && c.Number > 0:
		return fmt.Errorf("chunk %d of snapshot %d of log %d comes before chunk %d; write them in their order, from 0 on, after a crash as well: %w",
			c.Number, c.Snapshot, l.log, l.following(c.Snapshot), storage.ErrInvalid)
	}
	if c.Snapshot != l.pending {
		if err := l.giveUp(b); err != nil {
			return err
		}
		l.pending = c.Snapshot
	}
	s, err := b.set(0, c.Data, chunkKind, l.log, c.Snapshot, c.Number)
	if err != nil {
		return fmt.Errorf("add a chunk: %w", err)
	}
	if c.Number == uint64(len(l.parts)) {
		l.parts = append(l.parts, s)
	}
	l.parts[c.Number] = s
	return nil
}

// following returns the next expected chunk of a snapshot.
func (l *ledger) following(snapshot uint64) int {
	if snapshot == l.pending {
		return len(l.parts)
	}
	return 0
}

// giveUp removes the chunks of a snapshot that is not continued.
func (l *ledger) giveUp(b *batch) error {
	if l.pending != 0 {
		if err := b.DeleteRange(key(chunkKind, l.log, l.pending), key(chunkKind, l.log, l.pending+1), nil); err != nil {
			return fmt.Errorf("remove an unfinished snapshot: %w", err)
		}
	}
	l.pending, l.parts = 0, nil
	return nil
}

// refuseInstall returns why an Install does not fit the log.
func (l *ledger) refuseInstall(i *storage.Install) error {
	switch written := uint64(l.following(i.Snapshot)); {
	case i.Snapshot <= l.installed:
		return fmt.Errorf("snapshot %d of log %d, which has snapshot %d already; a higher number is allowed: %w", i.Snapshot, l.log, l.installed, storage.ErrInvalid)
	case i.Chunks != written:
		return fmt.Errorf("snapshot %d of log %d has %d chunks, and %d were written; write all, and name as many: %w", i.Snapshot, l.log, i.Chunks, written, storage.ErrInvalid)
	case !i.Anew && (i.Drop < l.base || i.Drop > l.last):
		return fmt.Errorf("records of log %d up to %d; it begins at %d and ends at %d, so %d to %d is allowed, and any where the log begins anew: %w",
			l.log, i.Drop, l.base+1, l.last, l.base, l.last, storage.ErrInvalid)
	}
	return nil
}

// install adds an Install to the batch.
func (l *ledger) install(b *batch, i *storage.Install) error {
	if err := l.refuseInstall(i); err != nil {
		return err
	}
	b.sync = true
	if l.pending != i.Snapshot {
		if err := l.giveUp(b); err != nil {
			return err
		}
	}
	s := snapshot{number: i.Snapshot, chunks: i.Chunks, meta: i.Meta}
	for _, part := range l.parts {
		s.sums = addSum(s.sums, part)
	}
	sum, err := b.set(0, s.encode(), snapshotKind, l.log)
	if err != nil {
		return fmt.Errorf("add a snapshot: %w", err)
	}
	if l.installed != 0 {
		if err := b.DeleteRange(key(chunkKind, l.log, l.installed), key(chunkKind, l.log, l.installed+1), nil); err != nil {
			return fmt.Errorf("remove the snapshot before: %w", err)
		}
	}
	gone := i.Drop
	if i.Anew {
		gone = l.last
	}
	if gone > l.base {
		if err := b.DeleteRange(key(recordKind, l.log, l.base+1), key(recordKind, l.log, gone+1), nil); err != nil {
			return fmt.Errorf("remove records: %w", err)
		}
	}
	if i.Anew {
		l.sums, l.last, l.baseSum, l.lastSum = []uint32{0}, i.Drop, 0, 0
	} else {
		l.sums = slices.Clone(l.sums[i.Drop-l.base:])
		l.baseSum = l.sums[0]
	}
	l.base, l.snapshot, l.installed, l.pending, l.parts = i.Drop, sum, i.Snapshot, 0, nil
	l.replace(i.State)
	return nil
}

// seal adds the head to the batch, if it has changed, and returns the change of the sum over all heads.
func (l *ledger) seal(b *batch) (uint64, error) {
	if !l.changed {
		return 0, nil
	}
	l.changed = false
	s, err := b.set(0, l.encode(), headKind, l.log)
	if err != nil {
		return 0, fmt.Errorf("write the head of log %d: %w", l.log, err)
	}
	by := uint64(s) - uint64(l.sum)
	l.sum = s
	return by, nil
}
