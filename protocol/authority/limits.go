package authority

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// limits are the ends of the hold limits that a member's own clients have had since before its reign. Its table counts
// longer, for slower clocks; the previous authority counts on as long as its lease lasts, and may grant the name as
// soon as its own limit has passed.
type limits map[heldGrant]protocol.Time

// heldGrant is a grant of a member's own client.
type heldGrant struct {
	session lock.SessionID
	name    string
	token   holdfast.Token
}

// bounded reports whether a request that enters a grant, or asks again, gets no more than the grant's holder did.
func bounded() bool { return !protocol.Mutated("a reentry gets no more than its holder had") }

// with returns the limits with that of a record's grant.
func (l limits) with(r *record) limits {
	if r.limit == protocol.Never || !bounded() {
		return l
	}
	if l == nil {
		l = limits{}
	}
	l[heldGrant{r.request.Session, r.request.Name, r.token}] = r.limit
	return l
}

// bound shortens the hold limit in the answer to a grant's holder, which counts from its request.
func (l limits) bound(now protocol.Time, d *lock.Decision) {
	if limit, known := l[heldGrant{d.Session, d.Name, d.Token}]; known && d.Kind == lock.Granted {
		d.Hold = max(1, min(d.Hold, limit-(now-d.Waited)))
	}
}

// keepLimits restores the earlier limits of the records from a table that has not served.
func (h *holder) keepLimits(l limits) {
	for r := h.all.first; r != nil && len(l) > 0; r = r.links[ofAll].next {
		if limit, known := l[heldGrant{r.request.Session, r.request.Name, r.token}]; known && r.state == held {
			r.limit = limit
		}
	}
}

// remains returns how long a request's client may hold its grant: if it enters a grant of its owner, no longer than the
// others that hold it.
func (h *holder) remains(r *record, msg *Decided) time.Duration {
	hold := msg.Hold
	if hold == 0 || r.request.Owner == "" || !bounded() {
		return hold
	}
	for mate := h.names[r.request.Name].first; mate != nil; mate = mate.links[ofName].next {
		if mate.token == msg.Token && mate.request.Session == r.request.Session && mate.limit != protocol.Never {
			hold = min(hold, mate.limit-r.request.Arrived)
		}
	}
	return hold
}

// withholds reports whether this authority extends no hold limit yet: until it serves, the authority before may end a
// grant at its limit and grant the name again.
func (m *Machine) withholds() bool {
	return !m.authority.served && !protocol.Mutated("no limit is extended before it serves")
}

// extendsLater defers an extension of this member's own clients until the table serves, and reports whether it has.
func (m *Machine) extendsLater(x *protocol.Extend, out *protocol.Effects) bool {
	c := m.authority
	if !m.withholds() || !c.table.Held(x.Session, x.Name, x.Token) {
		return false
	}
	for i := range c.extends {
		if e := &c.extends[i]; e.extend.Session == x.Session && e.extend.Name == x.Name && e.extend.Token == x.Token {
			e.refuse(fmt.Errorf("%w: another extension has followed this one", holdfast.ErrConflict), out)
			*e = pendingExtension{m.current.call, *x}
			m.current.call = protocol.CallID{}
			return true
		}
	}
	c.extends = append(c.extends, pendingExtension{m.current.call, *x})
	m.current.call = protocol.CallID{}
	return true
}

// pendingExtension is an extend that waits until the table serves.
type pendingExtension struct {
	call   protocol.CallID
	extend protocol.Extend
}

func (x *pendingExtension) refuse(err error, out *protocol.Effects) {
	e := &x.extend
	out.Decide(x.call, &lock.Decision{Kind: lock.Refused, Session: e.Session, Request: e.Request, Name: e.Name, Token: e.Token, Hold: e.Hold, Err: err})
}

// endExtension refuses a deferred extension of a grant that has ended.
func (m *Machine) endExtension(d *lock.Decision, out *protocol.Effects) {
	c := m.authority
	if len(c.extends) == 0 || d.Kind != lock.Lost && d.Kind != lock.Released || c.table.Held(d.Session, d.Name, d.Token) {
		return
	}
	c.extends = slices.DeleteFunc(c.extends, func(x pendingExtension) bool {
		ended := x.extend.Session == d.Session && x.extend.Name == d.Name && x.extend.Token == d.Token
		if ended {
			x.refuse(holdfast.ErrNotHeld, out)
		}
		return ended
	})
}

// extendDeferred executes deferred extensions, when the table serves.
func (m *Machine) extendDeferred(now protocol.Time, out *protocol.Effects) {
	extends, current := m.authority.extends, m.current
	m.authority.extends = nil
	for i := range extends {
		x := &extends[i]
		m.current = currentCall{x.call, x.extend.Session, x.extend.Request}
		m.authorityExtend(now, &x.extend, out)
	}
	m.current = current
}

// keepExtensions moves deferred extensions to the records, if the table ends before it has served: they go to the next
// authority.
func (h *holder) keepExtensions(now protocol.Time, extends []pendingExtension) {
	for i := range extends {
		x := &extends[i].extend
		r := h.findHeld(x.Session, x.Name, x.Token, x.Request)
		if r == nil {
			continue
		}
		h.extensions++
		h.changing++
		r.extension = &extension{number: h.extensions, hold: x.Hold, sent: now, call: extends[i].call}
	}
}
