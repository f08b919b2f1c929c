package consensus

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/lock/replica"
	"github.com/holdfast-locks/holdfast/protocol"
)

// request is one of a client that is served here.
type request struct {
	client  *client
	part    *part
	number  uint64
	name    string
	op      replica.Op // the original request; the session is set when it is sent
	state   standing
	token   holdfast.Token
	unsent  *lock.Decision // it holds, and the grant goes to its client when its session is known to live
	revoked bool           // its client was notified to stop
	here    bool           // its client has made it through this member, which reports to it; otherwise only losses are kept, in case it connects here
	until   protocol.Time  // when it is refused even if no decision comes
	// elsewhere means that it was made through another member before.
	elsewhere bool
	arrived   protocol.Time // for the first time: a hold limit counts from then, however often it is asked again
	waitEnd   protocol.Time
	work      *work // it is on its way to the table

	// Of a suspension of several shards: see space_lock.go.
	pieces []*request // its request in each shard, in order; part is the last one's
	giving []*work    // calls that wait for its release
	// Of a piece: the suspension, and the decision that granted it.
	of       *request
	decision lock.Decision
}

type standing uint8

const (
	unrequested standing = iota // of a piece: its shard does not know of it
	requested                   // nothing is known of it
	queued                      // it waits
	granted                     // it holds
	over                        // of a piece: it has ended
)

// work is an operation of this member that is under way.
type work struct {
	op       replica.Op
	number   uint64
	client   *client
	presence *presence       // Open, Attach
	hearings []*hearing      // Attach: the beats that wait for it
	request  *request        // Acquire; Release of a piece; LetIn: the suspension; Recall: its record
	breaking *breaking       // Break
	call     protocol.CallID // Release, Extend, Amend: the waiting call
	answered bool
	reply    *cancelReply // Cancel: the answer when all shards have done it; nil if there is none
}

func compareSessions(a, b lock.SessionID) int {
	return cmp.Or(cmp.Compare(a.Member, b.Member), cmp.Compare(a.Number, b.Number))
}

// errUndecided is why a request is refused that no quorum has decided in time.
func (m *Machine) errUndecided() error {
	return &lock.Unavailable{Why: cmp.Or(m.trouble(), "no quorum of the space's members has decided in time")}
}

// errUnseen is the answer about a hold of a session that is no longer served, for an operation whose result this member
// could not see.
var errUnseen = fmt.Errorf("%w: this member was behind when that was done, and does not serve the session any more; ask another one", holdfast.ErrUnavailable)

// errFailed is why nothing is taken when this member's part has ended.
func (m *Machine) errFailed() error {
	return fmt.Errorf("%w: this member's part has ended: %v", holdfast.ErrUnavailable, m.failed)
}

// onCall handles a request of this member's clients, or of an operator.
func (m *Machine) onCall(ev *protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		m.acquire(ev.Call, fact, out)
	case *protocol.Release:
		m.release(ev.Call, fact, out)
	case *protocol.Recall:
		w := &work{call: ev.Call, op: replica.Op{Kind: replica.Recall, Session: fact.Session, Request: fact.Request, Name: fact.Name, Token: fact.Token}}
		m.onHeld(w, out)
	case *protocol.Cancel:
		m.cancel(ev.Call, fact, out)
	case *protocol.Extend:
		m.extend(ev.Call, fact, out)
	case *protocol.Amend:
		m.amend(ev.Call, fact, out)
	case *protocol.Enroll:
		m.enroll(fact)
	case *protocol.Beat:
		m.onBeat(ev.Call, fact, out)
	case *protocol.Adopt:
		m.adopt(ev.Call, fact, out)
	case *protocol.Dismiss:
		m.dismiss(fact.Session)
	case *protocol.EndSession:
		m.onEndSession(fact, out)
	case *protocol.Revoke:
		if c := m.clientOf(fact.Session); c != nil {
			m.revoke(c, fact.Why, fact.Refusal(), out)
		}
		m.concludeClosing(out)
	case *protocol.CountHolds:
		out.Reply(ev.Call, &protocol.Holds{Count: m.countHolds(fact.Session)})
	case *protocol.ListRequests:
		out.Reply(ev.Call, m.listRequests(fact.Session))
	default:
		m.onOperator(ev, out)
	}
}

// acquire handles a request.
func (m *Machine) acquire(call protocol.CallID, q *lock.Request, out *protocol.Effects) {
	c := m.clientOf(q.Session)
	d := q.Decision(lock.Queued)
	d.Position = -1
	if err := m.refusal(c, q); err != nil {
		if c != nil && c.requests[q.ID] == nil {
			delete(c.open, q.ID) // it is settled: what comes of it through another member is given back
		}
		d.Kind, d.Position, d.Err = lock.Refused, 0, err
		out.Decide(call, &d)
		return
	}
	out.Decide(call, &d)
	r := c.requests[q.ID]
	if r == nil {
		r = &request{client: c, part: m.partOf(q.Name), number: q.ID, name: q.Name, state: requested, arrived: q.Arrived}
		m.keep(r)
	}
	r.here, r.waitEnd = true, q.WaitEnd
	r.op = replica.Op{
		Kind: replica.Acquire, Request: q.ID, Name: q.Name, Attributes: q.Attributes, Client: q.Client,
		Try: q.Try, Belief: q.Belief,
		Once: q.Once, Content: q.Content, By: c.asker(q.ID),
	}
	if r.until = lock.Never; q.WaitEnd != lock.Never {
		r.until = lock.After(q.WaitEnd, lock.WaitGrace)
		if q.Try { // it does not wait for holders, but for a question and its answer nevertheless
			r.until = lock.After(max(q.WaitEnd, m.now), 2*m.election())
		}
		m.reminders.Push(r.until, due{what: dueRequest, session: q.Session, number: q.ID})
	}
	if r.work == nil && m.failed == nil { // otherwise its outcome is reported when known, or its client asks elsewhere
		m.dispatch(r, out)
	}
}

// refusal returns the reason to refuse a request outright, or nil.
func (m *Machine) refusal(c *client, q *lock.Request) error {
	switch {
	case m.failed != nil && (c == nil || c.enrolled.Own):
		return m.errFailed()
	case c == nil:
		return fmt.Errorf("%w: session %v is not served by this member", holdfast.ErrConflict, q.Session)
	}
	if r := c.requests[q.ID]; r != nil {
		if r.name != q.Name {
			return fmt.Errorf("%w: request %d of session %v is for %q, and was for %q before; give each request a number of its own", holdfast.ErrConflict, q.ID, q.Session, q.Name, r.name)
		}
		return nil // answered again, regardless of changes since
	}
	if m.removed() && !c.open[q.ID] { // a request made through another member may be granted there
		return errRemoved
	}
	if m.instance.Closed() {
		return protocol.ErrClosed(m.view, m.config.Self)
	}
	// Each table sees its own shard alone.
	if limit := m.mostLocks(); len(m.parts) > 1 && len(c.requests) >= limit {
		return &holdfast.LimitError{Limit: "locks_per_session", Value: int64(limit)}
	}
	return nil
}

// mostLocks returns the maximum number of requests of a session.
func (m *Machine) mostLocks() int {
	return cmp.Or(m.config.Table.LocksPerSession, lock.DefaultLocksPerSession)
}

// keep notes a request.
func (m *Machine) keep(r *request) {
	r.client.requests[r.number] = r
	m.waits++
	if m.isSpaceLock(r.name) {
		m.split(r)
	}
}

// dispatch sends a request on its way, as soon as its session is open.
func (m *Machine) dispatch(r *request, out *protocol.Effects) {
	if r.pieces != nil {
		m.submitSpaceLock(r, out)
		return
	}
	switch at := r.client.presenceAt(r.part); {
	case at == nil:
		m.enter(r.client, &presence{part: r.part, queue: []*request{r}}, out)
	case at.state == gone:
		m.refuse(r, holdfast.SessionExpired, out)
	case at.state == opening:
		if !slices.Contains(at.queue, r) {
			at.queue = append(at.queue, r)
		}
	default:
		op := r.op
		op.Session, op.Age, op.Wait = r.client.id, m.now-r.arrived, lock.Never
		if r.waitEnd != lock.Never {
			op.Wait = max(0, r.waitEnd-m.now)
		}
		w := &work{client: r.client, request: r}
		if err := m.submit(r.part, op, w); err == nil {
			r.work = w
		} else if r.state == requested && (r.part.shard.Failed() == nil || r.client.enrolled.Own) {
			m.refuse(r, err, out) // otherwise it waits in the table, where others may let it continue
		}
	}
}

// giveUp refuses a request that has waited for its time and longer, and for which no decision has come.
func (m *Machine) giveUp(d due, out *protocol.Effects) {
	c := m.clientOf(d.session)
	if c == nil {
		return
	}
	r := c.requests[d.number]
	if r == nil || r.state == granted || r.until > m.now {
		return
	}
	if m.failed != nil {
		m.refuse(r, m.errFailed(), out)
		return
	}
	if m.isElsewhere(r) {
		return // another member may have reported the outcome to its client, which connects there if it gets no answer
	}
	m.withdraw(r, &withdrawal{givenUp: true}, out)
	m.refuse(r, m.errUndecided(), out)
}

// isElsewhere reports whether a request was also made through another member, as far as this one knows.
func (m *Machine) isElsewhere(r *request) bool {
	if r.client.enrolled.Own {
		return false
	}
	if r.part.shard != nil {
		if by, known := r.part.shard.Replica().RequestedBy(r.client.id, r.name, r.number); known && by != uint64(m.config.Self) {
			return true
		}
	}
	return r.elsewhere || r.client.open[r.number]
}

// release releases a hold, and is answered when others can take it.
func (m *Machine) release(call protocol.CallID, f *protocol.Release, out *protocol.Effects) {
	w := &work{call: call, op: replica.Op{Kind: replica.Release, Session: f.Session, Request: f.Request, Name: f.Name, Token: f.Token}}
	m.onHeld(w, out)
}

// extend replaces a hold limit.
func (m *Machine) extend(call protocol.CallID, f *protocol.Extend, out *protocol.Effects) {
	w := &work{call: call, op: replica.Op{Kind: replica.Extend, Session: f.Session, Request: f.Request, Name: f.Name, Token: f.Token, Attributes: holdfast.Attributes{Hold: f.Hold}}}
	m.onHeld(w, out)
}

// amend amends a grant.
func (m *Machine) amend(call protocol.CallID, f *protocol.Amend, out *protocol.Effects) {
	if err := f.Check(); err != nil {
		d := f.Refused(err)
		out.Decide(call, &d)
		return
	}
	w := &work{call: call, op: replica.Op{
		Kind: replica.Amend, Session: f.Session, Request: f.Request, Name: f.Name, Token: f.Token,
		Attributes: holdfast.Attributes{Value: f.Value, Revision: f.Revision},
	}}
	m.onHeld(w, out)
}

// onHeld sends an operation about a hold.
func (m *Machine) onHeld(w *work, out *protocol.Effects) {
	op := w.op
	c, p := m.clientOf(op.Session), m.partOf(op.Name)
	switch {
	case m.failed != nil && m.owns[op.Session] == nil:
		return // what becomes of it others will say: the client asks them when this member is gone
	case m.failed != nil:
		m.answerHeld(w, op.Session, m.errFailed(), out)
		return
	case c == nil || !c.mayBeKnownTo(p):
		m.answerHeld(w, op.Session, holdfast.ErrNotHeld, out)
		return
	}
	w.client = c
	if op.Kind == replica.Recall {
		w.request = c.requests[op.Request]
	}
	op.Session = c.id
	if op.Kind == replica.Release && m.isSpaceLock(op.Name) {
		m.releaseSpaceLock(w, out)
		return
	}
	w.op = op
	m.request(p, w, out)
}

// submitHeld submits an operation about a hold to a shard.
func (m *Machine) submitHeld(p *part, w *work, out *protocol.Effects) {
	if err := m.submit(p, w.op, w); err != nil {
		if p.shard.Failed() == nil {
			m.answerHeld(w, w.client.local, err, out)
		}
		return
	}
	switch w.op.Kind {
	case replica.Release:
		w.client.giving = append(w.client.giving, w)
	case replica.Amend:
		w.client.amending = append(w.client.amending, w)
	}
}

// answerHeld answers a Release, an Extend or an Amend.
func (m *Machine) answerHeld(w *work, session lock.SessionID, err error, out *protocol.Effects) {
	w.answered = true
	d := lock.Decision{Kind: lock.Released, Session: session, Request: w.op.Request, Name: w.op.Name, Token: w.op.Token}
	switch w.op.Kind {
	case replica.Extend:
		d.Kind, d.Hold = lock.Granted, w.op.Hold
	case replica.Amend:
		d.Kind, d.Value, d.Revision = lock.Amended, w.op.Value, w.op.Revision
		if now, held := w.grant(m.partOf(w.op.Name)); held && err == nil {
			d.Value, d.Revision = now.Value, now.Revision // it was overtaken, or done before
		}
	}
	if err != nil {
		d.Kind, d.Hold, d.Err = lock.Refused, 0, err
	}
	out.Decide(w.call, &d)
}

// revoke notifies a client to stop using its holds, and refuses its waits.
func (m *Machine) revoke(c *client, why holdfast.Loss, refusal error, out *protocol.Effects) {
	for _, number := range slices.Sorted(maps.Keys(c.requests)) {
		r := c.requests[number]
		switch {
		case r.state != granted:
			m.withdraw(r, &withdrawal{givenUp: true}, out)
			m.refuse(r, refusal, out)
		case !r.revoked:
			r.revoked = true
			m.notify(r, lock.Decision{Kind: lock.Revoked, Token: r.token, Loss: why}, out)
		}
	}
}

// refuseAll refuses the waits of this process's users, because they cannot succeed here, and the operators' calls.
// Other clients connect elsewhere, and their waits continue there.
func (m *Machine) refuseAll(out *protocol.Effects) {
	err := m.errFailed()
	for _, c := range m.inOrder() {
		if !c.enrolled.Own {
			continue
		}
		for _, number := range slices.Sorted(maps.Keys(c.requests)) {
			if r := c.requests[number]; r.state != granted {
				m.refuse(r, err, out)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(m.inquiries)) {
		m.unanswered(id, out)
	}
	for _, id := range slices.Sorted(maps.Keys(m.transfers)) {
		m.untransferred(id, out)
	}
	for _, id := range slices.Sorted(maps.Keys(m.reforms)) {
		m.endReform(id, err, out)
	}
}

func (m *Machine) countHolds(id lock.SessionID) (count int) {
	if c := m.clientOf(id); c != nil {
		//tidy:unordered they are counted
		for _, r := range c.requests {
			if r.state == granted {
				count++
			}
		}
	}
	return count
}

func (m *Machine) listRequests(id lock.SessionID) *protocol.Requests {
	list := &protocol.Requests{}
	if c := m.clientOf(id); c != nil {
		for _, number := range slices.Sorted(maps.Keys(c.requests)) {
			r := c.requests[number]
			of := protocol.RequestOf{ID: number, Name: r.name}
			if r.state == granted {
				of.Token, of.Inherited = r.token, r.isInherited()
			}
			list.List = append(list.List, of)
		}
	}
	return list
}

// isNotHeld reports whether an operation about a hold found none.
func isNotHeld(err error) bool {
	return errors.Is(err, holdfast.ErrNotHeld) || errors.Is(err, holdfast.SessionExpired)
}
