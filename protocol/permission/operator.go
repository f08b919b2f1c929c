package permission

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What people ask is known by nobody alone: each member knows of its own clients. So an
// operator's call is asked of all, and answered when all have answered.

// operators are the calls that wait for that.
type operators struct {
	calls  []*operation
	number uint64
}

// operation is an operator's call that waits for peers.
type operation struct {
	call     protocol.CallID
	fact     any
	deadline protocol.Time
	due      protocol.Time
	pause    protocol.Time
	ask      Ask
	missing  []question   // whose answers
	parts    []part       // of the names that are shown
	grants   []lock.Grant // that were broken
	counts   Counts

	// A listing has the names of one member, and then what the others know of them.
	lister int    // its place in the view
	next   uint64 // where it goes on
	names  []string
}

// question is what a peer has not answered.
type question struct {
	peer protocol.ID
	skip int
}

// How long an operator waits for answers, in units of patience.
const (
	patienceOfAsk     = 20
	patienceOfInspect = 4
)

// The most that one Answer tells.
const (
	maxTold  = 256 // holders and waiters
	maxNames = 64  // and of more than one name nothing that has ended
)

// A cursor is a place in the view and a cursor of that member's table.
const (
	cursorBits = 48
	cursorOf   = 1<<cursorBits - 1
)

func (o *operators) wake() protocol.Time {
	at := protocol.Never
	for _, c := range o.calls {
		at = min(at, c.deadline, c.due)
	}
	return at
}

// operate takes an operator's call.
func (m *Machine) operate(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.OpenSpace:
		m.instance.Open(ev.Call, out)
		return
	case *protocol.CloseSpace:
		m.closeSpace(now, ev.Call, out)
		return
	case *protocol.StepDown:
		out.Reply(ev.Call, &protocol.SteppedDown{}) // there is nothing to hand over
		return
	case *protocol.Transfer:
		out.Reply(ev.Call, &protocol.Transferred{Authority: m.everybody(), Err: fmt.Errorf("%w: in protocol permission nobody is in charge", holdfast.ErrUnsupported)})
		return
	case *protocol.Show, *protocol.Scan, *protocol.Break, *protocol.Inspect:
		m.consult(now, ev.Call, fact, out)
	default:
		out.Note(Ignored{What: fmt.Sprintf("call %T", ev.Fact)})
	}
}

// firstOf is what a listing asks first: the names that one member has.
func firstOf(s *protocol.Scan) Ask {
	return Ask{Kind: AskScan, Cursor: s.Cursor & cursorOf, Limit: max(1, min(s.Limit, maxNames))}
}

// consult asks all peers what an operator wants to know or to be done, and does it here.
func (m *Machine) consult(now protocol.Time, call protocol.CallID, fact any, out *protocol.Effects) {
	o := &operation{call: call, due: protocol.Never}
	patience := protocol.Time(patienceOfAsk)
	switch fact := fact.(type) {
	case *protocol.Show:
		o.fact, o.ask = &protocol.Show{Name: fact.Name}, Ask{Kind: AskShow, Names: []string{fact.Name}}
	case *protocol.Scan:
		o.fact, o.ask = &protocol.Scan{Cursor: fact.Cursor, Limit: fact.Limit}, firstOf(fact)
		o.lister = int(fact.Cursor >> cursorBits)
	case *protocol.Break:
		o.fact, o.ask = &protocol.Break{Name: fact.Name}, Ask{Kind: AskBreak, Names: []string{fact.Name}, Token: fact.Token, Reason: fact.Reason}
	case *protocol.Inspect:
		o.fact, o.ask, patience = &protocol.Inspect{}, Ask{Kind: AskCount}, patienceOfInspect
	}
	switch {
	case !m.admitted():
		m.unanswered(now, o, holdfast.ErrUnavailable, out)
		return
	case len(m.operators.calls) >= m.config.Operators && len(m.peers) > 0:
		m.unanswered(now, o, &holdfast.LimitError{Limit: "operators", Value: int64(m.config.Operators)}, out)
		return
	}
	o.deadline = now + patience*m.config.Patience
	m.operators.calls = append(m.operators.calls, o)
	m.askAll(now, o, out)
}

// askAll asks whoever is to answer, and answers for this member.
func (m *Machine) askAll(now protocol.Time, o *operation, out *protocol.Effects) {
	m.operators.number++
	o.ask.Number, o.missing, o.pause = m.operators.number, nil, 0
	for rank, member := range m.view.Members {
		switch {
		case o.ask.Kind == AskScan && rank != o.lister:
		case member.ID == m.self:
			answer := m.answer(now, &o.ask, out)
			m.collect(o, rank, &answer)
			for answer.More > 0 {
				again := o.ask
				again.Skip = answer.More
				answer = m.answer(now, &again, out)
				m.collect(o, rank, &answer)
			}
		default:
			o.missing = append(o.missing, question{peer: member.ID})
		}
	}
	m.sendAsks(now, o, out)
	m.advance(now, o, out)
}

func (m *Machine) sendAsks(now protocol.Time, o *operation, out *protocol.Effects) {
	o.due = protocol.Never
	for _, q := range o.missing {
		ask := o.ask
		ask.Tag, ask.Skip = m.tag(), q.skip
		out.Send(q.peer, ask)
	}
	if len(o.missing) > 0 {
		o.pause = protocol.Longer(o.pause, m.config.Patience)
		o.due = now + o.pause
	}
}

// onAsk answers for this member's clients.
func (m *Machine) onAsk(now protocol.Time, from protocol.ID, msg *Ask, out *protocol.Effects) {
	if len(msg.Names) > maxNames || msg.Skip < 0 || msg.Kind == AskBreak && len(msg.Names) != 1 || msg.Kind < AskShow || msg.Kind > AskCount {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: %d names, %d to skip", msg, from, len(msg.Names), msg.Skip)})
		return
	}
	answer := m.answer(now, msg, out)
	for i := range answer.Locks {
		answer.Locks[i] = answer.Locks[i].After(-now)
	}
	for i := range answer.Grants {
		answer.Grants[i] = answer.Grants[i].After(-now)
	}
	answer.Tag = m.tag()
	out.Send(from, answer)
}

// answer is what this member's clients have, by this member's clock.
func (m *Machine) answer(now protocol.Time, ask *Ask, out *protocol.Effects) Answer {
	a := Answer{Number: ask.Number, Skip: ask.Skip}
	switch ask.Kind {
	case AskShow:
		a.Locks, a.More = m.show(ask.Names, ask.Skip)
	case AskScan:
		a.Next = m.table.Scan(ask.Cursor, max(1, min(ask.Limit, maxNames)), func(l lock.Lock) {
			a.Locks = append(a.Locks, lock.Lock{Name: l.Name})
		})
	case AskBreak:
		// Nobody may hold it here: then there is nothing to break, which is no error of this member's.
		grants, err := m.table.Break(now, ask.Names[0], ask.Token, &m.scratch)
		if err == nil {
			a.Grants = grants
			out.Note(Broke{Name: ask.Names[0], Token: ask.Token, Reason: ask.Reason})
		}
		m.tell(now, out)
	case AskCount:
		a.Counts = m.counts()
	}
	return a
}

// onAnswer takes a peer's answer, or a part of it.
func (m *Machine) onAnswer(now protocol.Time, from protocol.ID, msg *Answer, out *protocol.Effects) {
	for _, o := range m.operators.calls {
		if o.ask.Number != msg.Number {
			continue
		}
		i := slices.IndexFunc(o.missing, func(q question) bool { return q.peer == from && q.skip == msg.Skip })
		rank := slices.IndexFunc(m.view.Members, func(member protocol.Member) bool { return member.ID == from })
		if i < 0 || rank < 0 {
			return // a copy
		}
		for j := range msg.Locks {
			msg.Locks[j] = msg.Locks[j].After(now)
		}
		for j := range msg.Grants {
			msg.Grants[j] = msg.Grants[j].After(now)
		}
		m.collect(o, rank, msg)
		if msg.More > msg.Skip {
			o.missing[i].skip = msg.More
			ask := o.ask
			ask.Tag, ask.Skip = m.tag(), msg.More
			out.Send(from, ask)
			return
		}
		o.missing = slices.Delete(o.missing, i, i+1)
		m.advance(now, o, out)
		return
	}
}

// collect takes what one member knows.
func (m *Machine) collect(o *operation, rank int, a *Answer) {
	for _, l := range a.Locks {
		if o.ask.Kind == AskScan {
			o.names = append(o.names, l.Name)
			continue
		}
		o.parts = append(o.parts, part{rank, l})
	}
	o.next = cmp.Or(a.Next, o.next)
	for _, g := range a.Grants {
		// Asked anew under another view, a member tells again what it has broken.
		if !slices.ContainsFunc(o.grants, func(known lock.Grant) bool { return known.Session == g.Session && known.Token == g.Token }) {
			o.grants = append(o.grants, g)
		}
	}
	o.counts.Locks += a.Counts.Locks
	o.counts.Waiters += a.Counts.Waiters
	o.counts.Sessions += a.Counts.Sessions
	o.counts.Awaited = append(o.counts.Awaited, a.Counts.Awaited...)
}

// advance answers an operation to which everybody has answered, or asks what comes next.
func (m *Machine) advance(now protocol.Time, o *operation, out *protocol.Effects) {
	if len(o.missing) > 0 {
		return
	}
	if o.ask.Kind == AskScan && len(o.names) > 0 {
		o.ask = Ask{Kind: AskShow, Names: o.names}
		m.askAll(now, o, out)
		return
	}
	m.operators.calls = slices.DeleteFunc(m.operators.calls, func(other *operation) bool { return other == o })
	switch fact := o.fact.(type) {
	case *protocol.Show:
		shown := m.merge(fact.Name, o.parts)
		out.Reply(o.call, &shown)
	case *protocol.Scan:
		out.Reply(o.call, m.scanned(o))
	case *protocol.Break:
		broken := &protocol.Broken{Grants: o.grants}
		if len(o.grants) == 0 {
			broken.Err = holdfast.ErrNotHeld
		}
		out.Reply(o.call, broken)
	case *protocol.Inspect:
		out.Reply(o.call, m.condition(now, o.counts))
	}
}

// operatorsTick asks again, and gives up what was waited for long enough.
func (m *Machine) operatorsTick(now protocol.Time, out *protocol.Effects) {
	for _, o := range slices.Clone(m.operators.calls) {
		switch {
		case o.deadline <= now:
			m.operators.calls = slices.DeleteFunc(m.operators.calls, func(other *operation) bool { return other == o })
			m.unanswered(now, o, holdfast.ErrUnavailable, out)
		case o.due <= now && m.admitted():
			m.sendAsks(now, o, out)
		case o.due <= now:
			o.due = protocol.Never
		}
	}
}

// turnOperations asks anew under another view, whose members are others.
func (m *Machine) turnOperations(now protocol.Time, out *protocol.Effects) {
	for _, o := range slices.Clone(m.operators.calls) {
		o.parts, o.counts, o.names, o.next = nil, Counts{}, nil, 0
		if fact, scans := o.fact.(*protocol.Scan); scans {
			o.ask = firstOf(fact)
		}
		m.askAll(now, o, out)
	}
}

// endOperations answers what is under way when this member is in no view any more.
func (m *Machine) endOperations(now protocol.Time, out *protocol.Effects) {
	calls := m.operators.calls
	m.operators.calls = nil
	for _, o := range calls {
		m.unanswered(now, o, holdfast.ErrUnavailable, out)
	}
}

// unanswered answers a call that not everybody has answered. A Break may have been done where
// that was heard.
func (m *Machine) unanswered(now protocol.Time, o *operation, err error, out *protocol.Effects) {
	switch o.fact.(type) {
	case *protocol.Break:
		out.Reply(o.call, &protocol.Broken{Grants: o.grants, Err: err})
	case *protocol.Inspect:
		c := m.Own(now)
		if c.Why == "" && len(o.missing) > 0 {
			c.State, c.Why = protocol.Recovering, fmt.Sprintf("%s does not answer", m.view.Name(o.missing[0].peer))
		}
		out.Reply(o.call, c)
	default:
		out.Reply(o.call, &protocol.Unanswered{Err: err})
	}
}

// Broke notes what an operator took from its holders here, and why.
type Broke struct {
	Name   string
	Token  holdfast.Token
	Reason string
}

func (n Broke) String() string {
	return fmt.Sprintf("broke %q token=%v: %s", n.Name, n.Token, n.Reason)
}
