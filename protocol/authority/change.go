package authority

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A change of a grant by its holder is an extension of its hold limit or an amendment. An authority executes none until
// it serves. Until then the lease of the authority before may last, and that one knows nothing of the change: it may end
// the grant at the limit that it knows, and grant the name again; and it shows the value that it knows.

// withholds reports whether this authority executes no changes yet; mutated means that the rule is switched off.
func (m *Machine) withholds(mutated bool) bool { return !m.authority.served && !mutated }

// pendingChange is a change by one of this member's clients that waits for a table, or until a table serves. Either
// extend or amend is set.
type pendingChange struct {
	call   protocol.CallID
	extend *protocol.Extend
	amend  *protocol.Amend
}

// of returns the grant, and the request by which its client holds it.
func (c *pendingChange) of() (g heldGrant, request uint64) {
	if a := c.amend; a != nil {
		return heldGrant{a.Session, a.Name, a.Token}, a.Request
	}
	return heldGrant{c.extend.Session, c.extend.Name, c.extend.Token}, c.extend.Request
}

// refuse answers the change.
func (c *pendingChange) refuse(err error, out *protocol.Effects) {
	if c.amend != nil {
		d := c.amend.Refused(err)
		out.Decide(c.call, &d)
		return
	}
	e := c.extend
	out.Decide(c.call, &lock.Decision{Kind: lock.Refused, Session: e.Session, Request: e.Request, Name: e.Name, Token: e.Token, Hold: e.Hold, Err: err})
}

// refuseFollowed answers the change when another of the same kind has replaced it.
func (c *pendingChange) refuseFollowed(out *protocol.Effects) {
	if c.amend != nil {
		c.refuse(protocol.ErrFollowed, out)
		return
	}
	c.refuse(fmt.Errorf("%w: another extension has followed this one", holdfast.ErrConflict), out)
}

// changesLater defers the change that this step's call makes until the table serves, and reports whether it has: the
// table answers at once if there is no such grant. Of two changes of one kind the later one is executed.
func (m *Machine) changesLater(change pendingChange, out *protocol.Effects) bool {
	c := m.authority
	grant, _ := change.of()
	if !c.table.Held(grant.session, grant.name, grant.token) {
		return false
	}
	change.call, m.current.call = m.current.call, protocol.CallID{}
	for i := range c.changes {
		before := &c.changes[i]
		if other, _ := before.of(); other != grant || (before.amend == nil) != (change.amend == nil) {
			continue
		}
		if change.amend != nil && change.amend.Revision < before.amend.Revision {
			change.refuseFollowed(out)
			return true
		}
		before.refuseFollowed(out)
		*before = change
		return true
	}
	c.changes = append(c.changes, change)
	return true
}

// endChanges refuses the deferred changes of a grant, or of one of the requests that hold it, that has ended.
func (m *Machine) endChanges(d *lock.Decision, out *protocol.Effects) {
	c := m.authority
	if len(c.changes) == 0 || d.Kind != lock.Lost && d.Kind != lock.Released {
		return
	}
	over := !c.table.Held(d.Session, d.Name, d.Token)
	c.changes = slices.DeleteFunc(c.changes, func(x pendingChange) bool {
		grant, request := x.of()
		ended := grant == heldGrant{d.Session, d.Name, d.Token} && (over || request == d.Request)
		if ended {
			x.refuse(holdfast.ErrNotHeld, out)
		}
		return ended
	})
}

// changeDeferred executes the deferred changes, when the table serves.
func (m *Machine) changeDeferred(now protocol.Time, out *protocol.Effects) {
	changes := m.authority.changes
	m.authority.changes = nil
	m.changeAll(now, changes, out)
}

// changeAll executes changes that waited for this table.
func (m *Machine) changeAll(now protocol.Time, changes []pendingChange, out *protocol.Effects) {
	current := m.current
	for i := range changes {
		grant, request := changes[i].of()
		m.current = currentCall{changes[i].call, grant.session, request}
		if a := changes[i].amend; a != nil {
			m.authorityAmend(now, a, out)
		} else {
			m.authorityExtend(now, changes[i].extend, out)
		}
	}
	m.current = current
}

// keepChanges moves deferred changes to the records, if the table ends before it has served: they go to the next
// authority.
func (h *holder) keepChanges(now protocol.Time, changes []pendingChange) {
	for i := range changes {
		grant, request := changes[i].of()
		r := h.findHeld(grant.session, grant.name, grant.token, request)
		if r == nil {
			continue // it has ended, and endChanges has answered
		}
		h.changing++
		if a := changes[i].amend; a != nil {
			h.eachMate(r, func(mate *record) { mate.request.Value, mate.request.Revision = a.Value, a.Revision })
			r.amendment = &amendment{changes[i].call, a.Revision}
			continue
		}
		h.extensions++
		r.extension = &extension{number: h.extensions, hold: changes[i].extend.Hold, sent: now, call: changes[i].call}
	}
}

// takeChanges returns the changes of a record that are under way, and forgets them.
func (h *holder) takeChanges(r *record) (changes []pendingChange) {
	q := &r.request
	if x := r.extension; x != nil {
		r.extension = nil
		h.changing--
		changes = append(changes, pendingChange{call: x.call, extend: &protocol.Extend{
			Session: q.Session, Name: q.Name, Token: r.token, Request: q.ID, Hold: x.hold,
		}})
	}
	if a := r.amendment; a != nil {
		r.amendment = nil
		h.changing--
		changes = append(changes, pendingChange{call: a.call, amend: &protocol.Amend{
			Session: q.Session, Name: q.Name, Token: r.token, Request: q.ID, Amendment: lock.Amendment{Revision: q.Revision, Value: q.Value},
		}})
	}
	return changes
}
