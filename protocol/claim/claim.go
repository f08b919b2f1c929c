package claim

import (
	"fmt"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
	"github.com/holdfast-locks/holdfast/storage"
)

var _ protocol.Assures = (*Machine)(nil)

// Machine is one process's part: the mediator of its own clients, which claims for them.
type Machine struct {
	config   Config
	standing *local.Standing
	clients  *local.Clients[*request]
	survey   *local.Survey[*request] // what operators ask

	changed   bool      // settings were removed from the store: rows may have the tokens of both ways to lock
	agreement agreement // with the other users of the store
	clock     reading   // of the store's clock, if claims are dated by it
	clockDue  protocol.Time
	leaseDue  protocol.Time // when to look again whether there is a lease
	lapsing   bool          // what ends now is lost with the member's lease

	now     protocol.Time // of this step
	endings endings
	memory  memory // of cells
	holding struct {
		kept      uint64 // cells, at present
		regranted uint64 // without a write
		rewritten uint64 // while no client had them
		yielded   uint64 // while others waited
	}
	cleaned       map[string]protocol.Time
	cleanedLiving int

	names       map[string]*name
	inquiries   map[uint64]inquiry // of the store, by number
	lastInquiry uint64
	floor       int64 // above it are the timestamps of names that were forgotten
	random      uint64
	reminders   protocol.Reminders[due]
	ends        protocol.Reminders[due] // when the names' claims do, as far as they were not renewed since
	touched     []*name
}

// request is one of this process's clients', for an exclusive lock.
type request struct {
	local.Request
	belief protocol.Time // how long its client may believe after it was last heard
}

// due is the subject of a reminder.
type due struct{ text string }

// Before orders reminders due at the same time.
func (d due) Before(other due) bool { return d.text < other.text }

// inquiryKind is the kind of a request to the store.
type inquiryKind uint8

const (
	inquiryClock     inquiryKind = iota + 1 // to date a claim
	inquiryTime                             // to read the row
	inquiryWrite                            // of a claim
	inquiryRead                             // of the row
	inquiryRewrite                          // of a claim's column, in place
	inquirySweep                            // deletion of claims
	inquirySwap                             // of a cell
	inquiryCell                             // its contents
	inquiryFormer                           // what the other way to lock has left
	inquiryOld                              // claims that have expired
	inquiryCleaning                         // their deletion
	inquirySettings                         // those of the others
	inquiryAgreement                        // to write ours down
	inquiryStoreTime
)

// inquiry is a request to the store that is under way.
type inquiry struct {
	kind  inquiryKind
	name  *name // nil if it is about none
	claim *claim
	stamp int64 // inquiryWrite: of the column
	since protocol.Time
}

// New returns a process's machine. The error names the invalid field, or the contradiction.
func New(c Config) (*Machine, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	m := &Machine{
		config: c, standing: &local.Standing{Self: c.Self}, clockDue: protocol.Never, leaseDue: protocol.Never,
		names: map[string]*name{}, inquiries: map[uint64]inquiry{}, random: c.Random,
	}
	m.agreement.due = protocol.Never
	var err error
	m.clients, err = local.New(local.Config{
		Protocol: "claim", Table: c.Table, Patience: c.Patience, Operators: c.Operators,
		Answers: int((authorityWait + c.Patience - 1) / c.Patience),
	}, m.standing, requests{m})
	if err != nil {
		return nil, err
	}
	m.survey = local.NewSurvey(m.clients)
	return m, nil
}

// Wake returns when there is something to do.
func (m *Machine) Wake() protocol.Time {
	return min(m.clients.Wake(), m.survey.Wake(), m.reminders.First(), m.agreement.due, m.clockDue, m.leaseDue)
}

// Step processes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.now = now
	switch ev.Kind {
	case protocol.Start:
		m.readSettings(now, out)
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
	m.clients.Conclude(out)
}

func (m *Machine) onTick(now protocol.Time, out *protocol.Effects) {
	m.clients.Tick(now, out)
	m.survey.Tick(now, out)
	if m.agreement.due <= now {
		m.readSettings(now, out)
	}
	if m.leaseDue <= now {
		m.leaseDue = protocol.Never
		m.resume(now, out)
	}
	if m.clockDue <= now {
		m.clockDue = protocol.Never
		m.touchUndated()
	}
	for m.reminders.First() <= now {
		r := m.reminders.Pop()
		if n := m.names[r.Key.text]; n != nil && n.reminded == r.At {
			n.reminded = protocol.Never
			m.touch(n)
		}
	}
}

// onReceive handles the store's answers, and other members' messages for operators.
func (m *Machine) onReceive(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.From == protocol.Storage {
		m.onStored(now, ev.Fact, out)
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
	switch msg := ev.Fact.(type) {
	case local.Query:
		m.survey.OnQuery(now, ev.From, &msg, out)
	case local.Answer:
		m.survey.OnAnswer(now, ev.From, &msg, out)
	}
}

// onStored handles the store's answer to any request.
func (m *Machine) onStored(now protocol.Time, fact any, out *protocol.Effects) {
	var id uint64
	switch fact := fact.(type) {
	case storage.Changed:
		if n := m.byRow(fact.Key); n != nil {
			n.changed = true
			m.touch(n)
		}
		return
	case storage.Attended:
		m.onAttended(fact, out)
		return
	case storage.Awaited:
		m.onAwaited(now, fact)
		return
	case storage.Mutated:
		id = fact.ID
	case storage.Sliced:
		id = fact.ID
	case storage.Swapped:
		id = fact.ID
	case storage.Clocked:
		id = fact.ID
	}
	a, known := m.inquiries[id]
	if !known {
		out.Note(local.Ignored{What: fmt.Sprintf("%v: it was not asked for", fact)})
		return
	}
	delete(m.inquiries, id)
	if a.name != nil {
		a.name.inquiries--
		m.touch(a.name)
	}
	if a.claim != nil {
		a.claim.waits = false
	}
	switch fact := fact.(type) {
	case storage.Clocked:
		m.onClocked(now, a, fact, out)
	case storage.Mutated:
		m.onMutated(now, a, fact, out)
	case storage.Sliced:
		m.onSliced(now, a, fact, out)
	case storage.Swapped:
		m.onSwapped(now, a, fact, out)
	}
}

func (m *Machine) onMutated(now protocol.Time, a inquiry, done storage.Mutated, out *protocol.Effects) {
	switch a.kind {
	case inquiryWrite:
		m.onWritten(now, a, done.Err, out)
	case inquiryRewrite:
		m.onRewritten(now, a, done.Err, out)
	case inquirySweep:
		m.onSwept(now, a.name, done.Err, out)
	case inquiryAgreement:
		m.onAgreementWritten(now, done.Err, out)
	case inquiryCleaning: // regardless of the outcome: leftovers are cleaned another time
	}
}

func (m *Machine) onSliced(now protocol.Time, a inquiry, read storage.Sliced, out *protocol.Effects) {
	switch a.kind {
	case inquiryRead:
		m.onRead(now, a, read, out)
	case inquiryCell:
		m.onCell(now, a, read, out)
	case inquiryFormer:
		m.onFormer(now, a, read, out)
	case inquirySettings:
		m.onSettings(now, read, out)
	case inquiryOld:
		m.clean(now, a.name, read, out)
	}
}

// inquire records the next request to the store, and returns its number.
func (m *Machine) inquire(now protocol.Time, kind inquiryKind, n *name, c *claim, stamp int64) uint64 {
	m.lastInquiry++
	m.inquiries[m.lastInquiry] = inquiry{kind, n, c, stamp, now}
	if n != nil {
		n.inquiries++
	}
	if c != nil {
		c.waits = true
	}
	return m.lastInquiry
}

// ready reports whether anything can be claimed.
func (m *Machine) ready() bool { return m.agreement.accepted && m.standing.Admitted() }

// serves reports whether this member may grant now: it may be admitted and have no lease
// yet.
func (m *Machine) serves() bool { return m.ready() && m.now < m.standing.View.Lease.Member }

// awaitLease soon checks again for a lease: no event announces it.
func (m *Machine) awaitLease() {
	if m.ready() && !m.serves() {
		m.leaseDue = min(m.leaseDue, m.now+m.config.Patience)
	}
}

// onRaised handles the membership's facts. Claims do not depend on views; but the sessions of this member's clients do,
// and end with its lease.
func (m *Machine) onRaised(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	switch fact := ev.Fact.(type) {
	case *protocol.View:
		m.onView(now, fact, out)
	case *protocol.Lapsed:
		m.clients.Pause()
		m.standing.Leave()
		m.survey.End(now, out)
		m.lose(now, out)
	}
}

func (m *Machine) onView(now protocol.Time, view *protocol.View, out *protocol.Effects) {
	before := m.standing.View
	same := m.standing.Take(view)
	if before != nil && m.standing.Place.ID != 0 && m.standing.Place.Tenure != view.Lease.Tenure {
		m.lose(now, out)
	}
	anew := m.standing.Settle()
	if !m.standing.Admitted() {
		m.clients.Pause()
		m.letAllGo()
		return
	}
	if anew || before == nil || before.Epoch != view.Epoch {
		// All holds of this process are in the store, so no member needs to confirm them.
		out.Raise(&protocol.Confirmed{Epoch: view.Epoch.Counter})
	}
	if !same {
		m.survey.Renew(now, out)
	}
	m.resume(now, out)
	for _, early := range m.standing.Early() {
		m.onReceive(now, early, out)
	}
}

// lose ends all holds, because the member's lease has ended. Clients outside this process may believe for some time
// longer: their claims stay for that long.
func (m *Machine) lose(now protocol.Time, out *protocol.Effects) {
	m.lapsing = true
	m.clients.Lose(now, holdfast.MemberLost, out)
	m.lapsing = false
	m.letAllGo()
}

// resume accepts requests, once there is a view and an agreement.
func (m *Machine) resume(now protocol.Time, out *protocol.Effects) {
	if !m.ready() {
		return
	}
	m.clients.Resume(now, out)
	for _, r := range m.clients.Waiting() {
		m.touch(m.names[r.Key.Name])
	}
}

// Assured returns until when this process's holds are safe, by its own clock: a hold that cannot be renewed in time is
// lost before that. Users within the process compare it with the clock themselves.
func (m *Machine) Assured() protocol.Time {
	for m.ends.First() != protocol.Never {
		r := m.ends.First()
		top := m.ends.Pop()
		if n := m.names[top.Key.text]; n != nil && n.mine != nil && n.holder != nil && n.mine.end == r {
			m.ends.Push(r, top.Key)
			return r
		}
	}
	return protocol.Never
}

// stretch returns how long to wait so that d passes on every clock.
func (m *Machine) stretch(d protocol.Time) protocol.Time {
	return lock.Stretch(d, m.config.Table.Drift)
}

func (m *Machine) shrink(d protocol.Time) protocol.Time {
	return lock.Shrink(d, m.config.Table.Drift)
}

// jitter draws a time from half of d to d and a half.
func (m *Machine) jitter(d protocol.Time) protocol.Time {
	// A step of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): all that is needed is that no two
	// processes draw the same.
	m.random += 0x9e3779b97f4a7c15
	z := m.random
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	z ^= z >> 31
	return d/2 + protocol.Time(z%uint64(max(1, d)))
}
