package grantor

import (
	"fmt"
	"slices"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// transfer is an operator's wish that a member becomes the grantor.
type transfer struct {
	call     protocol.CallID
	to       protocol.ID
	number   uint64 // of the Invite; 0 where it is this member
	name     string // of the member
	since    protocol.Time
	leaving  bool // no operator asks for it: this member leaves
	placed   bool // no operator asks for it: the other one locks most
	due      protocol.Time
	pause    protocol.Time
	deadline protocol.Time
}

// patienceOfTransfer is how long an operator waits, in units of patience: a transfer may
// have to wait for an elder.
const patienceOfTransfer = 40

// invitation is a call that another member waits to have answered.
type invitation struct {
	from   Place
	number uint64
}

// onCall handles a request of this member's clients, or of an operator.
func (m *Machine) onCall(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.Transfer:
		m.onTransfer(now, ev.Call, fact.To, out)
	case *protocol.StepDown:
		m.onStepDown(now, ev.Call, out)
	default:
		m.part.Step(now, ev, out)
	}
}

// onTransfer begins to make a member the grantor.
func (m *Machine) onTransfer(now protocol.Time, call protocol.CallID, to protocol.ID, out *protocol.Effects) {
	t := &transfer{call: call, to: to, since: now, due: protocol.Never, deadline: now + patienceOfTransfer*m.config.Patience}
	_, listed := m.placeOf(to)
	switch {
	case !m.admitted():
		m.endTransfer(now, t, m.part.Unavailable(now), out)
		return
	case to == m.self && m.part.Closed():
		m.endTransfer(now, t, m.closedAt(m.self), out)
		return
	case to == m.self && m.departing:
		m.endTransfer(now, t, fmt.Errorf("%w: the member is leaving", holdfast.ErrConflict), out)
		return
	case !listed:
		m.endTransfer(now, t, fmt.Errorf("%w: the view has no such member", holdfast.ErrConflict), out)
		return
	case len(m.transfers) >= m.config.Operators:
		m.endTransfer(now, t, &holdfast.LimitError{Limit: "operators", Value: int64(m.config.Operators)}, out)
		return
	}
	t.name = m.view.Name(to)
	if to != m.self {
		m.invite(now, t, out)
		return
	}
	m.transfers = append(m.transfers, t)
	m.becoming = true
}

// invite asks a member to become the grantor, until it has answered.
func (m *Machine) invite(now protocol.Time, t *transfer, out *protocol.Effects) {
	m.transfers = append(m.transfers, t)
	m.lastInvite++
	t.number = m.lastInvite
	m.sendInvite(now, t, out)
}

func (m *Machine) sendInvite(now protocol.Time, t *transfer, out *protocol.Effects) {
	t.pause = protocol.Longer(t.pause, m.config.Patience)
	t.due = now + t.pause
	out.Send(t.to, Invite{Tenure: m.view.Lease.Tenure, Number: t.number})
}

// endTransfer answers an operator, or continues this member's own request.
func (m *Machine) endTransfer(now protocol.Time, t *transfer, err error, out *protocol.Effects) {
	switch {
	case t.leaving:
		if m.leaving != nil {
			m.leaving.pending = false // the next one is asked, if this one has not taken over
		}
		return
	case t.placed:
		m.moveFailed(now, t.to, err, out)
		return
	}
	answer := &protocol.Transferred{Err: err}
	switch {
	case err == nil:
		answer.Authority = []protocol.ID{t.to}
	case m.reign.Authority != 0:
		answer.Authority = []protocol.ID{m.reign.Authority}
	}
	out.Reply(t.call, answer)
}

// onInvite starts to become the grantor, at a member's request.
func (m *Machine) onInvite(from protocol.ID, msg *Invite, out *protocol.Effects) {
	if !m.admitted() || !m.sits(from, msg.Tenure) {
		return
	}
	place, _ := m.placeOf(from)
	i := slices.IndexFunc(m.invited, func(i invitation) bool { return i.from == place })
	switch {
	case i >= 0:
		m.invited[i].number = max(m.invited[i].number, msg.Number)
	default:
		m.invited = append(m.invited, invitation{place, msg.Number})
	}
	m.becoming = true
}

// onInvited ends the transfer to another member.
func (m *Machine) onInvited(now protocol.Time, from protocol.ID, msg *Invited, out *protocol.Effects) {
	if msg.Tenure != m.view.Lease.Tenure {
		return
	}
	i := slices.IndexFunc(m.transfers, func(t *transfer) bool { return t.to == from && t.number == msg.Number })
	if i < 0 {
		if msg.Taken && msg.Number == m.relief && from == m.elderPlace().ID {
			m.onRelieved(now, from, out)
		}
		return
	}
	t := m.transfers[i]
	m.transfers = slices.Delete(m.transfers, i, i+1)
	var err error
	switch {
	case msg.Taken:
	case msg.Closed:
		err = m.closedAt(from)
	default:
		err = errSuperseded
	}
	m.endTransfer(now, t, err, out)
}

// errSuperseded is the answer to an operator that has made a member the grantor, if another one became it in the
// meantime. It is not an ErrUnavailable: a retry would undo the other operator's request.
var errSuperseded = fmt.Errorf("%w: another member has become the grantor meanwhile", holdfast.ErrConflict)

// closedAt returns the error of a member that cannot become the grantor because it has the space closed.
func (m *Machine) closedAt(id protocol.ID) error {
	return fmt.Errorf("%w: the space is closed at %s; open it there first", holdfast.ErrConflict, m.view.Name(id))
}

// settleInvitations answers the members, and this member's own operators, that have asked this member to become the
// grantor, as soon as the result is known.
func (m *Machine) settleInvitations(now protocol.Time, out *protocol.Effects) {
	taken := m.reign.Authority == m.self && m.part.Serves()
	if taken {
		m.becoming = false
	}
	if m.becoming || m.successor != nil || m.reign.Authority == m.self && !taken {
		return
	}
	for _, i := range m.invited {
		if m.present(i.from) {
			out.Send(i.from.ID, Invited{Tenure: i.from.Tenure, Number: i.number, Taken: taken, Closed: !taken && m.part.Closed()})
		}
	}
	m.invited = nil
	m.transfers = slices.DeleteFunc(m.transfers, func(t *transfer) bool {
		if t.to != m.self {
			return false
		}
		var err error
		if !taken {
			if err = errSuperseded; m.part.Closed() {
				err = m.closedAt(m.self)
			}
		}
		m.endTransfer(now, t, err, out)
		return true
	})
}

// unanswered is the ErrUnavailable of a transfer that has come to nothing as far as this member knows.
func (t *transfer) unanswered(now protocol.Time, listed bool) error {
	if !listed {
		return &lock.Unavailable{Why: t.name + " was asked to become the grantor, and has left the view before it was"}
	}
	return &lock.Unavailable{Why: fmt.Sprintf("%s was asked to become the grantor, and has not confirmed it for %v: it may become it nevertheless, so look at the status before another member is asked", t.name, now-t.since)}
}

func (m *Machine) operatorsWake() protocol.Time {
	at := protocol.Never
	for _, t := range m.transfers {
		at = min(at, t.due)
	}
	return at
}

func (m *Machine) operatorsTick(now protocol.Time, out *protocol.Effects) {
	m.transfers = slices.DeleteFunc(m.transfers, func(t *transfer) bool {
		_, listed := m.placeOf(t.to)
		switch {
		case t.deadline <= now || !listed:
			m.endTransfer(now, t, t.unanswered(now, listed), out)
			return true
		case t.due <= now && m.admitted():
			m.sendInvite(now, t, out)
		}
		return false
	})
}
