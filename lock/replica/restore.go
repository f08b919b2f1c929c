package replica

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
)

// Restorer makes a replica of the parts of a snapshot.
type Restorer struct {
	replica *Replica
	number  uint32 // of the part that comes next
	kind    byte   // of the latest one
	// What is still to come, by the header.
	sessions, gone, done, outcomes, wishes, seats int
	ended                                         bool // the table's last chunk was there
	former                                        bool // it is of a format that does not say by whom requests were asked for
	unattached                                    bool // it is of one that does not say which client uses a session
	unmarked                                      bool // it is of one that does not say what such a client has inherited
}

// Restore begins. The error names the field of c that is wrong. Its bounds are not applied to what is
// restored.
func Restore(c Config) (*Restorer, error) {
	r, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Restorer{replica: r}, nil
}

// Add takes the next part. The error says which part cannot be, and why: what was restored until then is
// to be thrown away.
func (s *Restorer) Add(part []byte) error {
	if err := s.add(part); err != nil {
		return fmt.Errorf("restore part %d of a replica: %w", s.number, err)
	}
	s.number++
	return nil
}

// Done returns the replica, when all parts are there.
func (s *Restorer) Done() (*Replica, error) {
	if s.number == 0 || s.sessions+s.gone+s.done+s.outcomes+s.wishes > 0 || s.seats != 0 || !s.ended {
		return nil, fmt.Errorf("restore a replica: %d parts were given, and %d sessions, %d and %d members, %d outcomes, %d wishes and %d seats are missing: %w",
			s.number, s.sessions, s.gone, s.done, s.outcomes, s.wishes, s.seats, ErrMalformed)
	}
	if s.unmarked {
		s.markAll()
	}
	slices.SortStableFunc(s.replica.remembered.list, func(a, b *wish) int { return cmp.Compare(a.since, b.since) })
	return s.replica, nil
}

// markAll takes all that the later client of a session holds for inherited, where nothing says what is.
func (s *Restorer) markAll() {
	//tidy:unordered each by itself
	for _, of := range s.replica.sessions {
		if of.Attached.Generation > 1 {
			of.Inherited = s.replica.table.Last()
		}
	}
}

func (s *Restorer) add(part []byte) error {
	if len(part) < 5 {
		return fmt.Errorf("it has %d bytes: %w", len(part), ErrMalformed)
	}
	if binary.BigEndian.Uint32(part) != checksum(s.number, part[4:]) {
		return fmt.Errorf("its checksum is wrong: it is damaged, or in the place of another: %w", ErrMalformed)
	}
	kind := part[4]
	r := &reader{b: part[5:]}
	if (s.number == 0) != (kind == partHeader) || kind < s.kind || s.ended {
		return fmt.Errorf("it is of kind %d, behind kind %d: %w", kind, s.kind, ErrMalformed)
	}
	s.kind = kind
	if kind == partHeader {
		s.header(r)
		return r.end("it")
	}
	for len(r.b) > 0 {
		switch kind {
		case partSessions:
			s.session(r)
		case partGone:
			r.roll(&s.replica.gone, &s.gone)
		case partDone:
			r.roll(&s.replica.done, &s.done)
		case partOutcomes:
			s.outcome(r)
		case partWishes:
			s.wish(r)
		case partSeats:
			if s.ended {
				r.fail("more follows the last chunk")
				continue
			}
			s.chunk(r)
		default:
			r.fail("its kind is %d", kind)
		}
	}
	return r.end("it")
}

func (s *Restorer) header(r *reader) {
	switch is := r.text(); is {
	case format:
	case unmarkedFormat:
		s.unmarked = true
	case unattachedFormat:
		s.unattached, s.unmarked = true, true
	case formerFormat:
		s.former, s.unattached, s.unmarked = true, true, true
	default:
		r.fail("its format is %.40q, where this program knows %q; use the program that wrote it, or a newer one", is, format)
	}
	s.replica.now, s.replica.reign = r.time(), uint64(r.small(lock.MaxReign))
	s.sessions, s.gone, s.done = r.small(math.MaxInt32), r.small(MaxMembers), r.small(MaxMembers)
	s.outcomes, s.wishes, s.seats = r.small(math.MaxInt32), r.small(math.MaxInt32), r.small(math.MaxInt32)
}

func (s *Restorer) session(r *reader) {
	n := &session{}
	n.ID, n.TTL, n.Opened, n.Client, n.Identity = r.session(), r.time(), r.time(), r.text(), r.text()
	copy(n.Secret[:], r.bytes(len(n.Secret)))
	if !s.unattached {
		n.Attached = r.attachments()
	}
	if !s.unmarked {
		n.Inherited = holdfast.Token(r.number())
	}
	n.ended = r.ended()
	switch {
	case r.err != nil:
	case s.replica.sessions[n.ID] != nil || s.sessions == 0:
		r.fail("session %v is one too many", n.ID)
	default:
		s.replica.sessions[n.ID] = n
		s.sessions--
	}
}

// ended reads ranges, which may not touch.
func (r *reader) ended() (e ended) {
	last, count := uint64(0), r.small(MaxRanges)
	for i := range count {
		gap, length := r.number(), r.number()
		first := last + gap
		if first < last || first+length < first || i > 0 && gap < 2 {
			r.fail("the ranges of ended numbers overlap")
			return nil
		}
		last = first + length
		e = append(e, span{first, last})
	}
	return e
}

// roll reads one member's numbers, of so many members that are still to come.
func (r *reader) roll(l *roll, missing *int) {
	member, e := r.number(), r.ended()
	switch {
	case r.err != nil:
	case *missing == 0 || l.numbers[member] != nil:
		r.fail("member %d is one too many", member)
	default:
		*l.of(member) = e
		*missing--
	}
}

func (s *Restorer) outcome(r *reader) {
	switch o := r.outcome(); {
	case r.err != nil:
	case s.outcomes == 0:
		r.fail("request %d of session %v is one too many", o.request.number, o.session)
	default:
		s.replica.outcomes.push(o)
		s.outcomes--
	}
}

func (r *reader) outcome() (o outcome) {
	o.session, o.request.number = r.session(), r.number()
	o.kind, o.class = lock.Kind(r.byte()), r.byte()
	o.token, o.loss = holdfast.Token(r.number()), holdfast.Loss(r.text())
	if r.err == nil && (int(o.class) >= len(classes) || o.kind != lock.Refused && o.kind != lock.Lost && o.kind != lock.Released) {
		r.fail("request %d of session %v has ended as %d, class %d", o.request.number, o.session, o.kind, o.class)
	}
	return o
}

func (s *Restorer) wish(r *reader) {
	id := r.session()
	w := &wish{wishKey: wishKey{r.text(), r.text()}, content: r.number(), over: r.flag()}
	if w.over {
		w.since, w.how = r.time(), r.outcome()
		w.number = w.how.request.number
	} else {
		w.number, w.arrived, w.granted = r.number(), r.time(), r.flag()
		for range r.small(MaxAsks) {
			w.asks = append(w.asks, ask{r.number(), r.time()})
		}
	}
	of := s.replica.sessions[id]
	for _, a := range w.asks {
		s.by(r, of, requestFor{a.number, w.name})
	}
	switch {
	case r.err != nil:
	case of == nil || of.wishes[w.wishKey] != nil || s.wishes == 0:
		r.fail("wish %q of session %v is one too many", w.once, id)
	case w.over && w.how.session != id || !w.over && len(w.asks) == 0:
		r.fail("wish %q of session %v has no session", w.once, id)
	default:
		of.wants(w)
		s.wishes--
		if w.over {
			s.replica.remembered.add(w)
		}
	}
}

// by reads through whom a request of a session has come.
func (s *Restorer) by(r *reader, of *session, is requestFor) {
	if s.former || !r.flag() {
		return
	}
	if member := r.number(); of != nil && r.err == nil {
		if of.by == nil {
			of.by = map[requestFor]uint64{}
		}
		of.by[is] = member
	}
}

func (s *Restorer) chunk(r *reader) {
	c := lock.Chunk{From: r.number(), Next: r.number(), Reign: r.number()}
	c.Count, c.Paused = uint32(r.small(math.MaxUint32)), r.flag()
	for range r.count() {
		if r.err != nil {
			return
		}
		c.Seats = append(c.Seats, r.seat())
	}
	for i := range c.Seats {
		s.by(r, s.replica.sessions[c.Seats[i].Session], requestFor{c.Seats[i].Request, c.Seats[i].Name})
	}
	if r.err != nil {
		return
	}
	if err := s.replica.table.Restore(s.replica.now, c); err != nil {
		r.fail("%v", err)
		return
	}
	s.seats -= len(c.Seats)
	s.ended = c.Next == 0
}

func (r *reader) seat() (s lock.Seat) {
	s.Name, s.Session, s.Request = r.text(), r.session(), r.number()
	s.Owner, s.Reason, s.Client = r.text(), r.text(), r.text()
	s.Mode, s.Units, s.Capacity = holdfast.Mode(r.small(math.MaxUint8)), r.small(math.MaxInt32), r.small(math.MaxInt32)
	s.Token = holdfast.Token(r.number())
	s.Age, s.Left, s.Hold = r.time(), r.time(), r.time()
	s.Revoked, s.Try, s.Turn = r.flag(), r.flag(), r.number()
	return s
}
