package sim

import (
	"errors"

	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
)

// A release that was answered is taken: a session that tries the name after that answer, through any
// member, is not refused because of that hold (P4). A refusal names the session that holds, and the judge
// compares that with what the holder's session has had of the name: where all of it
// has ended by releases that were answered before the try was sent, the refusal is wrong.
//
// Another authority takes a release while the one before it may still refuse, for as long as its role
// lasts: nothing is judged for two leases after an authority has changed. One has changed when a member
// begins to decide. That is before it serves, and may be in the middle of an epoch.
//
// Nothing is judged where what is released may be kept (hold_on), where each side of a partition goes on, and
// where several members decide together: what one of them has not heard it still takes for held.
//
// Of what has ended in another way the judge cannot know when the authority knows of it:
// it was given up, it was lost, it was refused and is sent again, its member has lapsed. The
// session counts no more then, for that name.

// having is what a session has had of a name.
type having struct {
	open   map[uint64]bool // requests that have not ended
	freed  instant         // when the answer to the latest release was given
	unsure bool            // something may be left of it where no release was answered
}

// tenant is a session at a name.
type tenant struct {
	name    string
	session lock.SessionID
}

// enters notes that a session asks for a name.
func (j *judge) enters(name string, key requestKey) {
	at := tenant{name, key.session}
	t := j.tenants[at]
	if t == nil {
		t = &having{open: map[uint64]bool{}}
		j.tenants[at] = t
	}
	t.open[key.id] = true
}

// quits takes account of how a request of a session has ended.
func (j *judge) quits(op edge.Call, d *lock.Decision) {
	t := j.tenants[tenant{d.Name, d.Session}]
	if t == nil {
		return
	}
	switch {
	case d.Kind == lock.Granted || d.Kind == lock.Queued || d.Kind == lock.Revoked || d.Kind == lock.Refused && op != edge.CallRequest:
		return
	case d.Kind == lock.Released && op == edge.CallRelease:
		t.freed = j.clock()
	default:
		t.unsure = true
	}
	delete(t.open, d.Request)
}

// refusedTry checks the holder that the refusal of a request names.
func (j *judge) refusedTry(d *lock.Decision) {
	if d.Kind != lock.Refused {
		return
	}
	held, is := errors.AsType[*lock.HeldBy](d.Err)
	if !is || held.Suspended || held.Holder == d.Session {
		return
	}
	t, f := j.tenants[tenant{d.Name, held.Holder}], j.requests[requestKey{d.Session, d.Request}]
	if j.clock() < j.succeeded+2*instant(j.lease) || t == nil || f == nil || t.unsure || len(t.open) > 0 || t.freed == 0 || f.sentAt <= t.freed {
		return
	}
	j.violate("P4", "request %d of session %v for %q, sent at %v, is refused because session %v holds it, the release of which was answered at %v",
		d.Request, d.Session, d.Name, f.sentAt, held.Holder, t.freed)
}

// succeeds is called when an authority may have followed another one.
func (j *judge) succeeds() { j.succeeded = j.clock() }

// unsettles notes that what some sessions hold may end in another way than by releases.
func (j *judge) unsettles(which func(lock.SessionID) bool) {
	//tidy:unordered each is noted by itself
	for at, t := range j.tenants {
		t.unsure = t.unsure || which(at.session)
	}
}
