package lock

import (
	"github.com/holdfast-locks/holdfast"
)

// record is the state of a live name, one that a request holds or waits for. An uncontended lock takes only a record
// and one entry, so fields for contended names are in a crowd. An idle record is kept for a name that may soon be live
// again; see recent_names.go.
type record struct {
	name    string
	holders int32 // ring of entries, in token order; idle: the record that became idle next
	queue   int32 // ring of unparked entries, in order of arrival; idle: the record that became idle before
	waiting int32 // number of entries in that ring, or idleMark
	crowd   int32 // none while the name has had only one entry, and no slots
}

func (e *record) link() *int32 { return &e.holders }

// crowd is the further state of a name with more than one request, or with slots.
type crowd struct {
	entries  int32 // holds and waiters
	grants   int32 // holders: reentry adds a hold, not a grant
	units    int32 // units held
	capacity int32 // fixed while an entry is in mode slots
	slots    int32 // how many entries are in mode slots
	excess   bool  // its holders are not all compatible; see excess.go
	index    *index
}

func (c *crowd) link() *int32 { return &c.entries }

// entry is the place of one request at one name: in the queue, or among the holders. A reentry is a separate entry: the
// entries of one grant are adjacent among the holders, have the same token, and share one detail. It contains no
// pointers, so the garbage collector does not scan a million of them.
type entry struct {
	request uint64
	token   holdfast.Token // 0 while it waits
	since   Time           // when it was granted or, while it waits, when it arrived
	links   [2]link        // in the ring of its live name, and in that of its session
	live    int32
	session int32
	detail  int32
	mode    holdfast.Mode
	revoked bool
	why     uint8 // why it is revoked: an index of losses
	try     bool  // it waits only for an authority
}

func (s *entry) link() *int32 { return &s.live }

// detail has the fields that most entries do not need.
type detail struct {
	// Attributes are those of the request. Hold is 0 when it is held. Capacity is the entry's own: it differs from the
	// name's only for a revoked hold that another authority has granted.
	holdfast.Attributes
	client  string // if it differs from that of the session's first request
	end     Time   // when the wait limit or the hold limit ends it, or Never
	heap    int32  // its position in the heap of deadlines, counted from 1; 0 is none
	holds   int32  // number of entries that share it
	last    int32  // the latest of those
	another bool   // client differs from the session's
}

func (d *detail) link() *int32 { return &d.last }

// The rings of an entry.
const (
	ofEntry = iota
	ofSession
)

// link is an entry's place in a ring: doubly linked, closed, and identified by its first entry, so that the last one is
// before the first.
type link struct{ next, prev int32 }

// join appends entry i, which is s, to the ring that begins at *first.
func (t *Table) join(ring int, first *int32, i int32, s *entry) {
	if *first == 0 {
		*first = i
		s.links[ring] = link{i, i}
		return
	}
	t.follow(ring, t.entries.at(*first).links[ring].prev, i)
}

// follow inserts entry i after entry before.
func (t *Table) follow(ring int, before, i int32) {
	ahead := &t.entries.at(before).links[ring]
	after := ahead.next
	t.entries.at(i).links[ring] = link{after, before}
	ahead.next = i
	t.entries.at(after).links[ring].prev = i
}

// unlink removes entry i, which is s, from the ring that begins at *first.
func (t *Table) unlink(ring int, first *int32, i int32, s *entry) {
	at := &s.links[ring]
	if at.next == i {
		*first = 0
	} else {
		t.entries.at(at.next).links[ring].prev = at.prev
		t.entries.at(at.prev).links[ring].next = at.next
		if *first == i {
			*first = at.next
		}
	}
	*at = link{}
}

// next returns the entry after i in a ring that begins at first, or 0 at its end.
func (t *Table) next(ring int, first, i int32) int32 {
	if after := t.entries.at(i).links[ring].next; after != first {
		return after
	}
	return 0
}

// gather returns the crowd of live name e, and creates it if needed, counting an existing entry.
func (t *Table) gather(e int32) *crowd {
	x := t.names.at(e)
	if x.crowd == 0 {
		var c *crowd
		x.crowd, c = t.crowds.take()
		if !t.empty(e, x) {
			c.entries = 1
		}
		if x.holders != 0 {
			c.grants = 1
		}
	}
	return t.crowds.at(x.crowd)
}

// sit makes the entry of a new request at live name e. It is not yet in a ring of the live name, and has no detail.
func (t *Table) sit(e int32, r *Request) int32 {
	t.alter(e)
	i, s := t.entries.take()
	x := t.names.at(e)
	if x.crowd != 0 || x.holders != 0 || x.queue != 0 || r.Mode == holdfast.ModeSlots || t.gate != nil && !t.empty(e, x) {
		c := t.gather(e)
		c.entries++
		if r.Mode == holdfast.ModeSlots {
			if c.slots == 0 {
				c.capacity = int32(r.Capacity)
			}
			c.slots++
		}
	}
	s.live, s.request, s.mode, s.since = e, r.ID, r.Mode, r.Arrived
	t.attend(i, s, r)
	if x.crowd != 0 {
		t.register(i)
	}
	if t.gate != nil && !t.gated(e) {
		t.gate.owners.sit(party{s.session, r.Owner})
	}
	return i
}

// describe gives entry i the detail that its request needs, if any.
func (t *Table) describe(i int32, r *Request, end Time) {
	s := t.entries.at(i)
	another := r.Client != t.sessions.at(s.session).client
	if plain := (holdfast.Attributes{Shape: holdfast.Shape{Mode: r.Mode}}); r.Attributes == plain && !another && end == Never {
		return
	}
	d := t.detailOf(i)
	d.Attributes = r.Attributes
	if another {
		d.another, d.client = true, r.Client
	}
	t.setDeadline(s.detail, end)
}

// attributes returns the attributes of the request of entry s. They include the hold limit while the entry waits; for a
// hold, its end counts.
func (t *Table) attributes(s *entry) (a holdfast.Attributes) {
	if s.detail != 0 {
		a = t.details.at(s.detail).Attributes
	}
	a.Mode = s.mode
	return a
}

// detailOf returns the detail of entry i, and creates it if needed.
func (t *Table) detailOf(i int32) *detail {
	s := t.entries.at(i)
	if s.detail != 0 {
		return t.details.at(s.detail)
	}
	var d *detail
	s.detail, d = t.details.take()
	*d = detail{end: Never, holds: 1, last: i}
	return d
}

// owner returns the named owner of entry s, or "".
func (t *Table) owner(s *entry) string {
	if s.detail == 0 {
		return ""
	}
	return t.details.at(s.detail).Owner
}

// units returns how many units entry s holds or requests; 0 unless in mode slots.
func (t *Table) units(s *entry) int32 {
	if s.detail == 0 {
		return 0
	}
	return int32(t.details.at(s.detail).Units)
}

// capacity returns entry s's own capacity; 0 unless in mode slots.
func (t *Table) capacity(s *entry) int32 {
	if s.detail == 0 {
		return 0
	}
	return int32(t.details.at(s.detail).Capacity)
}

// client returns the client of entry s, for display.
func (t *Table) client(s *entry) string {
	if s.detail != 0 && t.details.at(s.detail).another {
		return t.details.at(s.detail).client
	}
	return t.sessions.at(s.session).client
}

// end returns when a time limit ends entry s, or Never.
func (t *Table) end(s *entry) Time {
	if s.detail == 0 {
		return Never
	}
	return t.details.at(s.detail).end
}
