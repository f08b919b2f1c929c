package authority

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// authority is the deciding role: the table, and the related knowledge about the members.
type authority struct {
	table       *lock.Table
	epoch       protocol.Epoch // of the newest view under which it is the authority
	version     Version
	paused      bool // the table is paused
	served      bool // it has granted in this reign, or could have
	frozen      bool // it is about to end, and grants nothing more
	opened      bool // a reign that outlives epochs has seen an open view
	peers       []*peer
	departed    []departed
	requestedAt protocol.Time   // since when reports are requested
	waits       protocol.Time   // when to start granting, while only that time is missing
	unheard     protocol.Time   // the earliest of its peers' own
	pending     []pending       // waits that were reported, until the table is complete
	limits      limits          // of what its own clients hold from before this reign, until it serves
	changes     []pendingChange // of its clients, until it serves

	loans  map[string]*loan // by name: grants that their members may keep
	visits []visit

	unacked   map[seqKey]*unacked
	numbers   map[uint64]seqKey // of what is unacked
	lastAckID uint64
	reminders protocol.Reminders[seqKey] // of what is unacked

	counter counter // of grants; only with Rules.GrantCount
}

func newAuthority(table *lock.Table, version Version) *authority {
	return &authority{table: table, version: version, paused: true, waits: protocol.Never, unheard: protocol.Never, loans: map[string]*loan{}, unacked: map[seqKey]*unacked{}, numbers: map[uint64]seqKey{}}
}

// keptDecisions is the maximum scratch space kept from one step to the next: the next step overwrites the contents, so
// a large one must be freed.
const keptDecisions = 256

// serves reports whether new grants may be made now: every member has reported, the view is installed, and all earlier
// promises have expired. It reads the clock rather than relying on a timer: a role that has ended grants nothing.
func (m *Machine) serves(now protocol.Time) bool {
	return m.deciding && !m.halted && !m.authority.frozen && now < m.config.Terms.Until(m.view) && now < m.lease.Member && now >= m.serveFrom() &&
		(m.authority.served || m.authority.complete()) && !m.authority.table.Exhausted()
}

// complete reports whether every member of the view has reported its holds.
func (c *authority) complete() bool {
	return !slices.ContainsFunc(c.peers, func(p *peer) bool { return !p.reported }) || protocol.Mutated("missing responder ignored")
}

// serveFrom is when all that was promised before this reign has run out. A member that
// was dropped before it had reported may hold anything: it is waited for.
func (m *Machine) serveFrom() protocol.Time {
	from := m.config.Terms.From(m.view)
	switch {
	case m.authority.served && m.config.Outlives:
		return 0 // its table knows of all that may hold anything
	case m.authority.served:
		return from
	case m.authority.opened:
		from = 0
	}
	for _, d := range m.authority.departed {
		if !d.reported {
			from = max(from, d.free)
		}
	}
	return from
}

// authorityWake returns when the authority has something to do.
func (m *Machine) authorityWake() protocol.Time {
	c := m.authority
	at := min(c.table.Wake(), c.reminders.First(), c.waits)
	for _, p := range c.peers {
		at = min(at, p.due, p.acksDue)
	}
	for i := range c.departed {
		at = min(at, c.departed[i].free)
	}
	for i := range c.visits {
		at = min(at, c.visits[i].until)
	}
	return at
}

// attend pauses or resumes the table, depending on whether the authority serves, before any use of it.
func (m *Machine) attend(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	serves := m.serves(now)
	if c.paused {
		c.waits = protocol.Never
		switch from := m.serveFrom(); {
		case serves:
		case now < from:
			c.waits = from
		case m.config.Outlives && !m.halted && now >= m.lease.Member:
			// A newly admitted member has no lease yet, and no event announces it.
			c.waits = now + m.config.Patience
		}
	}
	switch {
	case serves && c.paused:
		c.paused, c.served, c.limits = false, true, nil
		out.Note(protocol.Serving{Reign: c.table.Reign()})
		c.table.Resume(now, &m.scratch)
		m.publish(now, seqKey{}, out)
		m.changeDeferred(now, out)
	case !serves && !c.paused:
		c.paused = true
		c.table.Pause()
		if c.table.Exhausted() && !m.config.Outlives {
			out.Raise(&protocol.NeedEpoch{Above: c.epoch.Counter})
		}
	}
}

// authorityTick does the work that is due.
func (m *Machine) authorityTick(now protocol.Time, out *protocol.Effects) {
	m.freeDeparted(now, out)
	if m.deciding {
		m.attend(now, out)
	}
	m.authority.table.Tick(now, &m.scratch)
	m.publish(now, seqKey{}, out)
	m.resendUnacked(now, out)
	m.peersTick(now, out)
}

// authorityAcquire executes a request of this member's own clients.
func (m *Machine) authorityAcquire(now protocol.Time, r *lock.Request, out *protocol.Effects) {
	m.attend(now, out)
	err := m.overLocks(r)
	if m.instance.Closed() && !m.knows(r) {
		err = protocol.ErrClosed(m.view, m.self)
	}
	d := r.Decision(lock.Refused)
	d.Err = err
	switch {
	case err != nil:
		m.scratch = append(m.scratch, d)
		m.publish(now, seqKey{}, out)
		return
	case m.postpone(now, r, seqKey{}, out):
		d.Kind, d.Position = lock.Queued, unknownPosition
		m.holderDecided(&d, out)
		return
	}
	m.authority.table.Acquire(now, r, &m.scratch)
	if m.authority.table.Exhausted() { // now, perhaps
		m.attend(now, out)
	}
	m.publish(now, seqKey{}, out)
}

// knows reports whether a request already holds or waits. Its copy is not refused: its client could take that for the
// answer.
func (m *Machine) knows(r *lock.Request) (known bool) {
	m.authority.table.Requests(r.Session, func(request uint64, name string, _ holdfast.Token) {
		known = known || request == r.ID && name == r.Name
	})
	return known
}

// authorityRelease releases the hold under a token, and grants the next requests.
func (m *Machine) authorityRelease(now protocol.Time, r *protocol.Release, out *protocol.Effects) {
	m.attend(now, out)
	err := m.authority.table.Release(now, r.Session, r.Name, r.Token, r.Request, &m.scratch)
	if err != nil {
		m.scratch = append(m.scratch, lock.Decision{
			Kind: lock.Refused, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Err: err,
		})
	}
	m.publish(now, seqKey{}, out)
}

// authorityCancel ends a request permanently. An unknown request is already gone, as wanted.
func (m *Machine) authorityCancel(now protocol.Time, r *protocol.Cancel, out *protocol.Effects) {
	m.attend(now, out)
	m.authority.endVisits(func(q *lock.Request) bool { return q.Session == r.Session && q.ID == r.Request && q.Name == r.Name })
	if !m.authority.table.Cancel(now, r.Session, r.Name, r.Request, &m.scratch) {
		m.scratch = append(m.scratch, lock.Decision{
			Kind: lock.Released, Session: r.Session, Request: r.Request, Name: r.Name,
		})
	}
	m.publish(now, seqKey{}, out)
}

// authorityExtend replaces a hold limit.
func (m *Machine) authorityExtend(now protocol.Time, r *protocol.Extend, out *protocol.Effects) {
	if m.withholds(protocol.Mutated("no limit is extended before it serves")) && m.changesLater(pendingChange{extend: r}, out) {
		return
	}
	d := lock.Decision{Kind: lock.Granted, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Hold: r.Hold}
	if err := m.authority.table.Extend(now, r.Session, r.Name, r.Token, r.Hold); err != nil {
		d.Kind, d.Err = lock.Refused, err
	} else {
		delete(m.authority.limits, heldGrant{r.Session, r.Name, r.Token})
	}
	m.scratch = append(m.scratch, d)
	m.publish(now, seqKey{}, out)
}

// authorityEndSession ends all that a session holds or waits for.
func (m *Machine) authorityEndSession(now protocol.Time, r *protocol.EndSession, out *protocol.Effects) {
	m.attend(now, out)
	var err error
	if r.Why != "" {
		err = r.Why
	}
	m.refuseVisits(now, func(q *lock.Request) bool { return q.Session == r.Session }, err, out)
	m.authority.table.EndSession(now, r.Session, r.Why, &m.scratch)
	m.publish(now, seqKey{}, out)
}

// breakName notifies the holders of a name to stop. The name stays taken until they have.
func (m *Machine) breakName(now protocol.Time, b *admin.Query, out *protocol.Effects) ([]lock.Grant, error) {
	token := b.Token
	if l := m.authority.loans[b.Name]; l != nil && token > l.token && token <= furthest(l.token) {
		token = l.token // its member has given it by itself
	}
	grants, err := m.authority.table.Break(now, b.Name, token, &m.scratch)
	if err == nil {
		out.Note(protocol.Broke{Name: b.Name, Token: b.Token, Reason: b.Reason})
	}
	for i := 0; i < len(grants) && protocol.Mutated("revocation is advisory"); i++ {
		m.authority.table.EndSession(now, grants[i].Session, "", &m.scratch)
	}
	m.publish(now, seqKey{}, out)
	return grants, err
}

// publish sends each decision to the holder of its session, in order. The decision about answered, if it is among them,
// answers that holder's call in this step.
func (m *Machine) publish(now protocol.Time, answered seqKey, out *protocol.Effects) {
	for i := range m.scratch {
		d := &m.scratch[i]
		m.explain(now, d)
		if d.Kind == lock.Queued && len(m.authority.loans) > 0 {
			m.recallName(now, d.Name, out)
		}
		if protocol.ID(d.Session.Member) == m.self {
			if m.counts(d) {
				m.authority.counter.own++
			}
			m.authority.limits.bound(now, d)
			m.holderDecided(d, out)
			m.endChanges(d, out)
			continue
		}
		m.notifyPeer(now, d, answered, out)
	}
	if cap(m.scratch) > keptDecisions {
		m.scratch = nil
	}
	m.scratch = m.scratch[:0]
}
