package lock

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// ending is a hold or a wait that the model is about to end.
type ending struct {
	at       Time
	name     *modelName
	wait     *modelWait // of a wait
	request  Request
	decision Decision
}

// finish ends all of them in the given order, then settles their names in that order. The refusal of a waiter whose
// time is over names the holder at that moment.
func (m *model) finish(now Time, endings []ending) (out []Decision) {
	for _, e := range endings {
		d := e.decision
		if d.Kind == Refused {
			d.Waited = now - e.request.Arrived
		}
		if d.Kind == Refused && d.Err == nil {
			d.Err = m.obstacle(now, e.name, e.wait)
		}
		m.end(e.name, e.request.Session, d.Request)
		out = append(out, d)
	}
	for _, e := range endings {
		if m.find(e.name.name) == e.name && e.name.name != SpaceLock {
			out = append(out, m.settle(now, e.name)...)
		}
	}
	out = append(out, m.settleGate(now)...)
	m.sweep()
	return out
}

// all returns an ending for each hold and each wait.
func (m *model) all() (holds, waits []ending) {
	for _, n := range m.names {
		for _, g := range n.grants {
			for _, id := range g.holds {
				holds = append(holds, ending{at: g.until, name: n, request: g.request, decision: decisionForGrant(Lost, g, id)})
			}
		}
		for _, w := range n.queue {
			waits = append(waits, ending{at: w.request.WaitEnd, name: n, wait: w, request: w.request, decision: decisionFor(Refused, w.request)})
		}
	}
	return holds, waits
}

func byRequestID(a, b ending) int {
	return cmp.Or(cmp.Compare(a.decision.Request, b.decision.Request), cmp.Compare(a.name.name, b.name.name))
}

func (m *model) endSession(now Time, s SessionID, why holdfast.Loss) []Decision {
	holds, waits := m.all()
	foreign := func(e ending) bool { return e.request.Session != s }
	holds, waits = slices.DeleteFunc(holds, foreign), slices.DeleteFunc(waits, foreign)
	slices.SortFunc(holds, byRequestID)
	slices.SortFunc(waits, byRequestID)
	endings := append(waits, holds...)
	if len(endings) == 0 {
		return nil // a session without requests settles nothing
	}
	for i := range endings {
		d := &endings[i].decision
		switch {
		case why == "":
			d.Kind = Released
		case d.Kind == Lost:
			d.Loss = why
		default:
			d.Err = why
		}
	}
	return m.finish(now, endings)
}

func (m *model) tick(now Time) []Decision {
	holds, waits := m.all()
	slices.SortStableFunc(holds, func(a, b ending) int {
		return cmp.Or(
			cmp.Compare(a.decision.Token, b.decision.Token),
			cmp.Compare(a.request.Session.Member, b.request.Session.Member),
			cmp.Compare(a.request.Session.Number, b.request.Session.Number),
		)
	})
	slices.SortStableFunc(waits, func(a, b ending) int {
		return cmp.Or(
			cmp.Compare(a.request.Session.Member, b.request.Session.Member),
			cmp.Compare(a.request.Session.Number, b.request.Session.Number),
			byRequestID(a, b),
		)
	})
	endings := append(waits, holds...)
	slices.SortStableFunc(endings, func(a, b ending) int { return cmp.Compare(a.at, b.at) })
	endings = slices.DeleteFunc(endings, func(e ending) bool { return e.at > now })
	for i := range endings {
		if d := &endings[i].decision; d.Kind == Lost {
			d.Loss = holdfast.HoldLimit
		}
	}
	return m.finish(now, endings)
}

func (m *model) wake() Time {
	holds, waits := m.all()
	wake := Never
	for _, e := range append(holds, waits...) {
		wake = min(wake, e.at)
	}
	return wake
}

func (m *model) extend(now Time, s SessionID, name string, token holdfast.Token, hold time.Duration) error {
	if n := m.find(name); n != nil {
		for _, g := range n.grants {
			switch {
			case g.request.Session != s || g.token != token:
				continue
			case g.revoked:
				return cmp.Or(g.why, holdfast.Broken)
			case g.until <= now:
				return holdfast.HoldLimit
			}
			g.until = until(now, hold)
			return nil
		}
	}
	return holdfast.ErrNotHeld
}

// show returns the result of Show, without the history.
func (m *model) show(name string) Lock {
	v := Lock{Name: name}
	n := m.find(name)
	if n == nil {
		return v
	}
	for _, g := range n.grants {
		r := g.request
		v.Token = g.token
		v.Units += r.Units
		v.Holders = append(v.Holders, Grant{
			Session: r.Session, Attributes: r.Attributes, Client: r.Client,
			Token: g.token, Since: g.since, Until: g.until, Holds: len(g.holds), Revoked: g.revoked,
		})
		v.Holders[len(v.Holders)-1].Hold = 0
	}
	for _, w := range n.queue {
		r := w.request
		v.Waiters = append(v.Waiters, Wait{
			Session: r.Session, Attributes: r.Attributes, Client: r.Client,
			Request: r.ID, Since: r.Arrived, Until: r.WaitEnd,
		})
	}
	first := n.first()
	v.Mode, v.Capacity = first.Mode, first.Capacity
	return v
}

func (n *modelName) first() Request {
	for _, g := range n.grants {
		if n.excess() && !g.revoked {
			return g.request
		}
	}
	if len(n.grants) > 0 {
		return n.grants[0].request
	}
	return n.queue[0].request
}

// shift moves all times, as a restore on another clock does.
func (m *model) shift(by time.Duration) {
	move := func(t *Time) {
		if *t != Never {
			*t += by
		}
	}
	for _, n := range m.names {
		for _, g := range n.grants {
			move(&g.since)
			move(&g.until)
		}
		for _, w := range n.queue {
			move(&w.request.Arrived)
			move(&w.request.WaitEnd)
		}
	}
}
