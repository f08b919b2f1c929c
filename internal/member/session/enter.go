package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// A session's promise binds this member's names only while the session has something in a space that ends with this
// member. See "Lasting spaces and spaces in memory" in the package comment.

// entry is a request in a space that ends with this member. It waits until all promises to the session's client are
// within what others wait for.
type entry struct {
	ev      protocol.Event // its Fact is request
	request lock.Request
	since   protocol.Time
	answers uint64 // Machine.answers when the horizon was requested
}

// use returns the key under which the request is charged.
func (e *entry) use() useKey { return useKey{e.ev.Port, e.request.ID, e.request.Name} }

const (
	// mostEntries is the maximum number of entries of one session.
	mostEntries = 4096
	// entryGrace is how long a request that must not wait still waits for the answer about the horizon.
	entryGrace = 400 * time.Millisecond
)

// isBound reports whether a promise of ttl to a session ends with this member's lease and horizon: whether its client
// has something that others may be granted when this member is lost. A ttl within the lease is bound as long as the
// session has used no lasting space: that costs nothing, and its requests in memory need not wait.
func (m *Machine) isBound(p *presence, ttl time.Duration) bool {
	switch {
	case m.config.allLast():
		return false
	case len(m.config.Lasting) == 0, p.entered, len(p.entries) > 0:
		return true
	}
	return ttl <= m.config.Lease && p.lasting == nil
}

// enters makes a session's first request in a space that ends with this member wait, and reports whether it waits or
// was refused. Its client may have been promised more than others wait for.
func (m *Machine) enters(now protocol.Time, p *presence, ev *protocol.Event, r *lock.Request, out *protocol.Effects) bool {
	if len(m.config.Lasting) == 0 || p.kind == Local || p.entered || m.config.lasts(ev.Port) {
		return false
	}
	m.tie(now, p, out)
	if len(p.entries) == 0 && m.mayEnter(now, p) {
		m.enter(p)
		return false
	}
	e := &entry{ev: *ev, request: *r, since: now, answers: m.answers}
	e.ev.Fact = &e.request
	if at := slices.IndexFunc(p.entries, func(before *entry) bool { return before.use() == e.use() }); at >= 0 {
		p.entries[at] = e // the latest call gets the answer
		return true
	}
	if len(p.entries) >= mostEntries {
		m.refuse(ev.Call, r.Session, r.ID, r.Name, &holdfast.LimitError{Limit: "unrecorded", Value: mostEntries}, out)
		p.drop(useKey{ev.Port, r.ID, r.Name})
		return true
	}
	if len(p.entries) == 0 {
		m.entering = append(m.entering, p)
	}
	p.entries = append(p.entries, e)
	p.ttl = m.defaultFor(p)
	if !isUnwaited() {
		m.requestHorizon(now, protocol.NeedHorizon{Want: m.horizon.Confirmed, Clients: true}, out)
	}
	return true
}

// mayEnter reports whether a session may ask for something in spaces that end with this member.
func (m *Machine) mayEnter(now protocol.Time, p *presence) bool {
	return p.tied && (m.covers(now, p) || isUnwaited())
}

// isUnwaited reports whether a rule is switched off.
func isUnwaited() bool {
	return protocol.Mutated("what is held in memory is within what others wait for")
}

// enter notes that a session may have something in spaces that end with this member.
func (m *Machine) enter(p *presence) {
	p.entered = true
	p.ttl = m.defaultFor(p)
}

// beyondLease returns how long the client of a session may believe after the end of this member's lease.
func (m *Machine) beyondLease(now protocol.Time, p *presence) time.Duration {
	return p.expires - now - m.leaseLeft(now)
}

// leaseLeft returns the time left of this member's lease on its holds.
func (m *Machine) leaseLeft(now protocol.Time) time.Duration {
	if m.lease == nil {
		return 0
	}
	return max(0, min(m.config.Lease, m.lease.Carried-now))
}

// covers reports whether all promises to a session's client are within the lease and the confirmed horizon, and counts
// the session if so.
func (m *Machine) covers(now protocol.Time, p *presence) bool {
	beyond := m.beyondLease(now, p)
	if !m.horizon.Clients || m.unable(now) != nil || beyond > m.horizon.Confirmed {
		return false
	}
	reach := max(protocol.ReachOf(beyond), min(m.reachOfBound(p.ttl), protocol.ReachOf(m.horizon.Confirmed)))
	m.count(p, reach, now, p.expires)
	return true
}

// wantedByEntries returns the horizon with which all waiting requests can proceed and their sessions keep their ttl.
func (m *Machine) wantedByEntries(now protocol.Time) time.Duration {
	var reach protocol.Reach
	for _, p := range m.entering {
		if len(p.entries) > 0 {
			reach = max(reach, protocol.ReachOf(m.beyondLease(now, p)), m.reachOfBound(p.ttl))
		}
	}
	return reach.Span()
}

// admit continues the waiting requests whose sessions are covered now, and refuses those whose wait is over.
func (m *Machine) admit(now protocol.Time, out *protocol.Effects) {
	entering := m.entering
	m.entering, m.entryDue = nil, protocol.Never
	for _, p := range entering {
		entries := p.entries
		closing := m.closing.stage != serving
		if len(entries) > 0 && !closing {
			m.tie(now, p, out)
		}
		if len(entries) > 0 && (closing || m.mayEnter(now, p)) {
			p.entries, p.entered = nil, !closing
			for _, e := range entries {
				p.drop(e.use()) // it is charged again, as one that no space has heard of
				m.onRequest(now, &e.ev, &e.request, out)
			}
			continue
		}
		p.entries = slices.DeleteFunc(entries, func(e *entry) bool {
			due := m.givesUp(now, p, e)
			if due > now {
				m.entryDue = min(m.entryDue, due)
				return false
			}
			m.refuse(e.ev.Call, p.id, e.request.ID, e.request.Name, m.whyNotEntered(now, p), out)
			out.Replies[len(out.Replies)-1].Port = e.ev.Port
			p.drop(e.use())
			return true
		})
		p.untied = nil
		if len(p.entries) > 0 {
			m.entering = append(m.entering, p)
			if at := p.expires - m.horizon.Confirmed - m.config.Lease; at > now {
				m.entryDue = min(m.entryDue, at)
			}
		}
	}
}

// givesUp returns the time until which a request waits for its session to be tied and covered. A request that must not
// wait is refused once the horizon is known to be too short.
func (m *Machine) givesUp(now protocol.Time, p *presence, e *entry) protocol.Time {
	switch {
	case p.untied != nil:
		return now
	case p.tied && m.answers != e.answers:
		return max(e.request.WaitEnd, now)
	}
	return max(e.request.WaitEnd, e.since+entryGrace)
}

// whyNotEntered returns why a session is not covered.
func (m *Machine) whyNotEntered(now protocol.Time, p *presence) error {
	if err := cmp.Or(p.untied, m.unable(now)); err != nil {
		return err
	}
	switch {
	case !m.horizon.Clients:
		return errForgetful
	case !p.tied:
		return errUntied
	}
	return &lock.Unavailable{Why: whyUncovered, Left: max(0, m.beyondLease(now, p)-m.horizon.Confirmed)}
}

// whyUncovered is the reason why a request in memory is not granted.
const whyUncovered = "the ttl of this session is longer than the members can record now for a lock in memory: " +
	"wait until what was promised before has run out, or open a session with a shorter ttl"

// dropEntry withdraws a request that waits to be passed on, and reports whether there is one.
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

// endEntries answers a session's waiting requests, because it ends. A client that continues elsewhere repeats them
// there.
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
		p.drop(e.use())
		out.Decide(e.ev.Call, &d)
		out.Replies[len(out.Replies)-1].Port = e.ev.Port
	}
}

// detachEntries forgets the requests of a closed sink: a client that returns repeats them.
func (m *Machine) detachEntries(sink uint64) {
	for _, p := range m.entering {
		p.entries = slices.DeleteFunc(p.entries, func(e *entry) bool {
			if e.ev.Call.Sink != sink {
				return false
			}
			p.drop(e.use())
			return true
		})
	}
}

// leaveMemory records that a session has nothing in spaces that end with this member any more, before it is promised
// more. Earlier promises stay counted.
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
