package authority

import (
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// limits says until when a member's own clients may be told to hold what they were granted before its reign. Its table counts longer, for
// clocks that are slower; the authority before counts on as long as its lease lasts, and may grant the name as soon as its own limit is over.
type limits map[heldGrant]protocol.Time

// heldGrant is a grant of a member's own client.
type heldGrant struct {
	session lock.SessionID
	name    string
	token   holdfast.Token
}

// bounded reports whether a request that enters a grant, or asks again, is told no more than the grant's holder was.
func bounded() bool { return !protocol.Mutated("a reentry is told no more than its holder was") }

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

// bound shortens what a grant's holder is told. What it is told counts from when it asked.
func (l limits) bound(now protocol.Time, d *lock.Decision) {
	if limit, known := l[heldGrant{d.Session, d.Name, d.Token}]; known && d.Kind == lock.Granted {
		d.Hold = max(1, min(d.Hold, limit-(now-d.Waited)))
	}
}

// keepLimits gives the records of what a table had, which has not served, the limits that they had before.
func (h *holder) keepLimits(l limits) {
	for r := h.all.first; r != nil && len(l) > 0; r = r.links[ofAll].next {
		if limit, known := l[heldGrant{r.request.Session, r.request.Name, r.token}]; known && r.state == held {
			r.limit = limit
		}
	}
}

// remains returns how long a request's client may be told to hold what it is granted: where it enters a grant of its owner, no longer than
// the others that hold it were told.
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
