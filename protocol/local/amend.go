package local

import (
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// amendment is an amendment whose answer waits until others have it.
type amendment struct {
	decision lock.Decision
	call     protocol.CallID // zero after a refusal: the decision then tells watchers alone
}

// maxAmendments is the maximum number of amendments of one grant that wait. A further one ends the first with
// protocol.ErrFollowed.
const maxAmendments = 16

// amend amends a grant. The table has the amendment at once.
func (c *Clients[R]) amend(now protocol.Time, call protocol.CallID, a *protocol.Amend, out *protocol.Effects) {
	d, _ := c.table.Amend(now, a.Session, a.Name, a.Token, a.Request, &a.Amendment)
	if own, holds := c.holderOf(&d); holds && d.Kind == lock.Amended && c.protocol.WithholdAmendment(own, &d) {
		r := own.Requested()
		if len(r.amendments) == maxAmendments {
			r.amendments[0].refuse(protocol.ErrFollowed, out)
			r.amendments = slices.Delete(r.amendments, 0, 1)
		}
		r.amendments = append(r.amendments, amendment{d, call})
		c.answering = answering{}
		return
	}
	c.scratch = append(c.scratch, d)
	c.publish(now, out)
}

// holderOf returns the request that holds the grant of a decision.
func (c *Clients[R]) holderOf(d *lock.Decision) (own R, holds bool) {
	for _, r := range c.protocol.Named(d.Name) {
		if at := r.Requested(); at.Held && at.Token == d.Token && at.Key.Session == d.Session {
			return r, true
		}
	}
	return own, false
}

// NotifyAmended answers the amendments of a grant up to a revision, which others have now.
func (c *Clients[R]) NotifyAmended(own R, revision uint64, out *protocol.Effects) {
	r := own.Requested()
	r.amendments = slices.DeleteFunc(r.amendments, func(a amendment) bool {
		if a.decision.Revision > revision {
			return false
		}
		out.Decide(a.call, &a.decision)
		return true
	})
}

// RefuseAmendments refuses the amendments of a grant that wait. They are still to be done, and NotifyAmended reports the
// latest one to watchers.
func (c *Clients[R]) RefuseAmendments(own R, err error, out *protocol.Effects) {
	r := own.Requested()
	for i := range r.amendments {
		r.amendments[i].refuse(err, out)
	}
	changes := func(a amendment) bool { return a.decision.Since == 0 }
	if r.amendments = slices.DeleteFunc(r.amendments, changes); len(r.amendments) > 1 {
		r.amendments = slices.Delete(r.amendments, 0, len(r.amendments)-1)
	}
}

// endAmendments refuses the amendments of a grant that is to end, or has ended: they will not be done.
func (c *Clients[R]) endAmendments(own R, why holdfast.Loss, out *protocol.Effects) {
	r, err := own.Requested(), holdfast.ErrNotHeld
	if why != "" {
		err = why
	}
	for i := range r.amendments {
		r.amendments[i].refuse(err, out)
	}
	r.amendments = nil
}

// refuse answers an amendment that has not been answered.
func (a *amendment) refuse(err error, out *protocol.Effects) {
	if a.call == (protocol.CallID{}) {
		return
	}
	d := a.decision
	d.Kind, d.Err, d.Value = lock.Refused, err, ""
	out.Decide(a.call, &d)
	a.call = protocol.CallID{}
}
