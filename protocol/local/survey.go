package local

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// Each member knows only about its own clients. An operator's call therefore goes to all members, and is answered when
// all have answered.

// Survey handles operators' calls to all members through this one. Its methods are called within the steps of one
// machine.
type Survey[R Own] struct {
	*admin.Calls[protocol.ID]
	members members[R]
}

// maxListed is the maximum number of holders and waiters in one Answer.
const maxListed = 256

// NewSurvey returns the survey of the clients' space.
func NewSurvey[R Own](clients *Clients[R]) *Survey[R] {
	all := members[R]{clients}
	config := admin.Config{Operators: clients.config.Operators, Chunk: maxListed, Patience: clients.config.Patience}
	return &Survey[R]{admin.New(config, all), all}
}

// OnCall handles an operator's call: it asks all peers, and executes the call here. It reports whether the call was one
// of these.
func (s *Survey[R]) OnCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) bool {
	if inspect, is := ev.Fact.(*protocol.Inspect); is && inspect.Here {
		out.Reply(ev.Call, s.Own(now))
		return true
	}
	return s.Calls.OnCall(now, ev, out)
}

// OnQuery answers for this member's clients.
func (s *Survey[R]) OnQuery(now protocol.Time, from protocol.ID, msg *Query, out *protocol.Effects) {
	if !msg.IsValid() {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: %d to skip", msg, from, msg.Skip)})
		return
	}
	answer := admin.Tell(now, s.members, &msg.Query, maxListed, out)
	out.Send(from, Answer{s.members.clients.standing.Tag(), answer})
}

// OnAnswer handles a peer's answer, or a part of it.
func (s *Survey[R]) OnAnswer(now protocol.Time, from protocol.ID, msg *Answer, out *protocol.Effects) {
	s.Take(now, &msg.Answer, func(_ *admin.Call[protocol.ID], peer protocol.ID) bool { return peer == from }, out)
}

// Renew repeats the questions under another view, which has other members.
func (s *Survey[R]) Renew(now protocol.Time, out *protocol.Effects) {
	for _, call := range s.Waiting() {
		s.Restart(now, call, out)
	}
}

// Own returns the space's condition at this member, counting only its own clients.
func (s *Survey[R]) Own(now protocol.Time) *protocol.Condition { return s.members.own(now) }

// members is how the members of a view answer operators.
type members[R Own] struct{ clients *Clients[R] }

func (m members[R]) Ready(*admin.Call[protocol.ID]) bool { return m.clients.standing.Admitted() }

func (m members[R]) Targets(*admin.Call[protocol.ID]) (peers []protocol.ID, own bool) {
	for peer := range m.clients.standing.Others() {
		peers = append(peers, peer.ID)
	}
	return peers, true
}

func (m members[R]) Send(_ protocol.Time, _ *admin.Call[protocol.ID], peer protocol.ID, query admin.Query, out *protocol.Effects) bool {
	if !m.clients.standing.Admitted() {
		return false
	}
	out.Send(peer, Query{m.clients.standing.Tag(), query})
	return true
}

// Unanswered returns the ErrUnavailable of a call that not all members have answered: which have not, for how long,
// why, and the possible effect of a Break.
func (m members[R]) Unanswered(now protocol.Time, call *admin.Call[protocol.ID]) error {
	why := &lock.Unavailable{}
	why.Why, why.Left = lock.WhyUnavailable(m.own(now).Unavailable(now, "this member is in no view"))
	silent := m.silent(call)
	switch {
	case len(silent) > 0 && call.Deadline <= now:
		why.Why, why.Left = fmt.Sprintf("no answer from %s for %v", protocol.JoinNames(silent), now-call.Since), 0
	case len(silent) > 0:
		why.Why += ", and " + protocol.JoinNames(silent) + " had not answered before"
	}
	switch told := len(call.Grants); {
	case call.Query.Kind != admin.Break:
	case len(silent) == 0:
		why.Why += protocol.NothingBroken
	case told > 0:
		why.Why += fmt.Sprintf("; holders that were asked to stop: %d, and perhaps more: %s", told, protocol.LookFirst)
	default:
		why.Why += protocol.MaybeBroken
	}
	return why
}

// silent names the members that have not answered.
func (m members[R]) silent(call *admin.Call[protocol.ID]) (names []string) {
	for _, peer := range call.Missing() {
		names = append(names, m.clients.standing.View.Name(peer))
	}
	return names
}

func (m members[R]) Condition(now protocol.Time, call *admin.Call[protocol.ID], answered bool) *protocol.Condition {
	if answered {
		return m.clients.protocol.Condition(now, &call.Condition)
	}
	c := m.own(now)
	if silent := m.silent(call); c.Why == "" && len(silent) > 0 {
		c.State, c.Why = protocol.Recovering, silent[0]+" does not answer"
	}
	return c
}

func (m members[R]) own(now protocol.Time) *protocol.Condition {
	return m.clients.protocol.Condition(now, m.clients.Counts(now))
}

// Break returns an error if this member's clients do not hold the name, or if it is in its grace, which ends by itself
// or when its holder has stopped.
func (m members[R]) Break(now protocol.Time, query *admin.Query, out *protocol.Effects) ([]lock.Grant, error) {
	c := m.clients
	grants, err := c.table.Break(now, query.Name, query.Token, &c.scratch)
	if err == nil {
		out.Note(protocol.Broke{Name: query.Name, Token: query.Token, Reason: query.Reason})
	} else {
		err = unbroken(now, query, c.graces(now, "", query.Name))
	}
	c.publish(now, out)
	return grants, err
}

// Inspect returns the counts of this member's clients.
func (m members[R]) Inspect(now protocol.Time) *protocol.Condition { return m.clients.Counts(now) }

// Show also returns the peers that the requests wait for.
func (m members[R]) Show(now protocol.Time, name string, skip, room int) (part lock.Lock, more int) {
	part, more = adding(m.clients.table.Show(name), m.clients.graces(now, "", name)).Part(skip, room)
	m.clients.markWaits(&part)
	return part, more
}

// Scan visits the names that the table has and those that are only in their grace.
func (m members[R]) Scan(now protocol.Time, after, prefix string, limit int, visit func(lock.Lock) bool) (more bool) {
	graces := m.clients.graces(now, after, prefix) // whose names are not visited yet
	left := max(1, limit)
	emit := func(l lock.Lock) bool {
		if left == 0 {
			more = true
			return false
		}
		l = adding(l, graces)
		graces = slices.DeleteFunc(graces, func(g Grace) bool { return g.Name == l.Name })
		m.clients.markWaits(&l)
		if left--; !visit(l) {
			left = 0
		}
		return true
	}
	before := func(name string) bool { // visits the names before it of which the table does not know
		for len(graces) > 0 && (name == "" || graces[0].Name < name) {
			if !emit(lock.Lock{Name: graces[0].Name}) {
				return false
			}
		}
		return true
	}
	further := m.clients.table.Scan(after, prefix, limit, func(l lock.Lock) bool { return before(l.Name) && emit(l) })
	return further || more || !before("")
}

// markWaits adds the peers that the requests wait for.
func (c *Clients[R]) markWaits(l *lock.Lock) {
	for i := range l.Waiters {
		w := &l.Waiters[i]
		r, known := c.requests[Key{w.Session, w.Request, l.Name}]
		if !known {
			continue
		}
		for peer := range c.standing.Others() {
			if c.protocol.Awaits(r, peer.ID) {
				w.For = append(w.For, uint64(peer.ID))
			}
		}
	}
}
