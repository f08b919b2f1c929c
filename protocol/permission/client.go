package permission

import (
	"fmt"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// unknownPosition is the position in a queue that nobody knows: nobody sees all who wait.
const unknownPosition = -1

// onCall takes a wish of this member's clients, or of an operator.
func (m *Machine) onCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		m.answering = answering{call: ev.Call, session: fact.Session, request: fact.ID}
		m.acquire(now, fact, out)
	case *protocol.Release:
		m.answering = answering{call: ev.Call, session: fact.Session, request: fact.Request}
		m.release(now, fact, out)
	case *protocol.Cancel:
		m.answering = answering{call: ev.Call, session: fact.Session, request: fact.Request}
		m.cancel(now, fact, out)
	case *protocol.Extend:
		m.answering = answering{call: ev.Call, session: fact.Session, request: fact.Request}
		m.extend(now, fact, out)
	case *protocol.EndSession:
		m.table.EndSession(now, fact.Session, fact.Why, &m.scratch)
		m.tell(now, out)
	case *protocol.Revoke:
		m.table.RevokeSession(now, fact.Session, fact.Why, holdfast.ErrUnavailable, &m.scratch)
		m.tell(now, out)
	case *protocol.CountHolds:
		holds, _ := m.table.Session(fact.Session)
		out.Reply(ev.Call, &protocol.Holds{Count: holds})
	case *protocol.ListRequests:
		list := &protocol.Requests{}
		m.table.Requests(fact.Session, func(request uint64, name string) {
			list.List = append(list.List, protocol.RequestOf{ID: request, Name: name})
		})
		out.Reply(ev.Call, list)
	default:
		m.operate(now, ev, out)
	}
}

// patienceOfTry is how long the answers to a request are waited for that does not want to wait
// at all, in units of patience.
const patienceOfTry = 2

// acquire queues a request here, and asks for it when its turn has come.
func (m *Machine) acquire(now protocol.Time, q *lock.Request, out *protocol.Effects) {
	if err := m.refusal(q); err != nil {
		m.scratch = append(m.scratch, lock.Decision{
			Kind: lock.Refused, Session: q.Session, Request: q.ID, Name: q.Name, Owner: q.Owner,
			Mode: q.Mode, Units: q.Units, Capacity: q.Capacity, Err: err,
		})
		m.tell(now, out)
		return
	}
	if q.WaitEnd <= now && m.ready() {
		// It waits for nobody who holds, but for what peers say: nobody knows it before.
		asks := *q
		asks.Try, asks.WaitEnd = true, now+patienceOfTry*m.config.Patience
		q = &asks
	}
	known := m.byKey[requestKey{q.Session, q.ID, q.Name}] != nil
	m.table.Acquire(now, q, &m.scratch)
	if n := len(m.scratch); !known && n > 0 && m.scratch[n-1].Kind == lock.Queued {
		m.enroll(now, q, out)
	}
	m.tell(now, out)
}

// refusal says why a request is not taken at all, or nil.
func (m *Machine) refusal(q *lock.Request) error {
	if m.byKey[requestKey{q.Session, q.ID, q.Name}] != nil {
		return nil // told again, whatever has changed since
	}
	switch k := m.config.Capacity; {
	case q.Name == lock.Whole:
		return fmt.Errorf("%w: a space of protocol permission cannot be suspended, because nobody is in charge of it", holdfast.ErrUnsupported)
	case protocol.ID(q.Session.Member) != m.self:
		return fmt.Errorf("%w: session %v belongs to another member", holdfast.ErrConflict, q.Session)
	case m.instance.Closed():
		return m.instance.ErrClosed()
	case k != 0 && (q.Mode != holdfast.ModeSlots || q.Units != 1 || q.Capacity != k):
		return fmt.Errorf("%w: the lock is asked for %s, and this space has capacity=%d: every lock in it is one of %d slots; ask for slots 1/%d, or use a space without capacity",
			holdfast.ErrConflict, asked(shape{q.Mode, q.Units, q.Capacity}), k, k, k)
	}
	return nil
}

// asked says in words for what a lock is asked.
func asked(s shape) string {
	if s.mode == holdfast.ModeSlots {
		return fmt.Sprintf("in slots %d/%d", s.units, s.capacity)
	}
	return "in mode " + s.mode.String()
}

// release gives up a hold. Peers that wait for it are answered in the same step.
func (m *Machine) release(now protocol.Time, r *protocol.Release, out *protocol.Effects) {
	if err := m.table.Release(now, r.Session, r.Name, r.Token, r.Request, &m.scratch); err != nil {
		m.scratch = append(m.scratch, lock.Decision{
			Kind: lock.Refused, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Err: err,
		})
	}
	m.tell(now, out)
}

// cancel ends a request for good. What peers answer to it from here on is about nothing.
func (m *Machine) cancel(now protocol.Time, r *protocol.Cancel, out *protocol.Effects) {
	if !m.table.Cancel(now, r.Session, r.Name, r.Request, &m.scratch) {
		m.scratch = append(m.scratch, lock.Decision{Kind: lock.Released, Session: r.Session, Request: r.Request, Name: r.Name})
	}
	m.tell(now, out)
}

// extend replaces a hold limit.
func (m *Machine) extend(now protocol.Time, r *protocol.Extend, out *protocol.Effects) {
	d := lock.Decision{Kind: lock.Granted, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Hold: r.Hold}
	if err := m.table.Extend(now, r.Session, r.Name, r.Token, r.Hold); err != nil {
		d.Kind, d.Err = lock.Refused, err
	}
	m.scratch = append(m.scratch, d)
	m.tell(now, out)
}

// keptDecisions is how much scratch is kept from one step to the next.
const keptDecisions = 256

// tell tells what the table has decided, in order, and takes note of it: what has ended, or has
// entered what its owner holds, asks no more.
func (m *Machine) tell(now protocol.Time, out *protocol.Effects) {
	decided := m.scratch
	m.scratch = nil
	for i := range decided {
		d := &decided[i]
		m.follow(d)
		m.decide(d, out)
	}
	if cap(decided) <= keptDecisions && m.scratch == nil {
		m.scratch = decided[:0]
	}
}

// follow brings the requests in line with a decision.
func (m *Machine) follow(d *lock.Decision) {
	key := requestKey{d.Session, d.Request, d.Name}
	switch d.Kind {
	case lock.Granted:
		if r := m.byKey[key]; r != nil && !r.held {
			m.drop(r) // it has entered the grant of its owner
		}
	case lock.Refused, lock.Released, lock.Lost:
		if r := m.byKey[key]; r != nil && !r.held {
			m.explain(r, d)
			m.drop(r)
			return
		}
		if d.Token == 0 || m.names[d.Name] == nil {
			return
		}
		for _, r := range m.names[d.Name].asked() {
			if r.held && r.token == d.Token && !m.table.Grants(d.Name, d.Token) {
				m.drop(r)
				return
			}
		}
	}
}

// explain says why a request was not granted in time, as far as more is known of that than the
// table knows: who is before it, or who has not answered one that should be answered at once.
func (m *Machine) explain(r *request, d *lock.Decision) {
	by, held := d.Err.(*lock.HeldBy)
	if !held || by.Holder != (lock.SessionID{}) || r.number == 0 {
		return
	}
	var silent []string
	for i := range m.peers {
		if p := &m.peers[i]; !p.harmless && !r.answeredBy(p.place.id) {
			silent = append(silent, m.view.Name(p.place.id))
		}
	}
	switch {
	case r.by != nil:
		d.Err = r.by
	case (r.try || m.config.Defer) && len(silent) > 0:
		d.Err = fmt.Errorf("%w: no answer from %s", holdfast.ErrUnavailable, strings.Join(silent, ", "))
	}
}

// decide tells a decision: the first one about what is being asked in this step answers the
// call, and every other goes where its session can be reached. That a request is queued is told
// only where nothing better comes within the step.
func (m *Machine) decide(d *lock.Decision, out *protocol.Effects) {
	a := &m.answering
	mine := a.call != (protocol.CallID{}) && d.Session == a.session && (d.Request == a.request || a.request == 0)
	if d.Kind == lock.Queued {
		if mine {
			queued := *d
			a.queued = &queued
			return
		}
		d.Position = m.position(d)
	}
	var to protocol.CallID
	if mine {
		to = a.call
		*a = answering{}
	}
	out.Decide(to, d)
}

// position is what is told of a place in this member's queue when it is known that the request
// has to wait: behind others here, or because a peer lets it wait. Where there are others, their
// clients may stand before it too, and nobody counts those.
func (m *Machine) position(d *lock.Decision) int {
	r := m.byKey[requestKey{d.Session, d.Request, d.Name}]
	switch {
	case !m.admitted():
		return unknownPosition
	case len(m.peers) == 0:
		return d.Position
	case r == nil || !r.waits && (r.clock == 0 || r.number != 0):
		return unknownPosition // it is not asked for yet, or about to be granted
	}
	return d.Position
}

// letWait notes that a peer lets a request wait.
func (m *Machine) letWait(r *request) {
	if !r.waits {
		r.waits = true
		m.news = append(m.news, r)
	}
}

// tellWaits tells those that they have to wait of whom that was not known when they came.
func (m *Machine) tellWaits(out *protocol.Effects) {
	for _, r := range m.news {
		if r.told || r.try || r.dropped || r.held {
			continue
		}
		d, waits := m.table.Queued(r.key.session, r.key.name, r.key.id)
		if d.Position = m.position(&d); waits && d.Position != unknownPosition {
			r.told = true
			out.Decide(protocol.CallID{}, &d)
		}
	}
	clear(m.news)
	m.news = m.news[:0]
}

// conclude answers what was asked in this step and has not been decided in it.
func (m *Machine) conclude(out *protocol.Effects) {
	if queued := m.answering.queued; queued != nil {
		queued.Position = m.position(queued)
		if r := m.byKey[requestKey{queued.Session, queued.Request, queued.Name}]; r != nil {
			r.told = r.told || queued.Position != unknownPosition
		}
		out.Decide(m.answering.call, queued)
	}
	m.tellWaits(out)
	m.answering = answering{}
	m.tellClosed(out)
}
