package local

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// No member alone knows what people ask: each member knows of its own clients. So an
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
	since    protocol.Time // when the operator asked
	deadline protocol.Time
	due      protocol.Time
	pause    protocol.Time
	query    Query
	missing  []question   // whose answers
	parts    []lock.Lock  // of names, as members have told them
	grants   []lock.Grant // that were broken
	counts   Counts
	next     string // of a listing: what all have told goes this far; "" for all that there is
}

// question is what a peer has not answered.
type question struct {
	peer protocol.ID
	name string // of a listing: the name of which it has told a part
	skip int
}

// How long an operator waits for answers, in units of patience.
const (
	patienceOfQuery   = 20
	patienceOfInspect = 4
)

// maxListed is how many holders and waiters one Answer tells at most.
const maxListed = 256

// Wake returns when to ask again, or to give up.
func (s *Survey[R]) Wake() protocol.Time {
	at := protocol.Never
	for _, c := range s.calls {
		at = min(at, c.deadline, c.due)
	}
	return at
}

// Empty reports whether no call waits.
func (s *Survey[R]) Empty() bool { return len(s.calls) == 0 }

// OnCall takes what an operator wants to know or to be done: all peers are asked, and it is done
// here. It reports whether the call was one of these.
func (s *Survey[R]) OnCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) bool {
	if inspect, is := ev.Fact.(*protocol.Inspect); is && inspect.Here {
		out.Reply(ev.Call, s.Own(now))
		return true
	}
	o := newOperation(ev.Call, ev.Fact)
	if o == nil {
		return false
	}
	o.since = now
	config := &s.clients.config
	switch {
	case !s.standing.Admitted():
		s.unanswered(now, o, s.whyUnanswered(now, o), out)
		return true
	case len(s.calls) >= config.Operators && !s.standing.Alone():
		s.unanswered(now, o, &holdfast.LimitError{Limit: "operators", Value: int64(config.Operators)}, out)
		return true
	}
	patience := protocol.Time(patienceOfQuery)
	if o.query.Kind == QueryCount {
		patience = patienceOfInspect
	}
	o.deadline = now + patience*config.Patience
	s.calls = append(s.calls, o)
	s.queryAll(now, o, out)
	return true
}

// newOperation takes an operator's question, which is the caller's own; nil for any other call.
func newOperation(call protocol.CallID, fact any) *operation {
	o := &operation{call: call, due: protocol.Never}
	switch fact := fact.(type) {
	case *protocol.Show:
		o.fact, o.query = &protocol.Show{Name: fact.Name}, Query{Kind: QueryShow, Name: fact.Name}
	case *protocol.Scan:
		page := protocol.Scan{After: fact.After, Prefix: fact.Prefix, Limit: max(1, min(fact.Limit, maxListed))}
		o.fact, o.query = &page, Query{Kind: QueryScan, Name: page.After, Prefix: page.Prefix, Limit: page.Limit}
	case *protocol.Break:
		o.fact, o.query = &protocol.Break{Name: fact.Name, Token: fact.Token}, Query{Kind: QueryBreak, Name: fact.Name, Token: fact.Token, Reason: fact.Reason}
	case *protocol.Inspect:
		o.fact, o.query = &protocol.Inspect{}, Query{Kind: QueryCount}
	default:
		return nil
	}
	return o
}

// queryAll asks the members that are to answer, and answers for this one.
func (s *Survey[R]) queryAll(now protocol.Time, o *operation, out *protocol.Effects) {
	s.number++
	o.query.Number, o.missing, o.pause = s.number, nil, 0
	for _, member := range s.standing.View.Members {
		if member.ID != s.standing.Self {
			o.missing = append(o.missing, question{peer: member.ID})
			continue
		}
		own := question{}
		for more := true; more; {
			query := own.of(&o.query)
			answer := s.answer(now, &query, out)
			o.collect(0, &answer)
			more = own.goesOn(&answer)
		}
	}
	s.sendQueries(now, o, out)
	s.advance(now, o, out)
}

func (s *Survey[R]) sendQueries(now protocol.Time, o *operation, out *protocol.Effects) {
	o.due = protocol.Never
	for _, q := range o.missing {
		s.send(&q, o, out)
	}
	if len(o.missing) > 0 {
		o.pause = protocol.Longer(o.pause, s.clients.config.Patience)
		o.due = now + o.pause
	}
}

func (s *Survey[R]) send(q *question, o *operation, out *protocol.Effects) {
	query := q.of(&o.query)
	query.Tag = s.standing.Tag()
	out.Send(q.peer, query)
}

// of is the question as it is asked.
func (q *question) of(query *Query) Query {
	own := *query
	own.Skip = q.skip
	if q.name != "" {
		own.Kind, own.Name, own.Prefix, own.Limit = QueryShow, q.name, "", 0
	}
	return own
}

// goesOn reports whether an answer leaves a part of a name to be asked for, and makes that the question.
func (q *question) goesOn(a *Answer) bool {
	if a.More <= a.Skip || len(a.Locks) == 0 {
		return false
	}
	q.name, q.skip = a.Locks[len(a.Locks)-1].Name, a.More
	return true
}

// OnQuery answers for this member's clients.
func (s *Survey[R]) OnQuery(now protocol.Time, from protocol.ID, msg *Query, out *protocol.Effects) {
	if msg.Skip < 0 || msg.Kind < QueryShow || msg.Kind > QueryCount {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: %d to skip", msg, from, msg.Skip)})
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
func (s *Survey[R]) answer(now protocol.Time, query *Query, out *protocol.Effects) Answer {
	a := Answer{Number: query.Number, Skip: query.Skip}
	switch query.Kind {
	case QueryShow:
		s.show(now, &a, query.Name)
	case QueryScan:
		s.scan(now, &a, query)
	case QueryBreak:
		// It may be that no client holds it here: then there is nothing to break, which is no error of
		// this member's.
		grants, err := s.clients.table.Break(now, query.Name, query.Token, &s.clients.scratch)
		if err == nil {
			a.Grants = grants
			out.Note(protocol.Broke{Name: query.Name, Token: query.Token, Reason: query.Reason})
		} else if kept := adding(lock.Lock{Name: query.Name}, s.clients.graces(now, "", query.Name)); len(kept.Holders) > 0 {
			a.Locks = append(a.Locks, kept)
		}
		s.clients.publish(now, out)
	case QueryCount:
		a.Counts = s.clients.Counts(now)
	}
	return a
}

// OnAnswer takes a peer's answer, or a part of it.
func (s *Survey[R]) OnAnswer(now protocol.Time, from protocol.ID, msg *Answer, out *protocol.Effects) {
	for _, o := range s.calls {
		if o.query.Number != msg.Number {
			continue
		}
		i := slices.IndexFunc(o.missing, func(q question) bool { return q.peer == from && q.skip == msg.Skip })
		if i < 0 {
			return // a copy
		}
		o.collect(now, msg)
		if o.missing[i].goesOn(msg) {
			s.send(&o.missing[i], o, out)
			return
		}
		o.missing = slices.Delete(o.missing, i, i+1)
		s.advance(now, o, out)
		return
	}
}

// collect takes what one member knows. Its times are relative to the time since.
func (o *operation) collect(since protocol.Time, a *Answer) {
	for _, l := range a.Locks {
		o.parts = append(o.parts, l.After(since))
	}
	// What a member tells behind another's last name comes with the next page.
	if o.query.Kind == QueryScan && a.Next > o.query.Name && (o.next == "" || a.Next < o.next) {
		o.next = a.Next
	}
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
	s.calls = slices.DeleteFunc(s.calls, func(other *operation) bool { return other == o })
	switch fact := o.fact.(type) {
	case *protocol.Show:
		shown := merge(fact.Name, o.parts)
		out.Reply(o.call, &shown)
	case *protocol.Scan:
		out.Reply(o.call, o.scanned(fact))
	case *protocol.Break:
		broken := &protocol.Broken{Grants: o.grants}
		if len(o.grants) == 0 {
			broken.Err = unbroken(now, fact, o.parts)
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
			s.unanswered(now, o, s.whyUnanswered(now, o), out)
		case o.due <= now && s.standing.Admitted():
			s.sendQueries(now, o, out)
		case o.due <= now:
			o.due = protocol.Never
		}
	}
}

// Renew asks anew under another view, whose members are others.
func (s *Survey[R]) Renew(now protocol.Time, out *protocol.Effects) {
	for _, o := range slices.Clone(s.calls) {
		o.parts, o.counts, o.next = nil, Counts{}, ""
		s.queryAll(now, o, out)
	}
}

// End answers what is under way when this member is in no view any more.
func (s *Survey[R]) End(now protocol.Time, out *protocol.Effects) {
	calls := s.calls
	s.calls = nil
	for _, o := range calls {
		s.unanswered(now, o, s.whyUnanswered(now, o), out)
	}
}

// whyUnanswered is the ErrUnavailable of a call that not all members have answered: who has not, for how long, what stands
// against it, and what has become of a Break.
func (s *Survey[R]) whyUnanswered(now protocol.Time, o *operation) error {
	why := &lock.Unavailable{}
	why.Why, why.Left = lock.WhyUnavailable(s.Own(now).Unavailable(now, "this member is in no view"))
	silent := s.silent(o)
	switch {
	case len(silent) > 0 && o.deadline <= now:
		why.Why, why.Left = fmt.Sprintf("no answer from %s for %v", protocol.JoinNames(silent), now-o.since), 0
	case len(silent) > 0:
		why.Why += ", and " + protocol.JoinNames(silent) + " had not answered before"
	}
	if _, breaks := o.fact.(*protocol.Break); breaks {
		why.Why += broken(o, silent)
	}
	return why
}

// silent names the members that have not answered.
func (s *Survey[R]) silent(o *operation) (names []string) {
	for _, q := range o.missing {
		names = append(names, s.standing.View.Name(q.peer))
	}
	return names
}

// broken says what has become of a Break that not all members have answered.
func broken(o *operation, silent []string) string {
	switch {
	case len(silent) == 0:
		return protocol.NothingBroken
	case len(o.grants) > 0:
		return fmt.Sprintf("; holders that were told to stop: %d, and others may have been told, too: %s", len(o.grants), protocol.LookFirst)
	}
	return protocol.MaybeBroken
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
	return s.clients.protocol.Condition(now, s.clients.Counts(now))
}
