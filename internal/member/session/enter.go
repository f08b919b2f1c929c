package session

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A session's promise binds this member's names only while the session has something in a space that ends with this member. See
// "Spaces of both sorts" in the package's comment.

// entry is a request in a space that ends with this member. It waits until all that the session's client was promised is
// within what others wait for.
type entry struct {
	ev      protocol.Event // its Fact is request
	request lock.Request
	since   protocol.Time
	answers uint64 // Machine.answers when the horizon was asked for
}

const (
	// mostEntries is how many of them one session may have.
	mostEntries = 4096
	// entryGrace is how long a request waits for the answer about the horizon, though it does not want to wait.
	entryGrace = 400 * time.Millisecond
)

// isBound reports whether a promise of ttl to a session ends with this member's lease and horizon: whether its client has
// something that others may be granted when this member is lost. A ttl that the lease has room for is bound as long as the
// session has used no lasting space: that costs nothing, and what it asks for in memory need not wait.
func (m *Machine) isBound(p *presence, ttl time.Duration) bool {
	switch {
	case m.config.allLast():
		return false
	case len(m.config.Lasting) == 0, p.entered, len(p.entries) > 0:
		return true
	}
	return ttl <= m.config.Lease && p.lasting == nil
}

// enters has a request wait that is a session's first one in a space that ends with this member, and reports that it does, or was
// refused. Its client may have been promised more than others wait for.
func (m *Machine) enters(now protocol.Time, p *presence, ev *protocol.Event, r *lock.Request, out *protocol.Effects) bool {
	if len(m.config.Lasting) == 0 || p.kind == Local || p.entered || m.config.lasts(ev.Port) {
		return false
	}
	if len(p.entries) == 0 && (m.covers(now, p) || protocol.Mutated("what is held in memory is within what others wait for")) {
		p.entered = true
		return false
	}
	if len(p.entries) >= mostEntries {
		m.refuse(ev.Call, r.Session, r.ID, r.Name, &holdfast.LimitError{Limit: "unrecorded", Value: mostEntries}, out)
		return true
	}
	if len(p.entries) == 0 {
		m.entering = append(m.entering, p)
	}
	e := &entry{ev: *ev, request: *r, since: now, answers: m.answers}
	e.ev.Fact = &e.request
	p.entries = append(p.entries, e)
	m.requestHorizon(now, protocol.NeedHorizon{Want: m.horizon.Confirmed, Clients: true}, out)
	return true
}

// beyondLease is how long the client of a session may believe when this member's lease has ended.
func (m *Machine) beyondLease(now protocol.Time, p *presence) time.Duration {
	return p.expires - now - m.leaseLeft(now)
}

// leaseLeft is how long what this member holds is its own.
func (m *Machine) leaseLeft(now protocol.Time) time.Duration {
	if m.lease == nil {
		return 0
	}
	return max(0, min(m.config.Lease, m.lease.Carried-now))
}

// covers reports whether all that a session's client was promised is within the lease and the confirmed horizon, and counts it
// where it is.
func (m *Machine) covers(now protocol.Time, p *presence) bool {
	beyond := m.beyondLease(now, p)
	if !m.horizon.Clients || m.unable(now) != nil || beyond > m.horizon.Confirmed {
		return false
	}
	reach := max(protocol.ReachOf(beyond), min(m.reachOfBound(p.ttl), protocol.ReachOf(m.horizon.Confirmed)))
	m.count(p, reach, now, p.expires)
	return true
}

// wantedByEntries is the horizon with which all requests that wait go on, and their sessions keep their ttl.
func (m *Machine) wantedByEntries(now protocol.Time) time.Duration {
	var reach protocol.Reach
	for _, p := range m.entering {
		if len(p.entries) > 0 {
			reach = max(reach, protocol.ReachOf(m.beyondLease(now, p)), m.reachOfBound(p.ttl))
		}
	}
	return reach.Span()
}

// admit goes on with the requests that have waited, where their sessions are covered now, and refuses those that wait no longer.
func (m *Machine) admit(now protocol.Time, out *protocol.Effects) {
	entering := m.entering
	m.entering, m.entryDue = nil, protocol.Never
	for _, p := range entering {
		entries := p.entries
		closing := m.closing.stage != serving
		if len(entries) > 0 && (closing || m.covers(now, p)) {
			p.entries, p.entered = nil, !closing
			for _, e := range entries {
				m.onRequest(now, &e.ev, &e.request, out)
			}
			continue
		}
		p.entries = slices.DeleteFunc(entries, func(e *entry) bool {
			due := m.givesUp(now, e)
			if due > now {
				m.entryDue = min(m.entryDue, due)
				return false
			}
			m.refuse(e.ev.Call, p.id, e.request.ID, e.request.Name, m.whyNotEntered(now, p), out)
			out.Replies[len(out.Replies)-1].Port = e.ev.Port
			return true
		})
		if len(p.entries) > 0 {
			m.entering = append(m.entering, p)
			if at := p.expires - m.horizon.Confirmed - m.config.Lease; at > now {
				m.entryDue = min(m.entryDue, at)
			}
		}
	}
}

// givesUp is the time until which a request waits for its session to be covered. A request that does not want to wait is refused when
// the horizon is known to be too short.
func (m *Machine) givesUp(now protocol.Time, e *entry) protocol.Time {
	if m.answers != e.answers {
		return max(e.request.WaitEnd, now)
	}
	return max(e.request.WaitEnd, e.since+entryGrace)
}

// whyNotEntered says why a session is not covered.
func (m *Machine) whyNotEntered(now protocol.Time, p *presence) error {
	if err := m.unable(now); err != nil {
		return err
	}
	if !m.horizon.Clients {
		return errForgetful
	}
	return &lock.Unavailable{Why: whyUncovered, Left: max(0, m.beyondLease(now, p)-m.horizon.Confirmed)}
}

// whyUncovered says why a request in memory is not granted.
const whyUncovered = "the ttl of this session is longer than the members can record now for a lock in memory: " +
	"wait until what was promised before has run out, or open a session with a shorter ttl"

// dropEntry takes back a request that waits to be passed on, and reports whether there is one.
func (m *Machine) dropEntry(now protocol.Time, p *presence, ev *protocol.Event, request uint64, name string, out *protocol.Effects) bool {
	at := slices.IndexFunc(p.entries, func(e *entry) bool {
		return e.ev.Port == ev.Port && e.request.ID == request && e.request.Name == name
	})
	if at < 0 {
		return false
	}
	p.entries = slices.Delete(p.entries, at, at+1)
	out.Decide(ev.Call, &lock.Decision{Kind: lock.Released, Session: p.id, Request: request, Name: name})
	out.Replies[len(out.Replies)-1].Port = ev.Port
	m.route(now, len(out.Replies)-1, out)
	return true
}

// endEntries answers what a session waits with, because it ends. A client that goes on elsewhere asks there again.
func (m *Machine) endEntries(p *presence, why holdfast.Loss, out *protocol.Effects) {
	entries := p.entries
	p.entries = nil
	for _, e := range entries {
		if p.away != nil && p.kind == Stream && e.ev.Call.Sink == p.sink {
			continue
		}
		d := e.request.Decision(lock.Refused)
		d.Err = p.gone()
		if why == "" {
			d.Kind, d.Err = lock.Released, nil
		}
		out.Decide(e.ev.Call, &d)
		out.Replies[len(out.Replies)-1].Port = e.ev.Port
	}
}

// detachEntries forgets what was asked for at a sink that is gone: a client that comes back asks again.
func (m *Machine) detachEntries(sink uint64) {
	for _, p := range m.entering {
		p.entries = slices.DeleteFunc(p.entries, func(e *entry) bool { return e.ev.Call.Sink == sink })
	}
}

// leaveMemory notes that a session has nothing in spaces that end with this member any more, before it is promised more. What it was
// promised until now stays counted.
func (m *Machine) leaveMemory(now protocol.Time, p *presence, out *protocol.Effects) {
	if !p.entered || len(m.config.Lasting) == 0 || m.holds(now, p, out) {
		return
	}
	for port := protocol.Port(1); int(port) <= m.config.Spaces; port++ {
		if !m.config.lasts(port) && len(m.requestsOf(now, p, port, out)) > 0 {
			return
		}
	}
	p.entered = false
}
