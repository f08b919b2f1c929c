package sim

import (
	"errors"

	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
)

// An acknowledged release has taken effect: a session that tries the name afterwards, through any member, is not
// refused because of that hold (P4). A refusal names the holding session, and the judge compares this with that
// session's holds of the name. If all of them ended by releases that were acknowledged before the try was sent, the
// refusal is wrong.
//
// A new authority takes releases while its predecessor may still refuse, for as long as its role lasts: nothing is
// judged for two leases after a change of authority. An authority has changed when a member starts to decide. That is
// before it serves, and may be in the middle of an epoch.
//
// Three cases are not judged: released names may be kept (hold_on), each side of a partition continues, and several
// members decide together, as each of them refuses until it has heard of the release.
//
// The judge cannot know when the authority learns of any other end: the request was given up, lost, refused and sent
// again, or its member has lapsed. Such a session no longer counts for that name.

// having is a session's record of one name.
type having struct {
	open   map[uint64]bool // requests that have not ended
	freed  instant         // when the latest release was acknowledged
	unsure bool            // holds may be left that no acknowledged release covers
}

// tenant is a session and a name.
type tenant struct {
	name    string
	session lock.SessionID
}

// enters records that a session asks for a name.
func (j *judge) enters(name string, key requestKey) {
	at := tenant{name, key.session}
	t := j.tenants[at]
	if t == nil {
		t = &having{open: map[uint64]bool{}}
		j.tenants[at] = t
	}
	t.open[key.id] = true
}

// quits records how a request of a session has ended.
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

// refusedTry checks the holder that a refusal names.
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

// succeeds is called when the authority may have changed.
func (j *judge) succeeds() { j.succeeded = j.clock() }

// unsettles marks sessions whose holds may end by other means than releases.
func (j *judge) unsettles(which func(lock.SessionID) bool) {
	//tidy:unordered each is marked on its own
	for at, t := range j.tenants {
		t.unsure = t.unsure || which(at.session)
	}
}
