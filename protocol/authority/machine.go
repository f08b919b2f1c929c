package authority

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/option"
)

// Config is a member's configuration, in any protocol.
type Config struct {
	// Self is this member's id. Required.
	Self protocol.ID
	// Table configures the authority's table; LocksPerSession also limits a holder's records for one session. The zero
	// value has the table's defaults. All members have the same.
	Table lock.Config
	// Patience is T: how long an answer is waited for before a message is repeated,
	// first; each time twice as long, up to eight times as long. Zero means 250 ms.
	Patience time.Duration
	// Operators is the maximum number of operators' calls that wait for the authority's answer at this member. Zero
	// means 64.
	Operators int
	// Any means that the space is in partition mode any, of class available: every side of a partition continues. Zero
	// means primary, of class fenced.
	Any bool
	Tuning
}

// Tuning is for tests.
type Tuning struct {
	// Chunk is the number of requests in one InfoAnswer, of holders and waiters in one Answer, and of both in a part of
	// a handed-over table. Zero means 512, and 1024 is the maximum.
	Chunk int
}

// List binds the fields.
func (t *Tuning) List() option.List {
	return option.List{{
		Name: "chunk", Value: option.Count[int]{At: &t.Chunk, Most: 1024}, Tuning: true, Local: true,
		Help: "How many requests, holders or waiters one message has.",
	}}
}

// Rules are a protocol's choices for its authority: the same at all members, regardless of their configuration.
type Rules struct {
	// Title is the protocol's name for its authority, for display. Required.
	Title string
	// Terms are how the protocol reads a view. Required.
	Terms Terms
	// Outlives means that a reign continues when the view's epoch changes, as long as the view has its authority. Zero
	// means that it ends with its epoch.
	Outlives bool
	// HoldOn is how long a member keeps an exclusive grant that no client uses and no other has requested (keep.go).
	// Zero means not at all.
	HoldOn time.Duration
	// GrantCount means that an authority counts its grants (Machine.GrantCount). Zero means that it does not.
	GrantCount bool
}

// resolve replaces zeros with defaults, and returns an error for invalid values.
func (c *Config) resolve() error {
	if c.Patience == 0 {
		c.Patience = 250 * time.Millisecond
	}
	if c.Chunk == 0 {
		c.Chunk = 512
	}
	if c.Operators == 0 {
		c.Operators = 64
	}
	if c.Table.LocksPerSession == 0 {
		c.Table.LocksPerSession = lock.DefaultLocksPerSession
	}
	switch {
	case c.Self == 0:
		return flaw("Self", 0, "give the member's id")
	case c.Patience < 0:
		return flaw("Patience", c.Patience, "a positive duration is allowed, and 0 for its default")
	case c.Chunk < 0 || c.Chunk > maxChunk:
		return flaw("Chunk", c.Chunk, fmt.Sprintf("1 to %d is allowed, and 0 for its default", maxChunk))
	case c.Operators < 0:
		return flaw("Operators", c.Operators, "a positive number is allowed, and 0 for its default")
	}
	return nil
}

// flaw names a field, its value and the allowed ones. The protocol adds the field's owner.
func flaw(field string, value any, allowed string) error {
	return fmt.Errorf("%s is %v; %s", field, value, allowed)
}

func (r *Rules) check() error {
	switch {
	case r.Title == "":
		return fmt.Errorf("Rules.Title is empty; give the word for the member that decides")
	case r.Terms == nil:
		return fmt.Errorf("Rules.Terms is nil; give the protocol's")
	case r.HoldOn < 0:
		return fmt.Errorf("Rules.HoldOn is %v; a positive duration is allowed, and 0 for none", r.HoldOn)
	}
	return nil
}

// maxChunk keeps a chunk of the longest names and texts below the maximum size of a message.
const maxChunk = 1024

// Machine is one member's part: the holder's role always, the authority's while it is one.
type Machine struct {
	config configuration
	self   protocol.ID
	view   *protocol.View  // the newest; nil before the first
	lease  *protocol.Lease // this member's standing; nil before the first view
	reign  Reign           // of the newest view
	halted bool            // promised to a candidate, or the role has ended: no member decides under the view any more

	// deciding means that this member's clients are in the table, and not in records: it is the authority, and has
	// reconciled.
	deciding  bool
	authority *authority // nil unless this member is the authority
	holder    holder
	calls     *admin.Calls[addressee]
	instance  instance
	lost      protocol.Lost
	executed  map[protocol.ID]*executed // what other members' operators have had done, in all reigns of this member
	about     About
	current   currentCall
	scratch   []lock.Decision
}

// configuration is the member's and the protocol's settings.
type configuration struct {
	Config
	Rules
}

// Reign is an authority's uninterrupted term, as the protocol knows it under the newest
// view.
type Reign struct {
	// Authority is the member that decides; 0 while none is known to.
	Authority protocol.ID
	// Version identifies a reign. Messages under another one are void.
	Version Version
	// Settled means that no client holds or waits for anything when the reign begins, so that no reports are requested.
	Settled bool
	// Number is the reign's, the high part of every token given in it; Count is the start of the count.
	Number uint64
	Count  uint32
}

// Version names a reign. They are compared by epoch, then by number; no two reigns of a
// space have the same.
type Version struct {
	Epoch  uint64 // the counter of the epoch in which it began
	Number uint64 // within the epoch; 0 if an epoch has one reign
}

// Before orders versions.
func (v Version) Before(o Version) bool {
	return v.Epoch < o.Epoch || v.Epoch == o.Epoch && v.Number < o.Number
}

// Terms are a protocol's reading of a view: when its authority may act, and when lost members' holds are free. They
// have no state.
type Terms interface {
	// From is when a reign may begin to grant, as far as the view says; Never while that
	// is unknown.
	From(view *protocol.View) protocol.Time
	// Until is when the right to grant ends, in addition to the member's own lease.
	Until(view *protocol.View) protocol.Time
	// Dropped returns the tenures that the view has dropped, and when their holds are free; Gone returns when the holds
	// of others are free that are no longer in the view.
	Dropped(view *protocol.View) []protocol.Dropped
	Gone(view *protocol.View) protocol.Time
}

// About is a protocol's addition to the space's condition.
type About struct {
	Elder     protocol.ID
	Transfers []protocol.Handover // that involve this member
}

// SetAbout sets the addition to the space's condition.
func (m *Machine) SetAbout(about About) { m.about = about }

// currentCall is the call that is being answered within this step: the immediate answer goes to the caller, and not to
// its session.
type currentCall struct {
	call    protocol.CallID
	session lock.SessionID
	request uint64
}

// New returns a member's machine. The error names the invalid field; the protocol adds the field's owner.
func New(c Config, r Rules) (*Machine, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if _, err := lock.New(c.Table); err != nil {
		return nil, err
	}
	m := &Machine{config: configuration{c, r}, self: c.Self, holder: newHolder(), executed: map[protocol.ID]*executed{}}
	m.calls = admin.New(admin.Config{Operators: c.Operators, Chunk: c.Chunk, Patience: c.Patience}, operators{m})
	return m, nil
}

// Config returns this member's configuration, with the defaults in the place of zeros.
func (m *Machine) Config() Config { return m.config.Config }

// Wake returns when the holder or the authority has something to do.
func (m *Machine) Wake() protocol.Time {
	at := m.holderWake()
	if m.authority != nil {
		at = min(at, m.authorityWake())
	}
	return at
}

// Step processes a Tick, a Call or a message; views and the membership's other facts have separate methods. First,
// everything that the lease no longer covers ends.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if m.holder.unconfirmed > 0 {
		m.endCarried(now, out)
	}
	switch ev.Kind {
	case protocol.Tick:
		m.onTick(now, out)
	case protocol.Call:
		m.onCall(now, &ev, out)
	case protocol.Receive:
		m.onReceive(now, ev, out)
	}
	if m.authority != nil {
		m.answerVisits(now, out)
	}
	if !m.config.Outlives && m.Closing() {
		m.Conclude(out)
	}
}

// onTick does the work that is due, in both roles.
func (m *Machine) onTick(now protocol.Time, out *protocol.Effects) {
	if m.authority != nil {
		m.authorityTick(now, out)
	}
	m.holderTick(now, out)
}

// onCall handles a request of this member's clients, or of an operator.
func (m *Machine) onCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	if !m.deciding {
		m.holderCall(now, *ev, out)
		return
	}
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		m.current = currentCall{ev.Call, fact.Session, fact.ID}
		m.authorityAcquire(now, fact, out)
	case *protocol.Release:
		m.current = currentCall{ev.Call, fact.Session, fact.Request}
		m.authorityRelease(now, fact, out)
	case *protocol.Cancel:
		m.current = currentCall{ev.Call, fact.Session, fact.Request}
		m.authorityCancel(now, fact, out)
	case *protocol.Extend:
		m.current = currentCall{ev.Call, fact.Session, fact.Request}
		m.authorityExtend(now, fact, out)
	case *protocol.Amend:
		m.current = currentCall{ev.Call, fact.Session, fact.Request}
		m.authorityAmend(now, fact, out)
	case *protocol.EndSession:
		m.authorityEndSession(now, fact, out)
	case *protocol.Revoke:
		m.revokeSession(now, fact.Session, fact.Why, fact.Refusal(), out)
	default:
		if !admin.OfSession(ev, m.authority.table, out) {
			m.operate(now, *ev, out)
		}
		return
	}
	m.current = currentCall{}
}

// onReceive handles a message from another member's role. The transport authenticates its sender; its contents are
// checked.
func (m *Machine) onReceive(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch msg := ev.Fact.(type) {
	case Decided:
		m.onDecided(now, ev.From, &msg, out)
	case InfoRequest:
		m.onInfoRequest(now, ev.From, &msg, out)
	case Answer:
		m.onAnswer(now, ev.From, &msg, out)
	case Acks:
		if m.authority == nil {
			m.onAcks(now, ev.From, &msg, out)
			return
		}
		m.onHolder(now, ev, &msg.Stamp, out)
	case interface{ Stamped() Stamp }:
		s := msg.Stamped()
		m.onHolder(now, ev, &s, out)
	default:
		out.Note(Ignored{What: fmt.Sprintf("message %v from member %d: unknown", ev.Fact, ev.From)})
	}
}

// holderDecided passes on a decision of this member's own table: the first one about this step's call answers it; every
// other goes to its session. A release by token alone (request 0) is answered by the release it caused.
func (m *Machine) holderDecided(d *lock.Decision, out *protocol.Effects) {
	var to protocol.CallID
	if a := &m.current; a.call != (protocol.CallID{}) && d.Session == a.session && (d.Request == a.request || a.request == 0) {
		to = a.call
		a.call = protocol.CallID{}
	}
	out.Decide(to, d)
}

// class is the safety class of the space.
func (m *Machine) class() holdfast.Class {
	if m.config.Any {
		return holdfast.Available
	}
	return holdfast.Fenced
}

// Ignored notes a message without effect.
type Ignored struct{ What string }

func (n Ignored) String() string { return "ignored " + n.What }
