package session

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// onOpen opens a session, as soon as its requested ttl may be promised. Again marks a parked call that must be answered
// now.
func (m *Machine) onOpen(now protocol.Time, call protocol.CallID, open Open, again bool, out *protocol.Effects) {
	if !again && m.tooMany(open.Kind) {
		out.Reply(call, &Opened{Err: &holdfast.LimitError{Limit: "sessions", Value: int64(m.config.Sessions)}})
		return
	}
	if again {
		m.chargeOpening(&open.Owner, -1)
	}
	if err := cmp.Or(m.closing.refusal(), m.over(&open.Owner)); err != nil {
		out.Reply(call, &Opened{Err: err})
		return
	}
	if open.Kind != Local {
		if err := m.unable(now); err != nil {
			out.Reply(call, &Opened{Err: err})
			return
		}
	}
	ttl := m.wanted(open.TTL, m.config.TTL)
	p := &presence{kind: open.Kind, client: open.Client, owner: open.Identity, ttl: ttl, byDefault: open.TTL <= 0, expires: protocol.Never}
	if open.Kind != Local && !m.promisable(now, p, ttl, again, out) {
		m.parked = append(m.parked, parkedCall{call, open})
		m.chargeOpening(&open.Owner, 1)
		return
	}
	opened := &Opened{}
	if open.Number != 0 {
		p.attached = lock.Attachments{Attachment: lock.Attachment{Client: open.Number, Generation: 1}}
		opened.Generation = 1
	}
	if p.kind != Local {
		if opened.TTL = m.promise(p, now, now, now); opened.TTL == 0 {
			out.Reply(call, &Opened{Err: m.whyNothing()})
			return
		}
		opened.Cut = m.whyCut(p, open.TTL)
		opened.Longer = len(m.config.Lasting) > 0 && m.defaultFor(p) > p.ttl
	}
	m.lastNumber++
	p.id = lock.SessionID{Member: uint64(m.config.Member), Number: m.lastNumber}
	p.secret = m.drawSecret()
	m.sessions[p.id] = p
	m.charge(p, &open.Owner)
	if p.kind != OneShot {
		m.attach(p, call.Sink)
	}
	if p.kind != Local {
		m.remote++
		m.remind(p)
	}
	opened.ID, opened.Secret = p.id, p.secret
	out.Reply(call, opened)
}

// tooMany reports whether another session would exceed the limit. Sessions of the member's own process and those of
// clients do not take room from each other.
func (m *Machine) tooMany(kind Kind) bool {
	if kind == Local {
		return len(m.sessions)-m.remote >= m.config.Sessions
	}
	return m.remote+len(m.parked)+len(m.adoptions.of) >= m.config.Sessions
}

// promisable reports whether ttl may be promised to p now. If not, it requests the necessary horizon; when the answer
// has come (again), what may be promised has to suffice.
func (m *Machine) promisable(now protocol.Time, p *presence, ttl time.Duration, again bool, out *protocol.Effects) bool {
	reach := m.reachOf(p, ttl)
	if m.horizon.Clients && (m.horizon.Confirmed >= reach.Span() || protocol.Mutated("session outlives the lease")) {
		return true
	}
	if again {
		return true // it was requested, and this is the answer
	}
	before := m.answers
	m.requestHorizon(now, protocol.NeedHorizon{Want: max(reach.Span(), m.horizon.Confirmed), Clients: true}, out)
	return m.answers != before
}

// requestHorizon requests a horizon; the answer may come within the call. It is never less than earlier promises that
// clients still believe, even if the membership can promise less now: others wait no longer than the last request.
func (m *Machine) requestHorizon(now protocol.Time, need protocol.NeedHorizon, out *protocol.Effects) {
	need.Want = max(need.Want, m.counted().Span(), m.wantedByEntries(now))
	if m.requested != nil && *m.requested == need {
		return // under way
	}
	m.requested = &need
	m.pass(now, &protocol.Event{Kind: protocol.Raised, Port: protocol.Below, Fact: &need}, out)
}

// stretch returns how long this member waits for a duration d on a client's clock.
func (m *Machine) stretch(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*m.config.Drift) + 1
}

// leastTTL is the minimum ttl: anything less is no promise, to a client.
const leastTTL = time.Millisecond

// unable returns why this member cannot promise anything to clients now; nil if it can.
func (m *Machine) unable(now protocol.Time) error {
	if m.closing.stage == leaving {
		return errLeaving
	}
	switch {
	case m.lease == nil:
		return errJoining
	case now >= m.lease.Carried:
		return errNoLease
	}
	return nil
}

// whyNothing returns why promise had nothing to give.
func (m *Machine) whyNothing() error {
	if !m.horizon.Clients {
		return errForgetful
	}
	return errNoLease
}

// promise renews p and returns the ttl to answer, which counts from arrived, the arrival of the request at this member.
// It includes the time waited until heard, from when on the member or space keeps the session. If all spaces are
// lasting, they keep it regardless of this member and its lease, and nothing is deducted for that. It is 0, and p is
// unchanged, if there is nothing to promise.
func (m *Machine) promise(p *presence, now, arrived, heard protocol.Time) time.Duration {
	if !m.horizon.Clients {
		return 0
	}
	// In steps of a tenth of the ttl, so that a client that asks for 10 s gets 10s, and the disk's latency does not
	// show. Less than the truth is always safe.
	waited := max(0, heard-arrived)
	waited -= waited % max(1, p.ttl/10)
	lease := m.leaseLeft(now)
	// No more of the horizon than the session is counted for: the horizon drops when the longest counted promise has
	// passed.
	reach := min(m.reachOf(p, p.ttl), protocol.ReachOf(m.horizon.Confirmed))
	horizon := min(m.horizon.Confirmed, reach.Span())
	ttl := min(waited+p.ttl, m.shrink(waited+lease+horizon))
	if !m.isBound(p, p.ttl) || protocol.Mutated("session outlives the lease") {
		ttl = waited + p.ttl
	}
	if p.lasting != nil {
		ttl = min(ttl, p.lasting.atMost(m, waited))
	}
	if ttl < leastTTL {
		return 0
	}
	p.expires = max(p.expiresIfSet(), arrived+m.stretch(ttl))
	m.count(p, reach, now, arrived+m.stretch(ttl))
	m.remindRevoked(p, now)
	return ttl
}

// remaining returns the rest of p's promise, for an answer that renews nothing.
func (m *Machine) remaining(p *presence, now protocol.Time) time.Duration {
	left := m.shrink(p.expires - now)
	if p.lasting != nil {
		left = min(left, p.lasting.heard+p.lasting.ttl-now)
	}
	return max(0, left)
}

// shrink returns how long a client may count so that this member, whose clock may be the faster one, has not counted
// more than d.
func (m *Machine) shrink(d time.Duration) time.Duration {
	return time.Duration(float64(d) / (1 + m.config.Drift))
}

// remind queues the session's expiry, once: the code that finds the reminder checks whether the session was renewed
// since.
func (m *Machine) remind(p *presence) {
	if !p.reminded {
		p.reminded = true
		m.expiry.Push(p.expires, sessionKey(p.id))
	}
}

// reminds reports whether a reminder's session still exists. A client that opens and ends sessions of an hour must not
// leave an hour's reminders behind.
func (m *Machine) reminds(r protocol.Reminder[sessionKey]) bool {
	return m.sessions[lock.SessionID(r.Key)] != nil
}

// expiresIfSet returns when the session expires, or 0 if that was never set: a promise is never taken back.
func (p *presence) expiresIfSet() protocol.Time {
	if p.expires == protocol.Never {
		return 0
	}
	return p.expires
}

// onRenew renews a session, as soon as its requested ttl may be promised.
func (m *Machine) onRenew(now protocol.Time, call protocol.CallID, renew Renew, again bool, out *protocol.Effects) {
	p := m.here(renew.ID)
	if p == nil && m.isSuperseded(call.Sink) {
		return // it was dismissed, and continues elsewhere
	}
	if err := m.mayNotRenew(p, call, &renew); err != nil {
		out.Reply(call, &Renewed{Err: err})
		return
	}
	if renew.Arrived == 0 {
		renew.Arrived = now
	}
	p.allot(renew.Owner)
	renewed := &Renewed{Generation: p.generationFor(&renew)}
	p.arrive(call, &renew)
	if p.taking != nil && !renew.resumed {
		out.Reply(call, &Renewed{Err: errTaken})
		return
	}
	if m.awaitBeat(now, call, p, renew, out) {
		return
	}
	if p.kind == OneShot || renew.resumed {
		renewed.Lost = m.unreported(now, p)
	}
	if p.hasOnlyLosses() {
		// Nothing is left to renew. The session lives until its deadline, because this answer may be lost, and its
		// client believes until then.
		renewed.Err = p.lost[len(p.lost)-1].Decision.Loss
		out.Reply(call, renewed)
		return
	}
	if p.kind == Local {
		p.ttl = m.wanted(renew.TTL, p.ttl)
		out.Reply(call, renewed)
		return
	}
	if renewed.Err = m.unableFor(now, p); renewed.Err == nil {
		m.leaveMemory(now, p, out)
		ttl, heard := m.wantedFor(p, renew.TTL), now
		if p.lasting != nil {
			ttl, heard = min(ttl, p.lasting.ttl), renew.heard
		}
		// If too many already wait for a slow disk, what may be promised now has to suffice.
		again = again || len(m.parked) >= m.config.Sessions
		if !m.promisable(now, p, ttl, again, out) {
			m.parked = append(m.parked, parkedCall{call, renew})
			return
		}
		p.ttl = ttl
		before := p.far
		if renewed.TTL = m.promise(p, now, renew.Arrived, heard); renewed.TTL == 0 {
			renewed.Err = m.whyNothing()
		} else {
			renewed.Cut = m.whyCut(p, renew.TTL)
		}
		if p.far < before {
			m.sink(now, out)
		}
		m.remind(p)
	}
	if renewed.Err != nil && renew.resumed {
		// It is back, though it cannot be renewed: its earlier promise still holds.
		if left := m.remaining(p, now); left >= leastTTL && (!p.isUnconfirmed() || protocol.Mutated("a later client waits until the spaces know it")) {
			renewed.TTL, renewed.Err = left, nil
		}
	}
	out.Reply(call, renewed)
}

// arrive notes that a client has come back by itself.
func (p *presence) arrive(call protocol.CallID, renew *Renew) {
	if !renew.resumed && p.back != nil && p.back.sink == call.Sink {
		p.back = nil
	}
}

// allot notes the quota of a session's owner that came with a renewal.
func (p *presence) allot(o Owner) {
	if u := p.bill.owner; u != nil && u.owner == o.Name {
		u.quota = o.Quota
	}
}

// hasOnlyLosses reports whether a one-shot session has nothing left but losses to report to its client.
func (p *presence) hasOnlyLosses() bool {
	return p.kind == OneShot && !p.outlastsLocks() && len(p.lost) > 0 && len(p.live) == 0 && len(p.waiting) == 0
}

// outlastsLocks reports whether a one-shot session lives on without a lock: it was opened for several.
func (p *presence) outlastsLocks() bool { return p.attached.Client != 0 }

// answerParked answers the calls that waited for the horizon.
func (m *Machine) answerParked(now protocol.Time, out *protocol.Effects) {
	parked := m.parked
	m.parked = nil
	for _, waiting := range parked {
		switch fact := waiting.fact.(type) {
		case Open:
			m.onOpen(now, waiting.call, fact, true, out)
		case Renew:
			m.onRenew(now, waiting.call, fact, true, out)
		}
	}
}

// refusal returns why a session is not the caller's; nil if it is. A nil presence is no caller's. Without the secret a
// caller does not learn who owns it.
func (p *presence) refusal(s Secret, identity string) error {
	switch {
	case p == nil || !p.proves(s):
		return ErrUnknown
	case p.owner != "" && p.owner != identity:
		return ErrForeign
	}
	return nil
}

// proves compares secrets in constant time.
func (p *presence) proves(s Secret) bool {
	var diff byte
	for i := range s {
		diff |= s[i] ^ p.secret[i]
	}
	return diff == 0
}

func (m *Machine) attach(p *presence, sink uint64) {
	if p.sink == sink {
		return
	}
	p.sink = sink
	m.attached[sink] = append(m.attached[sink], p)
}

func (m *Machine) unattach(p *presence) {
	rest := m.attached[p.sink]
	for i := range rest {
		if rest[i] == p {
			rest[i] = rest[len(rest)-1]
			rest[len(rest)-1] = nil
			rest = rest[:len(rest)-1]
			break
		}
	}
	if len(rest) == 0 {
		delete(m.attached, p.sink)
	} else {
		m.attached[p.sink] = rest
	}
	p.sink = 0
}

// onDetach leaves the sessions of a closed sink to their TTL.
func (m *Machine) onDetach(now protocol.Time, sink uint64, out *protocol.Effects) {
	delete(m.superseded, sink)
	delete(m.ousted, sink)
	m.adoptions.detach(sink)
	m.detachEntries(sink)
	for len(m.attached[sink]) > 0 {
		p := m.attached[sink][0]
		m.unattach(p)
		if p.kind == Local {
			m.end(now, p, "", out)
		}
	}
}

// onNumber assigns ids to requests that come one by one, each over its own connection.
func (m *Machine) onNumber(now protocol.Time, call protocol.CallID, number *Number, out *protocol.Effects) {
	numbered := &Numbered{}
	if p := m.alive(now, number.ID); p != nil {
		count := uint64(min(max(number.Count, 1), MostNumbered))
		const counts = 1<<countBits - 1
		if p.numbered == 0 || p.numbered&counts+count > counts {
			p.numbered = SingleCall | m.config.Rand.Uint64()&^counts
		}
		numbered.First = p.numbered + 1
		p.numbered += count
	}
	out.Reply(call, numbered)
}

func (m *Machine) onWho(call protocol.CallID, who *Who, out *protocol.Effects) {
	known := &Known{}
	if p := m.sessions[who.ID]; p != nil {
		known.Client, known.Identity, known.Until = p.client, p.owner, p.expires
	}
	out.Reply(call, known)
}

func (m *Machine) onList(call protocol.CallID, out *protocol.Effects) {
	listed := &Listed{Sessions: make([]Info, 0, m.remote)}
	//tidy:unordered they are sorted below
	for id, p := range m.sessions {
		if p.kind != Local {
			listed.Sessions = append(listed.Sessions, Info{id, p.kind, p.client, p.owner, p.expires, p.bill.locks, p.bill.asked})
		}
	}
	slices.SortFunc(listed.Sessions, func(a, b Info) int {
		return cmp.Or(cmp.Compare(a.ID.Member, b.ID.Member), cmp.Compare(a.ID.Number, b.ID.Number))
	})
	out.Reply(call, listed)
}

// end ends a session in every space and forgets it. Why is "" if its client wished it.
func (m *Machine) end(now protocol.Time, p *presence, why holdfast.Loss, out *protocol.Effects) {
	if m.sessions[p.id] != p {
		return // ended already, by a decision
	}
	m.keep(now, p)
	p.expires = 0
	m.closing.stir(p.id)
	if p.away != nil {
		m.withdraw(now, p, out)
	}
	for port := 1; port <= m.config.Spaces; port++ {
		end := &protocol.EndSession{Session: p.id, Why: why}
		if m.config.lasts(protocol.Port(port)) {
			m.disenroll(now, p, protocol.Port(port), why, out)
			continue
		}
		if m.mayUse(p) {
			m.pass(now, &protocol.Event{Kind: protocol.Call, Port: protocol.Port(port), Fact: end}, out)
		}
	}
	if p.lasting != nil {
		m.forgoAll(p, p.gone(), out)
		m.hangUp(p, why, out)
	}
	m.endEntries(p, why, out)
	m.answerRecalls(p, out)
	delete(m.sessions, p.id)
	m.discharge(p)
	m.recent = nil
	m.expiry.Sweep(len(m.sessions), m.reminds)
	m.revokedDue.Sweep(len(m.sessions), m.reminds)
	m.beatDue.Sweep(len(m.sessions), m.reminds)
	if p.sink != 0 {
		m.notifyEnd(p, why, out)
		m.unattach(p)
	}
	if p.kind == Local {
		return
	}
	m.remote--
	m.uncount(p)
	m.sink(now, out)
}

// expire ends the sessions whose time has come.
func (m *Machine) expire(now protocol.Time, out *protocol.Effects) {
	for m.expiry.First() <= now {
		p := m.sessions[lock.SessionID(m.expiry.Pop().Key)]
		if p == nil {
			continue // ended since it was queued
		}
		p.reminded = false
		if p.present() {
			continue // its connection is its presence; it is queued again when the wait ends
		}
		if p.expires > now {
			m.remind(p) // renewed since it was queued
			continue
		}
		if p.taking != nil && p.taking.own && now >= p.believedUntil() {
			m.end(now, p, "", out) // as its client has wished
			continue
		}
		m.end(now, p, holdfast.SessionExpired, out)
	}
}
