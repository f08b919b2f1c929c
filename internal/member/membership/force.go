package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// forcing is an operator's order for a view of some members alone, until that view is installed or cannot be.
type forcing struct {
	call    protocol.CallID
	view    *election.View // the view to replace
	members []protocol.ID
	order   election.Order
	wall    time.Duration // wall clock at the order; 0 if unknown
	first   uint64        // epoch counter of the first attempt
	left    int           // attempts
	again   protocol.Time // time of the next attempt
	silent  []string      // members that did not promise in the latest attempt
}

// Messages may be lost, so all are asked for their promises up to this many times. Attempts are at least a second
// apart, and so are their epochs.
const (
	forceAttempts = 3
	forcePause    = time.Second
)

// onForce starts to force a view of the named members alone.
func (m *Machine) onForce(now protocol.Time, call protocol.CallID, force *Force, out *protocol.Effects) {
	v := m.accepted()
	ids, err := m.forced(now, force, v)
	if err != nil {
		out.Reply(call, &Forced{Err: fmt.Errorf("force view: %w", err)})
		return
	}
	out.Note(Forcing{View: v.Number, Members: force.Members, Reason: force.Reason, By: force.By})
	m.forcing = &forcing{call: call, view: v, members: ids, order: election.Order{Reason: force.Reason, By: force.By}, wall: force.Wall, left: forceAttempts, again: now}
	m.goOnForcing(now, out)
	if m.ballot != nil {
		m.forcing.first = m.ballot.Epoch.Counter
	}
}

// forced returns the members of the view, or the reason why it cannot be forced.
func (m *Machine) forced(now protocol.Time, force *Force, v *election.View) (ids []protocol.ID, err error) {
	switch {
	case m.unfit || m.starting:
		return nil, fmt.Errorf("this member takes no part")
	case m.exit != nil:
		return nil, fmt.Errorf("this member is leaving; ask one that stays")
	case m.config.Available:
		return nil, fmt.Errorf("partition mode any needs no quorum; nothing need be forced")
	case m.forcing != nil:
		return nil, fmt.Errorf("another call forces a view now")
	case force.Reason == "" || len(force.Reason) > MaxReason || len(force.By) > MaxReason:
		return nil, fmt.Errorf("reason: give 1 to %d bytes, and a shorter name of the operator", MaxReason)
	case v == nil:
		return nil, fmt.Errorf("this member knows no view")
	case m.well(now, 0):
		return nil, fmt.Errorf("the coordinator is well; nothing need be forced")
	}
	for _, name := range force.Members {
		i := slices.IndexFunc(v.Members, func(member election.Member) bool { return member.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("member %q is not in view %d", name, v.Number)
		}
		ids = append(ids, v.Members[i].ID)
	}
	if place, listed := v.Of(m.self); !listed || !place.Founder || !slices.Contains(ids, m.self) {
		return nil, fmt.Errorf("this member, %q, must be a founder and among the named", m.config.Name)
	}
	return ids, nil
}

// goOnForcing begins the next attempt when it is due.
func (m *Machine) goOnForcing(now protocol.Time, out *protocol.Effects) {
	f := m.forcing
	switch {
	case now < f.again:
	case f.left == 0:
		m.endForcing(now, f.failed(), out)
	default:
		f.left--
		f.again = now + m.config.stretch(max(forcePause, 2*m.patience()))
		f.silent = nil
		m.canvass(now, &election.Ballot{View: f.view, Polled: m.addresses(f.view), Forced: f.members, Order: f.order}, out)
	}
}

// failed returns the reason why the last attempt failed.
func (f *forcing) failed() error {
	if f.silent == nil {
		return fmt.Errorf("too few of the named members accepted the new view in time")
	}
	return fmt.Errorf("%q did not promise to follow this member, asked %d times", f.silent, forceAttempts)
}

// missed records the members that did not promise in a failed attempt.
func (f *forcing) missed(ballot *election.Ballot) {
	for _, member := range f.view.Members {
		if slices.Contains(f.members, member.ID) && ballot.Of(member.ID) == nil {
			f.silent = append(f.silent, member.Name)
		}
	}
}

// aboveLost returns a counter for a forced view. It is above all that this member knows, and above all that the lost
// members can have promised or served meanwhile: every epoch is below the wall clock's second. No member acts under it
// until their leases and horizons have run out, so it may be that far ahead of the clock: by then it is not ahead any
// more, and tokens do not go back even if all memory is lost later. A clock set back since the start is noticed. After
// one set back before the start the counter is above what is known here, but tokens of the lost members may repeat if
// they continued.
func (m *Machine) aboveLost(now protocol.Time, v *election.View) uint64 {
	begins := max(m.wall(now), m.forcing.wall) + m.leaseUnder(v) + m.cell.Pledges.Most().Span()
	return max(m.above(false, now), Second(begins))
}

// answerForce answers when the view is installed, or another has replaced it.
func (m *Machine) answerForce(now protocol.Time, out *protocol.Effects) {
	f, v := m.forcing, m.cell.Accepted
	switch {
	case f == nil:
	case m.unfit || m.exit != nil:
		m.endForcing(now, fmt.Errorf("this member is leaving"), out)
	case v.Newer(f.view) && (v.Epoch.Candidate != m.self || v.Epoch.Counter < f.first):
		m.endForcing(now, fmt.Errorf("view %d came from another member meanwhile; nothing need be forced", v.Number), out)
	case v.Newer(f.view) && v.Installed && v.Same(m.written.Accepted) && (m.reign == nil || m.reign.installed):
		m.endForcing(now, nil, out)
	}
}

// someoneIsWell is the error for an attempt ended by a refusal: the sender still follows a coordinator.
func (m *Machine) someoneIsWell(r election.Refuse) error {
	leader, _ := r.View.Of(r.View.Epoch.Candidate)
	return fmt.Errorf("view %d is led well by %q, as far as can be heard; nothing need be forced", r.View.Number, leader.Name)
}

// endForcing answers the operator.
func (m *Machine) endForcing(now protocol.Time, err error, out *protocol.Effects) {
	f := m.forcing
	m.forcing = nil
	if m.ballot != nil && m.ballot.Forced != nil {
		m.ballot = nil
		m.backOff(now, 0)
	}
	answer := &Forced{}
	if err != nil {
		answer.Err = fmt.Errorf("force view: %w", err)
		if f.left == 0 {
			answer.Silent = f.silent
		}
	}
	out.Reply(f.call, answer)
}

// MaxReason bounds an operator's reason and name, in bytes: every member keeps them.
const MaxReason = 1024

// Forcing notes that an operator is forcing a view through this member.
type Forcing struct {
	View    uint64
	Members []string
	Reason  string
	By      string
}

func (n Forcing) String() string {
	return fmt.Sprintf("%s replaces view %d by one of %q alone: %s", n.By, n.View, n.Members, n.Reason)
}

// Ordered notes that an operator has forced an epoch, at every member that joins it or learns of it. Here is set at the
// member that carried out the order.
type Ordered struct {
	View *election.View
	Here bool
}

func (n Ordered) String() string {
	return fmt.Sprintf("%s has forced %v: %s", n.View.Order.By, n.View, n.View.Order.Reason)
}

// noteOrder notes each forced epoch once.
func (m *Machine) noteOrder(old, v *election.View, out *protocol.Effects) {
	if v.Order != (election.Order{}) && (old == nil || old.Epoch != v.Epoch) {
		out.Note(Ordered{View: v, Here: v.Epoch.Candidate == m.self})
	}
}
