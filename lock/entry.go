package lock

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// entry is a live name: one that a request holds or waits for. It and one seat are all
// that an uncontended lock takes, so what only contended names need is in a crowd. A
// vacant entry is kept for a name that may soon be live again; see vacancy.go.
type entry struct {
	name    string
	holders int32 // ring of seats, in order of their tokens; vacant: the entry vacated next
	queue   int32 // ring of seats, in order of arrival, without those that are parked; vacant: the entry vacated before
	waiting int32 // how many are in that ring, or vacated
	crowd   int32 // none while the name has had one seat only, and no slots
}

func (e *entry) link() *int32 { return &e.holders }

// crowd is what a name needs that more than one request, or slots, are at.
type crowd struct {
	seats    int32 // holds and waiters
	grants   int32 // holders: reentry adds a hold, not a grant
	units    int32 // units held
	capacity int32 // fixed while a seat is in mode slots
	slots    int32 // how many seats are in mode slots
	excess   bool  // its holders do not all fit beside each other; see excess.go
	index    *index
}

func (c *crowd) link() *int32 { return &c.seats }

// seat is the place of one request at one name: in the queue, or among the
// holders. Reentry is a seat of its own: the seats of one grant stand next to each
// other among the holders, have the same token, and share one detail. It holds no
// pointers, so the garbage collector does not look into a million of them.
type seat struct {
	request uint64
	token   holdfast.Token // 0 while it waits
	since   Time           // when it was granted or, while it waits, when it arrived
	links   [2]link        // in the ring of its entry, and in that of its session
	entry   int32
	session int32
	detail  int32
	mode    holdfast.Mode
	revoked bool
	why     uint8 // why it is revoked: its place among losses
	try     bool  // it waits for an authority, and not for holders
}

func (s *seat) link() *int32 { return &s.entry }

// detail is what most seats can do without.
type detail struct {
	owner  string
	reason string
	client string        // where another asks than for the session's first request
	hold   time.Duration // the hold limit wanted, while it waits
	end    Time          // when the wait limit or the hold limit ends it, or Never
	heap   int32         // its place among the deadlines, counted from 1; 0 is none
	units  int32
	holds  int32 // seats that share it
	last   int32 // the latest of those
	// capacity is what the seat counts on. It differs from that of the name only for a
	// revoked hold that another authority has granted.
	capacity int32
	another  bool // client differs from the session's
}

func (d *detail) link() *int32 { return &d.last }

// The rings that a seat is in.
const (
	ofEntry = iota
	ofSession
)

// link places a seat in a ring: doubly linked, closed, and named by its first
// seat, so that the last one is before the first.
type link struct{ next, prev int32 }

// join puts seat i, which is s, at the end of the ring that begins at *first.
func (t *Table) join(ring int, first *int32, i int32, s *seat) {
	if *first == 0 {
		*first = i
		s.links[ring] = link{i, i}
		return
	}
	t.follow(ring, t.seats.at(*first).links[ring].prev, i)
}

// follow puts seat i behind seat before.
func (t *Table) follow(ring int, before, i int32) {
	ahead := &t.seats.at(before).links[ring]
	after := ahead.next
	t.seats.at(i).links[ring] = link{after, before}
	ahead.next = i
	t.seats.at(after).links[ring].prev = i
}

// part takes seat i, which is s, out of the ring that begins at *first.
func (t *Table) part(ring int, first *int32, i int32, s *seat) {
	at := &s.links[ring]
	if at.next == i {
		*first = 0
	} else {
		t.seats.at(at.next).links[ring].prev = at.prev
		t.seats.at(at.prev).links[ring].next = at.next
		if *first == i {
			*first = at.next
		}
	}
	*at = link{}
}

// next returns the seat after i in a ring that begins at first, or 0 at its end.
func (t *Table) next(ring int, first, i int32) int32 {
	if after := t.seats.at(i).links[ring].next; after != first {
		return after
	}
	return 0
}

// gather returns the crowd of entry e and makes one where there is none, counting
// the seat that may be there.
func (t *Table) gather(e int32) *crowd {
	x := t.entries.at(e)
	if x.crowd == 0 {
		var c *crowd
		x.crowd, c = t.crowds.take()
		if !t.empty(e, x) {
			c.seats = 1
		}
		if x.holders != 0 {
			c.grants = 1
		}
	}
	return t.crowds.at(x.crowd)
}

// sit makes the seat of a request that is new at entry e. It is in no ring of the
// entry yet, and has no detail.
func (t *Table) sit(e int32, r *Request) int32 {
	t.alter(e)
	i, s := t.seats.take()
	x := t.entries.at(e)
	if x.crowd != 0 || x.holders != 0 || x.queue != 0 || r.Mode == holdfast.ModeSlots || t.gate != nil && !t.empty(e, x) {
		c := t.gather(e)
		c.seats++
		if r.Mode == holdfast.ModeSlots {
			if c.slots == 0 {
				c.capacity = int32(r.Capacity)
			}
			c.slots++
		}
	}
	s.entry, s.request, s.mode, s.since = e, r.ID, r.Mode, r.Arrived
	t.attend(i, s, r)
	if x.crowd != 0 {
		t.register(i)
	}
	if t.gate != nil && !t.gated(e) {
		t.gate.owners.sit(party{s.session, r.Owner})
	}
	return i
}

// describe gives seat i the detail that its request needs, if any.
func (t *Table) describe(i int32, r *Request, end Time) {
	s := t.seats.at(i)
	another := r.Client != t.sessions.at(s.session).client
	if r.Owner == "" && r.Reason == "" && !another && r.Units == 0 && r.Hold == 0 && end == Never {
		return
	}
	d := t.detailOf(i)
	d.owner, d.reason, d.hold, d.units, d.capacity = r.Owner, r.Reason, r.Hold, int32(r.Units), int32(r.Capacity)
	if another {
		d.another, d.client = true, r.Client
	}
	t.setDeadline(s.detail, end)
}

// detailOf returns the detail of seat i and makes one where there is none.
func (t *Table) detailOf(i int32) *detail {
	s := t.seats.at(i)
	if s.detail != 0 {
		return t.details.at(s.detail)
	}
	var d *detail
	s.detail, d = t.details.take()
	*d = detail{end: Never, holds: 1, last: i}
	return d
}

// owner returns the owner that seat s named, or "".
func (t *Table) owner(s *seat) string {
	if s.detail == 0 {
		return ""
	}
	return t.details.at(s.detail).owner
}

// units returns how many units seat s holds or wants; 0 unless in mode slots.
func (t *Table) units(s *seat) int32 {
	if s.detail == 0 {
		return 0
	}
	return t.details.at(s.detail).units
}

// capacity returns the capacity that seat s counts on; 0 unless in mode slots.
func (t *Table) capacity(s *seat) int32 {
	if s.detail == 0 {
		return 0
	}
	return t.details.at(s.detail).capacity
}

// client returns who asked for seat s, for people.
func (t *Table) client(s *seat) string {
	if s.detail != 0 && t.details.at(s.detail).another {
		return t.details.at(s.detail).client
	}
	return t.sessions.at(s.session).client
}

// end returns when a limit in time ends seat s, or Never.
func (t *Table) end(s *seat) Time {
	if s.detail == 0 {
		return Never
	}
	return t.details.at(s.detail).end
}
