package claim

import (
	"cmp"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// name is the state of a lock in this process: at most one claim that is held, and one in progress (the original's
// mediator, which admits one transaction of a process).
type name struct {
	text, row string
	queue     []*request // that wait, in order of arrival
	holder    *request
	mine      *claim   // the claim by which a client holds, with the holder
	bid       *claim   // the next claim, or the renewal of mine
	seen      int64    // the highest timestamp that was seen in the row
	last      int64    // the highest of a claim of ours
	broken    int64    // up to which of our claims an operator has broken the lock
	breaks    []string // the columns that say so
	sweep     sweep
	rewriting int  // columns that are being written anew
	cell      cell // with CAS
	former    former

	awaits    []string // processes whose ends it waits for
	inquiries int      // requests to the store in progress
	watched   bool     // the store is asked to tell of changes
	changed   bool     // it has
	by        *lock.HeldBy
	trouble   error         // why it could not be claimed last
	reminded  protocol.Time // when the latest reminder is due
	touched   bool
}

// byText orders names.
func byText(a, b *name) int { return cmp.Compare(a.text, b.text) }

// nameOf returns the state of a lock, and creates it if needed.
func (m *Machine) nameOf(text string) *name {
	n := m.names[text]
	if n == nil {
		row, _ := m.config.row(text)
		n = &name{text: text, row: row, seen: m.floor, last: m.floor, reminded: protocol.Never, sweep: sweep{due: protocol.Never}, cell: m.recall(text)}
		n.former.known = n.cell.known // a cell of ours that is remembered was above it
		m.names[text] = n
	}
	return n
}

// byRow returns the state of the lock with a row.
func (m *Machine) byRow(row string) *name {
	return m.names[m.config.nameOf(row)]
}

// touch has a name looked at by the end of the step.
func (m *Machine) touch(n *name) {
	if n != nil && !n.touched {
		n.touched = true
		m.touched = append(m.touched, n)
	}
}

// settle processes all touched names.
func (m *Machine) settle(now protocol.Time, out *protocol.Effects) {
	for len(m.touched) > 0 {
		n := m.touched[0]
		m.touched = m.touched[1:]
		n.touched = false
		m.attend(now, n, out)
		m.remind(n)
		m.forget(n, out)
	}
}

// attend does what is due for a name.
func (m *Machine) attend(now protocol.Time, n *name, out *protocol.Effects) {
	m.keep(now, n, out)
	switch {
	case n.bid != nil || m.taken(n) || len(n.queue) == 0:
	case len(n.sweep.later) > 0:
		m.letBelieve(now, n, out)
	default:
		n.bid = &claim{of: n, phase: dating, begun: now}
	}
	if n.bid != nil {
		m.pursue(now, n, out)
	}
	n.changed = false
	if n.bid == nil {
		m.awaitEnds(now, n, nil, out)
	}
	m.sweepOut(now, n, out)
	if m.config.CAS {
		m.giveBack(now, n, out)
	} else {
		m.amend(now, n, out)
	}
	m.watch(n, out)
}

// taken reports whether this process holds by a claim. None of its other clients may claim then, because reads of the
// row skip claims of its own rid (W5: the original ignores its mediator's refusal).
func (m *Machine) taken(n *name) bool {
	if !m.config.CAS && protocol.Mutated("no bid begins while a claim is held by") {
		return false
	}
	return n.mine != nil
}

// letBelieve blocks this process's own clients while a claim kept for its former clients lasts: they skip its claims in
// the row, so that claim does not block them.
func (m *Machine) letBelieve(now protocol.Time, n *name, out *protocol.Effects) {
	n.by = &lock.HeldBy{Owner: m.config.RID}
	m.refuseTries(now, n, out)
	for _, r := range n.queue {
		m.clients.LetWait(r)
	}
}

// pursue continues a bid that waits for no answer of the store.
func (m *Machine) pursue(now protocol.Time, n *name, out *protocol.Effects) {
	c := n.bid
	if n.changed && (c.phase == standing || c.phase == resting) {
		c.due = now
	}
	if !c.renews {
		m.awaitLease()
	}
	if c.waits || c.due > now || !m.serves() && !c.renews {
		if c.waits && n.changed {
			c.stale = true // the read in progress may be older than the change
		}
		return
	}
	if !m.attends(c, out) {
		return
	}
	if m.config.CAS {
		m.pursueCell(now, n, c, out)
		return
	}
	switch {
	case c.phase == dating:
		m.date(now, c, out)
	case c.phase != resting && m.missays(c):
		m.rewrite(now, c, out)
	case c.phase != writing:
		m.look(now, c, out)
	}
}

// remind sets the name's reminder to its earliest due time.
func (m *Machine) remind(n *name) {
	at := protocol.Never
	if c := n.bid; c != nil && !c.waits && (c.renews || m.serves()) && n.cell.request == 0 && !n.cell.freeing {
		at = c.due
	}
	if n.mine != nil {
		at = min(at, n.mine.due, m.endOfKeeping(n.mine.sentAt))
		if n.mine.amendDue > m.now && m.unpublished(n) {
			at = min(at, n.mine.amendDue)
		}
	}
	if k := &n.cell; k.kept() {
		at = min(at, k.until)
	}
	if n.sweep.inquiry == 0 && n.rewriting == 0 {
		at = min(at, n.sweep.due)
	}
	if k := &n.cell; k.request == 0 && (k.freeing || k.unsure && n.bid == nil) {
		at = min(at, k.freeDue)
	}
	if at != n.reminded && at != protocol.Never {
		m.reminders.Push(at, due{n.text})
	}
	n.reminded = at
}

// forget drops a name without state.
func (m *Machine) forget(n *name, out *protocol.Effects) {
	if n.inquiries > 0 || n.holder != nil || n.mine != nil || n.bid != nil || len(n.queue)+len(n.sweep.stamps)+len(n.sweep.later)+len(n.sweep.waiters) > 0 || n.touched {
		return
	}
	if m.config.CAS && !n.cell.idle() {
		return
	}
	if n.watched {
		out.Send(protocol.Storage, storage.Unwatch{Key: n.row})
	}
	m.floor = max(m.floor, n.last)
	m.remember(n)
	delete(m.names, n.text)
}

// watch asks for notice of changes while a request waits for one.
func (m *Machine) watch(n *name, out *protocol.Effects) {
	wanted := m.config.Store.Watch && n.bid != nil && (n.bid.phase == standing || n.bid.phase == resting && n.bid.watches)
	if k := &n.cell; m.config.CAS && !(k.known && k.held && !m.ours(k)) {
		wanted = false // the cell is about to be taken, which seldom fails
	}
	switch {
	case wanted && !n.watched:
		out.Send(protocol.Storage, storage.Watch{Key: n.row})
		n.watched = true
	case n.watched && n.bid == nil && len(n.queue) == 0:
		out.Send(protocol.Storage, storage.Unwatch{Key: n.row})
		n.watched = false
	}
}

// enroll adds a request that has to wait for a claim.
func (m *Machine) enroll(r *request) {
	n := m.nameOf(r.Key.Name)
	n.queue = append(n.queue, r)
	m.touch(n)
}

// ended removes a request. If it held, its claim must be deleted, or kept for clients that may believe in it.
func (m *Machine) ended(now protocol.Time, r *request) {
	n := m.names[r.Key.Name]
	if n == nil {
		return
	}
	m.touch(n)
	if n.holder != r {
		n.queue = slices.DeleteFunc(n.queue, func(q *request) bool { return q == r })
		if len(n.queue) == 0 && n.bid != nil && !n.bid.renews {
			m.drop(n)
		}
		return
	}
	n.holder = nil
	until := now
	if m.lapsing && !protocol.Mutated("a claim stays while clients may believe") {
		until += r.belief
	}
	m.retire(now, n, r, until)
}

// won grants the first waiter, under the claim that is now the oldest.
func (m *Machine) won(now protocol.Time, c *claim, token holdfast.Token, out *protocol.Effects) {
	n := c.of
	n.bid = nil
	n.trouble, n.by = nil, nil
	head := n.queue[0]
	n.queue = n.queue[1:]
	n.mine, n.holder = c, head
	c.saved, c.amendDue = c.says.revision, now
	m.hold(n)
	m.clients.Permit(now, head, token, out)
}

// hold records until when a hold is assured, and when its claim is next due.
func (m *Machine) hold(n *name) {
	m.ends.Push(n.mine.end, due{n.text})
	n.mine.due = min(m.renewAt(n.mine), m.warnAt(n))
	m.ends.Sweep(m.claims(), m.current)
}

// claims returns the maximum number of names with holds.
func (m *Machine) claims() int { return len(m.names) }

// current reports whether a reminder of an end is still valid.
func (m *Machine) current(r protocol.Reminder[due]) bool {
	n := m.names[r.Key.text]
	return n != nil && n.mine != nil && n.mine.end == r.At
}

// refuseTries refuses the requests that do not wait, because another claim is before them.
func (m *Machine) refuseTries(now protocol.Time, n *name, out *protocol.Effects) {
	for _, r := range slices.Clone(n.queue) {
		if r.Try && !r.Dropped {
			m.clients.Deny(now, r, n.by, out)
		}
	}
}

// refuseAll refuses all requests that wait for a name.
func (m *Machine) refuseAll(now protocol.Time, n *name, err error, out *protocol.Effects) {
	for _, r := range slices.Clone(n.queue) {
		if !r.Dropped {
			m.clients.Deny(now, r, err, out)
		}
	}
}
