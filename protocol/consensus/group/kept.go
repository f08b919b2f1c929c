package group

import (
	"encoding/binary"
	"fmt"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Kept is the contents of a member's journal at its start.
type Kept struct {
	// State is that of the latest Write with one; nil if there was none.
	State []byte
	// Snapshot is the position of the snapshot; at the first start of a first voter the Founding one. The zero Mark is
	// that of a member that will receive everything.
	Snapshot Mark
	// Records are the entries after it, in order, each as in a Write. Those in the snapshot are skipped.
	Records [][]byte
}

// Write is a write for the journal, atomic: entries from First on replace all entries from First on; a State and a
// Snapshot replace the previous ones. With a Snapshot all entries are removed: the log restarts after it.
type Write struct {
	ID       uint64
	First    uint64
	Records  [][]byte
	State    []byte
	Snapshot *Mark
	// Before is, for a Write with Records and a State, the State to use until all Records are there, for a journal that
	// splits a Write into several parts, the Snapshot first: it commits no entry that may be missing.
	Before []byte
}

// Append writes a mark behind b, as ReadMark reads it.
func (m *Mark) Append(b []byte) []byte {
	c := wire.To(b)
	m.Code(&c)
	return c.Appended()
}

// ReadMark reads a mark, and nothing more.
func ReadMark(b []byte) (m Mark, err error) {
	c := wire.From(b)
	m.Code(&c)
	if err := c.End(); err != nil {
		return Mark{}, fmt.Errorf("read a mark: %w", err)
	}
	return m, nil
}

// storage is the library's view of the log.
func (k *Kept) storage() (*raft.MemoryStorage, error) {
	log := raft.NewMemoryStorage()
	if k.Snapshot.Index > 0 {
		if err := log.ApplySnapshot(k.Snapshot.raft()); err != nil {
			return nil, fmt.Errorf("take the snapshot at %d: %w", k.Snapshot.Index, err)
		}
	}
	state, err := readState(k.State)
	if err != nil {
		return nil, err
	}
	if state == nil && k.Snapshot.Index > 0 {
		state = &hardState{term: k.Snapshot.Term, commit: k.Snapshot.Index}
	}
	index, term := k.Snapshot.Index, k.Snapshot.Term
	var entries []*raftpb.Entry
	for _, record := range k.Records {
		e, err := readRecord(record)
		if err != nil {
			return nil, err
		}
		if e.Index <= k.Snapshot.Index {
			continue // it was kept for members that are behind
		}
		if index++; e.Index != index || e.Term < term {
			return nil, fmt.Errorf("entry %d of term %d is there in the place of entry %d of a term of at least %d: %w", e.Index, e.Term, index, term, wire.ErrMalformed)
		}
		term = e.Term
		entries = append(entries, e.raft())
	}
	if err := log.Append(entries); err != nil {
		return nil, fmt.Errorf("take the entries: %w", err)
	}
	if state == nil {
		return log, nil
	}
	if state.commit < k.Snapshot.Index {
		state.commit = k.Snapshot.Index // entries in a snapshot are committed, which may be known before it is recorded
	}
	if state.commit > index || state.term < term {
		return nil, fmt.Errorf("the state says term %d and that %d is committed, and there is a snapshot at %d, and entries until %d of term %d: %w",
			state.term, state.commit, k.Snapshot.Index, index, term, wire.ErrMalformed)
	}
	return log, log.SetHardState(state.raft())
}

// write is the state as it is kept.
func (h *hardState) write() []byte {
	c := wire.To(nil)
	h.code(&c)
	return c.Appended()
}

// readState decodes the result of write; nil for nil.
func readState(b []byte) (*hardState, error) {
	if b == nil {
		return nil, nil
	}
	c, h := wire.From(b), &hardState{}
	h.code(&c)
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("read the state: %w", err)
	}
	return h, nil
}

// record is the entry as it is kept.
func (e *Entry) record() []byte {
	c := wire.To(make([]byte, 0, 1+2*binary.MaxVarintLen64+len(e.Data)))
	e.code(&c)
	return c.Appended()
}

func readRecord(b []byte) (*Entry, error) {
	c, e := wire.From(b), &Entry{}
	e.code(&c)
	if err := c.End(); err != nil {
		return nil, fmt.Errorf("read an entry of %d bytes: %w", len(b), err)
	}
	return e, nil
}
