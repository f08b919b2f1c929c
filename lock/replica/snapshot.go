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
//	header = format | now | reign | the table's reign, count and pause |
//	         how many sessions, members, members, outcomes, intents, entries     part 0
//	then sessions, which have ended by member, which operations were done by member, outcomes, intents that are over and entries,
//	in their order
//
// An entry says through which member its request has come and, where it is for an intent, the intent.

// format is what the first part begins with.
const format = "holdfast replica 4"

// formats are those that are read, the oldest first.
var formats = [...]string{"holdfast replica 2", "holdfast replica 3", format}

// What formats say, by the place among formats of the first that does.
const (
	withRequesters = 1 // through which members requests were asked for
	withClients    = 2 // which client uses a session, and with each entry all that there is of it; before, intents were apart, and entries in the table's chunks
)

// DefaultPart is how large a part grows before the next one begins; one record more may be in it, which is well below what a
// journal and a message take, 1 MiB, with the longest texts that are read.
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

// Snapshot writes the state down at once, a part after the other; the slice is keep's. It ends with keep's error.
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

// Copy is a snapshot that is taken part by part while the replica goes on. It tells how the state was when it began. A step
// costs what one part does; the first one, at which it begins, what is not of names: sessions, and how many requests have ended.
type Copy struct {
	replica *Replica
	parts   parts
	ready   [][]byte  // of what was written at the beginning, and is still to be given
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
		p.sessionRecord(r.sessions[id])
		p.split()
	}
	for kind, roll := range [...]*roll{partGone: &r.gone, partDone: &r.done} {
		if roll == nil {
			continue
		}
		p.begin(byte(kind))
		for _, member := range roll.order {
			p.number(member)
			p.ended(*roll.numbers[member])
			p.split()
		}
	}
	p.begin(partOutcomes)
	r.outcomes.inOrder(func(o *outcome) {
		p.outcome(o)
		p.split()
	})
	p.begin(partIntents)
	return c
}

func (c *Copy) header() {
	r, p := c.replica, &c.parts
	p.begin(partHeader)
	p.text(format)
	p.time(r.now)
	p.number(r.reign)
	p.number(c.entries.Reign)
	p.number(uint64(c.entries.Count))
	p.flag(c.entries.Paused)
	for _, many := range [...]int{len(r.sessions), len(r.gone.order), len(r.done.order), len(r.outcomes.list), len(c.over), c.entries.Entries} {
		p.number(uint64(many))
	}
}

// Next returns the next part, which is the caller's, and whether more follow.
func (c *Copy) Next() (part []byte, more bool) {
	for len(c.ready) == 0 {
		c.step()
	}
	part, c.ready = c.ready[0], c.ready[1:]
	return part, len(c.ready) > 0 || c.entries != nil
}

// step writes until a part is full, or the last one.
func (c *Copy) step() {
	p := &c.parts
	for len(c.over) > 0 && len(c.ready) == 0 {
		p.overIntent(c.over[0])
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
	var more bool
	if p.b, more = c.entries.Next(p.b, max(1, p.room-len(p.b))); more {
		p.split()
		return
	}
	c.entries = nil
	p.finish()
}

// Stop ends the copy before its end: the replica keeps nothing for it any more.
func (c *Copy) Stop() {
	if c.entries != nil {
		c.entries.Stop()
	}
}

// writeEntry writes a hold or a wait, and what there is of it beside the table.
func (r *Replica) writeEntry(b []byte, s *lock.Entry) []byte {
	w := &writer{b}
	w.entry(s)
	w.by(r, s.Session, requestFor{s.Request, s.Name})
	var of *intent
	if session := r.sessions[s.Session]; session != nil {
		of = session.open[requestFor{s.Request, s.Name}]
	}
	known := of != nil && of.number == s.Request // of those who ask for it
	w.flag(known)
	if known {
		w.intent(of)
		for _, a := range of.requests {
			w.by(r, s.Session, requestFor{a.number, s.Name})
		}
	}
	return w.b
}

func compareSessions(a, b lock.SessionID) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
}

// parts writes parts.
type parts struct {
	writer
	kind  byte
	count uint32
	room  int
	keep  func([]byte)
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
	if len(p.b) >= p.room {
		p.beginWith(p.kind, p.room+1024)
	}
}

func (p *parts) finish() {
	if p.b == nil {
		return
	}
	binary.BigEndian.PutUint32(p.b, checksum(p.count, p.b[4:]))
	p.keep(p.b)
	p.count++
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

// intent writes one that is held or waited for, of which its entry tells the name.
func (w *writer) intent(intent *intent) {
	w.text(intent.once)
	w.number(intent.content)
	w.time(intent.arrived)
	w.flag(intent.granted)
	w.number(uint64(len(intent.requests)))
	for _, a := range intent.requests {
		w.number(a.number)
		w.time(a.arrived)
	}
}

// overIntent writes one that is over, which was of the session of its outcome.
func (w *writer) overIntent(intent *intent) {
	w.text(intent.name)
	w.text(intent.once)
	w.number(intent.content)
	w.time(intent.since)
	w.outcome(&intent.how)
}

// by writes the member through which a request has come, if that is known.
func (w *writer) by(r *Replica, id lock.SessionID, is requestFor) {
	member, known := r.RequestedBy(id, is.name, is.number)
	w.flag(known)
	if known {
		w.number(member)
	}
}

func (w *writer) entry(s *lock.Entry) {
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
