package consensus

import (
	"errors"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// client is a session that is served here.
type client struct {
	local     lock.SessionID // what the session machine calls it
	id        lock.SessionID // what the space calls it: the same, but for a session of this process
	enrolled  protocol.Enroll
	presences []*presence
	requests  map[uint64]*request
	unsent    map[uint64]bool // the numbers of those that may have something unsent, so that a beat costs no walk of all
	giving    []*work         // releases that are not answered
	amending  []*work         // amendments that are not answered
	beatDue   protocol.Time   // of a session of this process
	// When it was adopted its client had assigned numbers up to settled. Of those it has not settled the ones in open;
	// grants of the others are returned.
	settled uint64
	open    map[uint64]bool
	ending  map[ending]*work // sessions reported as ended, before the shard knows
	letsIn  map[passer]*work // owners being let in for a suspension
}

// ending is the number of a request, and a shard.
type ending struct {
	number uint64
	shard  int
}

// presence is a shard's knowledge of a session.
type presence struct {
	part  *part
	state state
	queue []*request // that wait for it to be open
	waits []*hearing // beats that do
	// postponed are operations that do (unknown.go).
	postponed []*work
	// heard is when the latest beat that counts was sent, or the session was opened here; it lives for its ttl from
	// then on. It is long ago if neither is known.
	heard protocol.Time
	// attaching records in the shard which client uses the session; that client's beats wait for it. nil if that is
	// known.
	attaching *work
}

type state uint8

const (
	opening state = iota + 1 // an operation says that it begins
	open
	gone // it has ended there
)

// hearing is a beat of one session for one shard; beat is the call that waits for all of them.
type hearing struct {
	client   *client
	presence *presence
	of       *beat
}

type beat struct {
	call    protocol.CallID // zero for a session of this process
	at      protocol.Time
	missing int
	err     error
	// attached is the client that was heard, if it has a number; later is one that has taken the session over from it.
	attached, later lock.Attachments
	tied            bool // it asks to tie the session to this member
}

// counts reports whether a beat, or an operation that opens a session, still belongs to a session served here under its
// current name: one of this process may have got another name in the meantime.
func (m *Machine) counts(h *hearing) bool {
	return m.serves(h.client) && slices.Contains(h.client.presences, h.presence)
}

// clientOf returns a session that is served here, by its name in the session machine; nil if it is not.
func (m *Machine) clientOf(id lock.SessionID) *client {
	if c := m.owns[id]; c != nil {
		return c
	}
	return m.clients[id]
}

// serves reports whether c is still served, under the name that it has.
func (m *Machine) serves(c *client) bool { return m.clients[c.id] == c }

// inOrder are the clients, in an order that does not depend on chance.
func (m *Machine) inOrder() []*client {
	return slices.SortedFunc(maps.Values(m.clients), func(a, b *client) int { return compareSessions(a.id, b.id) })
}

func newClient(id lock.SessionID) *client {
	return &client{local: id, id: id, requests: map[uint64]*request{}, unsent: map[uint64]bool{}}
}

// enroll begins to serve a session.
func (m *Machine) enroll(e *protocol.Enroll) {
	if m.clientOf(e.Session) != nil {
		return
	}
	c := newClient(e.Session)
	c.enrolled = *e
	if e.Own {
		m.rename(c)
		m.owns[c.local] = c
	}
	m.clients[c.id] = c
}

// rename gives a session of this process a name that the group has not seen.
func (m *Machine) rename(c *client) {
	m.aliases++
	c.id = lock.SessionID{Member: uint64(m.config.Self), Number: m.config.Life<<32 | 1<<31 | m.aliases}
}

// presenceAt returns a shard's knowledge of a session, or nil.
func (c *client) presenceAt(p *part) *presence {
	for _, presence := range c.presences {
		if presence.part == p {
			return presence
		}
	}
	return nil
}

// enter opens a session in a shard.
func (m *Machine) enter(c *client, entering *presence, out *protocol.Effects) {
	entering.state = opening
	c.presences = append(c.presences, entering)
	if p := entering.part; p.shard == nil || m.view == nil {
		p.early = append(p.early, hearing{client: c, presence: entering})
		return
	}
	m.open(c, entering, out)
}

func (m *Machine) open(c *client, presence *presence, out *protocol.Effects) {
	presence.heard = m.now
	err := m.submit(presence.part, replica.Op{
		Kind: replica.Open, Session: c.id, TTL: c.enrolled.TTL, Secret: replica.Secret(c.enrolled.Proof),
		Client: c.enrolled.Client, Identity: c.enrolled.Identity, Attached: replica.Attached(c.enrolled.Attached), Tied: c.enrolled.Tied,
	}, &work{client: c, presence: presence})
	if err != nil {
		m.closed(c, presence, err, out)
	}
}

// opened continues when a session is known to a shard, or when it cannot be.
func (m *Machine) opened(w *work, err error, out *protocol.Effects) {
	c, presence := w.client, w.presence
	if presence.state != opening || !m.counts(&hearing{client: c, presence: presence}) {
		return
	}
	if err != nil {
		m.closed(c, presence, err, out)
		return
	}
	presence.state = open
	queue, waits, postponed := presence.queue, presence.waits, presence.postponed
	presence.queue, presence.waits, presence.postponed = nil, nil, nil
	for _, w := range postponed {
		m.request(presence.part, w, out)
	}
	for _, r := range queue {
		if m.current(r) {
			m.dispatch(r, out)
		}
	}
	for _, h := range waits {
		m.hear(h, out)
	}
	if c.enrolled.Own {
		m.reminders.Push(m.now+c.enrolled.TTL/3, due{what: dueOwn, session: c.local})
		m.reminders.Push(presence.heard+c.enrolled.TTL, due{what: dueLoss, session: c.local})
	}
}

// closed refuses requests that wait for a session that a shard rejects. A session that has ended in one shard lives in
// the others for as long as its client beats: the answer to its next beat reports the end, so that the client starts
// another one.
func (m *Machine) closed(c *client, presence *presence, err error, out *protocol.Effects) {
	presence.state = gone
	queue, waits := presence.queue, presence.waits
	switch ended := errors.Is(err, holdfast.ErrLost); {
	case ended && c.enrolled.Own:
		m.restart(c, out)
		return
	case !ended:
		at := slices.Index(c.presences, presence)
		c.presences = slices.Delete(c.presences, at, at+1)
	}
	for _, r := range queue {
		m.refuse(r, err, out)
	}
	for _, w := range presence.postponed {
		m.unpostponed(presence.part, w, err, out)
	}
	for _, h := range waits {
		h.of.err = err
		m.counted(h, out)
	}
}

// assured returns until when the holds of a session of this process are safe: all its shards keep it until then.
func (c *client) assured() protocol.Time {
	at := protocol.Never
	for _, presence := range c.presences {
		if presence.state == open {
			at = min(at, presence.heard+c.enrolled.TTL)
		}
	}
	return at
}

// Assured returns until when the holds of this process's sessions are safe, by this process's own clock, unless a later
// beat counts by then. Users within the process compare it with the clock themselves.
func (m *Machine) Assured() protocol.Time {
	at := protocol.Never
	//tidy:unordered the least of all
	for _, c := range m.owns {
		if len(c.requests) > 0 {
			at = min(at, c.assured())
		}
	}
	return at
}

// lose ends the holds of a session of this process, when no member has acknowledged its beats for its ttl.
func (m *Machine) lose(id lock.SessionID, out *protocol.Effects) {
	c := m.owns[id]
	if c == nil {
		return
	}
	if at := c.assured(); at > m.now {
		if at != protocol.Never {
			m.reminders.Push(at, due{what: dueLoss, session: id})
		}
		return
	}
	m.restart(c, out)
}

// restart informs a session of this process that its holds are lost, and continues it under another name: its earlier
// one may have been ended. Its waits are requested again.
func (m *Machine) restart(c *client, out *protocol.Effects) {
	delete(m.clients, c.id)
	m.end(c, replica.Op{Kind: replica.End}, out)
	m.rename(c)
	m.clients[c.id] = c
	c.presences, c.giving, c.amending, c.letsIn = nil, nil, nil, nil
	for _, number := range slices.Sorted(maps.Keys(c.requests)) {
		r := c.requests[number]
		if r.state == granted {
			m.lost(r, holdfast.SessionExpired, out)
			continue
		}
		r.state = requested
		if r.pieces != nil {
			m.split(r)
		}
		m.dispatch(r, out)
	}
}

// end informs all shards that know a session that it has ended or, by a replica.EndIdle, that it has ended if it is
// idle.
func (m *Machine) end(c *client, by replica.Op, out *protocol.Effects) {
	by.Session = c.id
	for _, presence := range c.presences {
		if presence.state == gone || presence.part.shard == nil {
			continue
		}
		if err := m.submit(presence.part, by, &work{}); err != nil {
			out.Note(Ignored{What: "the end of a session: " + err.Error() + "; it ends when its ttl is over"})
		}
	}
}

// onEndSession ends a session's holds and waits.
func (m *Machine) onEndSession(e *protocol.EndSession, out *protocol.Effects) {
	c := m.clientOf(e.Session)
	if c == nil {
		return
	}
	m.forget(c)
	by := replica.Op{Kind: replica.End, Attached: replica.Attached(lock.Attachments{Attachment: e.Attached})}
	if e.Idle {
		by = replica.Op{Kind: replica.EndIdle}
	}
	m.end(c, by, out)
	for _, number := range slices.Sorted(maps.Keys(c.requests)) {
		switch r := c.requests[number]; {
		case e.Why == "":
			m.notify(r, lock.Decision{Kind: lock.Released, Token: r.token}, out)
		case r.state == granted:
			m.lost(r, e.Why, out)
		default:
			m.refuse(r, e.Why, out)
		}
	}
}

// dismiss stops serving a session: its holds and waits stay.
func (m *Machine) dismiss(id lock.SessionID) {
	c := m.clientOf(id)
	if c == nil {
		return
	}
	m.forget(c)
	m.waits -= len(c.requests)
	//tidy:unordered each is withdrawn by itself
	for _, r := range c.requests {
		r.leave()
		for _, piece := range r.pieces {
			piece.leave()
		}
	}
}

// leave leaves a request to the member that serves its session now, which asks for it again.
func (r *request) leave() {
	if r.work != nil {
		r.part.shard.Withdraw(r.work.number)
		delete(r.part.work, r.work.number)
	}
}

func (m *Machine) forget(c *client) {
	delete(m.clients, c.id)
	delete(m.owns, c.local)
}
