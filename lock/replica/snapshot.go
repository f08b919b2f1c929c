package replica

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
)

// A snapshot is a sequence of parts:
//
//	part   = CRC-32C of the part's number and the rest (4 bytes) | kind | records
//	header = format | now | reign | how many sessions, members, members, outcomes, wishes, seats     part 0
//	then sessions, which have ended by member, which operations were done by member, outcomes, wishes and the table's chunks, in
//	their order; behind each wish and each chunk stands through whom its requests have come

// format is what the first part begins with.
const format = "holdfast replica 5"

// The formats before are read, too. unmarkedFormat does not say what the client of a session has inherited; unattachedFormat lacks
// which client that is, too; formerFormat also lacks the members through which requests were asked for.
const (
	unmarkedFormat   = "holdfast replica 4"
	unattachedFormat = "holdfast replica 3"
	formerFormat     = "holdfast replica 2"
)

// partBytes is how large a part grows before the next one begins; one record more may be in it.
const partBytes = 256 << 10

// The kinds of parts.
const (
	partHeader byte = iota + 1
	partSessions
	partGone
	partDone
	partOutcomes
	partWishes
	partSeats
)

// chunkSeats is how many seats the table copies at a time, which are one record: with the longest texts that are read so
// few that a part is well below what a journal and a message take, 1 MiB.
const chunkSeats = 32

// Snapshot writes the state down, a part after the other; the slice is keep's. It ends with keep's error.
// The replica may not be changed meanwhile.
func (r *Replica) Snapshot(keep func(part []byte) error) error {
	p := &parts{keep: keep}
	p.begin(partHeader)
	w := &p.writer
	w.text(format)
	w.time(r.now)
	w.number(r.reign)
	w.number(uint64(len(r.sessions)))
	w.number(uint64(len(r.gone.order)))
	w.number(uint64(len(r.done.order)))
	w.number(uint64(len(r.outcomes.list)))
	wishes := 0
	//tidy:unordered they are counted
	for _, s := range r.sessions {
		wishes += len(s.wishes)
	}
	w.number(uint64(wishes))
	w.number(uint64(r.table.Holds() + r.table.Waiters()))
	p.begin(partSessions)
	sessions := slices.SortedFunc(maps.Keys(r.sessions), compareSessions)
	for _, id := range sessions {
		w.sessionRecord(r.sessions[id])
		p.split()
	}
	for kind, roll := range [...]*roll{partGone: &r.gone, partDone: &r.done} {
		if roll == nil {
			continue
		}
		p.begin(byte(kind))
		for _, member := range roll.order {
			w.number(member)
			w.ended(*roll.numbers[member])
			p.split()
		}
	}
	p.begin(partOutcomes)
	r.outcomes.inOrder(func(o *outcome) {
		w.outcome(o)
		p.split()
	})
	p.begin(partWishes)
	for _, id := range sessions {
		for _, wish := range r.sessions[id].inOrder() {
			w.wish(id, wish)
			w.asker(r, id, wish)
			p.split()
		}
	}
	p.begin(partSeats)
	for cursor := uint64(0); ; {
		c := r.table.Snapshot(r.now, cursor, chunkSeats)
		w.chunk(&c)
		for i := range c.Seats {
			w.by(r, c.Seats[i].Session, requestFor{c.Seats[i].Request, c.Seats[i].Name})
		}
		if cursor = c.Next; cursor == 0 {
			break
		}
		p.split()
	}
	p.finish()
	return p.err
}

func compareSessions(a, b lock.SessionID) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
}

// parts writes parts.
type parts struct {
	writer
	kind   byte
	number uint32
	keep   func([]byte) error
	err    error
}

// begin ends a part, if there is one, and begins another of a kind. Most are far smaller than a part may grow, so it grows.
func (p *parts) begin(kind byte) { p.beginWith(kind, 512) }

// beginWith is begin with room for so many bytes.
func (p *parts) beginWith(kind byte, room int) {
	p.finish()
	p.kind = kind
	p.b = append(make([]byte, 4, room), kind)
}

// split goes on in another part where this one is large enough.
func (p *parts) split() {
	if len(p.b) >= partBytes {
		p.beginWith(p.kind, partBytes+1024)
	}
}

func (p *parts) finish() {
	if p.b == nil || p.err != nil {
		return
	}
	binary.BigEndian.PutUint32(p.b, checksum(p.number, p.b[4:]))
	p.err = p.keep(p.b)
	p.number++
	p.b = nil
}

// checksum is of a part in its place.
func checksum(number uint32, rest []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // made once, in that package
	return crc32.Update(crc32.Checksum(binary.BigEndian.AppendUint32(nil, number), castagnoli), castagnoli, rest)
}

func (w *writer) sessionRecord(s *session) {
	w.session(s.ID)
	w.time(s.TTL)
	w.time(s.Opened)
	w.text(s.Client)
	w.text(s.Identity)
	w.b = append(w.b, s.Secret[:]...)
	w.attachments(&s.Attached)
	w.number(uint64(s.Inherited))
	w.ended(s.ended)
}

// ended writes each range as what lies between it and the former one, and how long it is.
func (w *writer) ended(e ended) {
	w.number(uint64(len(e)))
	last := uint64(0)
	for _, s := range e {
		w.number(s.first - last)
		w.number(s.last - s.first)
		last = s.last
	}
}

func (w *writer) outcome(o *outcome) {
	w.session(o.session)
	w.number(o.request.number)
	w.b = append(w.b, byte(o.kind), o.class)
	w.number(uint64(o.token))
	w.text(string(o.loss))
}

func (w *writer) wish(session lock.SessionID, wish *wish) {
	w.session(session)
	w.text(wish.name)
	w.text(wish.once)
	w.number(wish.content)
	w.flag(wish.over)
	if wish.over {
		w.time(wish.since)
		w.outcome(&wish.how)
		return
	}
	w.number(wish.number)
	w.time(wish.arrived)
	w.flag(wish.granted)
	w.number(uint64(len(wish.asks)))
	for _, a := range wish.asks {
		w.number(a.number)
		w.time(a.arrived)
	}
}

// asker writes through whom those have come who ask for a wish.
func (w *writer) asker(r *Replica, id lock.SessionID, wish *wish) {
	for _, a := range wish.asks {
		w.by(r, id, requestFor{a.number, wish.name})
	}
}

// by writes through whom a request has come, if that is known.
func (w *writer) by(r *Replica, id lock.SessionID, is requestFor) {
	member, known := r.AskedBy(id, is.name, is.number)
	w.flag(known)
	if known {
		w.number(member)
	}
}

func (w *writer) chunk(c *lock.Chunk) {
	w.number(c.From)
	w.number(c.Next)
	w.number(c.Reign)
	w.number(uint64(c.Count))
	w.flag(c.Paused)
	w.number(uint64(len(c.Seats)))
	for i := range c.Seats {
		w.seat(&c.Seats[i])
	}
}

func (w *writer) seat(s *lock.Seat) {
	w.text(s.Name)
	w.session(s.Session)
	w.number(s.Request)
	w.text(s.Owner)
	w.text(s.Reason)
	w.text(s.Client)
	w.number(uint64(s.Mode))
	w.number(uint64(s.Units))
	w.number(uint64(s.Capacity))
	w.number(uint64(s.Token))
	w.time(s.Age)
	w.time(s.Left)
	w.time(s.Hold)
	w.flag(s.Revoked)
	w.flag(s.Try)
	w.number(s.Turn)
}
