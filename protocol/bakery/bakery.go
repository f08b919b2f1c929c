package bakery

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// Config is a member's configuration.
type Config struct {
	// Self is this member's id. Required.
	Self protocol.ID
	// Founders is the number of the cluster's founders: snaplock's number of neighbours. Required. All members have the
	// same.
	Founders int
	// Table limits the requests of this member's own clients; the zero value has the table's defaults. All members have
	// the same.
	Table lock.Config
	// Patience is T: how long an answer is waited for before something is sent again, first;
	// each time twice as long, up to eight times as long. Zero means 250 ms.
	Patience time.Duration
	// Priority is this member's eligibility as a leader: 1 is the highest, 14 the lowest, and Off means never. Zero
	// means 14, as in snaplock.
	Priority int
	// Random distinguishes candidates of one priority, and determines which leader is asked first: drawn once, at the
	// start.
	Random uint32
	// PID is the process, which is part of a candidate's address. Zero means 1.
	PID int
	// Options are those of the space.
	Options
}

// Off is the Priority of a member that is never a leader.
const Off = protocol.NoCandidate

// defaultPriority is that of a member that has not been given any.
const defaultPriority = 14

// maxCapacity is the highest capacity of slots: leaders exchange the units' owners.
const maxCapacity = 4096

// resolve replaces zeros with defaults, and returns an error for invalid values.
func (c *Config) resolve() error {
	if c.Patience == 0 {
		c.Patience = 250 * time.Millisecond
	}
	if c.Operators == 0 {
		c.Operators = 64
	}
	if c.Priority == 0 {
		c.Priority = defaultPriority
	}
	if c.PID == 0 {
		c.PID = 1
	}
	c.Table.Permitted = true
	switch {
	case c.Self == 0:
		return fmt.Errorf("bakery: Self is 0; give the member's id")
	case c.Founders < 1:
		return fmt.Errorf("bakery: Founders is %d; give how many founders the cluster has, 1 or more", c.Founders)
	case c.Patience < 0:
		return fmt.Errorf("bakery: Patience is %v; a positive duration is allowed, and 0 for its default", c.Patience)
	case c.Operators < 0:
		return fmt.Errorf("bakery: Operators is %d; a positive number is allowed, and 0 for its default", c.Operators)
	case c.Priority < 1 || c.Priority > Off:
		return fmt.Errorf("bakery: Priority is %d; 1 to 14 is allowed, %d for off, and 0 for its default", c.Priority, Off)
	case c.PID < 0:
		return fmt.Errorf("bakery: PID is %d; a process has a positive number", c.PID)
	}
	return nil
}

// Machine is one member's part: for its own clients, as an elector, and as a leader.
type Machine struct {
	config   Config
	standing *local.Standing
	clients  *local.Clients[*request]
	survey   *local.Survey[*request]
	open     bool          // no member that has left the view can hold anything
	openFrom protocol.Time // when an open view lets this member count them as gone

	// As a member.
	poll     poll
	term     Election         // whose leaders this member talks to; zero if it knows none
	promised Term             // no older election is taken
	mine     map[Key]*request // those that have tickets
	ending   map[Key]*request // of those that were released, until their clients know
	byName   map[string][]*request
	ended    []*request // whose tickets are to be ended
	numbers  uint64
	next     int     // which leader gets the next request
	graces   []grace // of this member's clients
	leaseDue protocol.Time

	// Under a term.
	links     []*link // in order of ids
	hearSelf  []Body
	early     []protocol.Event // of a term that is about to come
	recount   bool             // the set of members that this one does not hear may have changed
	complains bool             // the membership knows that there are some

	// As a leader.
	leads  bool
	others []protocol.ID // the other leaders, by rank
	rank   int
	serves bool
	book   *book
	former *former // its state as a leader of the previous term, while that may be needed
	gather gather  // what a leader of a new term collects
	parked []parked
	// gracesDue is when the next grace of a member that has left ends.
	gracesDue protocol.Time
	used      bool          // the tokens of the term's epoch are used up
	usedDue   protocol.Time // when to say so again
	wanted    uint64        // the membership was asked for an epoch above this one
}

// New returns a member's machine. The error names the invalid field.
func New(c Config) (*Machine, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	m := &Machine{
		config: c, standing: &local.Standing{Self: c.Self}, openFrom: protocol.Never, leaseDue: protocol.Never, gracesDue: protocol.Never,
		mine: map[Key]*request{}, ending: map[Key]*request{}, byName: map[string][]*request{}, poll: poll{due: protocol.Never, again: protocol.Never},
		next: int(c.Random % 6), // by chance, whether leaders are two or three
	}
	clients, err := local.New[*request](local.Config{
		Protocol: "bakery", Table: c.Table, Patience: c.Patience, Operators: c.Operators, Answers: patienceOfTry,
	}, m.standing, proxy{m})
	if err != nil {
		return nil, err
	}
	m.clients, m.survey = clients, local.NewSurvey(clients)
	return m, nil
}

// patienceOfTry is how long a request that does not want to wait waits for the leaders, in units of
// patience.
const patienceOfTry = 4

// Wake returns when there is something to do.
func (m *Machine) Wake() protocol.Time {
	at := min(m.clients.Wake(), m.survey.Wake(), m.gracesWake())
	if m.standing.Admitted() {
		at = min(at, m.linksWake(), m.poll.due, m.poll.again, m.leaseDue)
		if !m.open {
			at = min(at, m.openFrom)
		}
		if m.used {
			at = min(at, m.usedDue)
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
	m.endTickets(now, out)
	m.hearOneself(now, out)
	m.sayUsed(now, out)
	m.sayUnheard(out)
	m.clients.Conclude(out)
}

func (m *Machine) onTick(now protocol.Time, out *protocol.Effects) {
	m.clients.Tick(now, out)
	m.survey.Tick(now, out)
	m.endGraces(now, out)
	if !m.standing.Admitted() {
		return
	}
	if !m.open && m.openFrom <= now {
		m.onOpen(now, out)
	}
	if m.leaseDue <= now {
		m.takeLocks(now, out)
	}
	m.pollTick(now, out)
	m.mindLinks(now, out)
}

// onCall handles a request of this member's clients, or of an operator.
func (m *Machine) onCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	if m.stopsInGrace(now, ev, out) || m.clients.OnCall(now, ev, out) || m.survey.OnCall(now, ev, out) {
		return
	}
	if !admin.Decline(ev, idsOf(m.term.Leaders), errTransfer, out) {
		out.Note(local.Ignored{What: fmt.Sprintf("call %T", ev.Fact)})
	}
}

var errTransfer = fmt.Errorf("%w: in protocol bakery leaders are elected", holdfast.ErrUnsupported)

// onRaised handles the membership's facts.
func (m *Machine) onRaised(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		m.onView(now, fact, out)
	case *protocol.Lapsed:
		m.leave(now, out)
	}
}

// onReceive handles a message. The transport authenticates its sender; its contents are checked.
func (m *Machine) onReceive(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if envelope, is := ev.Fact.(Envelope); is {
		m.onEnvelope(now, ev, &envelope, out)
		return
	}
	tagged, known := ev.Fact.(interface{ Tagged() local.Tag })
	if !known {
		out.Note(local.Ignored{What: fmt.Sprintf("message %v from member %d: unknown", ev.Fact, ev.From)})
		return
	}
	if !m.standing.Hears(ev, tagged.Tagged(), out) {
		return
	}
	if e := electionIn(ev.Fact); e != nil && !e.valid() {
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d: no such election can be", ev.Fact, ev.From)})
		return
	}
	switch msg := ev.Fact.(type) {
	case Started:
		m.onStarted(now, ev.From, &msg, out)
	case Elect:
		m.onElect(now, ev.From, &msg, out)
	case Elected:
		m.onElected(now, ev.From, &msg, out)
	case Leaders:
		m.onLeaders(now, ev.From, &msg, out)
	case Refused:
		m.onRefused(ev.From, &msg, out)
	case Exhausted:
		m.onExhausted(&msg, out)
	case local.Query:
		m.survey.OnQuery(now, ev.From, &msg, out)
	case local.Answer:
		m.survey.OnAnswer(now, ev.From, &msg, out)
	}
}

// onBody handles a member's message under the term.
func (m *Machine) onBody(now protocol.Time, from protocol.ID, body Body, out *protocol.Effects) {
	switch msg := body.(type) {
	case Locked:
		m.onLocked(now, from, &msg, out)
		return
	case Queued:
		m.onQueued(from, &msg, out)
		return
	case Failed:
		m.onFailed(now, from, &msg, out)
		return
	case Unlocked:
		m.onUnlocked(from, &msg, out)
		return
	case Tickets:
		if m.term.After != (Term{}) { // else the first leader lists the held tickets, when it serves
			m.onTickets(now, from, &msg, out)
			return
		}
	case Claim:
		if m.leads && m.term.After == (Term{}) && !m.serves {
			m.onClaimOfAll(now, from, &msg, out)
			return
		}
	}
	switch {
	case !m.leads:
		out.Note(local.Ignored{What: fmt.Sprintf("%v from member %d, for a leader", body, from)})
	case !m.serves:
		m.parked = append(m.parked, parked{from, body})
	default:
		m.dispatch(now, from, body, out)
	}
}

// parked is the messages that wait until a leader serves. Their sender limits their number.
type parked struct {
	from protocol.ID
	body Body
}

// dispatch passes a message to a leader that serves.
func (m *Machine) dispatch(now protocol.Time, from protocol.ID, body Body, out *protocol.Effects) {
	switch msg := body.(type) {
	case Lock:
		m.onLock(now, from, &msg, out)
	case Unlock:
		m.onUnlock(now, from, &msg, out)
	case Unlocking:
		m.onUnlocking(now, from, &msg, out)
	case Claim:
		m.onClaim(now, from, &msg, out)
	case Tickets:
		m.onNamed(now, from, &msg, out)
	case Raise:
		m.onRaise(now, from, &msg, out)
	case Entering:
		m.onEntering(now, from, &msg, out)
	case Entered:
		m.onEntered(now, from, &msg, out)
	case GetMax:
		m.onGetMax(now, from, &msg, out)
	case Max:
		m.onMax(now, &msg, out)
	case Add:
		m.onAdd(now, from, &msg, out)
	case Added:
		m.onAdded(now, from, &msg, out)
	case Exiting:
		m.onExiting(now, from, &msg, out)
	case Ready:
		m.onReady(from, &msg)
	case Activate:
		m.onActivate(now, from, &msg, out)
	case Activated:
		m.onActivated(now, from, &msg, out)
	case Drop:
		m.onDrop(now, from, &msg, out)
	}
}

// hearOneself processes this member's messages to itself, in order.
func (m *Machine) hearOneself(now protocol.Time, out *protocol.Effects) {
	for len(m.hearSelf) > 0 {
		said := m.hearSelf
		m.hearSelf = nil
		for _, body := range said {
			m.onBody(now, m.config.Self, body, out)
		}
		m.endTickets(now, out)
	}
}
