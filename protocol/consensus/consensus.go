package consensus

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
	"github.com/holdfast-locks/holdfast/protocol/consensus/group"
	"github.com/holdfast-locks/holdfast/protocol/consensus/shard"
	"github.com/holdfast-locks/holdfast/storage"
)

// Config is a member's configuration. Zero values have the documented defaults.
type Config struct {
	// Self is this member, and Life the number of its life, each higher than the previous one. Required.
	Self protocol.ID
	Life uint64
	// Founders is the number of the cluster's founders, and Founder whether this member is one. The only member of a
	// cluster is one. Zero means 1.
	Founders int
	Founder  bool
	// Space is the name of the space, for notes.
	Space string
	// Log is the journal's number of the first shard's log; the others follow. Logs are the existing ones, none before
	// the first start.
	Log  uint64
	Logs []storage.Kept
	// Table limits the locks; it is the same on all members. Sessions is the maximum number of sessions; zero means
	// 100,000.
	Table    lock.Config
	Sessions int
	// Lease is the member's lease, for display.
	Lease time.Duration
	// Heartbeat is how often a leader speaks. Zero means a tenth of Election.
	Heartbeat time.Duration
	// Random draws when a leader is sought.
	Random uint64
	// Above is a lower bound for the first reign of a new log: the second of the wall clock, from which epochs also
	// count ([membership.Second]). Tokens therefore do not go back if the log of an earlier space was lost or removed,
	// or if the space had another protocol, as long as the wall clock is not set back and there was at most one
	// election a second (docs/design/promises.md §5.5). Zero means that the first reign is 1.
	Above uint64
	// Options are those of the space.
	Options
}

// MaxShards is the maximum number of shards of a space.
const MaxShards = 256

func (c *Config) resolve() error {
	if c.Founders == 0 {
		c.Founders, c.Founder = 1, true
	}
	c.Shards = cmp.Or(c.Shards, 1)
	c.Election = cmp.Or(c.Election, time.Second)
	c.Operators = cmp.Or(c.Operators, 1000)
	c.Autopilot = cmp.Or(c.Autopilot, DefaultAutopilot)
	c.Table.Drift = cmp.Or(c.Table.Drift, lock.DefaultDrift)
	switch {
	case c.Self == protocol.Storage || c.Self >= protocol.Rumour:
		return fmt.Errorf("consensus: Self is %d; give the member's id", c.Self)
	case c.Log == 0:
		return fmt.Errorf("consensus: Log is 0; give the number of the first shard's log")
	case c.Operators < 0:
		return fmt.Errorf("consensus: Operators is %d; a positive number is allowed, and 0 for 1000", c.Operators)
	case c.Founders < 0:
		return fmt.Errorf("consensus: Founders is %d; a positive number is allowed", c.Founders)
	}
	return nil
}

var (
	_ protocol.Forwards = (*Machine)(nil)
	_ protocol.Assures  = (*Machine)(nil)
)

// Machine is one member's part of a space.
type Machine struct {
	config   Config
	now      protocol.Time // of this step
	view     *protocol.View
	instance protocol.Instance
	parts    []*part
	touched  []*part // have done something in this step
	cluster  uint64  // the number of the founders' ids; 0 until they are known
	foreign  uint64  // the number of a member that said another one
	failed   error   // what a journal has failed with

	clients    map[lock.SessionID]*client // that are served, by what the space calls them
	owns       map[lock.SessionID]*client // of them those of this process, by what the session machine calls them
	aliases    uint64                     // how many names those were given
	inquiries  map[uint64]*inquiry        // reads that are not answered
	lastNumber uint64                     // the latest number of one, of a beat or of a transfer
	adoptions  int                        // that wait
	calls      *admin.Calls[*part]        // of operators
	transfers  map[uint64]*transfer
	reforms    map[uint64]*reforming
	heard      map[protocol.ID]protocol.Time   // when, in any shard
	contacts   map[protocol.ID]*contact        // the links to them
	known      map[protocol.ID]protocol.Member // members of earlier views that are present or have a role
	longest    protocol.Time                   // for which a shard's leader may be silent
	leaving    bool                            // this member is to lead nothing
	spreading  spreading
	pilot      pilot
	waits      int        // requests of served sessions
	suspending []*request // of those requests the ones that suspend several shards
	reminders  protocol.Reminders[due]
}

// New returns a member's machine. The error names the invalid field, or the fault in a log's kept state.
func New(c Config) (*Machine, error) {
	if err := c.resolve(); err != nil {
		return nil, err
	}
	m := &Machine{
		config: c, clients: map[lock.SessionID]*client{}, owns: map[lock.SessionID]*client{},
		inquiries: map[uint64]*inquiry{}, transfers: map[uint64]*transfer{}, reforms: map[uint64]*reforming{},
		heard: map[protocol.ID]protocol.Time{}, contacts: map[protocol.ID]*contact{}, known: map[protocol.ID]protocol.Member{},
		spreading: spreading{leavers: map[protocol.ID]uint64{}}, pilot: pilot{away: map[protocol.ID]protocol.Time{}},
		lastNumber: c.Life << 40, // an answer to a former life is none to this one
	}
	m.calls = newCalls(m)
	for i := range c.Shards {
		m.parts = append(m.parts, &part{index: i, work: map[uint64]*work{}, wake: protocol.Never})
	}
	for i := range c.Logs {
		if err := m.recover(&c.Logs[i]); err != nil {
			return nil, err
		}
	}
	m.config.Logs = nil // it is much, and read
	return m, nil
}

// Wake returns when there is something to do.
func (m *Machine) Wake() protocol.Time {
	at := m.reminders.First()
	if m.failed != nil {
		return at
	}
	for _, p := range m.parts {
		at = min(at, p.wake)
	}
	return at
}

// Step processes one event.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	m.now = now
	switch ev.Kind {
	case protocol.Start:
		m.begin(out)
	case protocol.Tick:
		m.tick(out)
	case protocol.Call:
		m.onCall(&ev, out)
	case protocol.Receive:
		m.onReceive(&ev, out)
	case protocol.Raised:
		m.onRaised(&ev, out)
	}
	m.settle(out)
}

// tick does the work that is due. When this member's participation has ended that is only to refuse requests that have
// waited for long enough.
func (m *Machine) tick(out *protocol.Effects) {
	for _, p := range m.parts {
		if p.wake <= m.now && m.failed == nil {
			p.shard.Tick(m.now, &p.output)
			m.touch(p)
		}
	}
	for m.reminders.First() <= m.now {
		if d := m.reminders.Pop().Key; m.failed == nil || d.what == dueRequest {
			m.remind(d, out)
		}
	}
}

// onReceive handles the journal's answers, and other members' messages.
func (m *Machine) onReceive(ev *protocol.Event, out *protocol.Effects) {
	if ev.From == protocol.Storage {
		m.onStored(ev.Fact, out)
		return
	}
	envelope, is := ev.Fact.(Envelope)
	if !is || int(envelope.Shard) >= len(m.parts) || envelope.Body == nil {
		out.Note(Ignored{fmt.Sprintf("message %v of member %d, which this space does not know", ev.Fact, ev.From)})
		return
	}
	if !m.hears(&envelope, ev.From, out) {
		return
	}
	if envelope.Carriage != nil && !envelope.Carriage.Brought {
		m.bring(&envelope, ev.From, out)
		return
	}
	if m.failed != nil {
		return
	}
	if from, known := m.writer(&envelope, ev.From, out); known {
		m.heard[from] = m.now
		m.onEnvelope(&envelope, from, out)
	}
}

// onEnvelope handles another member's message about a shard.
func (m *Machine) onEnvelope(envelope *Envelope, from protocol.ID, out *protocol.Effects) {
	p := m.parts[envelope.Shard]
	if p.shard == nil {
		if p.voters == nil {
			m.learnFounding(envelope, from, out)
		}
		return // the sender repeats it
	}
	switch body := envelope.Body.(type) {
	case TransferLeader:
		m.onTransferLeader(p, body, from, out)
		return
	case Founding:
		m.onFounding(p, &body, from, out)
		return
	case Reform:
		m.reform(p, from, body, out)
		return
	case Reformed:
		m.onReformed(p, &body, out)
		return
	case shard.RaftMessage:
		m.notifyNonmember(p, &body, from, out)
		if body.Message.Hands() {
			p.given = m.now + m.election()
		}
	}
	if err := p.shard.Hear(m.now, uint64(from), envelope.Body, &p.output); err != nil {
		if lacks := (*group.LackError)(nil); errors.As(err, &lacks) {
			p.lacks = lacks
		}
		out.Note(Ignored{fmt.Sprintf("shard %d: %v", p.index, err)})
	}
	m.touch(p)
}

// hears reports whether a message is of this member's cluster. A member that knows none adopts the first that it sees.
func (m *Machine) hears(l *Envelope, from protocol.ID, out *protocol.Effects) bool {
	switch {
	case l.Cluster == 0:
		return false
	case m.cluster == 0 && !m.config.Founder:
		m.cluster = l.Cluster
	case m.cluster == 0:
		m.learnFounding(l, from, out)
		return false
	case l.Cluster != m.cluster:
		m.foreign = l.Cluster
		out.Note(Ignored{fmt.Sprintf("message of member %d, which is of cluster %x, where this one is of %x", from, l.Cluster, m.cluster)})
		return false
	}
	return true
}

// onRaised handles the membership's facts: the present members. Leases and epochs have no meaning here.
func (m *Machine) onRaised(ev *protocol.Event, out *protocol.Effects) {
	view, is := ev.Fact.(*protocol.View)
	if !is {
		return
	}
	if m.view == nil || m.view.Epoch != view.Epoch {
		// Holds here do not depend on the coordinator, so they are confirmed to no member.
		out.Raise(&protocol.Confirmed{Epoch: view.Epoch.Counter})
	}
	before := m.view
	m.view = view
	m.know()
	m.arrived(before)
	m.watch()
	m.found(out)
	for _, p := range m.parts {
		m.openEarly(p, out)
		m.stray(p)
	}
}

// touch notes that a shard has done something.
func (m *Machine) touch(p *part) {
	if !p.touched {
		p.touched = true
		m.touched = append(m.touched, p)
	}
}

// settle does the shards' work, until there is none.
func (m *Machine) settle(out *protocol.Effects) {
	for len(m.touched) > 0 {
		p := m.touched[0]
		m.touched = m.touched[1:]
		p.touched = false
		m.carry(p, out)
		p.wake = p.shard.Wake()
	}
	m.touched = nil
}

// fail ends this member's participation, because its journal has failed: nothing is acknowledged any more.
func (m *Machine) fail(err error, out *protocol.Effects) {
	if m.failed != nil {
		return
	}
	m.failed = err
	out.Note(Failed{err})
	m.refuseAll(out)
}

// due is the subject of a reminder.
type due struct {
	what    what
	session lock.SessionID
	number  uint64 // of the request, inquiry or transfer; or the shard
}

type what uint8

const (
	dueRequest  what = iota + 1 // it has waited long enough
	dueInquiry                  // no member has answered
	dueTransfer                 // no member leads that should
	dueOwn                      // a session of this process is to be beaten for
	dueLoss                     // or is lost
	dueBeat                     // a beat was not answered
	dueReform                   // ask a leader again for a change of voters
	dueSpread                   // what others are to lead is to be looked for
	dueStray                    // a shard's leader has no place in the view
	dueSilent                   // a member has been silent for long
)

// Before orders reminders due at the same time.
func (d due) Before(o due) bool {
	return cmp.Or(
		cmp.Compare(d.what, o.what), cmp.Compare(d.session.Member, o.session.Member),
		cmp.Compare(d.session.Number, o.session.Number), cmp.Compare(d.number, o.number),
	) < 0
}

// remind acts on a reminder, if that is still necessary.
func (m *Machine) remind(d due, out *protocol.Effects) {
	switch d.what {
	case dueRequest:
		m.giveUp(d, out)
	case dueInquiry:
		m.unanswered(d.number, out)
	case dueTransfer:
		m.untransferred(d.number, out)
	case dueOwn:
		m.beatOwn(d.session, out)
	case dueLoss:
		m.lose(d.session, out)
	case dueBeat:
		m.beatAgain(m.parts[d.number])
	case dueReform:
		m.pursue(d.number, out)
	case dueSpread:
		m.look(out)
	case dueStray:
		m.relieve(m.parts[d.number], out)
	case dueSilent:
		m.goOn(protocol.Time(d.number), out)
	}
}

// wanted reports whether a reminder is of something that is still to be done.
func (m *Machine) wanted(r protocol.Reminder[due]) bool {
	if r.Key.what != dueRequest {
		return true
	}
	c := m.clientOf(r.Key.session)
	if c == nil {
		return false
	}
	q := c.requests[r.Key.number]
	return q != nil && q.state != granted && q.until == r.At
}

// Ignored notes a message without effect.
type Ignored struct{ What string }

func (n Ignored) String() string { return "ignored: " + n.What }

// Failed notes that this member's part has ended.
type Failed struct{ Err error }

func (n Failed) String() string { return fmt.Sprintf("part ended: %v", n.Err) }

// Log gives the reason.
func (n Failed) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Error, "this member's part in a space of protocol consensus has ended", []any{"error", n.Err}
}

// Founded notes that the logs have begun.
type Founded struct {
	Cluster uint64
	Voters  []uint64
}

func (n Founded) String() string {
	return fmt.Sprintf("founded cluster %x of %d members", n.Cluster, len(n.Voters))
}
