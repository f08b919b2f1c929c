package central

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// coordinator is the role that decides: the table, and when it may be used.
type coordinator struct {
	table     *lock.Table
	epoch     protocol.Epoch
	serveFrom protocol.Time   // when the exclusion wait is over; Never without a reign
	lease     *protocol.Lease // this member's standing
	paused    bool            // the table is paused
	decisions []lock.Decision // scratch
}

// keptDecisions is how much scratch is kept from one step to the next: what one step
// leaves in it is overwritten by the next, so a large one must go.
const keptDecisions = 256

// serves reports whether new grants may be given now. It looks at the clock, not at
// a timer: a role that has ended grants nothing (membership.md §3).
func (c *coordinator) serves(now protocol.Time) bool {
	return now >= c.serveFrom && c.lease != nil && now < c.lease.Role && !c.table.Exhausted()
}

func (c *coordinator) wake() protocol.Time {
	at := c.table.Wake()
	if c.paused && c.serveFrom != protocol.Never {
		at = min(at, c.serveFrom)
	}
	return at
}

// attend brings the table in line with whether the coordinator serves, before it is
// asked anything.
func (m *Machine) attend(now protocol.Time, out *protocol.Effects) {
	c := &m.coord
	serves := c.serves(now)
	switch {
	case serves && c.paused:
		c.paused = false
		c.table.Resume(now, &c.decisions)
		out.Note(protocol.Serving{Reign: c.epoch.Counter})
		m.tell(out)
	case !serves && !c.paused:
		c.paused = true
		c.table.Pause()
		if c.table.Exhausted() {
			out.Raise(&protocol.NeedEpoch{Above: c.epoch.Counter})
		}
	}
}

// onView takes up the coordinator's role, or goes on with it under a new epoch.
func (m *Machine) onView(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	m.view = view
	if !m.coordinates() {
		panic(fmt.Sprintf("central: view %d names coordinator %d, but %d is alone", view.Number, view.Coordinator, m.self))
	}
	c := &m.coord
	if view.Epoch.Counter < c.epoch.Counter {
		panic(fmt.Sprintf("central: epoch went back from %d to %d", c.epoch.Counter, view.Epoch.Counter))
	}
	if view.Epoch.Counter > c.epoch.Counter {
		c.table.BeginReign(view.Epoch.Counter, view.Count)
		// A reign begins paused: attend resumes the table, which grants what waits.
		c.table.Pause()
		c.paused = true
	}
	c.epoch, c.lease, c.serveFrom = view.Epoch, view.Lease, view.GrantFrom
	m.attend(now, out)
}

func (m *Machine) onTick(now protocol.Time, out *protocol.Effects) {
	m.attend(now, out)
	m.coord.table.Tick(now, &m.coord.decisions)
	m.tell(out)
}

// coordAcquire executes a request.
func (m *Machine) coordAcquire(now protocol.Time, msg Acquire, out *protocol.Effects) {
	m.attend(now, out)
	m.coord.table.Acquire(now, msg.Request, &m.coord.decisions)
	m.attend(now, out) // the count may be at its end now
	m.tell(out)
}

// coordRelease frees what is held under a token, and grants to the next.
func (m *Machine) coordRelease(now protocol.Time, msg Release, out *protocol.Effects) {
	m.attend(now, out)
	r := msg.Release
	err := m.coord.table.Release(now, r.Session, r.Name, r.Token, r.Request, &m.coord.decisions)
	if err != nil {
		m.coord.decisions = append(m.coord.decisions, lock.Decision{
			Kind: lock.Refused, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Err: err,
		})
	}
	m.tell(out)
}

// coordCancel ends a request for good. Unknown here, it is gone already, which is
// what was wanted.
func (m *Machine) coordCancel(now protocol.Time, msg Cancel, out *protocol.Effects) {
	m.attend(now, out)
	r := msg.Cancel
	if !m.coord.table.Cancel(now, r.Session, r.Name, r.Request, &m.coord.decisions) {
		m.coord.decisions = append(m.coord.decisions, lock.Decision{
			Kind: lock.Released, Session: r.Session, Request: r.Request, Name: r.Name,
		})
	}
	m.tell(out)
}

// coordExtend replaces a hold limit.
func (m *Machine) coordExtend(now protocol.Time, msg Extend, out *protocol.Effects) {
	r := msg.Extend
	d := lock.Decision{Kind: lock.Granted, Session: r.Session, Request: r.Request, Name: r.Name, Token: r.Token, Hold: r.Hold}
	if err := m.coord.table.Extend(now, r.Session, r.Name, r.Token, r.Hold); err != nil {
		d.Kind, d.Err = lock.Refused, err
	}
	m.coord.decisions = append(m.coord.decisions, d)
	m.tell(out)
}

// coordEndSession ends all that a session holds or waits for.
func (m *Machine) coordEndSession(now protocol.Time, msg EndSession, out *protocol.Effects) {
	m.attend(now, out)
	m.coord.table.EndSession(now, msg.Session, msg.Why, &m.coord.decisions)
	m.tell(out)
}

// onBreak tells the holders of a name to stop. The name stays taken until they have.
func (m *Machine) onBreak(now protocol.Time, call protocol.CallID, b *protocol.Break, out *protocol.Effects) {
	grants, err := m.coord.table.Break(now, b.Name, b.Token, &m.coord.decisions)
	if err == nil {
		out.Note(Broke{Name: b.Name, Token: b.Token, Reason: b.Reason})
	}
	m.tell(out)
	out.Reply(call, &protocol.Broken{Grants: grants, Err: err})
}

// tell sends each decision to the holder whose session it is about, in order.
func (m *Machine) tell(out *protocol.Effects) {
	c := &m.coord
	for i := range c.decisions {
		d := &c.decisions[i]
		if owner := protocol.ID(d.Session.Member); owner != m.self {
			out.Send(owner, Decided{Epoch: c.epoch, Decision: *d})
			continue
		}
		m.holderDecided(d, out)
	}
	if cap(c.decisions) > keptDecisions {
		c.decisions = nil
	}
	c.decisions = c.decisions[:0]
}

// scan copies one chunk of the table.
func (c *coordinator) scan(s *protocol.Scan) *protocol.Scanned {
	scanned := &protocol.Scanned{}
	scanned.Next = c.table.Scan(s.Cursor, s.Limit, func(l lock.Lock) {
		scanned.Locks = append(scanned.Locks, l)
	})
	return scanned
}

// Broke notes what an operator took from its holders, and why.
type Broke struct {
	Name   string
	Token  holdfast.Token
	Reason string
}

func (n Broke) String() string {
	return fmt.Sprintf("broke %q token=%v: %s", n.Name, n.Token, n.Reason)
}
