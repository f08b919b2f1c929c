package authority

import (
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
