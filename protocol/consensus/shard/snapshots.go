package shard

import (
	"fmt"
	"maps"
	"slices"

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

// askJournal asks the journal for what put makes of the request's number, and remembers what its answer is about.
func (s *Shard) askJournal(r request, put func(id uint64) any, out *Output) {
	s.asked++
	s.journal[s.asked] = r
	out.Journal = append(out.Journal, put(s.asked))
}

// write has the journal keep what the group says.
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

// Stored takes an answer of the journal. Where that has failed, so has the shard.
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
		if !protocol.Mutated("what is acknowledged is synced") { // then it was said when it was asked for
			s.group.Written(now, r.write, &s.agreed)
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
	next   uint64 // to be asked for
	more   bool   // parts follow
	keep   uint64 // how many entries before it stay
}

// waited is for how many times Every the log grows, at most, until a member has caught up that is slow: far away, say. The
// snapshot that it takes stays what it is, and so do the entries behind that. Without them it would need another snapshot as
// soon as it has one, and so for ever.
const waited = 8

// make begins a snapshot where the log has grown.
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

// unmake gives up what is being made.
func (s *Shard) unmake() {
	if s.making != nil && s.making.copy != nil {
		s.making.copy.Stop()
	}
	s.making = nil
}

// chunk writes the next part, or installs what is written.
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

// made goes on with what is being made. What is installed counts, though another has been taken since.
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

// taking is a snapshot that comes from another member.
type taking struct {
	index    uint64
	number   uint64 // the journal's
	from     uint64
	parts    uint64 // that were taken
	restorer *replica.Restorer
	message  group.Message
	last     bool
	bytes    uint64 // of those
	stored   uint64 // by the journal
}

// part takes a part, if it is the next one.
func (s *Shard) part(now protocol.Time, from uint64, m *Part, out *Output) error {
	if m.Message.From != from || m.Message.Snapshot == nil || m.Message.Snapshot.Index != m.Index {
		return fmt.Errorf("%v of member %d, with a message about something else", m, from)
	}
	refuse := func() { out.Messages = append(out.Messages, Envelope{from, Parted{m.Index, m.Number, true}}) }
	if m.Index <= s.applied {
		refuse()
		return s.group.Hear(now, &m.Message, &s.agreed) // which tells the leader how far this member is
	}
	t := s.taking
	if m.Number == 0 && (t == nil || t.index != m.Index || t.from != from) {
		if s.keeping != nil {
			refuse()
			return nil
		}
		restorer, err := replica.Restore(s.config.Replica)
		if err != nil {
			panic(fmt.Sprintf("shard: %v", err)) // New has taken the same
		}
		s.unmake()
		s.series++
		t = &taking{index: m.Index, number: s.series, from: from, message: m.Message, restorer: restorer}
		s.taking = t
	}
	switch {
	case t == nil || t.index != m.Index || t.from != from || m.Number > t.parts || t.last && m.Number >= t.parts:
		refuse()
	case m.Number < t.stored:
		out.Messages = append(out.Messages, Envelope{from, Parted{m.Index, m.Number, false}}) // the answer was lost
	case m.Number < t.parts: // it is being written
	case t.restorer.Add(m.Data) != nil:
		s.taking = nil
		refuse()
	default:
		t.parts++
		t.bytes += uint64(len(m.Data))
		t.last, t.message = m.Last, m.Message
		s.askJournal(request{taken: t, number: m.Number}, func(id uint64) any {
			return storage.Chunk{ID: id, Log: s.config.Log, Snapshot: t.number, Number: m.Number, Data: m.Data}
		}, out)
	}
	return nil
}

// took goes on when the journal has a part.
func (s *Shard) took(now protocol.Time, out *Output) {
	t := s.taking
	out.Messages = append(out.Messages, Envelope{t.from, Parted{t.index, t.stored, false}})
	t.stored++
	if !t.last || t.stored < t.parts {
		return
	}
	if s.group.Hear(now, &t.message, &s.agreed) != nil {
		s.taking = nil
	}
}

// restore goes on from the snapshot that was taken.
func (s *Shard) restore(mark *group.Mark) {
	t := s.keeping
	s.keeping = nil
	if t == nil || t.index != mark.Index {
		panic(fmt.Sprintf("shard: the group is at the snapshot %d, which was not taken", mark.Index))
	}
	r, err := t.restorer.Done()
	if err != nil {
		panic(fmt.Sprintf("shard: %v", err)) // all parts were there before the group heard of it
	}
	s.replica, s.applied = r, mark.Index
}

// sending is a snapshot on its way to a member.
type sending struct {
	to      uint64
	message group.Message
	index   uint64
	stored  uint64 // the journal's number of it
	parts   uint64 // there are
	number  uint64 // that is on its way
	data    []byte // of it, when it was read
	tries   int
	again   protocol.Time
}

// mostTries is how often a part is sent.
const mostTries = 5

// brings reports whether the present snapshot is on its way to a member.
func (s *Shard) brings() bool {
	if s.lead == nil || protocol.Mutated("a slow member catches up") {
		return false
	}
	//tidy:unordered whether there is one
	for _, t := range s.sending {
		if t.index == s.snapshot {
			return true
		}
	}
	return false
}

// bring begins to send a snapshot.
func (s *Shard) bring(now protocol.Time, m *group.Message, out *Output) {
	t := &sending{to: m.To, message: *m, index: m.Snapshot.Index, stored: s.number, parts: s.parts, again: protocol.Never}
	s.sending[m.To] = t
	switch {
	case t.index != s.snapshot:
		// It is being replaced. The group asks again as soon as it is told, so that is for later.
		t.tries, t.again = mostTries, now+s.config.Group.Heartbeat
	case t.parts == 0:
		// It is the founding one, and empty. A founder has it, and says how far it has come: the group did not know, because
		// an answer to a former term was all that it had heard. Whoever has not needs another.
		t.parts = 1
		s.transmit(now, t, out)
		s.begin()
	default:
		s.fetch(t, out)
	}
}

func (s *Shard) fetch(t *sending, out *Output) {
	number := t.number
	s.askJournal(request{sent: t, number: number}, func(id uint64) any {
		return storage.Fetch{ID: id, Log: s.config.Log, Snapshot: t.stored, Number: number}
	}, out)
}

// fetched sends a part that was read. Nil says that the journal has another snapshot by now.
func (s *Shard) fetched(now protocol.Time, t *sending, number uint64, data []byte, out *Output) {
	if s.sending[t.to] != t || t.number != number {
		return
	}
	if data == nil {
		s.sent(now, t, false)
		return
	}
	t.data, t.tries = data, 0
	s.transmit(now, t, out)
}

func (s *Shard) transmit(now protocol.Time, t *sending, out *Output) {
	p := Part{Index: t.index, Number: t.number, Data: t.data, Last: t.number+1 == t.parts, Message: t.message}
	t.tries++
	t.again = now + s.group.Election()
	out.Messages = append(out.Messages, Envelope{t.to, p})
}

// sent ends a transfer.
func (s *Shard) sent(now protocol.Time, t *sending, arrived bool) {
	delete(s.sending, t.to)
	s.group.Reported(now, t.to, arrived, &s.agreed)
}

// parted goes on with the next part.
func (s *Shard) parted(now protocol.Time, from uint64, m *Parted, out *Output) {
	t := s.sending[from]
	switch {
	case t == nil || t.index != m.Index || t.number != m.Number:
	case m.Refused:
		s.sent(now, t, false)
	case t.number+1 == t.parts:
		s.sent(now, t, true)
	default:
		t.number++
		t.data, t.again = nil, protocol.Never
		s.fetch(t, out)
	}
}

// send sends parts again that were not answered, and gives a member up that answers none.
func (s *Shard) send(now protocol.Time, out *Output) {
	for _, to := range slices.Sorted(maps.Keys(s.sending)) {
		switch t := s.sending[to]; {
		case s.lead == nil:
			delete(s.sending, to)
		case t.again > now:
		case t.tries < mostTries:
			s.transmit(now, t, out)
		default:
			s.sent(now, t, false)
		}
	}
}
