package session

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/clock"
)

// Config configures a Machine.
type Config struct {
	TTL    time.Duration // requested; 0 means the server's default
	Name   string        // description of this client, for people
	Number uint64        // identifies this client among others that resume its session
	Keep   bool          // Close informs the authority of locks that ended otherwise than by Unlock

	Addresses []api.Address // where to search for a member
	Direct    bool          // connect to the authority's member
	// Jitter draws a random addition to half of a pause before all addresses are tried again, from 0 to that half.
	Jitter func(half time.Duration) time.Duration

	LastID uint64 // ids of operations begin after it
	// Resume is a session to take over, or nil.
	Resume *Session
}

// Machine is a client's session and its requests. It continues in another session when one is lost.
type Machine struct {
	config Config

	now time.Duration // of the current Step, with its effects
	out *Effects

	session   *Session // nil while there is none
	stream    *Contact // the current one, after its welcome; nil if there is none
	phase     time.Duration
	doubted   bool    // the stream has not answered in time
	answers   answers // latencies of answers to heartbeats
	closing   bool
	abandoned bool  // no stream is needed any more
	taken     error // another client has taken the session over: the member's error; nil otherwise
	finished  bool  // nothing of the session is left to end
	begun     bool  // Begun was reported
	search    search
	cluster   cluster

	requests  map[uint64]*Request
	lastID    uint64
	revisions uint64 // of amendments, given to this session's grants
	extends   bool   // an extend was requested once: only then may a request overtake one
	unsent    int    // acquires not sent on any stream yet
	releases  int    // requested, but not acknowledged
	queue     []item
	head      int                      // of the queue
	beats     map[uint64]time.Duration // sending times of the unanswered ones
	endID     uint64                   // of the end; 0 before it is sent

	alarms   clock.Queue
	lag      time.Duration // how late the current alarm is
	deadline clock.Alarm
	late     clock.Alarm
	beat     clock.Alarm
}

// New makes a Machine.
func New(config Config) *Machine {
	m := &Machine{
		config: config, lastID: config.LastID, session: config.Resume,
		search:   search{pause: minPause},
		requests: map[uint64]*Request{}, beats: map[uint64]time.Duration{},
	}
	m.deadline.Ring, m.late.Ring, m.beat.Ring, m.search.next.Ring = m.onDeadline, m.onLate, m.onBeat, m.onNext
	return m
}

// Step handles one event at now and appends the effects.
func (m *Machine) Step(now time.Duration, ev *Event, out *Effects) {
	m.now, m.out = now, out
	switch {
	case ev.Kind == Tick:
		m.tick()
	case ev.Kind == Heard:
		m.onHeard(ev.Said)
	case ev.Kind <= Abandon:
		m.onCall(ev)
	default:
		m.onContact(ev)
	}
	m.out = nil
}

// Wake returns when to Step a Tick if nothing comes first, or [clock.Never].
func (m *Machine) Wake() time.Duration { return m.alarms.First() }

// onCall handles the client's calls.
func (m *Machine) onCall(ev *Event) {
	switch r := ev.Request; ev.Kind {
	case Begin:
		m.seek()
	case Lock:
		m.enter(r)
	case GiveUp:
		m.giveUp(r)
	case Unlock:
		m.unlock(r, ev)
	case Unawait:
		r.awaited = false
	case Extend:
		m.askExtend(r, ev.Extension, ev.Span)
	case Amend:
		m.askAmend(r, ev.Amending, ev.Value)
	case Unheld:
		m.onUnheld(r, ev.Err)
	case Close:
		m.close()
	case Abandon:
		m.abandon(ev.Err)
	}
}

// onContact handles the outcome of contacts, and of the stream.
func (m *Machine) onContact(ev *Event) {
	switch a := ev.Contact; ev.Kind {
	case Opening:
		m.limitContact(a)
	case Greet:
		m.greet(a)
	case Answered:
		m.onAnswered(a, ev)
	case Failed:
		m.onFailed(a, ev.Err)
	case Broken:
		m.onBroken(a, ev.Err)
	}
}

// all lists the requests in the order of their ids.
func (m *Machine) all() []*Request {
	if len(m.requests) == 0 {
		return nil
	}
	//tidy:unordered they are sorted below
	all := slices.AppendSeq(make([]*Request, 0, len(m.requests)), maps.Values(m.requests))
	slices.SortFunc(all, func(a, b *Request) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// tick rings all alarms that are due.
func (m *Machine) tick() {
	for a := m.alarms.Due(m.now); a != nil; a = m.alarms.Due(m.now) {
		m.lag = m.now - a.At()
		a.Ring()
	}
	m.lag = 0
}

// close ends all locks and calls, then the session.
func (m *Machine) close() {
	m.closing = true
	for _, r := range m.all() {
		m.closeRequest(r)
	}
	if m.session == nil {
		m.finish()
	}
	m.push(sendEnd, nil)
	m.hasten()
}

// closeRequest ends a request. A requested release is settled only once the outcome of the session's end is known,
// which covers it too: a caller may be waiting for that.
func (m *Machine) closeRequest(r *Request) {
	m.endRequest(r, holdfast.ErrClosed)
	if r.state != Releasing || r.quiet {
		m.settle(r)
	}
}

// endRequest ends the call that waits for a request, or the lock that it was granted.
func (m *Machine) endRequest(r *Request, why error) {
	switch r.state {
	case Requested:
		m.out.of(Fail, r, why)
	case Held:
		m.out.of(End, r, why)
		m.finishChanges(r, why)
	}
}

// settleUnacknowledged settles a requested release that will not be acknowledged any more.
func (m *Machine) settleUnacknowledged(r *Request, why error) {
	if r.state == Releasing && !r.quiet {
		m.out.of(FailRelease, r, why)
	}
	m.settle(r)
}

// abandon gives up the session, whose end will not be acknowledged because of why.
func (m *Machine) abandon(why error) {
	if m.session != nil {
		m.session.End(m.now)
	}
	for _, r := range m.all() {
		m.settleUnacknowledged(r, why)
	}
	m.abandoned = true
	m.seek()
}

// finish reports that nothing of the session is left to end.
func (m *Machine) finish() {
	if !m.finished {
		m.finished = true
		m.out.add(Effect{Kind: Finish})
	}
}

// onEnded runs when the member has acknowledged the end of the session, once or twice: by an answer, and by closing the
// stream.
func (m *Machine) onEnded() {
	if m.session != nil {
		m.session.End(m.now)
		m.out.add(Effect{Kind: Forget, Detail: &Detail{Session: m.session}})
		m.session = nil
	}
	for _, r := range m.all() { // releases: they ended with the session
		m.settle(r)
	}
	m.finish()
}

// onDeadline runs when the session's deadline has passed.
func (m *Machine) onDeadline() {
	if m.session != nil && !m.session.Alive(m.now) {
		m.lose()
	}
}

// lose ends a session that has expired or is unknown to the member. Its locks are lost. Waiting requests are repeated
// in the next one.
func (m *Machine) lose() {
	if m.session == nil {
		return
	}
	m.forget(Effect{Lost: true})
	for _, r := range m.all() {
		m.loseRequest(r)
	}
	if m.closing {
		m.finish()
	}
	m.hasten()
}

func (m *Machine) loseRequest(r *Request) {
	if r.state == Requested {
		r.waiting = false
		if !r.unsent {
			r.unsent = true
			m.unsent++
		}
		return
	}
	m.endRequest(r, holdfast.SessionExpired)
	m.settleUnacknowledged(r, holdfast.SessionExpired)
}

// onTakenOver ends this client, because a member has reported that another client has resumed its session: its holds
// belong to the other one now. It makes no further requests.
func (m *Machine) onTakenOver(said error) {
	if m.session == nil {
		return
	}
	m.taken = bare(said)
	m.forget(Effect{Err: m.taken})
	for _, r := range m.all() {
		m.endRequest(r, m.taken)
		m.settleUnacknowledged(r, m.taken)
	}
	m.finish()
	m.hasten()
}

// forget drops the session, which has ended as e says, and its stream.
func (m *Machine) forget(e Effect) {
	m.session.End(m.now)
	e.Kind, e.Detail = Forget, &Detail{Session: m.session, Left: len(m.requests)}
	m.out.add(e)
	m.session, m.cluster.redirected = nil, false
	m.hangUp()
}

// hangUp ends the stream, if there is one.
func (m *Machine) hangUp() {
	if m.stream != nil {
		m.out.add(Effect{Kind: HangUp, Detail: m.stream.about()})
		m.detach()
	}
}

// detach drops the stream and its state: the queue, and the unanswered heartbeats.
func (m *Machine) detach() {
	m.stream, m.doubted, m.queue, m.head = nil, false, nil, 0
	clear(m.beats)
	m.alarms.Stop(&m.beat)
}
