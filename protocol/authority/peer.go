package authority

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// peer is an authority's knowledge of another member of its view.
type peer struct {
	id     protocol.ID
	tenure protocol.Tenure
	rank   int // its place in the order of seniority

	reported bool   // all that it holds and waits for is known
	chunk    uint32 // of its report that is wanted
	due      protocol.Time
	pause    protocol.Time
	unheard  protocol.Time // since when it was sent something again and has answered nothing; or Never

	acks    []uint64
	acksDue protocol.Time // when acknowledgements travel by themselves

	past past // its ended requests, as far as copies of them may be in flight

	grants int // that were given to its clients since the last GrantCount
}

// departed is a tenure that the view has no more. What it holds is freed in time.
type departed struct {
	id       protocol.ID
	tenure   protocol.Tenure
	free     protocol.Time
	reported bool
}

// unacked is a decision that is repeated until it is acknowledged.
type unacked struct {
	message Decided
	at      protocol.Time // when to say it again
	pause   protocol.Time
}

// tenureOf returns the tenure that a request belongs to: a session's number begins with
// its incarnation, a request's with its lapses.
func tenureOf(session lock.SessionID, seq uint64) protocol.Tenure {
	return protocol.Tenure{Incarnation: session.Number >> 32, Lapses: seq >> protocol.NumberBits}
}

func (c *authority) peer(id protocol.ID) *peer {
	for _, p := range c.peers {
		if p.id == id {
			return p
		}
	}
	return nil
}

// authorityView processes the members of a view: newcomers are asked for a report, departed ones keep their holds until
// it is safe to free them.
func (m *Machine) authorityView(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	m.takePeers(now, out)
	c.opened = c.opened || m.config.Outlives && m.config.Terms.From(m.view) <= now
	m.countDown(now, out)
	m.install(now, out)
	if m.deciding {
		m.attend(now, out)
	}
}

// takePeers makes the members of the view the authority's peers, and requests the reports of new ones.
func (m *Machine) takePeers(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	before := c.peers
	c.peers = nil
	for rank, member := range m.view.Members {
		if member.ID == m.self {
			continue
		}
		i := slices.IndexFunc(before, func(p *peer) bool { return p.id == member.ID && p.tenure == member.Tenure })
		if i >= 0 {
			before[i].rank = rank
			c.peers = append(c.peers, before[i])
			continue
		}
		p := &peer{id: member.ID, tenure: member.Tenure, rank: rank, due: protocol.Never, unheard: protocol.Never, acksDue: protocol.Never}
		c.peers = append(c.peers, p)
		if p.reported = m.isEmpty(p); !p.reported {
			c.departed = slices.DeleteFunc(c.departed, func(d departed) bool { return d.id == p.id && d.tenure == p.tenure })
			m.requestInfo(now, p, out)
		}
	}
	for _, p := range before {
		if !slices.Contains(c.peers, p) {
			c.departed = append(c.departed, departed{id: p.id, tenure: p.tenure, reported: p.reported})
			m.endWaits(now, p, out)
		}
	}
	c.sumUnheard()
}

// isEmpty reports whether a newcomer is known to hold nothing and to wait for nothing, so that it need not be asked: no
// member did when the reign began; or its tenure was in no view when one of this reign was open, so that it has begun
// since then. In mode any it may have been in another side's view in the meantime, and is asked.
func (m *Machine) isEmpty(p *peer) bool {
	c := m.authority
	if m.config.Any && (c.opened || c.served) {
		return false
	}
	return m.config.Outlives && (c.opened || c.served || m.reign.Settled) &&
		!slices.ContainsFunc(c.departed, func(d departed) bool { return d.id == p.id && d.tenure == p.tenure })
}

// countDown determines when departed members' holds may be freed.
func (m *Machine) countDown(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	for i := range c.departed {
		c.departed[i].free = m.config.Terms.Gone(m.view)
	}
	for _, dropped := range m.config.Terms.Dropped(m.view) {
		i := slices.IndexFunc(c.departed, func(d departed) bool { return d.id == dropped.ID && d.tenure == dropped.Tenure })
		if i < 0 {
			c.departed = append(c.departed, departed{id: dropped.ID, tenure: dropped.Tenure})
			i = len(c.departed) - 1
		}
		c.departed[i].free = dropped.Free
	}
	m.freeDeparted(now, out)
}

// freeDeparted frees departed members' holds, each in its time and not before.
func (m *Machine) freeDeparted(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	var left, free []departed
	for _, d := range c.departed {
		if d.free > now {
			left = append(left, d)
		} else {
			free = append(free, d)
		}
	}
	if len(free) == 0 {
		return
	}
	c.departed = left
	isFree := func(s lock.SessionID, seq uint64) bool {
		return slices.ContainsFunc(free, func(d departed) bool {
			return s.Member == uint64(d.id) && tenureOf(s, seq) == d.tenure
		})
	}
	m.advancePastLost(isFree)
	if m.deciding {
		m.attend(now, out)
	}
	c.table.EndWhere(now, holdfast.MemberLost, func(_ string, s lock.SessionID, seq uint64, _ holdfast.Token) bool {
		return isFree(s, seq)
	}, &m.scratch)
	m.publish(now, seqKey{}, out)
}

// endWaits forgets a departed member's waits: it will repeat them, if it is there (H7). Its holds stay.
func (m *Machine) endWaits(now protocol.Time, p *peer, out *protocol.Effects) {
	c := m.authority
	c.pending = slices.DeleteFunc(c.pending, func(w pending) bool {
		return w.entry.Session.Member == uint64(p.id) && tenureOf(w.entry.Session, w.entry.Request) == p.tenure
	})
	c.endVisits(func(r *lock.Request) bool {
		return r.Session.Member == uint64(p.id) && tenureOf(r.Session, r.ID) == p.tenure
	})
	c.table.EndWhere(now, holdfast.MemberLost, func(_ string, s lock.SessionID, seq uint64, token holdfast.Token) bool {
		return token == 0 && s.Member == uint64(p.id) && tenureOf(s, seq) == p.tenure
	}, &m.scratch)
	m.publish(now, seqKey{}, out)
}

// onHolder handles a message of another member's holder.
func (m *Machine) onHolder(now protocol.Time, ev protocol.Event, s *Stamp, out *protocol.Effects) {
	var p *peer
	if m.authority != nil {
		p = m.authority.peer(ev.From)
	}
	if p == nil || s.Version != m.authority.version || !m.config.Outlives && s.Epoch != m.authority.epoch || s.Tenure != p.tenure {
		out.Note(Ignored{What: fmt.Sprintf("void %v from member %d", ev.Fact, ev.From)})
		return
	}
	m.authority.hear(p)
	for _, number := range s.Acks {
		m.authority.heard(p, number)
	}
	switch msg := ev.Fact.(type) {
	case InfoAnswer:
		m.onInfoAnswer(now, p, &msg, out)
		return
	case Query:
		if msg.IsValid() {
			m.onQuery(now, p, &msg, out)
		}
		return
	case Acks:
		return
	case Revalidate:
		if p.reported {
			out.Send(p.id, Acks{Stamp: m.authorityStamp(p), View: msg.View})
		}
		return
	}
	if !m.deciding || !p.reported {
		return // it is asked for its report, and repeats its requests
	}
	m.attend(now, out)
	switch msg := ev.Fact.(type) {
	case Acquire:
		m.onAcquire(now, p, &msg, out)
	case Release:
		if p.owns(msg.Ended) {
			m.onRelease(now, p, Released{msg.Ended, msg.Last}, msg.Name, out)
			m.ackTo(now, p, msg.Seq)
			if msg.Awaited {
				out.Send(p.id, Acks{Stamp: m.authorityStamp(p)})
			}
		}
	case Extend:
		if p.owns(msg.Ended) {
			m.onExtend(now, p, &msg, out)
		}
	case Amend:
		if p.owns(msg.Ended) {
			m.onAmend(now, p, &msg, out)
		}
	case EndSession:
		if p.owns(msg.Ended) {
			m.authority.endVisits(func(r *lock.Request) bool { return r.Session == msg.Session })
			m.authority.table.EndSession(now, msg.Session, "", &m.scratch)
			m.publish(now, seqKey{}, out)
			m.ackTo(now, p, msg.Seq)
		}
	}
}

// malformed returns the field of a request that no edge lets through: it came from a faulty member, and every listing
// would show it. The whole table has no name.
func malformed(s *lock.Entry) error {
	if s.Name != lock.SpaceLock {
		if err := lock.CheckKnown(s.Name); err != nil {
			return err
		}
	}
	if err := lock.CheckKnownText("owner", s.Owner); err != nil {
		return err
	}
	if err := lock.CheckKnownText("reason", s.Reason); err != nil {
		return err
	}
	return holdfast.CheckValue(s.Value)
}

// owns reports whether a request is the peer's, of its present tenure. No member speaks
// for another's clients.
func (p *peer) owns(e Ended) bool {
	return e.Session.Member == uint64(p.id) && tenureOf(e.Session, e.Seq) == p.tenure
}

func (m *Machine) onAcquire(now protocol.Time, p *peer, msg *Acquire, out *protocol.Effects) {
	w := &msg.Entry
	if !p.owns(Ended{w.Session, w.Request}) {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: not its own", msg, p.id)})
		return
	}
	if err := malformed(w); err != nil {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: %v", msg, p.id, err)})
		return
	}
	for _, released := range msg.After {
		if p.owns(released.Ended) {
			m.onRelease(now, p, released, w.Name, out)
		}
	}
	if m.isOver(p, msg, out) {
		return
	}
	r := requestOf(now, w)
	if m.postpone(now, r, seqKey{p.id, w.Request}, out) {
		return
	}
	m.authority.table.Acquire(now, r, &m.scratch)
	m.attend(now, out) // the count may be at its end now
	m.publish(now, seqKey{p.id, w.Request}, out)
}

// requestOf returns the request that a holder has described: its age is measured by its own member.
func requestOf(now protocol.Time, s *lock.Entry) *lock.Request {
	r := &lock.Request{
		Session: s.Session, ID: s.Request, Name: s.Name, Attributes: s.Attributes, Client: s.Client,
		Try:     s.Try,
		Arrived: now - max(0, s.Age), WaitEnd: protocol.Never,
	}
	if s.Left != lock.Never {
		r.WaitEnd = lock.After(now, max(0, s.Left))
	}
	return r
}

// onRelease ends a request, in any state.
func (m *Machine) onRelease(now protocol.Time, p *peer, e Released, name string, out *protocol.Effects) {
	key := seqKey{p.id, e.Seq}
	p.past.add(e.Seq, nil)
	m.authority.forget(key)
	m.authority.endVisits(func(r *lock.Request) bool { return r.Session == e.Session && r.ID == e.Seq })
	m.advancePast(name, key, e.Last)
	m.authority.table.Cancel(now, e.Session, name, e.Seq, &m.scratch)
	m.publish(now, seqKey{}, out)
}

func (m *Machine) onExtend(now protocol.Time, p *peer, msg *Extend, out *protocol.Effects) {
	if m.withholds(protocol.Mutated("no limit is extended before it serves")) {
		out.Send(p.id, Acks{Stamp: m.authorityStamp(p)}) // it is heard, and asks again
		return
	}
	err := m.authority.table.Prolong(now, msg.Session, msg.Name, msg.Token, msg.Seq, msg.Hold)
	answer := Decided{
		Stamp: m.authorityStamp(p), Ended: msg.Ended, Kind: lock.Granted, Name: msg.Name, Token: msg.Token,
		Hold: msg.Hold, Extension: msg.Number,
	}
	if err != nil {
		answer.Kind, answer.Err = lock.Refused, err
	}
	out.Send(p.id, answer)
}

// notifyPeer informs another member's holder of the outcome of its request. A grant, and an unrequested decision, is
// repeated until the holder acknowledges it.
func (m *Machine) notifyPeer(now protocol.Time, d *lock.Decision, answered seqKey, out *protocol.Effects) {
	c := m.authority
	p := c.peer(protocol.ID(d.Session.Member))
	key := seqKey{protocol.ID(d.Session.Member), d.Request}
	unheard, repeats := c.unacked[key], false
	c.settleLoan(d, key)
	if p == nil || tenureOf(d.Session, d.Request) != p.tenure {
		if unheard != nil && unheard.message.Session == d.Session { // its next life counts its requests from the beginning
			c.forget(key)
		}
		return // it has ended all this itself
	}
	if m.counts(d) {
		p.grants++
	}
	msg := Decided{
		Ended: Ended{d.Session, d.Request}, Kind: d.Kind, Name: d.Name, Token: d.Token,
		Hold: d.Hold, Position: d.Position, Loss: d.Loss, Err: d.Err,
	}
	switch d.Kind {
	case lock.Released:
		p.past.add(d.Request, nil)
		c.forget(key)
		return
	case lock.Queued:
		if key != answered {
			return // it was reported as waiting, and continues
		}
	case lock.Lost:
		// Its own clock has ended it; only a holder that never received its grant must be informed.
		p.past.add(d.Request, nil)
		repeats = d.Loss != holdfast.HoldLimit || unheard != nil
	case lock.Refused:
		// A holder that has asked repeats its question, unless it has reported the request and believes that it is
		// queued: then it has not received the earlier decision, which answered the report.
		refusal := msg
		p.past.add(d.Request, &refusal)
		repeats = key != answered || unheard != nil
	default:
		repeats = !protocol.Mutated("grant told once")
		msg.Keep = d.Kind == lock.Granted && m.allowKeeping(key, d)
	}
	c.forget(key)
	if repeats {
		m.repeatUntilHeard(now, key, &msg)
	}
	msg.Stamp = m.authorityStamp(p)
	out.Send(p.id, msg)
}

// repeatUntilHeard gives a decision the number for its acknowledgement, and repeats it until then. There is one per
// request at a time.
func (m *Machine) repeatUntilHeard(now protocol.Time, key seqKey, msg *Decided) {
	c := m.authority
	c.lastAckID++
	msg.AckID = c.lastAckID
	w := &unacked{message: *msg}
	c.unacked[key], c.numbers[msg.AckID] = w, key
	m.scheduleResend(now, key, w)
}

// heard ends the decision that a peer has acknowledged. By its number, and not by its request:
// a late acknowledgement of one decision is none of another.
func (c *authority) heard(p *peer, number uint64) {
	key, ok := c.numbers[number]
	if !ok || key.member != p.id {
		return
	}
	c.useLoan(key, &c.unacked[key].message)
	c.forget(key)
}

// forget ends the decision about a request, if there is one.
func (c *authority) forget(key seqKey) {
	if w := c.unacked[key]; w != nil {
		delete(c.numbers, w.message.AckID)
		delete(c.unacked, key)
	}
}

func (m *Machine) scheduleResend(now protocol.Time, key seqKey, w *unacked) {
	w.pause = protocol.Longer(w.pause, m.config.Patience)
	w.at = now + w.pause
	m.authority.reminders.Push(w.at, key)
}

// resendUnacked resends unacknowledged decisions.
func (m *Machine) resendUnacked(now protocol.Time, out *protocol.Effects) {
	c := m.authority
	for c.reminders.First() <= now {
		reminded := c.reminders.Pop()
		w := c.unacked[reminded.Key]
		if w == nil || w.at != reminded.At {
			continue
		}
		p := c.peer(reminded.Key.member)
		if p == nil || tenureOf(w.message.Session, w.message.Seq) != p.tenure {
			c.forget(reminded.Key)
			continue
		}
		msg := w.message
		msg.Stamp = m.authorityStamp(p)
		out.Send(p.id, msg)
		if msg.Kind != lock.Revoked { // which is answered when the client has stopped
			c.miss(now, p)
		}
		m.scheduleResend(now, reminded.Key, w)
	}
}

// authorityStamp begins a message to a peer, with the acknowledgements that wait.
func (m *Machine) authorityStamp(p *peer) Stamp {
	acks := p.acks
	p.acks, p.acksDue = nil, protocol.Never
	return Stamp{Epoch: m.authority.epoch, Version: m.authority.version, Tenure: p.tenure, Acks: acks, Known: p.reported}
}

// ackTo acknowledges a release, with the next message or after a short time.
func (m *Machine) ackTo(now protocol.Time, p *peer, seq uint64) {
	p.acks = append(p.acks, seq)
	p.acksDue = min(p.acksDue, now+m.ackDelay())
	if len(p.acks) >= maxAcks {
		p.acksDue = now
	}
}

// peersTick sends acknowledgements that no message has carried, and repeats requests for reports.
func (m *Machine) peersTick(now protocol.Time, out *protocol.Effects) {
	for _, p := range m.authority.peers {
		if p.due <= now {
			m.authority.miss(now, p)
			m.requestInfo(now, p, out)
		}
		if p.acksDue <= now {
			out.Send(p.id, Acks{Stamp: m.authorityStamp(p)})
		}
	}
}
