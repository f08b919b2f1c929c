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
	sessions, gone, done, outcomes, intents, entries int
	ended                                            bool   // all entries were there
	version                                          int    // of the format
	taken                                            uint64 // entries
	table                                            lock.Chunk
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
	if s.number == 0 || s.sessions+s.gone+s.done+s.outcomes+s.intents > 0 || s.entries != 0 || !s.ended {
		return nil, fmt.Errorf("restore a replica: %d parts were given, and %d sessions, %d and %d members, %d outcomes, %d intents and %d entries are missing: %w",
			s.number, s.sessions, s.gone, s.done, s.outcomes, s.intents, s.entries, ErrMalformed)
	}
	slices.SortStableFunc(s.replica.remembered.list, func(a, b *intent) int { return cmp.Compare(a.since, b.since) })
	return s.replica, nil
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
		case partIntents:
			s.intent(r)
		case partEntries:
			s.entry(r)
		default:
			r.fail("its kind is %d", kind)
		}
	}
	if err := r.end("it"); err != nil {
		return err
	}
	if kind == partEntries && s.version >= withClients {
		return s.sit()
	}
	return nil
}

func (s *Restorer) header(r *reader) {
	is := r.text()
	if s.version = slices.Index(formats[:], is); s.version < 0 {
		r.fail("its format is %.40q, where this program knows %q; use the program that wrote it, or a newer one", is, format)
	}
	s.replica.now, s.replica.reign = r.time(), uint64(r.small(lock.MaxReign))
	if s.version >= withClients {
		s.table.Reign, s.table.Count, s.table.Paused = r.number(), uint32(r.small(math.MaxUint32)), r.flag()
	}
	s.sessions, s.gone, s.done = r.small(math.MaxInt32), r.small(MaxMembers), r.small(MaxMembers)
	s.outcomes, s.intents, s.entries = r.small(math.MaxInt32), r.small(math.MaxInt32), r.small(math.MaxInt32)
}

func (s *Restorer) session(r *reader) {
	n := &session{}
	n.ID, n.TTL, n.Opened, n.Client, n.Identity = r.session(), r.time(), r.time(), r.text(), r.text()
	copy(n.Secret[:], r.bytes(len(n.Secret)))
	if s.version >= withClients {
		n.Attached, n.Inherited = r.attachments(), holdfast.Token(r.number())
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

func (s *Restorer) intent(r *reader) {
	if s.version < withClients {
		s.apart(r)
		return
	}
	w := &intent{intentKey: intentKey{r.text(), r.text()}, content: r.number(), over: true, since: r.time(), how: r.outcome()}
	if r.err == nil && s.intents == 0 {
		r.fail("intent %q of session %v is one too many", w.once, w.how.session)
	}
	w.number = w.how.request.number
	s.intents--
	s.wants(r, w.how.session, w)
}

// apart reads an intent that is apart from its entry, or over.
func (s *Restorer) apart(r *reader) {
	id := r.session()
	w := &intent{intentKey: intentKey{r.text(), r.text()}, content: r.number(), over: r.flag()}
	if w.over {
		w.since, w.how = r.time(), r.outcome()
		w.number = w.how.request.number
	} else {
		w.number = r.number()
		s.intentRequests(r, id, w)
	}
	if r.err == nil && (s.intents == 0 || w.over && w.how.session != id) {
		r.fail("intent %q of session %v is one too many, or of another", w.once, id)
	}
	s.intents--
	s.wants(r, id, w)
}

// intentRequests reads who asks for an intent.
func (s *Restorer) intentRequests(r *reader, id lock.SessionID, w *intent) {
	w.arrived, w.granted = r.time(), r.flag()
	for range r.small(MaxIntentRequests) {
		w.requests = append(w.requests, intentRequest{r.number(), r.time()})
	}
	for _, a := range w.requests {
		s.by(r, s.replica.sessions[id], requestFor{a.number, w.name})
	}
	if len(w.requests) == 0 {
		r.fail("nothing asks for intent %q of session %v", w.once, id)
	}
}

// wants takes an intent that was read.
func (s *Restorer) wants(r *reader, id lock.SessionID, w *intent) {
	of := s.replica.sessions[id]
	switch {
	case r.err != nil:
		return
	case of == nil || of.intents[w.intentKey] != nil:
		r.fail("intent %q of session %v has no session, or is there already", w.once, id)
		return
	}
	of.wants(w)
	if w.over {
		s.replica.remembered.add(w)
	}
}

// by reads the member through which a request of a session has come.
func (s *Restorer) by(r *reader, of *session, is requestFor) {
	if s.version < withRequesters || !r.flag() {
		return
	}
	if member := r.number(); of != nil && r.err == nil {
		if of.by == nil {
			of.by = map[requestFor]uint64{}
		}
		of.by[is] = member
	}
}

// entry reads an entry, and what there is of it beside the table; or a chunk of them.
func (s *Restorer) entry(r *reader) {
	if s.version < withClients {
		if s.ended {
			r.fail("more follows the last chunk")
			return
		}
		s.chunk(r)
		return
	}
	entry := r.entry()
	s.by(r, s.replica.sessions[entry.Session], requestFor{entry.Request, entry.Name})
	if r.flag() {
		w := &intent{intentKey: intentKey{entry.Name, r.text()}, number: entry.Request, content: r.number()}
		s.intentRequests(r, entry.Session, w)
		s.wants(r, entry.Session, w)
	}
	s.table.Entries = append(s.table.Entries, entry)
}

// sit gives the table the entries of a part.
func (s *Restorer) sit() error {
	s.entries -= len(s.table.Entries)
	s.ended = s.entries == 0
	s.table.From, s.table.Next = s.taken, 0
	if !s.ended {
		s.taken++
		s.table.Next = s.taken
	}
	err := s.replica.table.Restore(s.replica.now, s.table)
	s.table.Entries = s.table.Entries[:0]
	if err != nil {
		return fmt.Errorf("%w: %w", err, ErrMalformed)
	}
	return nil
}

// chunk reads a chunk of the table, as the formats before had it.
func (s *Restorer) chunk(r *reader) {
	c := lock.Chunk{From: r.number(), Next: r.number(), Reign: r.number()}
	c.Count, c.Paused = uint32(r.small(math.MaxUint32)), r.flag()
	for range r.count() {
		if r.err != nil {
			return
		}
		c.Entries = append(c.Entries, r.entry())
	}
	for i := range c.Entries {
		s.by(r, s.replica.sessions[c.Entries[i].Session], requestFor{c.Entries[i].Request, c.Entries[i].Name})
	}
	if r.err != nil {
		return
	}
	if err := s.replica.table.Restore(s.replica.now, c); err != nil {
		r.fail("%v", err)
		return
	}
	s.entries -= len(c.Entries)
	s.ended = c.Next == 0
}

func (r *reader) entry() (s lock.Entry) {
	s.Name, s.Session, s.Request = r.text(), r.session(), r.number()
	s.Owner, s.Reason, s.Client = r.text(), r.text(), r.text()
	s.Mode, s.Units, s.Capacity = holdfast.Mode(r.small(math.MaxUint8)), r.small(math.MaxInt32), r.small(math.MaxInt32)
	s.Token = holdfast.Token(r.number())
	s.Age, s.Left, s.Hold = r.time(), r.time(), r.time()
	s.Revoked, s.Try, s.Turn = r.flag(), r.flag(), r.number()
	return s
}
