package consensus

import (
	"math"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// An operator is answered from this member's copies, once every relevant shard has reported its log's position, and the
// copy has reached it: a read index. A call that accepts stale answers is answered at once.

// inquiry is a question to a shard whose answer has to be as new as itself.
type inquiry struct {
	part     *part
	until    protocol.Time
	call     *operation // one of the three is set
	adoption *adoption
	granted  *request // whose grant is sent, if it is still valid
}

// operation is an operator's call. Its targets are the shards; Of is the shard of a Copy.
type operation = admin.Call[*part]

// patienceOfInquiry is for how long a question waits for an answer, in election timeouts.
const patienceOfInquiry = 8

// newCalls returns a member's operators' calls.
func newCalls(m *Machine) *admin.Calls[*part] {
	return admin.New(admin.Config{Operators: m.config.Operators, Chunk: math.MaxInt}, operators{m})
}

// inquire asks a shard for its commit index. A shard whose log has not begun does not answer.
func (m *Machine) inquire(p *part, q inquiry) {
	m.lastNumber++
	q.part = p
	m.inquiries[m.lastNumber] = &q
	m.reminders.Push(q.until, due{what: dueInquiry, number: m.lastNumber})
	if p.shard != nil {
		p.shard.ReadIndex(m.now, m.lastNumber, &p.output)
		m.touch(p)
	}
}

// answer continues when a shard's copy is as new as a question.
func (m *Machine) answer(id uint64, out *protocol.Effects) {
	q := m.inquiries[id]
	if q == nil {
		return
	}
	delete(m.inquiries, id)
	switch {
	case q.granted != nil:
		m.confirmed(q.granted, out)
	case q.call != nil:
		if q.call.Heard(func(p *part) bool { return p == q.part }) {
			m.answerOperator(q.call, out)
		}
	default:
		if q.adoption.missing--; q.adoption.missing == 0 {
			m.adoptions--
			m.adopted(q.adoption, out)
		}
	}
}

// unanswered answers a question that no member could answer; one of several shards once.
func (m *Machine) unanswered(id uint64, out *protocol.Effects) {
	q := m.inquiries[id]
	if q == nil {
		return
	}
	delete(m.inquiries, id)
	if q.part.shard != nil {
		q.part.shard.Drop(id)
	}
	switch {
	case q.granted != nil:
		if m.failed == nil && m.current(q.granted) && q.granted.unsent != nil {
			m.confirm(q.granted)
		}
	case q.call != nil:
		m.calls.Fail(m.now, q.call, m.errUndecided(), out)
	case q.adoption.missing > 0:
		q.adoption.missing = 0
		m.adoptions--
		out.Reply(q.adoption.call, &protocol.Adopted{Err: m.errUndecided()})
	}
}

// answerOperator answers a call from this member's copies, which are as new as it.
func (m *Machine) answerOperator(o *operation, out *protocol.Effects) {
	switch o.Query.Kind {
	case admin.Copy:
		m.calls.Remove(o)
		out.Reply(o.ID, m.copied(o.Of))
	case admin.Break:
		m.calls.Remove(o)
		m.breakIn(o.ID, &protocol.Break{Name: o.Query.Name, Token: o.Query.Token, Reason: o.Query.Reason}, m.parts, out)
	default:
		m.calls.Here(m.now, o, out)
	}
}

// operators is how a member answers operators.
type operators struct{ m *Machine }

func (a operators) Ready(o *operation) bool {
	m := a.m
	return o.Query.Kind == admin.Inspect || m.failed == nil && (m.view != nil || o.Stale) && !slices.ContainsFunc(a.about(o), func(p *part) bool { return p.shard == nil })
}

// about lists the shards that a call is about.
func (a operators) about(o *operation) []*part {
	switch m := a.m; {
	case o.Query.Kind == admin.Copy:
		return []*part{o.Of}
	case o.Query.Kind == admin.Show && !m.isSpaceLock(o.Query.Name):
		return []*part{m.partOf(o.Query.Name)}
	default:
		return m.parts
	}
}

func (a operators) Targets(o *operation) (shards []*part, own bool) {
	if o.Stale || o.Query.Kind == admin.Inspect {
		return nil, true
	}
	return a.about(o), false
}

func (a operators) Send(_ protocol.Time, o *operation, p *part, _ admin.Query, _ *protocol.Effects) bool {
	a.m.inquire(p, inquiry{call: o, until: a.m.now + patienceOfInquiry*a.m.election()})
	return false
}

func (a operators) Unanswered(protocol.Time, *operation) error { return a.m.errUndecided() }

// Condition returns this member's own knowledge.
func (a operators) Condition(_ protocol.Time, o *operation, _ bool) *protocol.Condition {
	return &o.Condition
}

func (a operators) Inspect(protocol.Time) *protocol.Condition { return a.m.condition() }

// Break has nothing to do with a copy: it goes through the log (breakIn), and never comes here.
func (a operators) Break(protocol.Time, *admin.Query, *protocol.Effects) ([]lock.Grant, error) {
	return nil, a.m.errUndecided()
}

func (a operators) Show(_ protocol.Time, name string, skip, room int) (part lock.Lock, more int) {
	if a.m.isSpaceLock(name) {
		return a.m.suspensions().Part(skip, room)
	}
	p := a.m.partOf(name)
	return a.m.shown(p, p.shard.Replica().Table().Show(name)).Part(skip, room)
}

// Scan visits the names of all shards, in one order.
func (a operators) Scan(_ protocol.Time, after, prefix string, limit int, visit func(lock.Lock) bool) (more bool) {
	lists := make([]shardList, len(a.m.parts))
	for i := range lists {
		lists[i] = shardList{part: a.m.parts[i], after: after, more: true}
	}
	going := true
	for left := max(1, limit); ; left-- {
		first := (*shardList)(nil)
		for i := range lists {
			l := &lists[i]
			l.fill(prefix, 1+limit/len(lists))
			if len(l.locks) > 0 && (first == nil || l.locks[0].Name < first.locks[0].Name) {
				first = l
			}
		}
		if first == nil || left == 0 || !going {
			return first != nil
		}
		going = visit(a.m.shown(first.part, first.locks[0]))
		first.locks = first.locks[1:]
	}
}

// shardList has the next names of a shard.
type shardList struct {
	part  *part
	locks []lock.Lock
	after string // the last name that was read
	more  bool   // there are others behind it
}

// fill reads more names of the shard, when all earlier ones are used.
func (l *shardList) fill(prefix string, limit int) {
	if len(l.locks) > 0 || !l.more {
		return
	}
	l.locks = nil
	l.more = l.part.shard.Replica().Table().Scan(l.after, prefix, limit, func(name lock.Lock) bool {
		l.locks, l.after = append(l.locks, name), name.Name
		return true
	})
}
