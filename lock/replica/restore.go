package replica

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/wire"
)

// Restorer builds a replica from the parts of a snapshot.
type Restorer struct {
	replica *Replica
	number  uint32 // of the part that comes next
	kind    byte   // of the latest one
	header         // its numbers are how many are still to come
	ended   bool   // all entries were there
	taken   uint64 // entries
}

// Restore returns a Restorer. The error names the invalid field of c. Its limits are not applied to restored state.
func Restore(c Config) (*Restorer, error) {
	r, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Restorer{replica: r}, nil
}

// Add adds the next part. The error says which part is invalid, and why: discard the restored state then.
func (s *Restorer) Add(part []byte) error {
	if err := s.add(part); err != nil {
		return fmt.Errorf("restore part %d of a replica: %w", s.number, err)
	}
	s.number++
	return nil
}

// Done returns the replica, once all parts are there.
func (s *Restorer) Done() (*Replica, error) {
	if s.number == 0 || s.sessions+s.gone+s.done+s.outcomes+s.intents > 0 || s.entries != 0 || !s.ended {
		return nil, fmt.Errorf("restore a replica: %d parts were given, and %d sessions, %d and %d members, %d outcomes, %d intents and %d entries are missing: %w",
			s.number, s.sessions, s.gone, s.done, s.outcomes, s.intents, s.entries, wire.ErrMalformed)
	}
	slices.SortStableFunc(s.replica.remembered.list, func(a, b *intent) int { return cmp.Compare(a.since, b.since) })
	return s.replica, nil
}

func (s *Restorer) add(part []byte) error {
	if len(part) < 5 {
		return fmt.Errorf("it has %d bytes: %w", len(part), wire.ErrMalformed)
	}
	if binary.BigEndian.Uint32(part) != checksum(s.number, part[4:]) {
		return fmt.Errorf("its checksum is wrong: it is damaged, or in the place of another: %w", wire.ErrMalformed)
	}
	kind := part[4]
	c := wire.From(part[5:])
	if (s.number == 0) != (kind == partHeader) || kind < s.kind || s.ended {
		return fmt.Errorf("it is of kind %d, behind kind %d: %w", kind, s.kind, wire.ErrMalformed)
	}
	s.kind = kind
	if kind == partHeader {
		s.header.code(&c)
		s.replica.now, s.replica.reign = s.now, s.reign
		return c.End()
	}
	for len(c.Bytes()) > 0 {
		switch kind {
		case partSessions:
			s.session(&c)
		case partGone:
			takeRoll(&c, &s.replica.gone, &s.gone)
		case partDone:
			takeRoll(&c, &s.replica.done, &s.done)
		case partOutcomes:
			s.outcome(&c)
		case partIntents:
			s.intent(&c)
		case partEntries:
			s.entry(&c)
		default:
			c.Refuse("its kind is %d", kind)
		}
	}
	if err := c.End(); err != nil {
		return err
	}
	if kind == partEntries && s.version >= withClients {
		return s.sit()
	}
	return nil
}

func (s *Restorer) session(c *wire.Coder) {
	n := &session{}
	n.code(c, s.version)
	switch {
	case c.Err() != nil:
	case s.replica.sessions[n.ID] != nil || s.sessions == 0:
		c.Refuse("session %v is one too many", n.ID)
	default:
		s.replica.sessions[n.ID] = n
		s.sessions--
	}
}

// takeRoll reads one member's numbers; missing counts the members still to come.
func takeRoll(c *wire.Coder, l *roll, missing *int) {
	var member uint64
	var e ended
	wire.Number(c, &member)
	e.code(c)
	switch {
	case c.Err() != nil:
	case *missing == 0 || l.numbers[member] != nil:
		c.Refuse("member %d is one too many", member)
	default:
		*l.of(member) = e
		*missing--
	}
}

func (s *Restorer) outcome(c *wire.Coder) {
	var o outcome
	o.code(c)
	switch {
	case c.Err() != nil:
	case s.outcomes == 0:
		c.Refuse("request %d of session %v is one too many", o.request.number, o.session)
	default:
		s.replica.outcomes.push(o)
		s.outcomes--
	}
}

func (s *Restorer) intent(c *wire.Coder) {
	if s.version < withClients {
		s.apart(c)
		return
	}
	w := &intent{over: true}
	if w.codeOver(c); s.intents == 0 {
		c.Refuse("intent %q of session %v is one too many", w.once, w.how.session)
	}
	w.number = w.how.request.number
	s.intents--
	s.wants(c, w.how.session, w)
}

// apart reads an intent that is separate from its entry, or ended.
func (s *Restorer) apart(c *wire.Coder) {
	var id lock.SessionID
	w := &intent{}
	codeSession(c, &id)
	wire.Text(c, &w.name)
	wire.Text(c, &w.once)
	wire.Number(c, &w.content)
	if c.Bool(&w.over); w.over {
		c.Duration(&w.since)
		w.how.code(c)
		w.number = w.how.request.number
	} else {
		wire.Number(c, &w.number)
		w.codeRequests(c)
		s.asked(c, id, w)
	}
	if s.intents == 0 || w.over && w.how.session != id {
		c.Refuse("intent %q of session %v is one too many, or of another", w.once, id)
	}
	s.intents--
	s.wants(c, id, w)
}

// asked reads the members through which the requests for an intent have come.
func (s *Restorer) asked(c *wire.Coder, id lock.SessionID, w *intent) {
	for _, a := range w.requests {
		s.by(c, id, requestFor{a.number, w.name})
	}
	if len(w.requests) == 0 {
		c.Refuse("nothing asks for intent %q of session %v", w.once, id)
	}
}

// wants adds an intent that was read.
func (s *Restorer) wants(c *wire.Coder, id lock.SessionID, w *intent) {
	of := s.replica.sessions[id]
	switch {
	case c.Err() != nil:
		return
	case of == nil || of.intents[w.intentKey] != nil:
		c.Refuse("intent %q of session %v has no session, or is there already", w.once, id)
		return
	}
	of.wants(w)
	if w.over {
		s.replica.remembered.add(w)
	}
}

// by reads the member through which a request of a session has come.
func (s *Restorer) by(c *wire.Coder, id lock.SessionID, is requestFor) {
	if s.version < withRequesters {
		return
	}
	var member uint64
	var known bool
	codeBy(c, &member, &known)
	if of := s.replica.sessions[id]; known && of != nil && c.Err() == nil {
		if of.by == nil {
			of.by = map[requestFor]uint64{}
		}
		of.by[is] = member
	}
}

// entry reads an entry with the replica's additions, or a chunk of entries.
func (s *Restorer) entry(c *wire.Coder) {
	if s.version < withClients {
		if s.ended {
			c.Refuse("more follows the last chunk")
			return
		}
		s.chunk(c)
		return
	}
	var entry lock.Entry
	var wanted bool
	codeEntry(c, &entry, s.version)
	s.by(c, entry.Session, requestFor{entry.Request, entry.Name})
	if c.Bool(&wanted); wanted {
		w := &intent{intentKey: intentKey{name: entry.Name}, number: entry.Request}
		w.codeWanted(c)
		s.asked(c, entry.Session, w)
		s.wants(c, entry.Session, w)
	}
	s.table.Entries = append(s.table.Entries, entry)
}

// sit passes the entries of a part to the table.
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
		return fmt.Errorf("%w: %w", err, wire.ErrMalformed)
	}
	return nil
}

// chunk reads a chunk of the table, in the form of earlier formats.
func (s *Restorer) chunk(c *wire.Coder) {
	var k lock.Chunk
	wire.Number(c, &k.From)
	wire.Number(c, &k.Next)
	wire.Number(c, &k.Reign)
	wire.Number(c, &k.Count)
	c.Bool(&k.Paused)
	for i := range wire.Elements(c, &k.Entries, leastEntry, math.MaxInt) {
		codeEntry(c, &k.Entries[i], s.version)
	}
	for i := range k.Entries {
		s.by(c, k.Entries[i].Session, requestFor{k.Entries[i].Request, k.Entries[i].Name})
	}
	if c.Err() != nil {
		return
	}
	if err := s.replica.table.Restore(s.replica.now, k); err != nil {
		c.Refuse("%v", err)
		return
	}
	s.entries -= len(k.Entries)
	s.ended = k.Next == 0
}
