package replica

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// A snapshot is a sequence of parts:
//
//	part   = CRC-32C of the part's number and the rest (4 bytes) | kind | records
//	header = format | now | reign | the table's reign, count and pause |
//	         how many sessions, members, members, outcomes, intents, entries     part 0
//	then sessions, which have ended by member, which operations were done by member, outcomes, intents that are over
//	and entries, in their order
//
// An entry says through which member its request has come and, where it is for an intent, the intent.

// format is the start of the first part.
const format = "holdfast replica 6"

// formats are the readable formats, the oldest first.
var formats = [...]string{"holdfast replica 2", "holdfast replica 3", "holdfast replica 4", "holdfast replica 5", format}

// The contents of formats, by the index of the first format that has them.
const (
	latest         = len(formats) - 1
	withRequesters = 1 // through which members requests were asked for
	withClients    = 2 // which client uses a session, and with each entry all that there is of it; before, intents were apart, and entries in the table's chunks
	withTies       = 3 // to which member a session is tied
	withValues     = 3 // the values of grants
	withDeadlocks  = 4 // which requests are refused rather than left in a cycle of waits
)

// DefaultPart is the size to which a part grows before the next one begins; it may exceed that by one record. This is
// well below the limit of a journal and a message, 1 MiB, even with the longest texts that are read.
const DefaultPart = 128 << 10

// The kinds of parts.
const (
	partHeader byte = iota + 1
	partSessions
	partGone
	partDone
	partOutcomes
	partIntents
	partEntries
)

// Snapshot encodes the state at once, one part after another; the slice belongs to keep. It ends with keep's error.
func (r *Replica) Snapshot(keep func(part []byte) error) error {
	c := r.Copy()
	defer c.Stop()
	for {
		part, more := c.Next()
		if err := keep(part); err != nil || !more {
			return err
		}
	}
}

// Copy is a snapshot that is taken part by part while the replica continues. It has the state as of its beginning. A
// step costs one part; the first one also costs the state other than names: sessions, and the numbers of ended
// requests.
type Copy struct {
	replica *Replica
	parts   parts
	ready   [][]byte  // parts written at the beginning, still to be returned
	over    []*intent // that are still to be written
	entries *lock.Copy
	begun   bool // the parts of entries
}

// Copy begins a copy.
func (r *Replica) Copy() *Copy {
	c := &Copy{replica: r, entries: r.table.Copy(r.now, r.writeEntry)}
	c.parts = parts{room: r.config.Part, keep: func(part []byte) { c.ready = append(c.ready, part) }}
	for _, w := range r.remembered.list {
		if !w.gone {
			c.over = append(c.over, w)
		}
	}
	c.header()
	p := &c.parts
	p.begin(partSessions)
	for _, id := range slices.SortedFunc(maps.Keys(r.sessions), compareSessions) {
		r.sessions[id].code(&p.Coder, latest)
		p.split()
	}
	for kind, roll := range [...]*roll{partGone: &r.gone, partDone: &r.done} {
		if roll == nil {
			continue
		}
		p.begin(byte(kind))
		for _, member := range roll.order {
			wire.Number(&p.Coder, &member)
			roll.numbers[member].code(&p.Coder)
			p.split()
		}
	}
	p.begin(partOutcomes)
	r.outcomes.inOrder(func(o *outcome) {
		o.code(&p.Coder)
		p.split()
	})
	p.begin(partIntents)
	return c
}

func (c *Copy) header() {
	r := c.replica
	h := header{
		format: format, now: r.now, reign: r.reign, table: lock.Chunk{Reign: c.entries.Reign, Count: c.entries.Count, Paused: c.entries.Paused},
		sessions: len(r.sessions), gone: len(r.gone.order), done: len(r.done.order), outcomes: len(r.outcomes.list), intents: len(c.over), entries: c.entries.Entries,
	}
	c.parts.begin(partHeader)
	h.code(&c.parts.Coder)
}

// Next returns the next part, which belongs to the caller, and whether more follow.
func (c *Copy) Next() (part []byte, more bool) {
	for len(c.ready) == 0 {
		c.step()
	}
	part, c.ready = c.ready[0], c.ready[1:]
	return part, len(c.ready) > 0 || c.entries != nil
}

// step encodes until a part is full, or the last one.
func (c *Copy) step() {
	p := &c.parts
	for len(c.over) > 0 && len(c.ready) == 0 {
		c.over[0].codeOver(&p.Coder)
		c.over = c.over[1:]
		p.split()
	}
	if len(c.ready) > 0 {
		return
	}
	if !c.begun {
		c.begun = true
		p.begin(partEntries)
		return // with the part before
	}
	b := p.Bytes()
	b, more := c.entries.Next(b, max(1, p.room-len(b)))
	if p.Coder = wire.To(b); more {
		p.split()
		return
	}
	c.entries = nil
	p.finish()
}

// Stop ends the copy early: the replica keeps nothing for it any more.
func (c *Copy) Stop() {
	if c.entries != nil {
		c.entries.Stop()
	}
}

// writeEntry encodes a hold or a wait with the replica's additions.
func (r *Replica) writeEntry(b []byte, s *lock.Entry) []byte {
	c := wire.To(b)
	codeEntry(&c, s, latest)
	r.writeBy(&c, s.Session, requestFor{s.Request, s.Name})
	var of *intent
	if session := r.sessions[s.Session]; session != nil {
		of = session.open[requestFor{s.Request, s.Name}]
	}
	known := of != nil && of.number == s.Request // one of its requests
	if c.Bool(&known); known {
		of.codeWanted(&c)
		for _, a := range of.requests {
			r.writeBy(&c, s.Session, requestFor{a.number, s.Name})
		}
	}
	return c.Appended()
}

// writeBy encodes the member through which a request has come, if known.
func (r *Replica) writeBy(c *wire.Coder, id lock.SessionID, is requestFor) {
	member, known := r.RequestedBy(id, is.name, is.number)
	codeBy(c, &member, &known)
}

func compareSessions(a, b lock.SessionID) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
}

// parts encodes parts.
type parts struct {
	wire.Coder // of the part in progress; empty if there is none
	kind       byte
	count      uint32
	room       int
	keep       func([]byte)
}

// begin ends the current part, if any, and begins another one of a kind. Most parts are much smaller than their limit,
// so the buffer grows.
func (p *parts) begin(kind byte) { p.beginWith(kind, 512) }

// beginWith is begin with room for that many bytes.
func (p *parts) beginWith(kind byte, room int) {
	p.finish()
	p.kind = kind
	p.Coder = wire.To(append(make([]byte, 4, room), kind))
}

// split continues in another part if this one is large enough.
func (p *parts) split() {
	if len(p.Bytes()) >= p.room {
		p.beginWith(p.kind, p.room+1024)
	}
}

func (p *parts) finish() {
	part := p.Appended()
	if len(part) == 0 {
		return
	}
	binary.BigEndian.PutUint32(part, checksum(p.count, part[4:]))
	p.keep(part)
	p.count++
	p.Coder = wire.To(nil)
}

// checksum returns the checksum of a part in its place.
func checksum(number uint32, rest []byte) uint32 {
	castagnoli := crc32.MakeTable(crc32.Castagnoli) // made once, in that package
	return crc32.Update(crc32.Checksum(binary.BigEndian.AppendUint32(nil, number), castagnoli), castagnoli, rest)
}
