package group

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

// Kept is what a member finds in its journal when it starts.
type Kept struct {
	// State is that of the latest Write with one; nil where there was none.
	State []byte
	// Snapshot is where the snapshot stands; at the first start of a first voter the Founding one. The
	// zero Mark is that of a member that is going to be told everything.
	Snapshot Mark
	// Records are the entries behind it, in their order, each as a Write has it. Those that it has are
	// passed over.
	Records [][]byte
}

// Write is one for the journal, done wholly or not at all: entries from First on replace all that is
// there from First on; a State and a Snapshot replace what there was. With a Snapshot all entries go: the
// log begins anew behind it.
type Write struct {
	ID       uint64
	First    uint64
	Records  [][]byte
	State    []byte
	Snapshot *Mark
	// Before is, of a Write with Records and a State, that State as long as not all Records are there, for a
	// journal that writes a Write in several parts, one after the other, the Snapshot first: it says that
	// nothing is committed that may be missing.
	Before []byte
}

// Append writes a mark behind b, as ReadMark and TakeMark read it.
func (m *Mark) Append(b []byte) []byte {
	auto := uint64(0)
	if m.Conf.AutoLeave {
		auto = 1
	}
	for _, n := range [...]uint64{m.Index, m.Term, auto} {
		b = binary.AppendUvarint(b, n)
	}
	for _, ids := range [...][]uint64{m.Conf.Voters, m.Conf.Learners, m.Conf.Outgoing, m.Conf.LearnersNext} {
		b = binary.AppendUvarint(b, uint64(len(ids)))
		for _, id := range ids {
			b = binary.AppendUvarint(b, id)
		}
	}
	return b
}

// ReadMark reads a mark, and nothing beside it.
func ReadMark(b []byte) (Mark, error) {
	m, rest, err := TakeMark(b)
	if err == nil && len(rest) > 0 {
		return Mark{}, fmt.Errorf("%d bytes follow a mark: %w", len(rest), ErrDamaged)
	}
	return m, err
}

// TakeMark takes a mark off b, and returns what is left.
func TakeMark(b []byte) (m Mark, rest []byte, err error) {
	next := func(most uint64) uint64 {
		n, size := binary.Uvarint(b)
		switch {
		case err != nil:
		case size <= 0:
			err = fmt.Errorf("a mark ends early: %w", ErrDamaged)
		case n > most:
			err = fmt.Errorf("a mark with %d, where %d is the most: %w", n, most, ErrDamaged)
		default:
			b = b[size:]
			return n
		}
		return 0
	}
	m.Index, m.Term, m.Conf.AutoLeave = next(math.MaxUint64), next(math.MaxUint64), next(1) == 1
	for _, ids := range [...]*[]uint64{&m.Conf.Voters, &m.Conf.Learners, &m.Conf.Outgoing, &m.Conf.LearnersNext} {
		count := next(uint64(len(b))) // each takes a byte at least
		if count > 0 {
			*ids = make([]uint64, count)
		}
		for i := range *ids {
			(*ids)[i] = next(math.MaxUint64)
		}
	}
	if err != nil {
		return Mark{}, nil, err
	}
	return m, b, nil
}

// ErrDamaged is wrapped by all that is wrong with what is read.
var ErrDamaged = errors.New("damaged")

// storage is what the library reads.
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
		state = &raftpb.HardState{Term: &k.Snapshot.Term, Commit: &k.Snapshot.Index}
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
			return nil, fmt.Errorf("entry %d of term %d stands where that with number %d and a term of at least %d is due: %w", e.Index, e.Term, index, term, ErrDamaged)
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
	if state.GetCommit() < k.Snapshot.Index {
		state.Commit = &k.Snapshot.Index // what is in a snapshot is committed, which may be known before it is written down
	}
	if state.GetCommit() > index || state.GetTerm() < term {
		return nil, fmt.Errorf("the state says term %d and that %d is committed, and there is a snapshot at %d, and entries until %d of term %d: %w",
			state.GetTerm(), state.GetCommit(), k.Snapshot.Index, index, term, ErrDamaged)
	}
	return log, log.SetHardState(state)
}

// writeState is term, vote and commit, each a varint.
func writeState(s *raftpb.HardState) []byte {
	b := binary.AppendUvarint(nil, s.GetTerm())
	b = binary.AppendUvarint(b, s.GetVote())
	return binary.AppendUvarint(b, s.GetCommit())
}

func readState(b []byte) (*raftpb.HardState, error) {
	if b == nil {
		return nil, nil
	}
	n, err := numbers(b, 3)
	if err != nil {
		return nil, fmt.Errorf("the state: %w", err)
	}
	return &raftpb.HardState{Term: &n[0], Vote: &n[1], Commit: &n[2]}, nil
}

// numbers reads so many varints and nothing else.
func numbers(b []byte, count int) (n []uint64, err error) {
	for range count {
		value, size := binary.Uvarint(b)
		if size <= 0 {
			return nil, fmt.Errorf("a number is missing: %w", ErrDamaged)
		}
		n, b = append(n, value), b[size:]
	}
	if len(b) > 0 {
		return nil, fmt.Errorf("%d bytes too many: %w", len(b), ErrDamaged)
	}
	return n, nil
}

// record is an entry: kind, index, term, data.
func record(e *raftpb.Entry) []byte {
	b := append(make([]byte, 0, 1+2*binary.MaxVarintLen64+len(e.GetData())), byte(e.GetType()))
	b = binary.AppendUvarint(b, e.GetIndex())
	b = binary.AppendUvarint(b, e.GetTerm())
	return append(b, e.GetData()...)
}

func readRecord(b []byte) (*Entry, error) {
	if len(b) == 0 || b[0] > byte(raftpb.EntryConfChangeV2) {
		return nil, fmt.Errorf("an entry of %d bytes has no kind: %w", len(b), ErrDamaged)
	}
	e := &Entry{Kind: b[0]}
	rest := b[1:]
	for _, field := range []*uint64{&e.Index, &e.Term} {
		n, size := binary.Uvarint(rest)
		if size <= 0 {
			return nil, fmt.Errorf("an entry of %d bytes ends early: %w", len(b), ErrDamaged)
		}
		*field, rest = n, rest[size:]
	}
	if len(rest) > 0 {
		e.Data = slices.Clone(rest)
	}
	return e, nil
}
