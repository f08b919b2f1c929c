package sim

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/storage"
)

// ledger is one log of a member's journal, and the chunks of a snapshot in progress. It takes the requests of
// internal/disk/journal (ledger.append, ledger.chunk, ledger.install, Journal.fetch), and no others.
type ledger struct {
	log      uint64
	base     uint64 // the index before its first record
	records  [][]byte
	state    []byte // nil if there is none
	snapshot uint64
	meta     []byte
	chunks   [][]byte

	pending uint64 // the snapshot in progress, and its chunks: a crash discards them
	parts   [][]byte
}

// last is the index of the last record, or the one before the first if there is none.
func (l *ledger) last() uint64 { return l.base + uint64(len(l.records)) }

// do executes a request that changes the log, and copies the data: after the answer the request's bytes belong to the
// machine. An error wraps storage.ErrInvalid, and leaves the log unchanged.
func (l *ledger) do(request any) error {
	switch r := request.(type) {
	case storage.Append:
		return l.append(&r)
	case storage.Chunk:
		return l.chunk(&r)
	case storage.Install:
		return l.install(&r)
	}
	panic(fmt.Sprintf("sim: a log is asked for a %T", request))
}

func (l *ledger) append(a *storage.Append) error {
	if a.First != 0 && (a.First <= l.base || a.First > l.last()+1) {
		return fmt.Errorf("records of log %d from index %d on; it begins at %d and ends at %d, so %d to %d is allowed: %w",
			l.log, a.First, l.base+1, l.last(), l.base+1, l.last()+1, storage.ErrInvalid)
	}
	if a.First != 0 {
		l.records = append(l.records[:a.First-l.base-1], copies(a.Records)...)
	}
	l.replace(a.State)
	return nil
}

// replace makes a state the log's, if there is one.
func (l *ledger) replace(state []byte) {
	if state != nil {
		l.state = append([]byte{}, state...)
	}
}

func (l *ledger) chunk(c *storage.Chunk) error {
	switch {
	case c.Snapshot <= l.snapshot:
		return fmt.Errorf("a chunk of snapshot %d of log %d, which has snapshot %d already; a higher number is allowed: %w", c.Snapshot, l.log, l.snapshot, storage.ErrInvalid)
	case c.Number > l.written(c.Snapshot):
		return fmt.Errorf("chunk %d of snapshot %d of log %d comes before chunk %d; they come in their order, from 0 on, after a crash as well: %w",
			c.Number, c.Snapshot, l.log, l.written(c.Snapshot), storage.ErrInvalid)
	}
	if c.Snapshot != l.pending {
		l.pending, l.parts = c.Snapshot, nil
	}
	data := append([]byte{}, c.Data...)
	if c.Number == uint64(len(l.parts)) {
		l.parts = append(l.parts, data)
	}
	l.parts[c.Number] = data
	return nil
}

// written is the number of chunks of a snapshot in progress.
func (l *ledger) written(snapshot uint64) uint64 {
	if snapshot != l.pending {
		return 0
	}
	return uint64(len(l.parts))
}

func (l *ledger) install(i *storage.Install) error {
	switch written := l.written(i.Snapshot); {
	case i.Snapshot <= l.snapshot:
		return fmt.Errorf("snapshot %d of log %d, which has snapshot %d already; a higher number is allowed: %w", i.Snapshot, l.log, l.snapshot, storage.ErrInvalid)
	case i.Chunks != written:
		return fmt.Errorf("snapshot %d of log %d has %d chunks, and %d were written; all are to be written, and as many named: %w", i.Snapshot, l.log, i.Chunks, written, storage.ErrInvalid)
	case !i.Anew && (i.Drop < l.base || i.Drop > l.last()):
		return fmt.Errorf("records of log %d up to %d; it begins at %d and ends at %d, so %d to %d is allowed, and any where the log begins anew: %w",
			l.log, i.Drop, l.base+1, l.last(), l.base, l.last(), storage.ErrInvalid)
	}
	var chunks [][]byte
	if l.pending == i.Snapshot {
		chunks = l.parts
	}
	if i.Anew {
		l.records = nil
	} else {
		l.records = slices.Clone(l.records[i.Drop-l.base:])
	}
	l.base, l.snapshot, l.meta, l.chunks = i.Drop, i.Snapshot, append([]byte{}, i.Meta...), chunks
	l.forget()
	l.replace(i.State)
	return nil
}

// forget drops a snapshot in progress, and reports whether there was one.
func (l *ledger) forget() bool {
	was := l.pending != 0
	l.pending, l.parts = 0, nil
	return was
}

// fetch reads a chunk. It returns an ErrGone if the log does not have that snapshot.
func (l *ledger) fetch(f *storage.Fetch) ([]byte, error) {
	switch {
	case f.Snapshot == 0 || f.Snapshot != l.snapshot:
		return nil, fmt.Errorf("snapshot %d of log %d, which has snapshot %d: %w", f.Snapshot, l.log, l.snapshot, storage.ErrGone)
	case f.Number >= uint64(len(l.chunks)):
		return nil, fmt.Errorf("chunk %d of snapshot %d of log %d, which has %d, from 0 on: %w", f.Number, f.Snapshot, l.log, len(l.chunks), storage.ErrInvalid)
	}
	return append([]byte{}, l.chunks[f.Number]...), nil
}

// known reports whether the log was ever written.
func (l *ledger) known() bool { return l.last() > 0 || l.snapshot > 0 || l.state != nil }

// kept returns the contents for the next life of the member.
func (l *ledger) kept() storage.Kept {
	return storage.Kept{
		Log: l.log, First: l.base + 1, Records: copies(l.records), State: slices.Clone(l.state),
		Snapshot: l.snapshot, Meta: slices.Clone(l.meta), Chunks: copies(l.chunks),
	}
}

// copies returns copies of all.
func copies(all [][]byte) (list [][]byte) {
	for _, b := range all {
		list = append(list, append([]byte{}, b...))
	}
	return list
}
