package shard

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

// sending is a snapshot on its way to a member: a window of parts, from acked on and before next. Of the parts only their sizes
// stay in memory; one that is lost is read from the journal again.
type sending struct {
	to      uint64
	message group.Message
	index   uint64
	stored  uint64 // the journal's number of it
	parts   uint64 // there are; 0 while another snapshot replaces it
	empty   bool   // it is the founding one: one part, which the journal does not have
	acked   uint64 // so many parts, from the first on, the member has
	next    uint64 // the part that is to be read next
	reading bool   // a part is being read
	sizes   []int  // of the parts in the window
	bytes   int    // of these
	tries   int    // how often the window was sent since the member has last acknowledged a part
	again   protocol.Time
}

const (
	// mostTries is how often a window is sent.
	mostTries = 5
	// windowBytes and windowParts limit the parts of a snapshot in flight to a member, which may exceed them by one
	// part. The limit is lower than for entries (group.Config.Inflight), because beats wait behind the parts on a slow
	// link.
	windowBytes = 1 << 20
	windowParts = 64
)

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
	t := &sending{to: m.To, message: *m, index: m.Snapshot.Index, stored: s.number, parts: s.parts, tries: 1, again: protocol.Never}
	s.sending[m.To] = t
	switch {
	case t.index != s.snapshot:
		// It is being replaced. The group asks again as soon as it knows, so that is for later.
		t.parts, t.tries, t.again = 0, mostTries, now+s.config.Group.Heartbeat
	case t.parts == 0:
		// It is the founding one, and empty. A founder has it, and reports its progress: the group did not know,
		// because it had heard only an answer to a former term. A member that does not have it needs another one.
		t.parts, t.empty = 1, true
		s.fill(now, t, out)
		s.begin()
	default:
		s.fill(now, t, out)
	}
}

// fill reads the next part if the window has room for it. The first part goes alone: a member that has answered it
// accepts the others in any order.
func (s *Shard) fill(now protocol.Time, t *sending, out *Output) {
	full := t.bytes >= windowBytes || len(t.sizes) >= windowParts || t.acked == 0 && t.next > 0
	switch number := t.next; {
	case t.reading || full || number >= t.parts:
	case t.empty:
		s.transmit(now, t, nil, out)
	default:
		t.reading = true
		s.askJournal(request{sent: t, number: number}, func(id uint64) any {
			return storage.Fetch{ID: id, Log: s.config.Log, Snapshot: t.stored, Number: number}
		}, out)
	}
}

// fetched sends a part that was read, if it is still the next one. Nil means that the journal has another snapshot by
// now.
func (s *Shard) fetched(now protocol.Time, t *sending, number uint64, data []byte, out *Output) {
	if s.sending[t.to] != t {
		return
	}
	t.reading = false
	switch {
	case data == nil:
		s.sent(now, t, false)
		return
	case number == t.next:
		s.transmit(now, t, data, out)
	}
	s.fill(now, t, out)
}

func (s *Shard) transmit(now protocol.Time, t *sending, data []byte, out *Output) {
	p := SnapshotPart{Index: t.index, Number: t.next, Data: data, Last: t.next+1 == t.parts, Message: t.message}
	t.next++
	t.sizes = append(t.sizes, len(data))
	t.bytes += len(data)
	t.again = now + s.group.Election()
	out.Messages = append(out.Messages, Envelope{t.to, p})
}

// sent ends a transfer.
func (s *Shard) sent(now protocol.Time, t *sending, arrived bool) {
	delete(s.sending, t.to)
	s.group.Reported(now, t.to, arrived, &s.groupOutput)
}

// isAck continues when a member has another part, and all before it.
func (s *Shard) isAck(now protocol.Time, from uint64, m *SnapshotAck, out *Output) {
	t := s.sending[from]
	switch {
	case t == nil || t.index != m.Index || m.Number < t.acked || m.Number >= t.parts:
	case m.Refused:
		if m.Number < t.next {
			s.sent(now, t, false)
		}
	case m.Number+1 == t.parts:
		s.sent(now, t, true)
	default:
		for ; t.acked <= m.Number; t.acked++ {
			if len(t.sizes) > 0 {
				t.bytes -= t.sizes[0]
				t.sizes = t.sizes[1:]
			}
		}
		t.next, t.tries, t.again = max(t.next, t.acked), 1, protocol.Never
		if len(t.sizes) > 0 {
			t.again = now + s.group.Election()
		}
		s.fill(now, t, out)
	}
}

// send resends a window without an answer, and gives up a member that answers none.
func (s *Shard) send(now protocol.Time, out *Output) {
	if len(s.sending) == 0 {
		return // as nearly always, and this is asked in each step
	}
	for _, to := range slices.Sorted(maps.Keys(s.sending)) {
		switch t := s.sending[to]; {
		case s.lead == nil:
			delete(s.sending, to)
		case t.again > now:
		case t.tries < mostTries:
			t.tries++
			t.next, t.sizes, t.bytes, t.again = t.acked, nil, 0, protocol.Never
			s.fill(now, t, out)
		default:
			s.sent(now, t, false)
		}
	}
}
