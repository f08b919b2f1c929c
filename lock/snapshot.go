package lock

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Chunk is a part of a table's snapshot: plain data, for a message or a file. Restore the chunks of a table in the
// order in which they were taken.
type Chunk struct {
	From    uint64 // the cursor at which it was taken
	Next    uint64 // the cursor of the next one; 0 when this is the last
	Reign   uint64
	Count   uint32
	Paused  bool
	Entries []Entry // name by name: holds in token order, waits in queue order, then parked ones
}

// Entry is one hold or one wait. Its times are durations before or after the moment of the snapshot, because two
// members' clocks are never compared.
type Entry struct {
	Name    string
	Session SessionID
	Request uint64
	// Attributes.Hold is the requested hold limit; 0 when it is held.
	holdfast.Attributes
	Client  string
	Token   holdfast.Token // 0 while it waits; the holds of one grant share theirs
	Age     time.Duration  // since it was granted or, while it waits, since it arrived
	Left    time.Duration  // until its hold limit or its wait limit passes; Never without one
	Revoked bool
	Try     bool // it waits only for an authority; false when it is held
	// Turn is its place in the gate while it waits there: as a suspension, or because of one. Lower is earlier. 0
	// elsewhere.
	Turn uint64
}

// A cursor identifies an entry: the number of the live name in the high bits, that of the entry within it in the low
// ones.
const cursorBits = 32

// Snapshot copies a part of the table: at most limit entries, and at least one if there is one, from cursor on. Cursor
// 0 begins; Chunk.Next is 0 at the end. The history of ended grants is not part of it.
//
// The chunks fit together only if the table does not change between the first and the last: a caller that cannot ensure
// that takes all of them at once.
func (t *Table) Snapshot(now Time, cursor uint64, limit int) Chunk {
	c := Chunk{From: cursor, Reign: t.reign, Count: t.count, Paused: t.paused}
	limit = max(limit, 1)
	skip := cursor & (1<<cursorBits - 1)
	for e := max(cursor>>cursorBits, 1); e <= uint64(t.names.top); e++ {
		n := skip
		if !t.visitEntries(int32(e), int(skip), func(i int32) bool {
			if len(c.Entries) == limit {
				c.Next = e<<cursorBits | n
				return false
			}
			n++
			c.Entries = append(c.Entries, t.copyEntry(now, i))
			return true
		}) {
			return c
		}
		skip = 0
	}
	return c
}

func (t *Table) copyEntry(now Time, i int32) Entry {
	s := t.entries.at(i)
	c := Entry{
		Name:       t.names.at(s.live).name,
		Session:    t.sessions.at(s.session).id,
		Request:    s.request,
		Attributes: t.attributes(s),
		Client:     t.client(s),
		Token:      s.token,
		Age:        now - s.since,
		Left:       Never,
		Revoked:    s.revoked,
		Try:        s.try,
	}
	if t.gate != nil {
		if x := t.gate.turns[i]; x != nil {
			c.Turn = x.number
		}
	}
	if end := t.end(s); end != Never {
		c.Left = end - now
	}
	return c
}
