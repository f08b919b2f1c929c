package shard

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/storage"
)

// taking is a snapshot that comes from another member.
type taking struct {
	index    uint64
	number   uint64 // the journal's
	from     uint64
	parts    uint64 // that were taken
	restorer *replica.Restorer
	message  group.Message // that the group hears when all is stored: the one of the latest term
	last     bool
	bytes    uint64                  // of those
	stored   uint64                  // by the journal
	early    map[uint64]SnapshotPart // came before one that is due before them
	waits    int                     // bytes of those
}

// complete reports whether all of it is stored. The group was informed then, and has ignored it if the term had ended
// by that time.
func (t *taking) complete() bool { return t.last && t.stored == t.parts }

// onSnapshotPart handles a part. One that arrives before its turn waits, within the window of a leader.
func (s *Shard) onSnapshotPart(now protocol.Time, from uint64, m *SnapshotPart, out *Output) error {
	if m.Message.From != from || m.Message.Snapshot == nil || m.Message.Snapshot.Index != m.Index {
		return fmt.Errorf("%v of member %d, with a message about something else", m, from)
	}
	if err := s.group.Check(&m.Message); err != nil {
		return err
	}
	if m.Index <= s.applied {
		refuse(from, m, out)
		return s.group.Hear(now, &m.Message, &s.groupOutput) // which tells the leader how far this member is
	}
	t := s.taking
	if m.Number == 0 && (t == nil || t.index != m.Index || t.from != from) {
		if s.keeping != nil {
			refuse(from, m, out)
			return nil
		}
		restorer, err := replica.Restore(s.config.Replica)
		if err != nil {
			panic(fmt.Sprintf("shard: %v", err)) // New has taken the same
		}
		s.unmake()
		s.series++
		t = &taking{index: m.Index, number: s.series, from: from, message: m.Message, restorer: restorer, early: map[uint64]SnapshotPart{}}
		s.taking = t
	}
	if t == nil || t.index != m.Index || t.from != from || t.last && m.Number >= t.parts {
		refuse(from, m, out)
		return nil
	}
	if m.Message.Term > t.message.Term {
		t.message = m.Message
	}
	switch {
	case m.Number < t.stored: // the answer was lost, or its leader leads in another term now
		out.Messages = append(out.Messages, Envelope{from, SnapshotAck{m.Index, m.Number, false}})
		if m.Last && t.complete() && !protocol.Mutated("a whole snapshot is heard of in each term") {
			return s.group.Hear(now, &t.message, &s.groupOutput)
		}
	case m.Number < t.parts: // it is being written
	case m.Number > t.stored+windowParts || m.Number > t.parts && t.waits >= windowBytes: // it comes again, if a leader has sent it
	default:
		s.take(t, m, out)
	}
	return nil
}

func refuse(from uint64, m *SnapshotPart, out *Output) {
	out.Messages = append(out.Messages, Envelope{from, SnapshotAck{m.Index, m.Number, true}})
}

// take keeps a part until all before it are there, and has the journal write the parts that are complete up to there.
func (s *Shard) take(t *taking, m *SnapshotPart, out *Output) {
	if _, waits := t.early[m.Number]; !waits {
		t.early[m.Number] = *m
		t.waits += len(m.Data)
	}
	for next, is := t.early[t.parts]; is; next, is = t.early[t.parts] {
		delete(t.early, next.Number)
		t.waits -= len(next.Data)
		if t.restorer.Add(next.Data) != nil {
			s.taking = nil
			refuse(t.from, &next, out)
			return
		}
		t.parts++
		t.bytes += uint64(len(next.Data))
		if t.last = next.Last; t.last {
			t.early, t.waits = nil, 0 // no leader sends what comes behind it
		}
		s.askJournal(request{taken: t, number: next.Number}, func(id uint64) any {
			return storage.Chunk{ID: id, Log: s.config.Log, Snapshot: t.number, Number: next.Number, Data: next.Data}
		}, out)
	}
}

// took continues when the journal has a part.
func (s *Shard) took(now protocol.Time, out *Output) {
	t := s.taking
	out.Messages = append(out.Messages, Envelope{t.from, SnapshotAck{t.index, t.stored, false}})
	t.stored++
	if !t.complete() {
		return
	}
	if err := s.group.Hear(now, &t.message, &s.groupOutput); err != nil {
		panic(fmt.Sprintf("shard: %v", err)) // the message was checked when it came
	}
}

// restore continues from the received snapshot.
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
