package membership

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Machine is one member's membership: it follows a coordinator, is one, or looks for
// one. It is a protocol.Machine.
type Machine struct {
	config Config
	rules  election.Rules
	terms  []string // what all members must agree on
	self   protocol.ID
	cell   Cell // as it shall be

	keeping           // the cell as it is, and what waits for it
	standing          // this member's lease
	promises          // to clients
	search            // for a coordinator
	reign    *reign   // nil while this member does not coordinate
	exit     *leaving // nil until it is asked to leave

	raised     *protocol.View // the view that was raised last
	raisedOf   *election.View // it has the members of this one, which do not change
	publishing bool           // a view was accepted in this life
	since      []sighting     // when members were first seen in a view
	founders   []founder      // all that are known, for people
	inner      []any          // messages of this member to itself
	forgotten  uint64         // no epoch that an earlier life may have followed is above it; 0 with a cell
	unfit      bool
	unheard    map[protocol.Port][]protocol.ID // the members that each space at this one does not hear
	closed     closedSpaces                    // which spaces are closed, and where
}

// New makes a member. The error names the field that is wrong.
func New(c Config) (*Machine, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	m := &Machine{config: c, cell: c.Cell, terms: c.terms()}
	m.rules = election.Rules{Founders: c.Founders, Preempt: c.Preempt, Available: c.Available}
	if len(c.Founders) == 0 {
		m.rules.Founders = []string{c.Address}
	}
	m.begin()
	return m, nil
}

// Cell returns the cell as it shall be, for callers that show it.
func (m *Machine) Cell() Cell { return m.cell }

// Terms has a line for everything that all members must agree on. They do not change while the member lives.
func (m *Machine) Terms() []string { return slices.Clone(m.terms) }

// Wake returns when the member has something to do.
func (m *Machine) Wake() protocol.Time {
	if m.starting || m.unfit {
		return protocol.Never
	}
	at := protocol.Never
	if m.leased {
		at = m.lease.Member
	}
	if m.wait > 0 {
		at = min(at, m.wait)
	}
	at = min(at, m.keepWake(), m.staleWake())
	if m.reign != nil {
		return min(at, m.reignWake())
	}
	return min(at, m.searchWake(), m.exitWake())
}

// Step takes one event. What the lease does not cover any more has ended before
// anything else happens, even if a timer was late.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if m.unfit && ev.Kind != protocol.Call {
		return
	}
	if ev.Kind == protocol.Start {
		m.start(now, out)
	} else if !m.starting {
		m.expire(now, out)
	}
	switch ev.Kind {
	case protocol.Receive:
		m.onReceive(now, ev, out)
	case protocol.Raised:
		m.onRaised(now, ev, out)
	case protocol.Call:
		m.onCall(now, ev, out)
	}
	if !m.starting {
		m.onWaited(now, out)
		m.noteStale(now, out)
		m.attend(now, out)
	}
	m.settle(now, out)
	m.speakUp(now, out)
}

// attend does what the time has come for.
func (m *Machine) attend(now protocol.Time, out *protocol.Effects) {
	if m.reign != nil {
		m.lead(now, out)
	}
	if m.reign == nil {
		m.seek(now, out)
		m.goOnLeaving(now, out)
	}
}

// onRaised takes a request of a machine above.
func (m *Machine) onRaised(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.NeedHorizon:
		m.onNeedHorizon(fact, out)
	case *protocol.NeedEpoch:
		m.onNeedEpoch(now, fact, out)
	case *protocol.Confirmed:
		m.onConfirmed(ev.Port, fact)
	case *protocol.Unheard:
		m.onUnheard(ev.Port, fact)
	case *protocol.SpaceState:
		m.onSpaceState(ev.Port, fact)
	}
}

func (m *Machine) onCall(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *Leave:
		m.onLeave(now, ev.Call, fact, out)
	case *Force:
		m.onForce(now, ev.Call, fact, out)
	case *Who:
		out.Reply(ev.Call, m.who(now))
	}
}

func (m *Machine) onReceive(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch {
	case ev.From == protocol.Storage:
		if saved, ok := ev.Fact.(storage.Saved); ok {
			m.onSaved(now, saved, out)
		}
	case m.starting:
		// Nothing may be sent under an incarnation that is not remembered yet.
	case ev.From == protocol.Rumour:
		if hint, ok := ev.Fact.(protocol.Hint); ok {
			m.onHint(now, hint)
		}
	case ev.From == m.self, !plausible(ev.Fact):
		out.Note(Ignored{From: ev.From, What: ev.Fact})
	default:
		m.onMessage(now, ev.From, ev.Fact, out)
	}
}

// onMessage takes a message from a member; from is its sender, regardless of what it says.
func (m *Machine) onMessage(now protocol.Time, from protocol.ID, msg any, out *protocol.Effects) {
	switch msg := msg.(type) {
	case Poll:
		m.onPoll(now, from, msg, nil, out)
	case NewView:
		m.onPoll(now, from, msg.Poll, msg.View, out)
	case PollAnswer:
		m.onPollAnswer(now, from, msg, out)
	case ViewAck:
		m.onViewAck(now, from, msg, out)
	case Join:
		msg.Self.ID = from
		m.onJoin(now, from, msg, out)
	case Unwelcome:
		m.onUnwelcome(msg, out)
	case JoinDeferred:
		m.onJoinDeferred(msg)
	case Dropped:
		m.onDropped(now, msg, out)
	case Resign:
		m.onResign(now, from, msg)
	case election.StatusPoll:
		out.Send(from, m.answer(now, msg.Number, from))
	case election.StatusAnswer:
		msg.Self.ID = from
		m.onStatusAnswer(now, msg, out)
	case election.Election:
		m.onElection(now, from, msg, out)
	case election.Promise:
		msg.Self.ID = from
		m.onPromise(now, msg)
	case election.Refuse:
		m.onRefuse(now, from, msg, out)
	default:
		out.Note(Ignored{From: from, What: msg})
	}
}

// Ignored notes what was not acted upon.
type Ignored struct {
	From protocol.ID
	What any
}

func (n Ignored) String() string { return fmt.Sprintf("ignored %T from %d", n.What, n.From) }
