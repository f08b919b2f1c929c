package journal

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// Log is the recovered content of a log.
type Log struct {
	// First and Last are the indices of its records: Last is First-1 if there are none. A log that was never written
	// begins at 1.
	First, Last uint64
	State       []byte // nil if there is none
	Snapshot    uint64 // its number; 0 if there is none
	Chunks      uint64 // of the snapshot
	Meta        []byte // of the snapshot

	journal *Journal
	log     uint64
	head    []byte
}

// Record is one record of a log.
type Record struct {
	Index uint64
	Data  []byte // a copy
}

// Recover returns the content of a log. It is for the start: concurrent requests may or may not be included.
func (j *Journal) Recover(log uint64) (*Log, error) {
	l := &Log{journal: j, log: log}
	err := j.look(func(db *pebble.Snapshot) (err error) {
		var h head
		if h, l.head, err = j.readHead(db, log); err != nil {
			return err
		}
		l.First, l.Last, l.State = h.base+1, h.last, h.state
		if h.snapshot == 0 {
			return nil
		}
		s, err := j.readSnapshot(db, log, h.snapshot)
		l.Snapshot, l.Chunks, l.Meta = s.number, s.chunks, s.meta
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("recover log %d: %w", log, err)
	}
	return l, nil
}

// Records yields the records, in order, each verified. An error ends it. It is an ErrInvalid if the log was written to
// since it was recovered.
func (l *Log) Records() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		stopped := false
		err := l.journal.look(func(db *pebble.Snapshot) error {
			h, found, err := l.journal.readHead(db, l.log)
			if err != nil {
				return err
			}
			if !slices.Equal(found, l.head) {
				return fmt.Errorf("it was written to since; read the records before that: %w", storage.ErrInvalid)
			}
			return l.journal.readRecords(db, l.log, &h, func(r Record) bool {
				stopped = !yield(r, nil)
				return !stopped
			})
		})
		if err != nil && !stopped {
			yield(Record{}, fmt.Errorf("read the records of log %d: %w", l.log, err))
		}
	}
}

// look calls f with a consistent view of the database. Damage that it finds fails the journal.
func (j *Journal) look(f func(*pebble.Snapshot) error) (err error) {
	j.use.RLock()
	defer j.use.RUnlock()
	if err := j.disk.broken(); err != nil {
		return fmt.Errorf("%w: %w", j.because(err), storage.ErrRefused)
	}
	if j.db == nil {
		return fmt.Errorf("the journal in folder %q was closed: %w", j.folder, storage.ErrInvalid)
	}
	db := j.db.NewSnapshot()
	err = errors.Join(f(db), db.Close())
	if corrupt := (*CorruptError)(nil); errors.As(err, &corrupt) {
		j.disk.fail(corrupt)
	}
	return err
}

// get calls see with the value at a key, if it exists. Found is its checksum.
func (j *Journal) get(db *pebble.Snapshot, part string, log, index uint64, at []byte, see func(content []byte, sum uint32) error) (bool, error) {
	value, closer, err := db.Get(at)
	if errors.Is(err, pebble.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, j.unreadable(part, log, index, err)
	}
	content, sum, err := unseal(0, at, value)
	if err == nil {
		err = see(content, sum)
	}
	if err = errors.Join(err, closer.Close()); err != nil {
		return true, j.corrupt(part, log, index, err)
	}
	return true, nil
}

// unreadable distinguishes damage from a disk that does not read.
func (j *Journal) unreadable(part string, log, index uint64, err error) error {
	if pebble.IsCorruptionError(err) || j.disk.broken() == nil {
		return j.corrupt(part, log, index, err)
	}
	return fmt.Errorf("read %s: %w", part, err)
}

func (j *Journal) corrupt(part string, log, index uint64, err error) error {
	return &CorruptError{j.folder, part, log, index, err}
}

// readHead returns the head of a log, and its bytes: that of an empty log if there is none.
func (j *Journal) readHead(db *pebble.Snapshot, log uint64) (h head, written []byte, err error) {
	_, err = j.get(db, partHead, log, 0, key(headKind, log), func(content []byte, _ uint32) (err error) {
		h, err = decodeHead(content)
		written = slices.Clone(content)
		return err
	})
	return h, written, err
}

// readSnapshot returns the snapshot of a log whose head has its sum.
func (j *Journal) readSnapshot(db *pebble.Snapshot, log uint64, want uint32) (s snapshot, err error) {
	there, err := j.get(db, partSnapshot, log, 0, key(snapshotKind, log), func(content []byte, sum uint32) (err error) {
		if sum != want {
			return fmt.Errorf("its checksum is %08x, and the log's head names %08x", sum, want)
		}
		s, err = decodeSnapshot(content)
		return err
	})
	if err == nil && !there {
		err = j.corrupt(partSnapshot, log, 0, errors.New("it is missing"))
	}
	return s, err
}

// readRecords calls see with each record of a log, while it returns true.
func (j *Journal) readRecords(db *pebble.Snapshot, log uint64, h *head, see func(Record) bool) (err error) {
	if h.last == h.base {
		return nil
	}
	records, err := db.NewIter(&pebble.IterOptions{LowerBound: key(recordKind, log, h.base+1), UpperBound: key(recordKind, log, h.last+1)})
	if err != nil {
		return j.unreadable(partRecord, log, h.base+1, err)
	}
	defer func() { err = errors.Join(err, records.Close()) }()
	sum, next := h.baseSum, h.base+1
	for ok := records.First(); ok; ok = records.Next() {
		_, numbers, err := parseKey(records.Key())
		if err != nil || numbers[1] != next {
			return j.corrupt(partRecord, log, next, fmt.Errorf("it is missing; the next key is %x", records.Key()))
		}
		value, err := records.ValueAndErr()
		if err != nil {
			return j.unreadable(partRecord, log, next, err)
		}
		var data []byte
		if data, sum, err = unseal(sum, records.Key(), value); err != nil {
			return j.corrupt(partRecord, log, next, err)
		}
		if next == h.last && sum != h.lastSum {
			return j.corrupt(partRecord, log, next, fmt.Errorf("its checksum is %08x, and the log's head names %08x", sum, h.lastSum))
		}
		if !see(Record{next, append([]byte{}, data...)}) {
			return nil
		}
		next++
	}
	if err := records.Error(); err != nil {
		return j.unreadable(partRecord, log, next, err)
	}
	if next <= h.last {
		return j.corrupt(partRecord, log, next, fmt.Errorf("it is missing, and so is all up to %d", h.last))
	}
	return nil
}

// read answers fetches until the end.
func (j *Journal) read() {
	defer j.reader.Done()
	for {
		group, _ := j.fetches.take(0)
		if len(group) == 0 {
			return
		}
		f := group[0].request.(storage.Fetch)
		answer := storage.Fetched{ID: f.ID}
		answer.Data, answer.Err = j.fetch(f)
		j.fetches.done(group)
		group[0].answer(answer)
	}
}

// fetch reads a chunk. A read after Close is refused.
func (j *Journal) fetch(f storage.Fetch) (data []byte, err error) {
	err = j.look(func(db *pebble.Snapshot) error {
		h, _, err := j.readHead(db, f.Log)
		if err != nil {
			return err
		}
		var s snapshot
		if h.snapshot != 0 {
			if s, err = j.readSnapshot(db, f.Log, h.snapshot); err != nil {
				return err
			}
		}
		switch {
		case s.number != f.Snapshot || f.Snapshot == 0:
			return fmt.Errorf("snapshot %d of log %d, which has snapshot %d: %w", f.Snapshot, f.Log, s.number, storage.ErrGone)
		case f.Number >= s.chunks:
			return fmt.Errorf("chunk %d of snapshot %d of log %d, which has %d, from 0 on: %w", f.Number, f.Snapshot, f.Log, s.chunks, storage.ErrInvalid)
		}
		there, err := j.get(db, partChunk, f.Log, f.Number, key(chunkKind, f.Log, f.Snapshot, f.Number), func(content []byte, _ uint32) error {
			data = append([]byte{}, content...)
			return nil
		})
		if err == nil && !there {
			err = j.corrupt(partChunk, f.Log, f.Number, errors.New("it is missing"))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("fetch a chunk: %w", err)
	}
	return data, nil
}

// Kept returns the whole content of a log, including its snapshot, and whether there is any, to build the log's
// machine. It is for the start, like Recover.
func (j *Journal) Kept(log uint64) (kept storage.Kept, known bool, err error) {
	l, err := j.Recover(log)
	if err != nil {
		return kept, false, err
	}
	kept = storage.Kept{Log: log, First: l.First, State: l.State, Snapshot: l.Snapshot, Meta: l.Meta}
	for record, err := range l.Records() {
		if err != nil {
			return kept, false, err
		}
		kept.Records = append(kept.Records, record.Data)
	}
	for number := range l.Chunks {
		chunk, err := j.fetch(storage.Fetch{Log: log, Snapshot: l.Snapshot, Number: number})
		if err != nil {
			return kept, false, err
		}
		kept.Chunks = append(kept.Chunks, chunk)
	}
	return kept, l.Last > 0 || l.Snapshot > 0 || l.State != nil, nil
}
