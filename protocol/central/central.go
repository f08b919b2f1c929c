package central

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config is what a member needs to know to take part.
type Config struct {
	// Self is this member's id. Required.
	Self protocol.ID
	// Table bounds the coordinator's table; the zero value has the table's defaults.
	Table lock.Config
}

// Machine is one member's part of the protocol.
type Machine struct {
	self  protocol.ID
	view  *protocol.View // the newest; nil before the first
	coord coordinator
	asked asked
}

// asked is the call that is being answered within this step: the immediate answer
// to it goes to whoever asked, and not where its session can be reached.
type asked struct {
	call    protocol.CallID
	session lock.SessionID
	request uint64
}

// New makes a member's machine. The error names the field that is wrong.
func New(c Config) (*Machine, error) {
	if c.Self == 0 {
		return nil, fmt.Errorf("central: Self is 0; give the member's id")
	}
	table, err := lock.New(c.Table)
	if err != nil {
		return nil, err
	}
	return &Machine{self: c.Self, coord: coordinator{table: table, serveFrom: protocol.Never}}, nil
}

// Wake returns when the coordinator has something to do.
func (m *Machine) Wake() protocol.Time { return m.coord.wake() }

// Step takes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev.Kind {
	case protocol.Tick:
		m.onTick(now, out)
	case protocol.Call:
		m.onCall(now, ev, out)
	case protocol.Receive:
		m.onReceive(now, ev, out)
	case protocol.Raised:
		if view, ok := ev.Fact.(*protocol.View); ok {
			m.onView(now, view, out)
		}
	}
}

// onCall takes a wish of this member's clients, or of an operator.
func (m *Machine) onCall(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		m.holderAcquire(now, ev.Call, fact, out)
	case *protocol.Release:
		m.holderRelease(now, ev.Call, fact, out)
	case *protocol.Cancel:
		m.holderCancel(now, ev.Call, fact, out)
	case *protocol.Extend:
		m.holderExtend(now, ev.Call, fact, out)
	case *protocol.EndSession:
		m.holderEndSession(now, fact, out)
	case *protocol.CountHolds:
		holds, _ := m.coord.table.Session(fact.Session)
		out.Reply(ev.Call, &protocol.Holds{Count: holds})
	case *protocol.Break:
		m.onBreak(now, ev.Call, fact, out)
	case *protocol.Show:
		shown := m.coord.table.Show(fact.Name)
		out.Reply(ev.Call, &shown)
	case *protocol.Scan:
		out.Reply(ev.Call, m.coord.scan(fact))
	case *protocol.Inspect:
		out.Reply(ev.Call, m.condition(now))
	default:
		out.Note(Ignored{What: fmt.Sprintf("call %T", fact)})
	}
}

// onReceive takes a message from another member's role. With one member there is
// none: what comes is from a life or a cluster that this member does not know.
func (m *Machine) onReceive(_ protocol.Time, ev protocol.Event, out *protocol.Effects) {
	out.Note(Ignored{What: fmt.Sprintf("message %v from member %d, which is in no view", ev.Fact, ev.From)})
}

// coordinates reports whether this member is the coordinator of the newest view.
func (m *Machine) coordinates() bool { return m.view != nil && m.view.Coordinator == m.self }

// condition says how the space is.
func (m *Machine) condition(now protocol.Time) *protocol.Condition {
	table := m.coord.table
	c := &protocol.Condition{
		State: protocol.Unavailable,
		Why:   "there is no view yet",
		Until: protocol.Never,
		Class: holdfast.Fenced,
		Reign: table.Reign(),
		Locks: table.Names(), Waiters: table.Waiters(), Sessions: table.Sessions(),
	}
	if m.view == nil {
		return c
	}
	c.Authority = []protocol.ID{m.view.Coordinator}
	switch {
	case m.coord.serves(now):
		c.State, c.Why = protocol.Ready, ""
	case now < m.coord.serveFrom:
		c.State, c.Until = protocol.Recovering, m.coord.serveFrom
		c.Why = "waiting until what was promised before the restart has run out"
	case m.coord.table.Exhausted():
		c.State, c.Why = protocol.Recovering, "the reign's tokens are used up; a new reign is about to begin"
	default:
		c.State, c.Why = protocol.Unavailable, "the coordinator's lease has run out"
	}
	return c
}

// Ignored notes what was not acted upon.
type Ignored struct{ What string }

func (n Ignored) String() string { return "ignored " + n.What }
