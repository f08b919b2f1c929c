package shard

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

// request is something that the journal was asked.
type request struct {
	write  uint64   // of the group, which is written with it; 0 for none
	made   *making  // our own snapshot: a chunk, or the end of it when it has no copy any more
	taken  *taking  // another member's: a chunk
	sent   *sending // a part is to be sent
	number uint64   // of the chunk
}

// askJournal sends the journal the request that put makes of its number, and records the purpose of the answer.
func (s *Shard) askJournal(r request, put func(id uint64) any, out *Output) {
	s.lastRequest++
	s.journal[s.lastRequest] = r
	out.Journal = append(out.Journal, put(s.lastRequest))
}

// write has the journal keep the group's write.
func (s *Shard) write(w *group.Write, out *Output) {
	if w.Snapshot != nil {
		mark, t := w.Snapshot, s.taking
		if t == nil || t.index != mark.Index {
			panic(fmt.Sprintf("shard: the group keeps the snapshot at %d, which was not taken", mark.Index))
		}
		chunks := t.parts
		s.taking, s.keeping = nil, t
		state := w.State
		if w.Before != nil {
			state = w.Before
		}
		done := w.ID
		if len(w.Records) > 0 {
			done = 0
		}
		s.unmake() // it is older
		s.askJournal(request{write: done}, func(id uint64) any {
			return storage.Install{ID: id, Log: s.config.Log, Snapshot: t.number, Chunks: chunks, Meta: mark.Append(nil), State: state, Drop: mark.Index, Anew: true}
		}, out)
		s.snapshot, s.parts, s.dropped, s.number, s.weighs = mark.Index, chunks, mark.Index, t.number, t.bytes
		s.logged = 0
		if done != 0 {
			return
		}
	}
	s.append(w, out)
}

// append writes a group's records, in as many parts as the journal takes.
func (s *Shard) append(w *group.Write, out *Output) {
	first, records, state := w.First, w.Records, w.Before
	for {
		count, size := 0, 0
		for count < len(records) && (count == 0 || size+len(records[count]) <= s.config.Append) {
			size += len(records[count])
			count++
		}
		s.logged += uint64(size)
		part := storage.Append{Log: s.config.Log, First: first, Records: records[:count:count], State: state}
		of := request{}
		if records = records[count:]; len(records) == 0 {
			of, part.State = request{write: w.ID}, w.State
		}
		s.askJournal(of, func(id uint64) any { part.ID = id; return part }, out)
		if len(records) == 0 {
			return
		}
		first, state = first+uint64(count), nil
	}
}

// Stored handles an answer of the journal. If the journal has failed, so has the shard.
func (s *Shard) Stored(now protocol.Time, answer any, out *Output) {
	var id uint64
	var err error
	var data []byte
	switch a := answer.(type) {
	case storage.Appended:
		id, err = a.ID, a.Err
	case storage.Chunked:
		id, err = a.ID, a.Err
	case storage.Installed:
		id, err = a.ID, a.Err
	case storage.Fetched:
		id, data = a.ID, a.Data
		if a.Err != nil { // it has another snapshot by now
			data = nil
		}
	}
	r, known := s.journal[id]
	if !known || s.failed != nil {
		return
	}
	delete(s.journal, id)
	if err != nil {
		s.failed = fmt.Errorf("the journal has failed: %w", err)
		return
	}
	switch {
	case r.write != 0:
		if !protocol.Mutated("what is acknowledged is synced") { // then it was acknowledged when it was asked for
			s.group.Written(now, r.write, &s.groupOutput)
		}
	case r.made != nil:
		s.made(r.made, out)
	case r.taken != nil && r.taken == s.taking:
		s.took(now, out)
	case r.sent != nil:
		s.fetched(now, r.sent, r.number, data, out)
	}
	s.settle(now, out)
}

// making is a snapshot of our own that is being written, a part at a time while entries are applied.
type making struct {
	mark   group.Mark
	number uint64 // the journal's
	copy   *replica.Copy
	bytes  uint64 // of the parts
	next   uint64 // to request
	more   bool   // parts follow
	keep   uint64 // how many entries before it stay
}

// waited is the maximum growth of the log, in units of Every, while a slow member, for example a distant one, catches
// up. The snapshot that it receives stays unchanged, and so do the entries after it. Without them it would need another
// snapshot as soon as it has one, and so on forever.
const waited = 8

// make begins a snapshot if the log has grown.
func (s *Shard) make(out *Output) {
	if s.making == nil && s.grown() {
		s.begin()
	}
	if m := s.making; m != nil && m.next == 0 {
		s.chunk(m, out)
	}
}

// grown reports whether the log has grown enough for another snapshot.
func (s *Shard) grown() bool {
	behind := s.group.Behind()
	return behind >= s.config.Every && s.logged >= s.weighs/2 && (!s.brings() || behind >= waited*s.config.Every)
}

// begin begins to copy the state.
func (s *Shard) begin() {
	mark := s.group.Mark()
	if s.taking != nil && s.taking.index <= mark.Index {
		s.taking = nil // the entries have come, and what brought it has gone
	}
	if s.making != nil || s.taking != nil || s.keeping != nil || mark.Index <= s.snapshot {
		return
	}
	s.series++
	s.making = &making{mark: mark, number: s.series, copy: s.replica.Copy(), more: true}
	s.logged = 0
}

// unmake drops an unfinished snapshot.
func (s *Shard) unmake() {
	if s.making != nil && s.making.copy != nil {
		s.making.copy.Stop()
	}
	s.making = nil
}

// chunk writes the next part, or installs the written ones.
func (s *Shard) chunk(m *making, out *Output) {
	number := m.next
	if m.more {
		var part []byte
		part, m.more = m.copy.Next()
		m.next++
		m.bytes += uint64(len(part))
		s.askJournal(request{made: m}, func(id uint64) any {
			return storage.Chunk{ID: id, Log: s.config.Log, Snapshot: m.number, Number: number, Data: part}
		}, out)
		return
	}
	m.keep = s.config.Keep
	if !protocol.Mutated("a slow member catches up") {
		m.keep = max(m.keep, s.group.Lag(m.mark.Index, waited*s.config.Every))
	}
	drop := m.mark.Index - min(m.mark.Index, m.keep)
	m.copy = nil
	if protocol.Mutated("a snapshot is of its beginning") {
		m.mark = s.group.Mark()
	}
	s.askJournal(request{made: m}, func(id uint64) any {
		return storage.Install{ID: id, Log: s.config.Log, Snapshot: m.number, Chunks: number, Meta: m.mark.Append(nil), Drop: max(drop, s.dropped)}
	}, out)
}

// made continues a snapshot. An installed one counts, even if another has been received since.
func (s *Shard) made(m *making, out *Output) {
	switch {
	case m.copy != nil:
		if m == s.making {
			s.chunk(m, out)
		}
		return
	case m == s.making:
		s.making = nil
	}
	if m.number > s.number {
		s.snapshot, s.parts, s.number, s.weighs = m.mark.Index, m.next, m.number, m.bytes
		s.dropped = max(s.dropped, s.group.Compact(m.mark, m.keep)-1)
	}
}
