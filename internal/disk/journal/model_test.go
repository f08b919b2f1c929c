package journal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/holdfast-locks/holdfast/storage"
)

// model is what a log must have. It is never changed, but replaced.
type model struct {
	base          uint64
	records       [][]byte // from base+1 on
	state         []byte
	snapshot      uint64
	meta          []byte
	chunks        [][]byte
	pending       uint64 // the snapshot that is being written
	parts         [][]byte
	lastSnapshot  uint64 // the highest number that was ever used
	sinceSnapshot int    // requests
}

func (m *model) last() uint64 { return m.base + uint64(len(m.records)) }

// String is what tell tells.
func (m *model) String() string {
	text := fmt.Sprintf("%d-%d", m.base+1, m.last())
	for i, r := range m.records {
		text += fmt.Sprintf(" %d:%s", m.base+1+uint64(i), short(r))
	}
	if m.state != nil {
		text += fmt.Sprintf(" state %q", m.state)
	}
	if m.snapshot == 0 {
		return text
	}
	text += fmt.Sprintf(" snapshot %d meta %q", m.snapshot, m.meta)
	for _, c := range m.chunks {
		text += " " + short(c)
	}
	return text
}

// after returns what a log has after a request that fits it.
func (m model) after(request any) *model {
	m.sinceSnapshot++
	switch r := request.(type) {
	case storage.Append:
		if r.First > 0 {
			m.records = append(slices.Clone(m.records[:r.First-m.base-1]), r.Records...)
		}
		if r.State != nil {
			m.state = r.State
		}
	case storage.Chunk:
		if r.Snapshot != m.pending {
			m.pending, m.parts, m.lastSnapshot = r.Snapshot, nil, r.Snapshot
		}
		m.parts = append(slices.Clone(m.parts[:r.Number]), r.Data)
	case storage.Install:
		m.snapshot, m.meta, m.chunks = r.Snapshot, r.Meta, m.parts
		if r.Anew {
			m.records = nil
		} else {
			m.records = slices.Clone(m.records[r.Drop-m.base:])
		}
		m.base, m.pending, m.parts, m.sinceSnapshot = r.Drop, 0, nil, 0
		if r.State != nil {
			m.state = r.State
		}
	}
	return &m
}

// crashed returns what a log has after a crash: no snapshot that was being written.
func (m model) crashed() *model {
	m.pending, m.parts = 0, nil
	return &m
}

// next draws a request that fits the log.
func (m *model) next(random *rand.Rand, log, id uint64, most int) any {
	text := func(n int) []byte {
		b := fmt.Appendf(nil, "%06d", id)
		return append(b, bytes.Repeat([]byte{byte(random.Uint32())}, random.IntN(n))...)
	}
	size := 20
	if random.IntN(4) == 0 {
		size = most
	}
	var state []byte
	if random.IntN(2) == 0 {
		state = text(20)
	}
	switch n := random.IntN(20); {
	case m.pending != 0 && n < 4:
		return storage.Chunk{ID: id, Log: log, Snapshot: m.pending, Number: uint64(len(m.parts)), Data: text(size)}
	case m.pending != 0 && n < 7 && len(m.parts) > 0:
		i := storage.Install{ID: id, Log: log, Snapshot: m.pending, Chunks: uint64(len(m.parts)), Meta: text(20), State: state}
		if i.Anew = random.IntN(4) == 0; i.Anew {
			i.Drop = m.last() + random.Uint64N(5)
		} else {
			i.Drop = m.base + random.Uint64N(uint64(len(m.records))+1)
		}
		return i
	case m.sinceSnapshot > 12 && n < 5:
		return storage.Chunk{ID: id, Log: log, Snapshot: m.lastSnapshot + 1, Data: text(size)}
	}
	a := storage.Append{ID: id, Log: log, First: m.last() + 1, State: state}
	if random.IntN(4) == 0 && len(m.records) > 0 { // another leader's records
		a.First -= random.Uint64N(uint64(len(m.records)) + 1)
	}
	for range random.IntN(4) {
		a.Records = append(a.Records, text(size))
	}
	return a
}
