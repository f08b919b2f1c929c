package clientele

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

// Survey is what operators ask of all members through this one. Its methods are called within
// the steps of one machine.
type Survey[R Own] struct {
	clients  *Clients[R]
	standing *Standing
	calls    []*operation // that wait for the others
	number   uint64
}

// NewSurvey makes the survey of the space that the clients are in.
func NewSurvey[R Own](clients *Clients[R]) *Survey[R] {
	return &Survey[R]{clients: clients, standing: clients.standing}
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

// Wake returns when to ask again, or to give up.
func (s *Survey[R]) Wake() protocol.Time {
	at := protocol.Never
	for _, c := range s.calls {
		at = min(at, c.deadline, c.due)
	}
	return at
}

// firstOf is what a listing asks first: the names that one member has.
func firstOf(s *protocol.Scan) Ask {
	return Ask{Kind: AskScan, Cursor: s.Cursor & cursorOf, Limit: max(1, min(s.Limit, maxNames))}
}

// Empty reports whether no call waits.
func (s *Survey[R]) Empty() bool { return len(s.calls) == 0 }

// OnCall takes what an operator wants to know or to be done: all peers are asked, and it is done
// here. It reports whether the call was one of these.
func (s *Survey[R]) OnCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) bool {
	o := newOperation(ev.Call, ev.Fact)
	if o == nil {
		return false
	}
	config := &s.clients.config
	switch {
	case !s.standing.Admitted():
		s.unanswered(now, o, holdfast.ErrUnavailable, out)
		return true
	case len(s.calls) >= config.Operators && !s.standing.Alone():
		s.unanswered(now, o, &holdfast.LimitError{Limit: "operators", Value: int64(config.Operators)}, out)
		return true
	}
	patience := protocol.Time(patienceOfAsk)
	if o.ask.Kind == AskCount {
		patience = patienceOfInspect
	}
	o.deadline = now + patience*config.Patience
	s.calls = append(s.calls, o)
	s.askAll(now, o, out)
	return true
}

// newOperation takes an operator's question, which is the caller's own; nil for any other call.
func newOperation(call protocol.CallID, fact any) *operation {
	o := &operation{call: call, due: protocol.Never}
	switch fact := fact.(type) {
	case *protocol.Show:
		o.fact, o.ask = &protocol.Show{Name: fact.Name}, Ask{Kind: AskShow, Names: []string{fact.Name}}
	case *protocol.Scan:
		o.fact, o.ask = &protocol.Scan{Cursor: fact.Cursor, Limit: fact.Limit}, firstOf(fact)
		o.lister = int(fact.Cursor >> cursorBits)
	case *protocol.Break:
		o.fact, o.ask = &protocol.Break{Name: fact.Name}, Ask{Kind: AskBreak, Names: []string{fact.Name}, Token: fact.Token, Reason: fact.Reason}
	case *protocol.Inspect:
		o.fact, o.ask = &protocol.Inspect{}, Ask{Kind: AskCount}
	default:
		return nil
	}
	return o
}

// askAll asks whoever is to answer, and answers for this member.
func (s *Survey[R]) askAll(now protocol.Time, o *operation, out *protocol.Effects) {
	s.number++
	o.ask.Number, o.missing, o.pause = s.number, nil, 0
	for rank, member := range s.standing.View.Members {
		switch {
		case o.ask.Kind == AskScan && rank != o.lister:
		case member.ID == s.standing.Self:
			answer := s.answer(now, &o.ask, out)
			o.collect(0, rank, &answer)
			for answer.More > 0 {
				again := o.ask
				again.Skip = answer.More
				answer = s.answer(now, &again, out)
				o.collect(0, rank, &answer)
			}
		default:
			o.missing = append(o.missing, question{peer: member.ID})
		}
	}
	s.sendAsks(now, o, out)
	s.advance(now, o, out)
}

func (s *Survey[R]) sendAsks(now protocol.Time, o *operation, out *protocol.Effects) {
	o.due = protocol.Never
	for _, q := range o.missing {
		ask := o.ask
		ask.Tag, ask.Skip = s.standing.Tag(), q.skip
		out.Send(q.peer, ask)
	}
	if len(o.missing) > 0 {
		o.pause = protocol.Longer(o.pause, s.clients.config.Patience)
		o.due = now + o.pause
	}
}

// OnAsk answers for this member's clients.
func (s *Survey[R]) OnAsk(now protocol.Time, from protocol.ID, msg *Ask, out *protocol.Effects) {
	if len(msg.Names) > maxNames || msg.Skip < 0 || msg.Kind == AskBreak && len(msg.Names) != 1 || msg.Kind < AskShow || msg.Kind > AskCount {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: %d names, %d to skip", msg, from, len(msg.Names), msg.Skip)})
		return
	}
	answer := s.answer(now, msg, out)
	for i := range answer.Locks {
		answer.Locks[i] = answer.Locks[i].After(-now)
	}
	for i := range answer.Grants {
		answer.Grants[i] = answer.Grants[i].After(-now)
	}
	answer.Tag = s.standing.Tag()
	out.Send(from, answer)
}

// answer is what this member's clients have, by this member's clock.
func (s *Survey[R]) answer(now protocol.Time, ask *Ask, out *protocol.Effects) Answer {
	a := Answer{Number: ask.Number, Skip: ask.Skip}
	switch ask.Kind {
	case AskShow:
		a.Locks, a.More = s.show(ask.Names, ask.Skip)
	case AskScan:
		a.Next = s.clients.table.Scan(ask.Cursor, max(1, min(ask.Limit, maxNames)), func(l lock.Lock) {
			a.Locks = append(a.Locks, lock.Lock{Name: l.Name})
		})
	case AskBreak:
		// Nobody may hold it here: then there is nothing to break, which is no error of this member's.
		grants, err := s.clients.table.Break(now, ask.Names[0], ask.Token, &s.clients.scratch)
		if err == nil {
			a.Grants = grants
			out.Note(Broke{Name: ask.Names[0], Token: ask.Token, Reason: ask.Reason})
		}
		s.clients.tell(out)
	case AskCount:
		a.Counts = s.clients.Counts()
	}
	return a
}

// OnAnswer takes a peer's answer, or a part of it.
func (s *Survey[R]) OnAnswer(now protocol.Time, from protocol.ID, msg *Answer, out *protocol.Effects) {
	for _, o := range s.calls {
		if o.ask.Number != msg.Number {
			continue
		}
		i := slices.IndexFunc(o.missing, func(q question) bool { return q.peer == from && q.skip == msg.Skip })
		rank := slices.IndexFunc(s.standing.View.Members, func(member protocol.Member) bool { return member.ID == from })
		if i < 0 || rank < 0 {
			return // a copy
		}
		o.collect(now, rank, msg)
		if msg.More > msg.Skip {
			o.missing[i].skip = msg.More
			ask := o.ask
			ask.Tag, ask.Skip = s.standing.Tag(), msg.More
			out.Send(from, ask)
			return
		}
		o.missing = slices.Delete(o.missing, i, i+1)
		s.advance(now, o, out)
		return
	}
}

// collect takes what one member knows. Its times are relative to the time since.
func (o *operation) collect(since protocol.Time, rank int, a *Answer) {
	for _, l := range a.Locks {
		if o.ask.Kind == AskScan {
			o.names = append(o.names, l.Name)
			continue
		}
		o.parts = append(o.parts, part{rank, l.After(since)})
	}
	o.next = cmp.Or(a.Next, o.next)
	for _, g := range a.Grants {
		// Asked anew under another view, a member tells again what it has broken.
		if !slices.ContainsFunc(o.grants, func(known lock.Grant) bool { return known.Session == g.Session && known.Token == g.Token }) {
			o.grants = append(o.grants, g.After(since))
		}
	}
	o.counts.Locks += a.Counts.Locks
	o.counts.Waiters += a.Counts.Waiters
	o.counts.Sessions += a.Counts.Sessions
	o.counts.Awaited = append(o.counts.Awaited, a.Counts.Awaited...)
}

// advance answers an operation to which everybody has answered, or asks what comes next.
func (s *Survey[R]) advance(now protocol.Time, o *operation, out *protocol.Effects) {
	if len(o.missing) > 0 {
		return
	}
	if o.ask.Kind == AskScan && len(o.names) > 0 {
		o.ask = Ask{Kind: AskShow, Names: o.names}
		s.askAll(now, o, out)
		return
	}
	s.calls = slices.DeleteFunc(s.calls, func(other *operation) bool { return other == o })
	switch fact := o.fact.(type) {
	case *protocol.Show:
		shown := merge(fact.Name, o.parts)
		out.Reply(o.call, &shown)
	case *protocol.Scan:
		out.Reply(o.call, s.scanned(o))
	case *protocol.Break:
		broken := &protocol.Broken{Grants: o.grants}
		if len(o.grants) == 0 {
			broken.Err = holdfast.ErrNotHeld
		}
		out.Reply(o.call, broken)
	case *protocol.Inspect:
		out.Reply(o.call, s.clients.protocol.Condition(now, o.counts))
	}
}

// Tick asks again, and gives up what was waited for long enough.
func (s *Survey[R]) Tick(now protocol.Time, out *protocol.Effects) {
	for _, o := range slices.Clone(s.calls) {
		switch {
		case o.deadline <= now:
			s.calls = slices.DeleteFunc(s.calls, func(other *operation) bool { return other == o })
			s.unanswered(now, o, holdfast.ErrUnavailable, out)
		case o.due <= now && s.standing.Admitted():
			s.sendAsks(now, o, out)
		case o.due <= now:
			o.due = protocol.Never
		}
	}
}

// Renew asks anew under another view, whose members are others.
func (s *Survey[R]) Renew(now protocol.Time, out *protocol.Effects) {
	for _, o := range slices.Clone(s.calls) {
		o.parts, o.counts, o.names, o.next = nil, Counts{}, nil, 0
		if fact, scans := o.fact.(*protocol.Scan); scans {
			o.ask = firstOf(fact)
		}
		s.askAll(now, o, out)
	}
}

// End answers what is under way when this member is in no view any more.
func (s *Survey[R]) End(now protocol.Time, out *protocol.Effects) {
	calls := s.calls
	s.calls = nil
	for _, o := range calls {
		s.unanswered(now, o, holdfast.ErrUnavailable, out)
	}
}

// unanswered answers a call that not everybody has answered. A Break may have been done where
// that was heard.
func (s *Survey[R]) unanswered(now protocol.Time, o *operation, err error, out *protocol.Effects) {
	switch o.fact.(type) {
	case *protocol.Break:
		out.Reply(o.call, &protocol.Broken{Grants: o.grants, Err: err})
	case *protocol.Inspect:
		c := s.Own(now)
		if c.Why == "" && len(o.missing) > 0 {
			c.State, c.Why = protocol.Recovering, fmt.Sprintf("%s does not answer", s.standing.View.Name(o.missing[0].peer))
		}
		out.Reply(o.call, c)
	default:
		out.Reply(o.call, &protocol.Unanswered{Err: err})
	}
}

// Own is how the space is at this member, with what its own clients have.
func (s *Survey[R]) Own(now protocol.Time) *protocol.Condition {
	return s.clients.protocol.Condition(now, s.clients.Counts())
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
