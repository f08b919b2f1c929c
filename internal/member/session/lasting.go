package session

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// lasting is a session's state in spaces that outlast their member.
type lasting struct {
	ports []protocol.Port // where it is enrolled, in ascending order
	// ttl is the minimum time that those spaces keep the session after a beat: no promise to its client lasts longer
	// than that from the beat on.
	ttl time.Duration
	// heard is the step of the latest beat that all of them have answered, or of the first enrolment.
	heard protocol.Time

	// attached is the client that uses the session, as all of those spaces know it. Until they know a later one, that
	// one gets no promise.
	attached lock.Attachment

	// latest is the latest request of its stream that is known here, or was settled before the last question to the
	// spaces.
	latest uint64
	// listed are the client's unsettled requests, as last listed to the spaces, in order.
	listed []uint64

	beats    []*beat // under way, in the order of their numbers
	reminded bool    // it is in the queue of beats
	// taken reports that it was adopted from another member for a call other than Resume: the spaces were not asked for
	// decisions that its stream may have missed.
	taken bool
	// last is the space where the last lock of a one-shot session was released, if that ends it.
	last protocol.Port
}

// lasts reports whether the locks of a space outlast its members.
func (c *Config) lasts(port protocol.Port) bool {
	return len(c.Lasting) > 0 && slices.Contains(c.Lasting, port)
}

// enrolled reports whether a lasting space knows the session.
func (p *presence) enrolled(port protocol.Port) bool {
	return p.lasting != nil && slices.Contains(p.lasting.ports, port)
}

// introduce enrolls a session in a lasting space before its request. A call outside the session's stream waits for an
// answer from now on: the space may have to find a leader before it can answer.
func (m *Machine) introduce(now protocol.Time, p *presence, ev *protocol.Event, r *lock.Request, out *protocol.Effects) {
	if !p.enrolled(ev.Port) {
		m.enroll(now, p, ev.Port, out)
	}
	if p.kind == OneShot || p.kind == Stream && ev.Call.Sink != p.sink {
		p.await(r.ID, wait{ev.Call, ev.Port, r.Name})
		m.beatWhilePresent(now, p)
	}
}

// enroll makes a session known to a lasting space.
func (m *Machine) enroll(now protocol.Time, p *presence, port protocol.Port, out *protocol.Effects) {
	if p.lasting == nil {
		// An earlier promise may be longer than what is wanted now, and still holds.
		p.ttl = m.defaultFor(p)
		ttl := max(p.ttl, m.remaining(p, now), leastTTL)
		if p.kind == Local {
			ttl = m.config.TTL
		}
		p.lasting = &lasting{ttl: ttl, heard: now, attached: p.attached.Attachment}
	}
	l := p.lasting
	l.ports = append(l.ports, port)
	slices.Sort(l.ports)
	enroll := &protocol.Enroll{
		Session: p.id, TTL: l.ttl, Proof: m.prove(p.secret), Client: p.client, Identity: p.owner, Own: p.kind == Local,
		Attached: p.attached, Tied: p.tied || p.tying != nil,
	}
	m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Fact: enroll}, out)
}

// atMost bounds the ttl of an answer by what the lasting spaces keep: they count from the beat, and the ttl counts from
// waited before it. The client may have counted less of that than this member has.
func (l *lasting) atMost(m *Machine, waited time.Duration) time.Duration {
	return m.shrink(waited) + l.ttl
}

// wait is a call outside the session's stream that waits for a request.
type wait struct {
	call protocol.CallID
	port protocol.Port
	name string
}

// await records the call that waits for a request: the latest one gets the answer.
func (p *presence) await(request uint64, w wait) {
	if p.waiting == nil {
		p.waiting = map[uint64]wait{}
	}
	p.waiting[request] = w
}

// disenroll ends a session's part in a lasting space, as far as this member is concerned. Only its client's wish ends
// its holds there. Only the space where its last lock was released may end a one-shot session: elsewhere this member
// cannot know whether it has anything, because another member may have served it, too; there the space itself finds
// out.
func (m *Machine) disenroll(now protocol.Time, p *presence, port protocol.Port, why holdfast.Loss, out *protocol.Effects) {
	if !p.enrolled(port) {
		return
	}
	var fact any = &protocol.Dismiss{Session: p.id}
	if last := p.lasting.last; why == "" && (last == 0 || last == port) {
		fact = &protocol.EndSession{Session: p.id, Idle: last == port || p.taking != nil && !p.taking.own, Attached: p.ender()}
	}
	m.adoptions.cross(p.id)
	m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Fact: fact}, out)
}

// hangUp answers the calls that wait for lasting spaces on behalf of a session that is no longer served: nothing else
// would.
func (m *Machine) hangUp(p *presence, why holdfast.Loss, out *protocol.Effects) {
	err := p.gone()
	for _, request := range sortedKeys(p.waiting) {
		w := p.waiting[request]
		if !m.config.lasts(w.port) {
			continue
		}
		delete(p.waiting, request)
		d := lock.Decision{Kind: lock.Refused, Session: p.id, Request: request, Name: w.name, Client: p.client, Err: err}
		if why == "" {
			d.Kind, d.Err = lock.Released, nil
		}
		out.Decide(w.call, &d)
		out.Replies[len(out.Replies)-1].Port = w.port
	}
}

// gone returns why a session is no longer served.
func (p *presence) gone() error {
	if p.away != nil {
		return p.away
	}
	return ErrUnknown
}

// endedThere ends a session that a lasting space has ended. In other spaces its client may believe until its deadline,
// although it learns of the end now: its holds there are kept that long.
func (m *Machine) endedThere(now protocol.Time, p *presence, out *protocol.Effects) {
	if p.expires <= now || !m.holds(now, p, out) {
		m.end(now, p, holdfast.SessionExpired, out)
		return
	}
	p.over = true
	for _, port := range slices.Clone(p.lasting.ports) {
		m.disenroll(now, p, port, holdfast.SessionExpired, out)
	}
	m.forgoAll(p, ErrUnknown, out)
	p.lasting = nil
	m.endEntries(p, holdfast.SessionExpired, out)
	m.hangUp(p, holdfast.SessionExpired, out)
	for _, request := range sortedKeys(p.waiting) {
		w := p.waiting[request]
		delete(p.waiting, request)
		m.refuse(w.call, p.id, request, w.name, ErrUnknown, out)
		cancel := &protocol.Cancel{Session: p.id, Name: w.name, Request: request}
		m.pass(now, &protocol.Event{Kind: protocol.Call, Port: w.port, Fact: cancel}, out)
	}
	if p.sink != 0 {
		out.Reply(protocol.CallID{Sink: p.sink}, &Expired{ID: p.id})
		m.unattach(p)
	}
	m.remind(p)
}

// endReleased ends a one-shot session with the release of its last lock in a space, unless it has others that came
// through other members.
func (m *Machine) endReleased(now protocol.Time, p *presence, port protocol.Port, out *protocol.Effects) {
	if p.lasting != nil {
		if m.recount(now, p, out); len(p.live) > 0 {
			return
		}
		if m.config.lasts(port) {
			p.lasting.last = port
		}
	}
	m.end(now, p, "", out)
}

// recount asks the lasting spaces for the locks and waits that keep a one-shot session alive there.
func (m *Machine) recount(now protocol.Time, p *presence, out *protocol.Effects) {
	for _, port := range p.lasting.ports {
		for _, r := range m.requestsOf(now, p, port, out) {
			if _, revoked := p.revoked.byRequest[revokedKey{port, r.ID}]; revoked {
				continue
			}
			if p.live == nil {
				p.live = map[uint64]protocol.Port{}
			}
			p.live[r.ID] = port
		}
	}
}
