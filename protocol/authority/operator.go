package authority

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// operation is an operator's call that waits for the authority's answer.
type operation = admin.Call[addressee]

// addressee is the authority that an operation was last sent to. Only it knows the result of a Break.
type addressee struct {
	authority   protocol.ID // 0 before it was sent, and once that authority has said that it has not executed it
	incarnation uint64      // of the authority's process: a later one remembers nothing
	version     Version
	name        string // of the authority that was asked last; "" before
}

// doubted reports whether a former authority may have executed the operation: then that one is asked until it has
// answered, and no other.
func (m *Machine) doubted(o *operation) bool {
	return mayBeBroken(o) && !protocol.Mutated("break sent on unanswered") && (o.Of.authority != m.reign.Authority || o.Of.version != m.reign.Version)
}

// mayBeBroken reports whether an authority may have executed the operation.
func mayBeBroken(o *operation) bool { return o.Query.Kind == admin.Break && o.Of.authority != 0 }

// operate handles an operator's call: the authority answers it.
func (m *Machine) operate(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	inspect, is := ev.Fact.(*protocol.Inspect)
	switch {
	case is && inspect.Here:
		out.Reply(ev.Call, m.conditionHere(now))
	case is && m.reign.Authority == 0 && len(m.about.Transfers) > 0:
		out.Reply(ev.Call, m.condition(now)) // the authority is to be this member, and knows no more
	case !m.calls.OnCall(now, &ev, out):
		m.otherCall(now, ev, out)
	}
}

// otherCall answers a call that no authority has to answer.
func (m *Machine) otherCall(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	var deciding []protocol.ID
	if m.reign.Authority != 0 {
		deciding = []protocol.ID{m.reign.Authority}
	}
	switch ev.Fact.(type) {
	case *protocol.OpenSpace:
		m.instance.Open(ev.Call, out)
	case *protocol.CloseSpace:
		m.closeSpace(now, ev.Call, out)
	default:
		if !admin.Decline(&ev, deciding, holdfast.ErrUnsupported, out) {
			out.Note(Ignored{What: fmt.Sprintf("call %T", ev.Fact)})
		}
	}
}

// operators is how a member answers operators: it is the authority, or asks it.
type operators struct{ m *Machine }

func (a operators) Ready(*operation) bool {
	m := a.m
	return m.deciding || m.admitted() && (m.authority == nil || m.config.Outlives)
}

func (a operators) Targets(o *operation) (targets []addressee, own bool) {
	if a.m.deciding {
		return nil, true
	}
	return []addressee{o.Of}, false
}

// Send asks the present authority, or the one that may have executed a Break.
func (a operators) Send(now protocol.Time, o *operation, _ addressee, query admin.Query, out *protocol.Effects) bool {
	m := a.m
	switch {
	case m.doubted(o):
		if !m.admitted() {
			return false // until a view has this member again
		}
		out.Send(o.Of.authority, Query{Stamp{Epoch: m.view.Epoch, Version: o.Of.version, Tenure: m.lease.Tenure}, query})
	case m.config.Outlives && (m.authority != nil || !m.speaks()):
		return false // until there is an authority to ask
	default:
		member, _ := m.view.Of(m.reign.Authority)
		o.Of = addressee{m.reign.Authority, member.Tenure.Incarnation, m.reign.Version, m.view.Name(m.reign.Authority)}
		m.expect(now)
		m.toAuthority(Query{m.stamp(), query}, out)
	}
	return true
}

// Unanswered returns the ErrUnavailable of a call that no authority has answered: which one was asked, for how long,
// why, and the possible effect of a Break.
func (a operators) Unanswered(now protocol.Time, o *operation) error {
	m := a.m
	why := &lock.Unavailable{}
	why.Why, why.Left = lock.WhyUnavailable(m.unavailable(now))
	switch waited := now - o.Since; {
	case o.Of.name != "" && o.Deadline <= now:
		why.Why, why.Left = fmt.Sprintf("%s has not answered for %v", m.targetOf(o), waited), 0
	case o.Of.name != "":
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
		return fmt.Sprintf("%s, which was the %s,", o.Of.name, m.config.Title)
	}
	return fmt.Sprintf("the %s, %s,", m.config.Title, o.Of.name)
}

// ofBreak returns whether an unanswered Break may have been executed, as text; "" for any other call.
func ofBreak(o *operation) string {
	switch {
	case o.Query.Kind != admin.Break:
		return ""
	case mayBeBroken(o):
		return protocol.MaybeBroken
	}
	return protocol.NothingBroken
}

func (a operators) Condition(now protocol.Time, o *operation, answered bool) *protocol.Condition {
	if answered {
		o.Condition.Closed = a.m.instance.Closed() // at this member, which was asked
		return &o.Condition
	}
	c := a.m.condition(now)
	if c.Why == "" {
		c.State, c.Why = protocol.Unavailable, "the "+a.m.config.Title+" does not answer"
		if o.Of.name != "" {
			c.Why = fmt.Sprintf("the %s, %s, does not answer", a.m.config.Title, o.Of.name)
		}
	}
	return c
}

// A member that is not the authority answers for itself only if no member is one, because no client has anything.

func (a operators) Show(_ protocol.Time, name string, skip, room int) (part lock.Lock, more int) {
	if a.m.authority == nil {
		return lock.Lock{Name: name}, 0
	}
	return a.m.authority.table.Show(name).Part(skip, room)
}

func (a operators) Scan(_ protocol.Time, after, prefix string, limit int, visit func(lock.Lock) bool) (more bool) {
	return a.m.authority != nil && a.m.authority.table.Scan(after, prefix, limit, visit)
}

func (a operators) Break(now protocol.Time, query *admin.Query, out *protocol.Effects) ([]lock.Grant, error) {
	if a.m.authority == nil {
		return nil, holdfast.ErrNotHeld
	}
	return a.m.breakName(now, query, out)
}

func (a operators) Inspect(now protocol.Time) *protocol.Condition { return a.m.condition(now) }

// turnOperations continues under another reign. Calls without effect are repeated from the start. A Break that was sent
// waits for the answer of the authority that received it.
func (m *Machine) turnOperations(now protocol.Time, out *protocol.Effects) {
	if !m.config.Outlives {
		m.calls.End(now, out)
		return
	}
	for _, o := range m.calls.Waiting() {
		if !m.doubted(o) {
			m.calls.Restart(now, o, out)
		}
	}
}

// onAnswer handles the authority's answer, or a part of it.
func (m *Machine) onAnswer(now protocol.Time, from protocol.ID, msg *Answer, out *protocol.Effects) {
	if m.hears(now, from, &msg.Stamp, out) {
		m.calls.Take(now, &msg.Answer, func(*operation, addressee) bool { return true }, out)
	}
}

// onQuery answers an operator at another member. A Break is executed once: its answer is kept until its number is below
// all pending ones.
func (m *Machine) onQuery(now protocol.Time, p *peer, msg *Query, out *protocol.Effects) {
	e := m.executedFor(p.id, p.tenure.Incarnation)
	e.forget(msg.Low)
	if msg.Number < e.low || !m.deciding && msg.Kind != admin.Inspect {
		return
	}
	answer, known := Answer{}, false
	if msg.Kind == admin.Break {
		answer, known = e.answer(msg.Number)
	}
	switch {
	case known:
	case msg.Kind == admin.Break && len(e.answers) >= 4*m.config.Operators:
		return // there cannot be that many: it asks again
	default:
		answer.Answer = admin.Tell(now, operators{m}, &msg.Query, m.config.Chunk, out)
		if msg.Kind == admin.Break {
			e.answers = append(e.answers, answer)
		}
	}
	answer.Stamp = m.authorityStamp(p)
	out.Send(p.id, answer)
}
