package local

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// member is member 1 under the simplest protocol: the test decides the grants.
type member struct {
	t        *testing.T
	now      protocol.Time
	standing *Standing
	clients  *Clients[*request]
	survey   *Survey[*request]
	requests []*request
	ready    bool
	why      error // the result of Explain
	ended    []string
	kept     []Grace
	ops      uint64
}

type request struct {
	Request
	awaits   []protocol.ID
	withhold bool
	amended  uint64 // the revision that others have
}

func newMember(t *testing.T, members int) *member {
	t.Helper()
	m := &member{t: t, now: time.Hour, standing: &Standing{Self: 1}, ready: true}
	var err error
	m.clients, err = New(Config{Protocol: "toy", Patience: time.Second, Operators: 3}, m.standing, m)
	if err != nil {
		t.Fatal(err)
	}
	m.survey = NewSurvey(m.clients)
	m.view(1, members)
	return m
}

// view raises a view, which the member accepts.
func (m *member) view(number uint64, members int) protocol.Effects {
	view := &protocol.View{Number: number, Epoch: protocol.Epoch{Counter: 4, Candidate: 1}, Coordinator: 1, Lease: &protocol.Lease{Member: protocol.Never}}
	for i := range members {
		view.Members = append(view.Members, protocol.Member{ID: protocol.ID(i + 1), Name: string(rune('a' + i)), Since: 1})
	}
	var out protocol.Effects
	if !m.standing.Take(view) {
		m.standing.Settle()
		m.survey.Renew(m.now, &out)
	}
	m.clients.Resume(m.now, &out)
	m.clients.Conclude(&out)
	return out
}

func (m *member) Ready() bool { return m.ready }

func (m *member) Refusal(q *lock.Request) error {
	if q.Mode == holdfast.ModeShared {
		return holdfast.ErrUnsupported
	}
	return nil
}

func (m *member) Keep(r Request) *request { return &request{Request: r} }

func (m *member) Enroll(_ protocol.Time, w *request, _ *protocol.Effects) {
	m.requests = append(m.requests, w)
}

func (m *member) Ended(w *request) {
	if !w.Dropped {
		m.t.Errorf("request %d has ended, and is not dropped", w.Key.ID)
	}
	m.ended = append(m.ended, fmt.Sprint(w.Key.ID))
	m.requests = slices.DeleteFunc(m.requests, func(other *request) bool { return other == w })
}

func (m *member) Named(name string) (named []*request) {
	for _, w := range m.requests {
		if w.Key.Name == name {
			named = append(named, w)
		}
	}
	return named
}

func (m *member) Explain(_ protocol.Time, _ *request, err error) error {
	if m.why != nil {
		return m.why
	}
	return err
}

func (m *member) Knows(w *request) bool { return w.Waits || m.standing.Alone() }

func (m *member) Settled() bool { return true }

func (m *member) Awaits(w *request, peer protocol.ID) bool { return slices.Contains(w.awaits, peer) }

func (m *member) Graces(protocol.Time) []Grace { return slices.Clone(m.kept) }

func (m *member) Withhold(w *request) bool { return w.withhold }

func (m *member) WithholdAmendment(w *request, d *lock.Decision) bool {
	return w.withhold && d.Revision > w.amended
}

func (m *member) Condition(_ protocol.Time, counts *protocol.Condition) *protocol.Condition {
	c, stands := m.clients.Describe(counts)
	if stands {
		c.State = protocol.Ready
	}
	return c
}

// step performs a function as one step.
func (m *member) step(do func(out *protocol.Effects)) protocol.Effects {
	var out protocol.Effects
	do(&out)
	m.clients.Conclude(&out)
	return out
}

func (m *member) call(fact any) protocol.Effects {
	m.t.Helper()
	m.ops++
	ev := &protocol.Event{Kind: protocol.Call, Call: protocol.CallID{Sink: 1, Op: m.ops}, Fact: fact}
	return m.step(func(out *protocol.Effects) {
		if !m.clients.OnCall(m.now, ev, out) && !m.survey.OnCall(m.now, ev, out) {
			m.t.Errorf("%T is no call of clients or operators", fact)
		}
	})
}

func (m *member) receive(from protocol.ID, message protocol.Message) protocol.Effects {
	return m.step(func(out *protocol.Effects) {
		ev := protocol.Event{Kind: protocol.Receive, From: from, Fact: message}
		if !m.standing.Hears(ev, message.(interface{ Tagged() Tag }).Tagged(), out) {
			return
		}
		switch message := message.(type) {
		case Query:
			m.survey.OnQuery(m.now, from, &message, out)
		case Answer:
			m.survey.OnAnswer(m.now, from, &message, out)
		}
	})
}

// pass lets time pass, and returns the effects at the end.
func (m *member) pass(d time.Duration) protocol.Effects {
	m.now += d
	return m.step(func(out *protocol.Effects) {
		m.clients.Tick(m.now, out)
		m.survey.Tick(m.now, out)
	})
}

var session = lock.SessionID{Member: 1, Number: 1}

// lock asks for an exclusive lock of n, as modified by change.
func (m *member) lock(id uint64, change func(*lock.Request)) protocol.Effects {
	m.t.Helper()
	q := &lock.Request{Session: session, ID: id, Name: "n", WaitEnd: protocol.Never, Arrived: m.now}
	if change != nil {
		change(q)
	}
	return m.call(q)
}

func (m *member) request(id uint64) *request {
	m.t.Helper()
	for _, w := range m.requests {
		if w.Key.ID == id {
			return w
		}
	}
	m.t.Fatalf("there is no request %d", id)
	return nil
}

func (m *member) permit(id uint64, token holdfast.Token) protocol.Effects {
	m.t.Helper()
	return m.step(func(out *protocol.Effects) { m.clients.Permit(m.now, m.request(id), token, out) })
}

// checkDecisions compares the decisions for clients with the expected ones.
func (m *member) checkDecisions(out protocol.Effects, want ...string) {
	m.t.Helper()
	var got []string
	for i := range out.Replies {
		d := &out.Replies[i].Decision
		text := fmt.Sprintf("%d %v", d.Request, d.Kind)
		switch d.Kind {
		case lock.Queued:
			text += fmt.Sprintf(" %d", d.Position)
		case lock.Granted, lock.Lost:
			text += fmt.Sprintf(" %d", d.Token)
		case lock.Refused:
			text += ": " + d.Err.Error()
		}
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		m.t.Errorf("decided %q, want %q", got, want)
	}
}

// has compares the requests that have ended so far with the expected ones.
func (m *member) has(ended ...string) {
	m.t.Helper()
	if !slices.Equal(m.ended, ended) {
		m.t.Errorf("ended are %q, want %q", m.ended, ended)
	}
}
