package authority

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// operation is an operator's call that waits for the authority's answer.
type operation struct {
	call     protocol.CallID
	fact     any // what is asked
	query    Query
	since    protocol.Time // when the operator asked
	target   string        // the name of the authority that was asked last; "" before
	to       addressee     // the authority that may have executed it; zero while none may have
	due      protocol.Time // when to ask again
	pause    protocol.Time
	deadline protocol.Time // when to say that no authority answers
	scanned  protocol.Scanned
	scanning bool // it is a Scan, regardless of what is asked for next
}

// addressee is an authority to which a Break was sent. It alone can say what became of it.
type addressee struct {
	authority   protocol.ID
	incarnation uint64 // of the authority's process: a later one remembers nothing
	version     Version
}

// doubted reports whether an authority that this member follows no more may have executed the
// operation: then that one is asked until it has answered, and no other.
func (m *Machine) doubted(o *operation) bool {
	return !protocol.Mutated("break sent on unanswered") && o.to.authority != 0 && (o.to.authority != m.reign.Authority || o.to.version != m.reign.Version)
}

// How long an operator waits for an answer, in units of patience. A listing can wait
// for a change of authority; who asks how the space is wants to know just that.
const (
	patienceOfQuery   = 20
	patienceOfInspect = 4
)

// operate forwards an operator's call to the authority, or answers it where there is
// none.
func (m *Machine) operate(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	h := &m.holder
	o := newOperation(ev.Call, ev.Fact)
	if o == nil {
		m.otherCall(now, ev, out)
		return
	}
	o.since = now
	inspect, _ := ev.Fact.(*protocol.Inspect)
	switch {
	case inspect != nil && inspect.Here:
		out.Reply(o.call, m.conditionHere(now))
		return
	case o.query.Kind == QueryInspect && m.reign.Authority == 0 && len(m.about.Transfers) > 0:
		out.Reply(o.call, m.condition(now)) // the authority is to be this member, and knows no more
		return
	case !m.admitted() || m.authority != nil && !m.config.Outlives:
		m.unanswered(now, o, m.whyUnanswered(now, o), out)
		return
	case len(h.operations) >= m.config.Operators:
		m.unanswered(now, o, &holdfast.LimitError{Limit: "operators", Value: int64(m.config.Operators)}, out)
		return
	}
	patience := protocol.Time(patienceOfQuery)
	if o.query.Kind == QueryInspect {
		patience = patienceOfInspect
	}
	h.lastOperation++
	o.query.Number, o.deadline = h.lastOperation, now+patience*m.config.Patience
	h.operations = append(h.operations, o)
	m.sendQuery(now, o, out)
}

// newOperation takes an operator's question, which is the caller's own; nil for any other call.
func newOperation(call protocol.CallID, fact any) *operation {
	o := &operation{call: call}
	switch fact := fact.(type) {
	case *protocol.Show:
		o.query.Kind, o.query.Name = QueryShow, fact.Name
		o.fact = &protocol.Show{Name: fact.Name}
	case *protocol.Scan:
		o.query.Kind, o.query.Name, o.query.Prefix, o.query.Limit, o.scanning = QueryScan, fact.After, fact.Prefix, fact.Limit, true
		o.fact = &protocol.Scan{After: fact.After, Prefix: fact.Prefix, Limit: fact.Limit}
	case *protocol.Break:
		o.query.Kind, o.query.Name, o.query.Token, o.query.Reason = QueryBreak, fact.Name, fact.Token, fact.Reason
		o.fact = &protocol.Break{Name: fact.Name, Token: fact.Token, Reason: fact.Reason}
	case *protocol.Inspect:
		o.query.Kind, o.fact = QueryInspect, &protocol.Inspect{}
	default:
		return nil
	}
	return o
}

// otherCall answers a call that no authority has to answer.
func (m *Machine) otherCall(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev.Fact.(type) {
	case *protocol.Transfer:
		transferred := &protocol.Transferred{Err: holdfast.ErrUnsupported}
		if m.reign.Authority != 0 {
			transferred.Authority = []protocol.ID{m.reign.Authority}
		}
		out.Reply(ev.Call, transferred)
	case *protocol.ListShards:
		out.Reply(ev.Call, &protocol.Shards{})
	case *protocol.Reform:
		out.Reply(ev.Call, &protocol.Reformed{Err: holdfast.ErrUnsupported})
	case *protocol.OpenSpace:
		m.instance.Open(ev.Call, out)
	case *protocol.CloseSpace:
		m.closeSpace(now, ev.Call, out)
	case *protocol.StepDown:
		out.Reply(ev.Call, &protocol.SteppedDown{}) // who decides next goes with the view
	default:
		out.Note(Ignored{What: fmt.Sprintf("call %T", ev.Fact)})
	}
}

func (m *Machine) sendQuery(now protocol.Time, o *operation, out *protocol.Effects) {
	o.due = protocol.Never
	query := o.query
	query.Low = m.holder.operations[0].query.Number
	switch {
	case m.doubted(o):
		if !m.admitted() {
			return // until a view has this member again
		}
		query.Stamp = Stamp{Epoch: m.view.Epoch, Version: o.to.version, Tenure: m.lease.Tenure}
		out.Send(o.to.authority, query)
	case m.config.Outlives && (m.authority != nil || !m.speaks()):
		return // until there is an authority to ask
	default:
		if o.query.Kind == QueryBreak {
			member, _ := m.view.Of(m.reign.Authority)
			o.to = addressee{m.reign.Authority, member.Tenure.Incarnation, m.reign.Version}
		}
		m.expect(now)
		o.target = m.view.Name(m.reign.Authority)
		query.Stamp = m.stamp()
		m.toAuthority(query, out)
	}
	o.pause = protocol.Longer(o.pause, m.config.Patience)
	o.due = now + o.pause
}

// unanswered answers a call that no authority answers. A Break may have been executed
// nevertheless.
func (m *Machine) unanswered(now protocol.Time, o *operation, err error, out *protocol.Effects) {
	switch o.query.Kind {
	case QueryBreak:
		out.Reply(o.call, &protocol.Broken{Err: err})
	case QueryInspect:
		condition := m.condition(now)
		if condition.Why == "" {
			condition.State, condition.Why = protocol.Unavailable, "the "+m.config.Title+" does not answer"
			if o.target != "" {
				condition.Why = fmt.Sprintf("the %s, %s, does not answer", m.config.Title, o.target)
			}
		}
		out.Reply(o.call, condition)
	default:
		out.Reply(o.call, &protocol.Unanswered{Err: err})
	}
}

// whyUnanswered is the ErrUnavailable of a call that no authority has answered: which one was asked, for how long, what stands
// against it, and what has become of a Break.
func (m *Machine) whyUnanswered(now protocol.Time, o *operation) error {
	why := &lock.Unavailable{}
	why.Why, why.Left = lock.WhyUnavailable(m.unavailable(now))
	switch waited := now - o.since; {
	case o.target != "" && o.deadline <= now:
		why.Why, why.Left = fmt.Sprintf("%s has not answered for %v", m.targetOf(o), waited), 0
	case o.target != "":
		stands := protocol.Condition{}
		m.standing(now, &stands)
		if why.Why = m.targetOf(o) + " was asked, and can answer no more"; stands.Why != "" {
			why.Why += ": " + stands.Why
		}
	case waited > 0:
		why.Why += fmt.Sprintf("; that was waited for %v", waited)
	}
	why.Why += ofBreak(o)
	return why
}

// targetOf names the authority that was asked.
func (m *Machine) targetOf(o *operation) string {
	if m.doubted(o) {
		return fmt.Sprintf("%s, which was the %s,", o.target, m.config.Title)
	}
	return fmt.Sprintf("the %s, %s,", m.config.Title, o.target)
}

// ofBreak says of a Break that was not answered whether it may have been executed; "" for any other call.
func ofBreak(o *operation) string {
	switch {
	case o.query.Kind != QueryBreak:
		return ""
	case o.to.authority == 0:
		return protocol.NothingBroken
	}
	return protocol.MaybeBroken
}

// endOperations answers what is under way when its authority is none any more.
func (m *Machine) endOperations(now protocol.Time, out *protocol.Effects) {
	operations := m.holder.operations
	m.holder.operations = nil
	for _, o := range operations {
		m.unanswered(now, o, m.whyUnanswered(now, o), out)
	}
}

// turnOperations goes on under another reign. What changes nothing is asked again, from the
// start. A Break that was sent waits for the word of the authority that has got it.
func (m *Machine) turnOperations(now protocol.Time, out *protocol.Effects) {
	if !m.config.Outlives {
		m.endOperations(now, out)
		return
	}
	operations := m.holder.operations
	m.holder.operations = nil
	for _, o := range operations {
		again := newOperation(o.call, o.fact)
		again.query.Number, again.since, again.deadline, again.target, again.to = o.query.Number, o.since, o.deadline, o.target, o.to
		switch {
		case m.doubted(again):
			again.due, again.pause = o.due, o.pause
			m.holder.operations = append(m.holder.operations, again)
		case m.deciding:
			m.authorityOperator(now, protocol.Event{Kind: protocol.Call, Call: o.call, Fact: o.fact}, out)
		default:
			m.holder.operations = append(m.holder.operations, again)
			m.sendQuery(now, again, out)
		}
	}
}

func (m *Machine) operationsTick(now protocol.Time, out *protocol.Effects) {
	h := &m.holder
	if len(h.operations) == 0 {
		return
	}
	var waiting []*operation
	for _, o := range h.operations {
		if o.deadline > now {
			waiting = append(waiting, o)
			continue
		}
		m.unanswered(now, o, m.whyUnanswered(now, o), out)
	}
	h.operations = waiting
	for _, o := range waiting {
		if o.due <= now {
			m.sendQuery(now, o, out)
		}
	}
}

// onAnswer takes the authority's answer, or a part of it.
func (m *Machine) onAnswer(now protocol.Time, from protocol.ID, msg *Answer, out *protocol.Effects) {
	if !m.hears(now, from, &msg.Stamp, out) {
		return
	}
	h := &m.holder
	for i, o := range h.operations {
		if o.query.Number != msg.Number || o.query.Skip != msg.Skip {
			continue
		}
		if m.collect(now, o, msg, out) {
			h.operations = append(h.operations[:i:i], h.operations[i+1:]...)
		}
		return
	}
}

// collect takes a part of an answer, asks for the next one, or reports that it was the
// last and the operator has been answered.
func (m *Machine) collect(now protocol.Time, o *operation, msg *Answer, out *protocol.Effects) bool {
	switch o.query.Kind {
	case QueryBreak:
		grants := make([]lock.Grant, len(msg.Grants))
		for i, g := range msg.Grants {
			grants[i] = g.After(now)
		}
		out.Reply(o.call, &protocol.Broken{Grants: grants, Err: msg.Err})
		return true
	case QueryInspect:
		condition := conditionAt(msg.Condition, now)
		condition.Closed = m.instance.Closed() // at this member, which was asked
		out.Reply(o.call, &condition)
		return true
	}
	for _, l := range msg.Locks {
		l = l.After(now)
		if n := len(o.scanned.Locks); n > 0 && o.query.Skip > 0 {
			last := &o.scanned.Locks[n-1]
			last.Holders, last.Waiters = append(last.Holders, l.Holders...), append(last.Waiters, l.Waiters...)
			continue
		}
		o.scanned.Locks = append(o.scanned.Locks, l)
	}
	if o.query.Kind == QueryScan {
		o.scanned.Next = msg.Next
	}
	if n := len(o.scanned.Locks); msg.More > 0 && n > 0 {
		o.query.Kind, o.query.Name, o.query.Skip = QueryShow, o.scanned.Locks[n-1].Name, msg.More
		o.pause = 0
		m.sendQuery(now, o, out)
		return false
	}
	if o.scanning {
		out.Reply(o.call, &o.scanned)
	} else {
		shown := lock.Lock{Name: o.query.Name}
		if len(o.scanned.Locks) > 0 {
			shown = o.scanned.Locks[0]
		}
		out.Reply(o.call, &shown)
	}
	return true
}

// authorityOperator answers an operator at the authority.
func (m *Machine) authorityOperator(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.Break:
		grants, err := m.breakName(now, fact, out)
		out.Reply(ev.Call, &protocol.Broken{Grants: grants, Err: err})
	case *protocol.Show:
		shown := m.authority.table.Show(fact.Name)
		out.Reply(ev.Call, &shown)
	case *protocol.Scan:
		out.Reply(ev.Call, m.authority.scan(fact))
	case *protocol.Inspect:
		out.Reply(ev.Call, m.condition(now))
	default:
		m.otherCall(now, ev, out)
	}
}

// onQuery answers an operator at another member. A Break is executed once: its answer is
// kept until its number is below what is still asked.
func (m *Machine) onQuery(now protocol.Time, p *peer, msg *Query, out *protocol.Effects) {
	e := m.executedFor(p.id, p.tenure.Incarnation)
	e.forget(msg.Low)
	if msg.Number < e.low || !m.deciding && msg.Kind != QueryInspect {
		return
	}
	answer := Answer{Number: msg.Number, Skip: msg.Skip}
	switch msg.Kind {
	case QueryShow:
		shown, more := m.authority.table.Show(msg.Name).Part(msg.Skip, m.config.Chunk)
		answer.Locks, answer.More = []lock.Lock{shown.After(-now)}, more
	case QueryScan:
		m.scanPart(now, msg, &answer)
	case QueryBreak:
		if known, is := e.answer(msg.Number); is {
			known.Stamp = m.authorityStamp(p)
			out.Send(p.id, known)
			return
		}
		if len(e.answers) >= 4*m.config.Operators {
			return // so many cannot be under way: it asks again
		}
		grants, err := m.breakName(now, &protocol.Break{Name: msg.Name, Token: msg.Token, Reason: msg.Reason}, out)
		answer.Err = err
		for _, g := range grants {
			answer.Grants = append(answer.Grants, g.After(-now))
		}
		e.answers = append(e.answers, answer)
	case QueryInspect:
		answer.Condition = conditionAt(*m.condition(now), -now)
	default:
		return
	}
	answer.Stamp = m.authorityStamp(p)
	out.Send(p.id, answer)
}

// scanPart copies names until the answer is as large as one may be.
func (m *Machine) scanPart(now protocol.Time, msg *Query, answer *Answer) {
	room, last := m.config.Chunk, ""
	more := m.authority.table.Scan(msg.Name, msg.Prefix, msg.Limit, func(l lock.Lock) bool {
		last = l.Name
		l, answer.More = l.Part(0, room)
		room -= len(l.Holders) + len(l.Waiters)
		answer.Locks = append(answer.Locks, l.After(-now))
		return room > 0
	})
	if more {
		answer.Next = last
	}
}

// at moves a time by a clock's reading: Never stays.
func at(t, by protocol.Time) protocol.Time {
	if t == protocol.Never {
		return t
	}
	return t + by
}

// conditionAt moves the times of a copy.
func conditionAt(c protocol.Condition, by protocol.Time) protocol.Condition {
	c.Until = at(c.Until, by)
	c.Transfers = slices.Clone(c.Transfers)
	for i := range c.Transfers {
		c.Transfers[i].Since = at(c.Transfers[i].Since, by)
	}
	return c
}
