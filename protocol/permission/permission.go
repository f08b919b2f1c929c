package permission

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// Config is a member's configuration.
type Config struct {
	// Self is this member's id. Required.
	Self protocol.ID
	// Table limits the requests of this member's own clients; the zero value has the table's defaults. All members have
	// the same.
	Table lock.Config
	// Patience is T: how long an answer is waited for before a message is repeated, first;
	// each time twice as long, up to eight times as long. Zero means 250 ms.
	Patience time.Duration
	// Options are those of the space.
	Options
}

// resolve replaces zeros with defaults, and returns an error for invalid values.
func (c *Config) resolve() error {
	if c.Patience == 0 {
		c.Patience = 250 * time.Millisecond
	}
	if c.Operators == 0 {
		c.Operators = 64
	}
	switch {
	case c.Self == 0:
		return fmt.Errorf("permission: Self is 0; give the member's id")
	case c.Patience < 0:
		return fmt.Errorf("permission: Patience is %v; a positive duration is allowed, and 0 for its default", c.Patience)
	case c.Operators < 0:
		return fmt.Errorf("permission: Operators is %d; a positive number is allowed, and 0 for its default", c.Operators)
	}
	return nil
}

// Machine is one member's part: a peer.
type Machine struct {
	config   Config
	self     protocol.ID
	standing *local.Standing
	clients  *local.Clients[*request]
	survey   *local.Survey[*request] // what operators ask
	peers    []peer                  // the others of the view, in order of seniority
	// absent is the number of departed members that may still hold something, as far as known; unknownCount if no
	// member here knows.
	absent   int
	openFrom protocol.Time // when an open view lets this member count them as gone

	clock     uint64         // the highest that was seen, or given to a stamp
	lastStamp uint64         // the clock of the latest one
	given     holdfast.Token // the highest token that this member has given
	slot      int            // from 1, unlike any other's of the view; 0 before it is known
	floor     uint64         // above it are the tokens of those who were lost
	learned   bool           // every member of the view has sent its clock since this one is in it
	unsaid    bool           // what is not answered has not been asked under this view yet
	clockDue  protocol.Time  // when to ask again
	clockWait protocol.Time
	wanted    protocol.Epoch // the epoch whose tokens were found to be used up

	names     map[string]*name
	active    map[uint64]*request // by number: those that ask, or have entered
	unstamped []*request          // in order of arrival
	numbers   uint64
	lapses    uint64 // of the tenure that they are given in
	reminders protocol.Reminders[due]
	leaseDue  protocol.Time // when to look again whether there is a lease
	recount   bool          // the set of members that this one does not hear may have changed
	complains bool          // the membership knows that there are some
	recent    recent        // names whose permissions are kept

	touched []*name
	again   []again // permissions that were given back and are wanted
}

// New returns a member's machine. The error names the invalid field.
func New(c Config) (*Machine, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	m := &Machine{
		config: c, self: c.Self, standing: &local.Standing{Self: c.Self}, absent: unknownCount, openFrom: protocol.Never,
		clockDue: protocol.Never, leaseDue: protocol.Never,
		names: map[string]*name{}, active: map[uint64]*request{},
	}
	var err error
	m.clients, err = local.New(local.Config{
		Protocol: "permission", Table: c.Table, Patience: c.Patience, Operators: c.Operators,
	}, m.standing, requests{m})
	if err != nil {
		return nil, err
	}
	m.survey = local.NewSurvey(m.clients)
	return m, nil
}

// Wake returns when there is something to do.
func (m *Machine) Wake() protocol.Time {
	at := min(m.clients.Wake(), m.survey.Wake())
	if m.standing.Admitted() {
		at = min(at, m.reminders.First(), m.clockDue, m.leaseDue)
		if m.absent != 0 {
			at = min(at, m.openFrom)
		}
	}
	return at
}

// Step processes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch ev.Kind {
	case protocol.Tick:
		m.onTick(now, out)
	case protocol.Call:
		m.onCall(now, &ev, out)
	case protocol.Receive:
		m.onReceive(now, ev, out)
	case protocol.Raised:
		m.onRaised(now, ev, out)
	}
	m.settle(now, out)
	m.needEpoch(out)
	m.sayUnheard(out)
	m.clients.Conclude(out)
}

func (m *Machine) onTick(now protocol.Time, out *protocol.Effects) {
	m.clients.Tick(now, out)
	m.survey.Tick(now, out)
	if !m.standing.Admitted() {
		return
	}
	if m.absent != 0 && m.openFrom <= now {
		m.absent = 0
		m.attendAll(now, out)
	}
	if m.clockDue <= now {
		m.askClocks(now, out)
	}
	if m.leaseDue <= now {
		m.leaseDue = protocol.Never
		m.attendAll(now, out)
	}
	m.repeat(now, out)
}

// onRaised handles the membership's facts.
func (m *Machine) onRaised(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		m.onView(now, fact, out)
	case *protocol.Halted:
		m.standing.Halted = true
		m.clients.Pause()
	case *protocol.Lapsed:
		m.onLapsed(now, fact.Tenure, out)
	}
}

// onReceive handles a peer's message. The transport authenticates its sender; its contents are checked.
func (m *Machine) onReceive(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	tagged, known := ev.Fact.(interface{ Tagged() local.Tag })
	if !known {
		out.Note(local.Ignored{What: fmt.Sprintf("message %v from member %d: unknown", ev.Fact, ev.From)})
		return
	}
	if !m.standing.Hears(ev, tagged.Tagged(), out) {
		return
	}
	m.heardFrom(ev.From)
	if err := m.impossible(ev.Fact); err != nil {
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d: %v", ev.Fact, ev.From, err)})
		return
	}
	switch msg := ev.Fact.(type) {
	case Request:
		m.onRequest(now, ev.From, &msg, out)
	case Reply:
		m.onReply(now, ev.From, &msg, out)
	case Free:
		m.onFree(now, ev.From, &msg, out)
	case Defer:
		m.onDefer(now, ev.From, &msg, out)
	case CapacityConflict:
		m.onCapacityConflict(now, ev.From, &msg, out)
	case ClockRequest:
		// A member that asks usually has no slot yet, and takes one by the answers: only its answer to this member
		// counts as its clock.
		m.onClock(now, ev.From, msg.Clock, msg.Slot, false, out)
		out.Send(ev.From, ClockAnswer{Tag: m.standing.Tag(), Clock: m.clock, Slot: m.slot})
	case ClockAnswer:
		m.onClock(now, ev.From, msg.Clock, msg.Slot, true, out)
	case local.Query:
		m.survey.OnQuery(now, ev.From, &msg, out)
	case local.Answer:
		m.survey.OnAnswer(now, ev.From, &msg, out)
	}
}
