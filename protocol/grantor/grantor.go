package grantor

import (
	"cmp"
	"fmt"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// Config is a member's configuration.
type Config struct {
	// Config is the configuration common to all members that may keep the table.
	authority.Config
	// Options are those of the space.
	Options
}

// check returns an error for values that this protocol refuses in addition to others.
func (c *Config) check() error {
	if c.Parked < 0 {
		return fmt.Errorf("grantor: Parked is %d; a positive number is allowed, and 0 for its default", c.Parked)
	}
	return nil
}

// defaultParked is many members' requests of the moment in which a grantor is named.
const defaultParked = 1024

// Machine is one member's part of the protocol.
type Machine struct {
	config Config
	self   protocol.ID
	part   *authority.Machine // the holder, and while this member is the grantor its table
	view   *protocol.View     // the newest; nil before the first
	halted bool

	reign authority.Reign // the grantor that this member follows; Authority 0 while it knows none
	place Place           // that one's
	// heard is the highest version that this member knows; its epoch is not above the view's. The member accepts no
	// reign of its own below, and follows none.
	heard authority.Version

	seek       *seek             // the question to the elder that is under way
	seekFrom   protocol.Time     // when the elder may be asked again after a refusal; Never where nothing is waited for
	questions  uint64            // numbers given
	successor  *successor        // named, and without the table yet
	handover   *pendingHandover  // deposed, and with a table for the next one
	elder      *elder            // nil unless this member is elder and was asked
	elderhood  elderhood         // what it knows of its own epochs as a coordinator
	parked     []protocol.Event  // for a grantor that this member may be about to be
	early      []protocol.Event  // of a member, or under an epoch, that the next view may have
	answered   bool              // the elder has just said who grants: a grantor still unknown here is unknown to it, too
	becoming   bool              // this member is to become the grantor
	invited    []invitation      // who waits to hear whether it has
	leaving    *leaving          // a successor is looked for
	departing  bool              // this member is about to leave the view
	transfers  []*transfer       // others that are to become it, because an operator or this member has asked them
	lastInvite uint64            // numbers given
	placement  *placement        // nil unless this member is the grantor, and Options.Placement is on
	moved      authority.Version // the last reign here that was moved to this member, and recovers

	tended *protocol.View // the newest, where nothing was under way when it was last looked

	relieved protocol.Time // when the elder was asked last to take over
	relief   uint64        // the number of that Invite; 0 where it was answered
}

// New returns a member's machine. The error names the invalid field.
func New(c Config) (*Machine, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	part, err := authority.New(c.Config, authority.Rules{Title: "grantor", Terms: terms{}, Outlives: true, HoldOn: c.HoldOn, GrantCount: c.Placement != 0})
	if err != nil {
		return nil, fmt.Errorf("grantor: %w", err)
	}
	c.Config, c.Parked = part.Config(), cmp.Or(c.Parked, defaultParked)
	return &Machine{config: c, self: c.Self, part: part, seekFrom: protocol.Never}, nil
}

// terms are a grantor's. A reign without a table starts to grant when the view is open: then no member outside it holds
// anything, and a lost member's holds are free. The right to grant is the member's lease, and nothing else.
type terms struct{}

func (terms) From(view *protocol.View) protocol.Time { return openFrom(view) }

func (terms) Until(*protocol.View) protocol.Time        { return protocol.Never }
func (terms) Dropped(*protocol.View) []protocol.Dropped { return nil }
func (terms) Gone(view *protocol.View) protocol.Time    { return openFrom(view) }

// openFrom returns when no member outside the view holds anything. A member alone also has to wait for the clients of
// its own former life, and knows for how long.
func openFrom(view *protocol.View) protocol.Time {
	switch {
	case !view.Open:
		return protocol.Never
	case view.GrantFrom != protocol.Never:
		return view.GrantFrom
	}
	return 0
}

// Reign returns the epoch in which this member counts the tokens that it gives, and whether
// it is the grantor and knows everything that is held and waited for.
func (m *Machine) Reign() (epoch uint64, decides bool) { return m.part.Reign(), m.part.Decides() }

// Wake returns when there is something to do.
func (m *Machine) Wake() protocol.Time {
	at := min(m.part.Wake(), m.seekFrom)
	for _, t := range m.transfers {
		at = min(at, t.deadline)
	}
	if !m.admitted() {
		return at // no member can be asked anything
	}
	at = min(at, m.seekWake(), m.transferWake(), m.operatorsWake(), m.reliefWake(), m.placementWake())
	if m.elder != nil {
		at = min(at, m.elderWake())
	}
	return at
}

// Step processes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev.Kind {
	case protocol.Tick:
		m.onTick(now, out)
	case protocol.Call:
		m.onCall(now, ev, out)
	case protocol.Receive:
		m.onReceive(now, ev, out)
	case protocol.Raised:
		m.onRaised(now, ev, out)
	}
	m.tend(now, out)
}

func (m *Machine) onTick(now protocol.Time, out *protocol.Effects) {
	m.part.Step(now, protocol.Event{Kind: protocol.Tick}, out)
	m.seekTick(now, out)
	m.transferTick(now, out)
	m.operatorsTick(now, out)
	m.relieve(now, out)
	if m.elder != nil {
		m.elderTick(now, out)
	}
}

// onRaised handles the membership's facts.
func (m *Machine) onRaised(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		m.onView(now, fact, out)
	case *protocol.Halted:
		m.halted = true
		m.part.Halt(now, out)
	case *protocol.Lapsed:
		m.onLapsed(now, fact, out)
	}
}

// admitted reports whether the newest view has this member in its present tenure, and no
// other is about to come.
func (m *Machine) admitted() bool {
	return m.view != nil && !m.halted && m.own().ID != 0
}

// own returns this member's place in the newest view; the zero Place if it has none under its present tenure.
func (m *Machine) own() Place {
	place, _ := m.placeOf(m.self)
	if place.Tenure != m.view.Lease.Tenure {
		return Place{}
	}
	return place
}

// present reports whether a place is one of the newest view.
func (m *Machine) present(p Place) bool {
	place, listed := m.placeOf(p.ID)
	return listed && place == p
}

// sits reports whether the newest view has a member under that tenure.
func (m *Machine) sits(id protocol.ID, tenure protocol.Tenure) bool {
	place, listed := m.placeOf(id)
	return listed && place.Tenure == tenure
}

// placeOf is a member's place in the newest view.
func (m *Machine) placeOf(id protocol.ID) (place Place, listed bool) {
	if m.view == nil {
		return Place{}, false
	}
	member, listed := m.view.Of(id)
	if !listed {
		return Place{}, false
	}
	return Place{id, member.Tenure, member.Since}, true
}

// elderPlace is the elder: the member that coordinates the view.
func (m *Machine) elderPlace() Place {
	if m.view == nil {
		return Place{}
	}
	place, _ := m.placeOf(m.view.Coordinator)
	return place
}

// tend handles the consequences of any event: this member needs a grantor and knows none, a reign has no tokens left,
// parked messages can be answered.
func (m *Machine) tend(now protocol.Time, out *protocol.Effects) {
	m.tendPlacement(now, out)
	calm := m.calm()
	if calm && m.tended == m.view {
		return // as it was the last time
	}
	m.tended = nil
	if calm {
		m.tended = m.view
	}
	if m.part.Decides() && !m.clearing() && len(m.parked) > 0 {
		m.unpark(now, out)
	}
	m.tendLeaving(now, out)
	m.settleInvitations(now, out)
	m.part.SetAbout(authority.About{Elder: m.elderPlace().ID, Transfers: m.handovers()})
	if !m.admitted() || m.seek != nil {
		return
	}
	unknown := m.reign.Authority == 0 && m.seekFrom == protocol.Never
	switch {
	case m.successor != nil && !m.successor.lost:
	case m.successor != nil || m.part.Exhausted():
		m.ask(now, Count, out)
	case m.becoming && m.reign.Authority != m.self:
		m.ask(now, Become, out)
	case unknown && m.part.Wants():
		m.ask(now, Get, out)
	case unknown && m.part.HasQueries():
		m.ask(now, Peek, out)
	}
	m.settleInvitations(now, out)
}

// calm reports whether a member grants, and nothing is pending here that an event could advance: the normal state, in
// which locks must cost the same as without moving grantors.
func (m *Machine) calm() bool {
	return m.reign.Authority != 0 && (m.reign.Authority != m.self || m.part.Decides()) &&
		m.seek == nil && m.successor == nil && m.handover == nil && m.leaving == nil && !m.becoming && !m.departing &&
		len(m.parked)+len(m.invited)+len(m.transfers) == 0 && (m.elder == nil || m.elder.deposing == nil) &&
		!m.part.Closed() && !m.part.Exhausted()
}

// Ignored notes a message without effect.
type Ignored struct{ What string }

func (n Ignored) String() string { return "ignored " + n.What }
