package session

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Config configures a session machine.
type Config struct {
	// Member and Incarnation make unique session ids. Required; a member without a stable cell draws a new Member at
	// each start.
	Member      protocol.ID
	Incarnation uint64
	// Rand draws secrets: its seed must be unpredictable. Required without Secret.
	Rand *rand.Rand
	// Secret draws the secret of a session. If nil, Rand does.
	Secret func() Secret
	// Proof returns the hash of a secret, by which lasting spaces authenticate a session's client. If nil, ProofOf is
	// used; a replay of a recorded session machine (package trace), whose secrets are replaced, supplies the recorded
	// hashes.
	Proof func(Secret) [32]byte
	// Spaces is the number of spaces of the stack. Required.
	Spaces int
	// Lasting has the spaces whose locks and sessions outlast the member that they came through, in ascending order.
	// See protocol.Enroll.
	Lasting []protocol.Port
	// Drift is the maximum difference between the rates of two clocks. Zero means 0.05.
	Drift float64
	// Lease is the member's lease, D. Zero means 3 s.
	Lease time.Duration
	// TTL is the default ttl of a session. Zero means 10 s.
	TTL time.Duration
	// LastingTTL is that of a session that uses lasting spaces, while it uses no other. Zero means TTL.
	LastingTTL time.Duration
	// MaxTTL bounds the ttl of a session; up to 24 h. Zero means LongestTTL.
	MaxTTL time.Duration
	// Sessions is the maximum number of clients' sessions, and also of those of the member's own process. Zero means
	// 100,000.
	Sessions int
}

// allLast reports whether the locks and sessions of every space outlast this member: then no client's belief ends with
// it, or with its lease.
func (c *Config) allLast() bool { return len(c.Lasting) == c.Spaces }

// longestTTL keeps the arithmetic of horizons far from overflow.
const longestTTL = 24 * time.Hour

func (c *Config) check() error {
	if c.Drift == 0 {
		c.Drift = 0.05
	}
	if c.Lease == 0 {
		c.Lease = 3 * time.Second
	}
	if c.TTL == 0 {
		c.TTL = 10 * time.Second
	}
	if c.LastingTTL == 0 {
		c.LastingTTL = c.TTL
	}
	if c.MaxTTL == 0 {
		c.MaxTTL = LongestTTL(c.allLast(), c.Lease)
	}
	if c.Sessions == 0 {
		c.Sessions = 100_000
	}
	switch {
	case c.Member == 0:
		return fmt.Errorf("session: Member is 0; give the member's id")
	case c.Secret == nil && c.Rand == nil:
		return fmt.Errorf("session: Rand is nil; give a source that was seeded with a secret")
	case c.Spaces < 1:
		return fmt.Errorf("session: Spaces is %d; a member has at least one", c.Spaces)
	case !c.lastingIsInOrder():
		return fmt.Errorf("session: Lasting is %v; give ports from 1 to %d, each once, in ascending order", c.Lasting, c.Spaces)
	case !(c.Drift >= 0 && c.Drift <= 0.5): // also rejects NaN
		return fmt.Errorf("session: Drift is %v; 0 to 0.5 is allowed", c.Drift)
	case c.Lease < 0, c.TTL < 0, c.LastingTTL < 0, c.MaxTTL < 0, c.Sessions < 0:
		return fmt.Errorf("session: Lease %v, TTL %v, LastingTTL %v, MaxTTL %v, Sessions %d: none may be negative",
			c.Lease, c.TTL, c.LastingTTL, c.MaxTTL, c.Sessions)
	case c.MaxTTL > longestTTL:
		return fmt.Errorf("session: MaxTTL is %v; up to %v is allowed", c.MaxTTL, longestTTL)
	}
	return nil
}

func (c *Config) lastingIsInOrder() bool {
	before := protocol.Below
	for _, port := range c.Lasting {
		if port <= before || int(port) > c.Spaces {
			return false
		}
		before = port
	}
	return true
}

// Machine is the machine between a member's clients and its stack. See the package comment.
type Machine struct {
	config Config
	inner  protocol.Machine
	wake   protocol.Time

	lastNumber uint64
	sessions   map[lock.SessionID]*presence
	recent     *presence              // last lookup
	attached   map[uint64][]*presence // by sink
	remote     int                    // sessions that are not Local
	owners     map[string]*usage      // that have a session here, by their names
	expiry     expiryQueue
	revokedDue expiryQueue

	lease     *protocol.Lease // nil before the first view
	horizon   protocol.Horizon
	requested *protocol.NeedHorizon           // the request under way, or nil
	answers   uint64                          // number of times the horizon was raised
	reaches   [int(protocol.MaxReach) + 1]int // number of sessions, and beliefs, that need each horizon
	parked    []parkedCall                    // answers that wait for the horizon
	entering  []*presence                     // with requests that wait until others know how long to wait for them
	entryDue  protocol.Time                   // when one of those may proceed, or gives up
	beliefs   beliefs                         // of clients whose sessions have ended before their deadlines
	kept      kept                            // for the next session
	// tieAnswered reports that a lasting space has answered whether a session of those is tied, and admit has not run.
	tieAnswered bool

	questions uint64 // number of the session machine's own questions to lasting spaces
	heard     []answer
	beats     map[uint64]*beat // awaiting answers, by number
	beatDue   expiryQueue      // of one-shot sessions that a connection waits for
	renewals  int              // number waiting for a beat
	adoptions adoptions

	// superseded has the sinks still attached to the driver whose sessions another sink has resumed, or continue
	// elsewhere: input from them was sent before that.
	superseded map[uint64]bool
	// ousted has those of them whose sessions another client has taken over.
	ousted map[uint64]bool

	takings []*presence // being ended by other clients

	lapsed  bool        // the tenure has ended, and the clients' sessions are about to
	excess  []*presence // with more unreported losses than are kept
	closing closing
}

// presence is one session.
type presence struct {
	id        lock.SessionID
	secret    Secret
	kind      Kind
	client    string
	owner     string         // the identity that has opened it; "" for none
	ttl       time.Duration  // wanted
	byDefault bool           // its client has asked for no ttl
	far       protocol.Reach // how far beyond the lease its client may believe
	farUntil  protocol.Time  // until when
	next      protocol.Reach // a shorter, later promise,
	nextUntil protocol.Time  // and until when
	entered   bool           // its promise is within far, so it may make requests in spaces that end with this member
	entries   []*entry       // requests that wait until it is
	tied      bool           // it may use spaces that end with this member: no other member adopts it
	tying     *beat          // asks the lasting spaces to record that; nil if none is under way
	untied    error          // why one of them has not; nil after the entries are refused
	counted   bool           // it has a promise
	expires   protocol.Time  // when it is considered expired
	sink      uint64         // where it can be reached; 0 for none
	attached  lock.Attachments
	former    protocol.Time // until when a client that lost it to a takeover may believe in its holds
	// inherited has the holds of such clients in spaces that end with this member; given has the later client's
	// releases of inherited holds, which are pending until that belief ends.
	inherited map[recallKey]bool
	given     []giving

	reminded bool        // it is in the queue of expiries
	revoked  revocations // revoked grants that its client may still use
	lost     []loss      // losses that its client may not have heard of
	away     error       // the reason why it is being ended; nil otherwise

	parting   bool // it waits to be dismissed: see closing
	dismissed bool // it is being ended here, and lives on

	// waiting has the waiting requests from outside the session's own stream, and the calls that wait for them.
	waiting map[uint64]wait

	numbered uint64 // the latest id given by Numbered; 0 before the first

	live map[uint64]protocol.Port // OneShot only: the requests that hold

	back *comeback // Stream only: from a Resume until the first Renew after it

	recalled map[recallKey][]protocol.CallID // holds being ended by another client, and the calls that wait for that
	taking   *taking                         // another client is ending it

	lasting *lasting // its state in spaces that outlast this member; nil if it has used none
	over    bool     // a lasting space has ended it: no client owns it, until it expires
	bill    bill     // of its owner
}

// parkedCall is an Open or Renew whose answer waits for the horizon.
type parkedCall struct {
	call protocol.CallID
	fact any
}

// New puts a session machine in front of inner, a protocol.Stack. The error names the invalid field of c.
func New(c Config, inner protocol.Machine) (*Machine, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Machine{
		config:     c,
		inner:      inner,
		wake:       protocol.Never,
		entryDue:   protocol.Never,
		lastNumber: c.Incarnation << 32,
		sessions:   map[lock.SessionID]*presence{},
		owners:     map[string]*usage{},
		superseded: map[uint64]bool{},
		ousted:     map[uint64]bool{},
		attached:   map[uint64][]*presence{},
		beats:      map[uint64]*beat{},
		adoptions:  adoptions{of: map[lock.SessionID]*adoption{}, pending: map[uint64]*adoption{}},
	}, nil
}

// Wake returns the earliest of the stack's wake times and of those at which something of a session ends.
func (m *Machine) Wake() protocol.Time { return m.wake }

// Step answers calls about sessions, passes on calls about locks, and routes the spaces' decisions. First it ends
// everything that has run out of time, because a Tick may come late. But only a Tick ends sessions, because an earlier
// sign of life counts: it may have arrived in time, and waited.
func (m *Machine) Step(now protocol.Time, ev protocol.Event, out *protocol.Effects) {
	if ev.Kind == protocol.Tick || m.wake <= now {
		m.tick(now, ev.Kind == protocol.Tick, out)
		m.conclude(now, out)
	}
	switch ev.Kind {
	case protocol.Tick:
	case protocol.Call:
		m.onCall(now, &ev, out)
	default:
		m.pass(now, &ev, out)
	}
	m.conclude(now, out)
	m.settle()
}

// conclude processes the answers, and ends what must end because of the decisions, after those have been sent.
func (m *Machine) conclude(now protocol.Time, out *protocol.Effects) {
	m.attend(now, out)
	if m.lapsed {
		m.endTenure(now, out)
	}
	if len(m.excess) > 0 {
		m.endExcess(now, out)
	}
	if len(m.takings) > 0 {
		m.concludeTakings(now, out)
	}
	if len(m.entering) > 0 {
		m.admit(now, out)
	}
	if m.closing.stage != serving {
		m.concludeClosing(now, out)
	}
	for m.attend(now, out); m.tieAnswered; m.attend(now, out) {
		m.tieAnswered = false
		m.admit(now, out)
	}
}

// settle sets the wake time, once a step: both the driver and the next step read it.
func (m *Machine) settle() {
	m.wake = min(m.inner.Wake(), m.expiry.First(), m.revokedDue.First(), m.beliefs.due.First(), m.kept.wake(), m.beatDue.First(), m.entryDue, m.closing.wake())
}

// tick applies the passage of time and, if judges is set, expires sessions.
func (m *Machine) tick(now protocol.Time, judges bool, out *protocol.Effects) {
	if m.inner.Wake() <= now {
		m.pass(now, &protocol.Event{Kind: protocol.Tick}, out)
	}
	if judges || protocol.Mutated("a session is ended before what has come for it is heard") {
		m.expire(now, out)
	}
	m.endRevoked(now, out)
	m.endBeliefs(now, out)
	m.endKept(now, out)
	m.beatPresent(now, out)
}

// onCall handles a request of a client.
func (m *Machine) onCall(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	if len(m.config.Lasting) > 0 && m.takesOver(now, ev, out) {
		return
	}
	switch fact := ev.Fact.(type) {
	case *lock.Request:
		m.onRequest(now, ev, fact, out)
	case *protocol.Release:
		m.onRelease(now, ev, fact, out)
	case *protocol.Cancel:
		m.onCancel(now, ev, fact, out)
	case *protocol.Extend:
		m.onExtend(now, ev, fact, out)
	case *protocol.Amend:
		m.onHeld(now, ev, fact.Session, fact.Request, fact.Name, out)
	case *Open:
		m.onOpen(now, ev.Call, *fact, false, out)
	case *Renew:
		m.onRenew(now, ev.Call, *fact, false, out)
	case *Resume:
		m.onResume(now, ev.Call, fact, out)
	case *Check:
		m.onCheck(ev.Call, fact, out)
	case *End:
		m.onEnd(now, ev.Call, fact, out)
	case *Detach:
		m.onDetach(now, ev.Call.Sink, out)
	case *Count:
		out.Reply(ev.Call, &Counted{Sessions: m.remote, LongestTTL: m.config.MaxTTL})
	case *Number:
		m.onNumber(now, ev.Call, fact, out)
	case *Who:
		m.onWho(ev.Call, fact, out)
	case *List:
		m.onList(ev.Call, out)
	case *Allot:
		m.onAllot(fact)
	case *Usage:
		m.onUsage(ev.Call, fact, out)
	case *Drain:
		m.onDrain(now, ev.Call, out)
	case *membership.Leave:
		m.onLeave(now, ev.Call, out)
	case *LeaveNow:
		m.onLeaveNow(now, ev.Call, out)
	default:
		m.pass(now, ev, out)
	}
}

// onRequest passes on a request of a live session.
func (m *Machine) onRequest(now protocol.Time, ev *protocol.Event, r *lock.Request, out *protocol.Effects) {
	p := m.alive(now, r.Session)
	if p == nil {
		m.refuseUnknown(ev.Call, r.Session, r.ID, r.Name, out)
		return
	}
	if m.isSuperseded(ev.Call.Sink) || p.back.crossed(ev.Call.Sink, r.ID) || m.tooLate(now, p, ev, r, out) || m.tooLateForTaken(p, ev, r, out) {
		return
	}
	if r.Client == "" {
		r.Client = p.client
	}
	if r.Arrived == 0 {
		r.Arrived = now
	}
	if m.exceeds(now, p, ev, r, out) || m.enters(now, p, ev, r, out) {
		return
	}
	if w, waits := p.waiting[r.ID]; waits {
		w.call = ev.Call // the latest call gets the answer
		p.waiting[r.ID] = w
	}
	if m.config.lasts(ev.Port) {
		m.introduce(now, p, ev, r, out)
	}
	if p.lasting != nil && r.ID < SingleCall {
		p.lasting.latest = max(p.lasting.latest, r.ID)
	}
	if p.kind != Local {
		r.Belief = m.stretch(p.ttl)
	}
	m.pass(now, ev, out)
}

// onHeld passes on a client's call about a request of a live session.
func (m *Machine) onHeld(now protocol.Time, ev *protocol.Event, s lock.SessionID, request uint64, name string, out *protocol.Effects) {
	if m.alive(now, s) == nil {
		m.refuseUnknown(ev.Call, s, request, name, out)
		return
	}
	if m.isSuperseded(ev.Call.Sink) {
		return
	}
	m.pass(now, ev, out)
}

// isSuperseded reports whether input from a sink was sent before another sink resumed its session, or the session was
// dismissed.
func (m *Machine) isSuperseded(sink uint64) bool {
	return len(m.superseded) > 0 && m.superseded[sink]
}

// alive returns the session if it has not expired. Step has already ended those past their time; this check does not
// rely on that.
func (m *Machine) alive(now protocol.Time, id lock.SessionID) *presence {
	p := m.find(id)
	if p == nil || p.over || m.hasExpired(p, now) {
		return nil
	}
	return p
}

// here returns the session until it has been ended, for signs of its life: one handled before that counts, even if the
// session's time has passed meanwhile.
func (m *Machine) here(id lock.SessionID) *presence {
	if p := m.find(id); p != nil && !p.over {
		return p
	}
	return nil
}

// find returns the session, or nil. It caches the latest one, which is usually looked up again.
func (m *Machine) find(id lock.SessionID) *presence {
	if m.recent != nil && m.recent.id == id {
		return m.recent
	}
	p := m.sessions[id]
	if p == nil {
		return nil
	}
	m.recent = p
	return p
}

func (m *Machine) hasExpired(p *presence, now protocol.Time) bool {
	return now >= p.expires && !p.present()
}

// present reports whether a connection waits for the session, which counts as a beat. A Stream has beats.
func (p *presence) present() bool { return p.kind == OneShot && len(p.waiting) > 0 }

// inquire asks a space a question that it answers at once, and keeps the answer for the session machine.
func (m *Machine) inquire(now protocol.Time, port protocol.Port, question any, out *protocol.Effects) (answer any) {
	before := len(out.Replies)
	m.pass(now, &protocol.Event{Kind: protocol.Call, Port: port, Fact: question}, out)
	others := out.Replies[:before]
	for _, reply := range out.Replies[before:] {
		if reply.To == (protocol.CallID{}) && reply.Result != nil {
			answer = reply.Result
			continue
		}
		others = append(others, reply)
	}
	out.Replies = others
	return answer
}

// pass steps the stack and handles its facts and decisions.
func (m *Machine) pass(now protocol.Time, ev *protocol.Event, out *protocol.Effects) {
	replies, raises := len(out.Replies), len(out.Raises)
	m.inner.Step(now, *ev, out)
	for i := raises; i < len(out.Raises); i++ {
		switch fact := out.Raises[i].(type) {
		case *protocol.View:
			m.heedView(now, fact, out)
		case *protocol.Lapsed:
			m.lapsed = true
		case *protocol.Horizon:
			m.horizon = *fact
			if fact.Answer {
				m.requested = nil
				m.answers++
				m.answerParked(now, out)
			}
		}
	}
	answered := false
	for i := replies; i < len(out.Replies); i++ {
		if out.Replies[i].Decision.Kind != 0 {
			m.route(now, i, out)
		} else if isOwn(&out.Replies[i]) {
			answered = true
		}
	}
	if answered {
		m.hear(replies, out)
	}
}
