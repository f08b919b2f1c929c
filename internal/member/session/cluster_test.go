package session_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/test/golden"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// startCluster puts a session machine before a membership that a conversation scripts, and two
// spaces that are tables and no more:
//
//	view         the member accepts its first view
//	lease 3s     its lease ends so long after now; everything is confirmed
//	lapse        its lease has ended, and so has its tenure
//	horizon 8s   answers the request that was noted
//	lose NAME    the first space's authority does not know the grants of a name
//	office       the first space's authority is here, and must be handed over
//	vacated      it has been
//
// With bound=1s handing over is waited for so long; without, it is not.
func (c *conversation) startCluster(l *golden.Line) {
	l.Helper()
	lease := 2 * l.Duration("bound")
	var spaces []protocol.Machine
	for range 2 {
		table, err := lock.New(lock.Config{})
		if err != nil {
			l.Fatal(err)
		}
		table.BeginReign(1, 0)
		spaces = append(spaces, &shelf{table: table})
	}
	var err error
	c.machine, err = session.New(session.Config{
		Member: 7, Incarnation: 1, Rand: rand.New(rand.NewPCG(3, 4)), Spaces: 2, TTL: 3 * time.Second, Sessions: 3, Lease: lease,
	}, protocol.Stack(&scripted{}, spaces...))
	if err != nil {
		l.Fatal(err)
	}
	c.step(protocol.Event{Kind: protocol.Start})
}

// instruct hands the script's word to the membership.
func (c *conversation) instruct(l *golden.Line) {
	l.Helper()
	order, port := order{verb: l.Verb}, protocol.Below
	switch {
	case order.verb == "lose":
		order.name, port = l.Name(), 1
	case order.verb == "office" || order.verb == "vacated":
		port = 1
	case l.More():
		order.span = l.Time()
	}
	c.step(protocol.Event{Kind: protocol.Receive, From: 9, Port: port, Fact: order})
}

type order struct {
	verb, name string
	span       time.Duration
}

// scripted is a membership that follows its script. It grants a request for no horizon by
// itself, and notes any other.
type scripted struct {
	lease   protocol.Lease
	horizon protocol.Horizon
	need    protocol.NeedHorizon
	pledged time.Duration // how far beyond the lease others wait for this member's clients at least
}

func (m *scripted) Wake() protocol.Time { return protocol.Never }

func (m *scripted) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case order:
		m.obey(now, fact, out)
	case *protocol.NeedHorizon:
		m.need = *fact
		m.pledged = min(m.pledged, fact.Want)
		if fact.Want > m.horizon.Confirmed {
			out.Note(wants(*fact))
			return
		}
		m.answer(fact.Want, out)
	case *membership.Leave:
		out.Note(wantsToLeave{fact.Empty})
		out.Reply(ev.Call, &membership.Left{})
	}
}

func (m *scripted) obey(now protocol.Time, order order, out *protocol.Effects) {
	switch order.verb {
	case "view":
		out.Raise(&protocol.View{Number: 1, Epoch: protocol.Epoch{Counter: 1}, Lease: &m.lease})
	case "lease":
		m.lease.Member, m.lease.Carried = now+order.span, now+order.span
	case "lapse":
		m.lease.Tenure.Lapses++
		m.lease.Member, m.lease.Carried = min(m.lease.Member, now), min(m.lease.Carried, now)
		out.Raise(&protocol.Lapsed{Tenure: m.lease.Tenure})
	case "horizon":
		m.answer(order.span, out)
	}
}

func (m *scripted) answer(confirmed time.Duration, out *protocol.Effects) {
	m.pledged = max(m.pledged, confirmed)
	m.horizon = protocol.Horizon{Confirmed: confirmed, Clients: m.need.Clients, Answer: true}
	raised := m.horizon
	out.Raise(&raised)
}

type wants protocol.NeedHorizon

func (n wants) String() string { return fmt.Sprintf("wants horizon %v clients=%v", n.Want, n.Clients) }

// stepDownNote notes that the authority of a space is to be handed over.
type stepDownNote struct{}

func (stepDownNote) String() string { return "asked to step down" }

type wantsToLeave struct{ empty bool }

func (n wantsToLeave) String() string { return fmt.Sprintf("leaves empty=%v", n.empty) }

// lose ends what is held and wanted of a name, or of all.
func (m *shelf) lose(now protocol.Time, name string) {
	m.table.EndWhere(now, holdfast.AuthorityChanged, func(n string, _ lock.SessionID, _ uint64, _ holdfast.Token) bool {
		return name == "" || n == name
	}, &m.out)
}

// shelf is a space that is a table and no more. A lapse ends everything in it.
type shelf struct {
	table  *lock.Table
	out    []lock.Decision
	office bool // it has to be handed over
}

func (m *shelf) Wake() protocol.Time { return m.table.Wake() }

func (m *shelf) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	var answer protocol.CallID
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		answer = ev.Call
		m.table.Acquire(now, fact, &m.out)
	case *protocol.Release:
		answer = ev.Call
		if err := m.table.Release(now, fact.Session, fact.Name, fact.Token, fact.Request, &m.out); err != nil {
			m.out = append(m.out, lock.Decision{Kind: lock.Refused, Session: fact.Session, Request: fact.Request, Name: fact.Name, Err: err})
		}
	case *protocol.EndSession:
		m.table.EndSession(now, fact.Session, fact.Why, &m.out)
	case *protocol.Revoke:
		m.table.RevokeSession(now, fact.Session, fact.Why, holdfast.ErrUnavailable, &m.out)
	case *protocol.CountHolds:
		holds, _ := m.table.Session(fact.Session)
		out.Reply(ev.Call, &protocol.Holds{Count: holds})
	case *protocol.ListRequests:
		list := &protocol.Requests{}
		m.table.Requests(fact.Session, func(request uint64, name string, token holdfast.Token) {
			list.List = append(list.List, protocol.RequestOf{ID: request, Name: name, Token: token})
		})
		out.Reply(ev.Call, list)
	case *protocol.Cancel:
		answer = ev.Call
		m.table.Cancel(now, fact.Session, fact.Name, fact.Request, &m.out)
	case *protocol.Lapsed:
		m.lose(now, "")
	case *protocol.StepDown:
		if m.office {
			out.Note(stepDownNote{})
		}
		out.Reply(ev.Call, &protocol.SteppedDown{Pending: m.office})
	case order:
		if fact.verb == "lose" {
			m.lose(now, fact.name)
		} else {
			m.office = fact.verb == "office"
		}
	}
	if ev.Kind == protocol.Tick {
		m.table.Tick(now, &m.out)
	}
	for i := range m.out {
		out.Decide(answer, &m.out[i])
		answer = protocol.CallID{} // the first is about what was asked
	}
	m.out = m.out[:0]
}
