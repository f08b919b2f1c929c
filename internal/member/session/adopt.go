package session

import (
	"crypto/subtle"
	"errors"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// adoptions are the pending questions to lasting spaces about sessions that this session machine does not have.
type adoptions struct {
	of      map[lock.SessionID]*adoption
	pending map[uint64]*adoption // by question number
}

// adoption is one pending question: all calls that name the session wait for it.
type adoption struct {
	id       lock.SessionID
	number   uint64
	requests []uint64        // not settled by their client, in order
	last     uint64          // the latest id that the client had used
	ports    []protocol.Port // spaces that have not answered
	found    []finding
	unsure   error // a space could not answer
	calls    []parkedCall
	replies  []protocol.Reply // decisions for the session meanwhile
	// crossed reports that this member has given the session up meanwhile: a space may have answered before it knew,
	// and no longer serves the session.
	crossed bool
}

// finding is a lasting space that has the session, with its record of it.
type finding struct {
	port protocol.Port
	who  protocol.Enroll
}

// mostCalls is the maximum number of calls that wait for the adoption of one session.
const mostCalls = 64

// keep stores losses and revocations of a session under adoption, until there is a client to send them to.
func (a *adoptions) keep(reply *protocol.Reply) {
	if len(a.of) == 0 || reply.To.Sink != 0 {
		return
	}
	if kind := reply.Decision.Kind; kind != lock.Lost && kind != lock.Revoked {
		return // its client repeats its waiting requests
	}
	if adoption := a.of[reply.Decision.Session]; adoption != nil {
		adoption.replies = append(adoption.replies, *reply)
	}
}

// detach forgets the streams of a closed sink, so that nothing is attached to it.
func (a *adoptions) detach(sink uint64) {
	//tidy:unordered each by itself
	for _, adoption := range a.of {
		adoption.calls = slices.DeleteFunc(adoption.calls, func(c parkedCall) bool {
			_, stream := c.fact.(Resume)
			return stream && c.call.Sink == sink
		})
	}
}

// takesOver makes a call wait until the lasting spaces have answered whether they have its session, and reports whether
// it waits or was refused. A session that is already here needs the question only if its stream returns after another
// call has brought the session here, or after the stream has made requests elsewhere. The spaces then report decisions
// that the stream may have missed, and its requests made there: otherwise requests that the client has settled, without
// this member's copies knowing, would be granted to no client.
func (m *Machine) takesOver(now protocol.Time, ev *protocol.Event, out *protocol.Effects) bool {
	id := namedBy(ev.Fact)
	if id == (lock.SessionID{}) {
		return false
	}
	resume, stream := ev.Fact.(*Resume)
	if p := m.find(id); p != nil {
		if !stream || p.over || p.lasting == nil || p.refusal(resume.Secret, resume.Identity) != nil ||
			!p.lasting.taken && resume.Last <= p.lasting.latest && !p.lasting.hasSettled(resume.Requests) {
			return false
		}
	}
	m.adopt(now, id, parkedCall{ev.Call, keepCall(ev.Fact)}, out)
	return true
}

// hasSettled reports whether a stream's client has settled a request since this member last listed its requests to the
// spaces.
func (l *lasting) hasSettled(requests []uint64) bool {
	if len(l.listed) == 0 || protocol.Mutated("a later hello is asked about anew") {
		return false
	}
	requests = slices.Sorted(slices.Values(requests))
	return slices.ContainsFunc(l.listed, func(id uint64) bool {
		_, still := slices.BinarySearch(requests, id)
		return !still
	})
}

// namedBy returns the session that a call names and must authenticate for; 0 for any other call.
func namedBy(fact any) lock.SessionID {
	switch fact := fact.(type) {
	case *Resume:
		return fact.ID
	case *Renew:
		if !fact.Proven {
			return fact.ID
		}
	case *Check:
		return fact.ID
	case *End:
		if !fact.Proven {
			return fact.ID
		}
	}
	return lock.SessionID{}
}

// keepCall returns a copy of a call that names a session: the session machine owns its pointer only until Step returns.
func keepCall(fact any) any {
	switch fact := fact.(type) {
	case *Resume:
		kept := *fact
		kept.Requests = slices.Sorted(slices.Values(fact.Requests))
		return kept
	case *Renew:
		kept := *fact
		return kept
	case *Check:
		return *fact
	case *End:
		return *fact
	}
	return fact
}

// adopt asks the lasting spaces about a session, once for all calls that name it.
func (m *Machine) adopt(now protocol.Time, id lock.SessionID, waiting parkedCall, out *protocol.Effects) {
	a := m.adoptions.of[id]
	if err := m.whyNotAdopt(now, id, a); err != nil {
		refuseCall(waiting, err, out)
		return
	}
	if a != nil {
		a.calls = append(a.calls, waiting)
		return
	}
	a = &adoption{id: id, calls: []parkedCall{waiting}}
	if resume, stream := waiting.fact.(Resume); stream {
		a.requests, a.last = resume.Requests, resume.Last
	}
	m.adoptions.of[id] = a
	m.locate(now, a, out)
}

// locate asks all lasting spaces for a session. Earlier answers become void.
func (m *Machine) locate(now protocol.Time, a *adoption, out *protocol.Effects) {
	m.questions++
	a.number, a.ports, a.found, a.unsure, a.crossed = m.questions, slices.Clone(m.config.Lasting), nil, nil, false
	m.adoptions.pending[a.number] = a
	m.question(now, a.number, func() any {
		return &protocol.Adopt{Session: a.id, Requests: slices.Clone(a.requests), Last: a.last}
	}, out)
}

// cross records that a session is given up here while the question is under way.
func (a *adoptions) cross(id lock.SessionID) {
	if adoption := a.of[id]; adoption != nil {
		adoption.crossed = true
	}
}

// whyNotAdopt returns the reason why a session cannot be adopted, or why another call cannot wait for that; nil if it
// can.
func (m *Machine) whyNotAdopt(now protocol.Time, id lock.SessionID, a *adoption) error {
	if err := m.closing.refusal(); err != nil {
		return err
	}
	here := m.sessions[id] != nil // then it keeps its promises, regardless of what can be promised now
	if err := m.unable(now); err != nil && !here {
		return err
	}
	if a == nil && !here && m.tooMany(OneShot) || a != nil && len(a.calls) >= mostCalls {
		return errFull
	}
	return nil
}

// refuseCall refuses a call that names a session.
func refuseCall(waiting parkedCall, err error, out *protocol.Effects) {
	if _, end := waiting.fact.(End); end {
		out.Reply(waiting.call, &Ended{Err: err})
		return
	}
	out.Reply(waiting.call, &Renewed{Err: err})
}

// onAdopted handles a lasting space's answer about a session.
func (m *Machine) onAdopted(now protocol.Time, from answer, adopted *protocol.Adopted, out *protocol.Effects) {
	a := m.adoptions.pending[from.number]
	if a == nil {
		return
	}
	at := slices.Index(a.ports, from.port)
	if at < 0 {
		return
	}
	a.ports = slices.Delete(a.ports, at, at+1)
	switch {
	case adopted.Err == nil:
		a.found = append(a.found, finding{from.port, adopted.Enrolled})
	case !errors.Is(adopted.Err, holdfast.SessionExpired):
		a.unsure = adopted.Err
	}
	if len(a.ports) > 0 {
		return
	}
	delete(m.adoptions.pending, a.number)
	if a.crossed {
		m.locate(now, a, out)
		return
	}
	delete(m.adoptions.of, a.id)
	m.concludeAdoption(now, a, out)
}

// concludeAdoption continues the waiting calls when all spaces have answered. While one space cannot answer, no client
// learns that the session is unknown. Nor do the other spaces serve it alone, because its client would take their
// promise to cover that space's locks, too.
func (m *Machine) concludeAdoption(now protocol.Time, a *adoption, out *protocol.Effects) {
	slices.SortFunc(a.found, func(x, y finding) int { return int(x.port) - int(y.port) })
	p, err := m.find(a.id), m.closing.refusal()
	if err == nil && a.unsure != nil {
		err = unsure(a.unsure)
	}
	serves := p != nil && !p.over
	if serves {
		join(now, p, a.found)
		for _, found := range a.found {
			m.takenElsewhere(now, p, found.who.Attached, out)
		}
	}
	if err == nil && p == nil && slices.ContainsFunc(a.found, func(f finding) bool { return f.who.Tied }) && !protocol.Mutated("a tied session ends with its member") {
		err = ErrUnknown // its client may hold what ends with that member
	}
	if err == nil && len(a.found) == 0 {
		err = ErrUnknown
		if serves {
			m.endedThere(now, p, out)
		}
	}
	for _, waiting := range a.calls {
		if err == nil && p == nil {
			if wrong := m.makePresence(now, a, waiting.fact, out); wrong != nil {
				refuseCall(waiting, wrong, out)
				continue
			}
			p = m.find(a.id)
		}
		if err != nil {
			refuseCall(waiting, err, out)
			continue
		}
		m.goOn(now, a, waiting, out)
	}
	if p = m.find(a.id); p == nil || p.over {
		for _, found := range a.found {
			dismiss := &protocol.Dismiss{Session: a.id}
			m.pass(now, &protocol.Event{Kind: protocol.Call, Port: found.port, Fact: dismiss}, out)
		}
	}
}

// goOn executes a call that has waited for its session. If a stream names other requests than those in the question,
// the spaces are asked again: they must report on the additional ones; and the missing ones are settled, so a later
// grant of one must be given back.
func (m *Machine) goOn(now protocol.Time, a *adoption, waiting parkedCall, out *protocol.Effects) {
	switch fact := waiting.fact.(type) {
	case Resume:
		p := m.find(a.id)
		if a.differs(&fact) && p.refusal(fact.Secret, fact.Identity) == nil {
			m.adopt(now, a.id, waiting, out)
			return
		}
		if p != nil && p.lasting != nil {
			p.lasting.latest, p.lasting.listed = max(p.lasting.latest, fact.Last), fact.Requests
		}
		if p.refusal(fact.Secret, fact.Identity) == nil {
			m.recountUses(now, p, out)
		}
		m.onResume(now, waiting.call, &fact, out)
	case Renew:
		m.onRenew(now, waiting.call, fact, false, out)
	case Check:
		m.onCheck(waiting.call, &fact, out)
	case End:
		m.onEnd(now, waiting.call, &fact, out)
	}
}

// differs reports whether a stream names other requests than those in the question.
func (a *adoption) differs(resume *Resume) bool {
	if protocol.Mutated("a later hello is asked about anew") {
		return !slices.Equal(slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.requests, resume.Requests)))), a.requests)
	}
	return resume.Last > a.last || !slices.Equal(resume.Requests, a.requests)
}

// join adds the spaces that have a session to those where it is enrolled. Its client's beliefs there came through
// another member, and are not known here.
func join(now protocol.Time, p *presence, found []finding) {
	l := p.lasting
	for _, f := range found {
		if slices.Contains(l.ports, f.port) {
			continue
		}
		l.ports = append(l.ports, f.port)
		if l.ttl == 0 || f.who.TTL < l.ttl {
			l.ttl = f.who.TTL
		}
		l.heard = now - l.ttl
	}
	slices.Sort(l.ports)
	p.ttl = min(p.ttl, l.ttl)
}

// makePresence adopts a session that lasting spaces have, if the caller is its client. Otherwise it returns an error.
func (m *Machine) makePresence(now protocol.Time, a *adoption, fact any, out *protocol.Effects) error {
	secret, identity, stream := credentialsOf(fact)
	proof := m.prove(secret)
	for _, found := range a.found {
		if err := isClientOf(&found.who, proof, identity); err != nil {
			return err
		}
	}
	who := a.found[0].who
	p := &presence{
		id: a.id, secret: secret, kind: OneShot, client: who.Client, owner: who.Identity, ttl: who.TTL,
		lasting: &lasting{taken: !stream},
	}
	join(now, p, a.found)
	for _, found := range a.found {
		p.attached = p.attached.Join(found.who.Attached)
	}
	p.lasting.attached = p.attached.Attachment
	p.expires = now + m.stretch(p.ttl)
	if p.attached.Generation > 1 {
		p.former = p.expires
	}
	m.sessions[p.id] = p
	m.charge(p, ownerOf(&who, fact))
	m.remote++
	m.remind(p)
	if stream || m.hasStream(now, p, out) {
		p.kind = Stream
	}
	for i := range a.replies {
		reply := a.replies[i]
		m.routeRevoked(now, p, &reply)
		switch {
		case p.kind == OneShot:
			p.lose(loss{Lost: Lost{reply.Port, reply.Decision}})
		case reply.Decision.Kind == lock.Lost:
			m.keepLoss(now, p, &reply)
		}
	}
	a.replies = nil
	m.recountUses(now, p, out)
	if p.kind == OneShot {
		m.recount(now, p, out)
	}
	return nil
}

// hasStream reports whether a stream has asked for a session's state.
func (m *Machine) hasStream(now protocol.Time, p *presence, out *protocol.Effects) bool {
	for _, port := range p.lasting.ports {
		for _, r := range m.requestsOf(now, p, port, out) {
			if r.ID < SingleCall {
				return true
			}
		}
	}
	return false
}

// credentialsOf returns a call's credentials, and whether it is a stream's.
func credentialsOf(fact any) (secret Secret, identity string, stream bool) {
	switch fact := fact.(type) {
	case Resume:
		return fact.Secret, fact.Identity, true
	case Renew:
		return fact.Secret, fact.Identity, false
	case Check:
		return fact.Secret, fact.Identity, false
	case End:
		return fact.Secret, fact.Identity, false
	}
	return secret, "", false
}

// ownerOf returns the owner that is charged an adopted session.
func ownerOf(who *protocol.Enroll, fact any) *Owner {
	o := &Owner{}
	switch fact := fact.(type) {
	case Resume:
		o = &fact.Owner
	case Renew:
		o = &fact.Owner
	case Check:
		o = &fact.Owner
	}
	if who.Identity != "" {
		o.Name = who.Identity
	}
	return o
}

// isClientOf returns why the caller is not the session's client; nil if it is. No client owns a session of another
// member's process.
func isClientOf(who *protocol.Enroll, proof [32]byte, identity string) error {
	switch {
	case subtle.ConstantTimeCompare(proof[:], who.Proof[:]) == 0 || who.Own:
		return ErrUnknown
	case who.Identity != "" && who.Identity != identity:
		return ErrForeign
	}
	return nil
}

// becomeStream turns a session that another call has brought here into one of its stream.
func (p *presence) becomeStream() {
	p.lasting.taken = false
	if p.kind == Stream {
		return
	}
	p.kind, p.live = Stream, nil
	p.lost = slices.DeleteFunc(p.lost, func(l loss) bool { return l.Decision.Kind != lock.Lost })
	for i := range p.lost {
		p.lost[i].due = p.expires
	}
}
