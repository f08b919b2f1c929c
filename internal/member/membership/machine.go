package membership

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/storage"
)

// Machine is one member's membership: it follows a coordinator, is one, or searches for one. It is a protocol.Machine.
type Machine struct {
	config Config
	rules  election.Rules
	terms  []string // settings that all members must agree on
	self   protocol.ID
	cell   Cell // its current content, to be written

	keeping           // the cell on disk, and what waits for it
	standing          // this member's lease
	promises          // to clients
	search            // for a coordinator
	reign    *reign   // nil unless this member coordinates
	exit     *leaving // nil until it is asked to leave

	raised     *protocol.View // the view that was raised last
	raisedOf   *election.View // same members as this one, which do not change
	publishing bool           // a view was accepted in this life
	since      []sighting     // when members were first seen in a view
	founders   []founder      // all known founders, for people
	inner      []any          // messages of this member to itself
	forgotten  uint64         // no epoch that an earlier life may have followed is higher; 0 with a cell
	unfit      bool
	unheard    map[protocol.Port][]protocol.ID // members not heard by each space at this one
	closed     closedSpaces                    // closed spaces, by member
}

// New makes a membership machine. The error names the invalid field.
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

// Cell returns the current cell, perhaps not yet written, for callers that display it.
func (m *Machine) Cell() Cell { return m.cell }

// Terms has a line for everything that all members must agree on. It does not change while the member lives.
func (m *Machine) Terms() []string { return slices.Clone(m.terms) }

// Wake returns when the machine must be stepped next.
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

// Step handles one event. Everything beyond the lease ends before anything else happens, even if a timer was late.
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

// attend performs the actions that are due.
func (m *Machine) attend(now protocol.Time, out *protocol.Effects) {
	if m.reign != nil {
		m.lead(now, out)
	}
	if m.reign == nil {
		m.seek(now, out)
		m.goOnLeaving(now, out)
	}
}

// onRaised handles a request of a machine above.
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
		// No message may be sent under an incarnation that is not yet on disk.
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

// onMessage handles a message from a member; from is its true sender, regardless of the content.
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

// Ignored notes a message that was ignored.
type Ignored struct {
	From protocol.ID
	What any
}

func (n Ignored) String() string { return fmt.Sprintf("ignored %T from %d", n.What, n.From) }
