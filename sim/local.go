package sim

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast"
	clientsession "github.com/holdfast-locks/holdfast/internal/client/session"
	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/internal/server/edge"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// ownClient is the users within a member's process: package host. Their session has no ttl; their holds end with the
// member's lease, by the member's own clock.
type ownClient struct {
	member  *process
	life    uint32
	sink    uint64
	session lock.SessionID
	lastID  uint64
	call    int  // the planned call, in the names of choices
	resting bool // until the run starts new work again
	takings []*taking
	later   []func() // acts that came due while the process was paused
}

// taking is one lock that a user within a member wants, has or had.
type taking struct {
	local   *ownClient
	id      uint64
	call    int
	want    wantedLock
	token   holdfast.Token
	held    bool
	over    bool
	limited bool // its hold limit has ended it
	holdEnd protocol.Time
}

func newLocal(m *process) *ownClient { return &ownClient{member: m, life: m.life} }

func (l *ownClient) String() string { return "user within " + l.member.name }

// alive reports whether the process still runs.
func (l *ownClient) alive() bool { return l.member.up && l.member.life == l.life }

// at schedules an act by the member's clock, unless its process has ended; for a paused process, when it wakes.
func (l *ownClient) at(when protocol.Time, act func()) {
	m := l.member
	m.world.do(m.clock.when(when+m.began), func() {
		switch {
		case !l.alive():
		case m.paused:
			l.later = append(l.later, act)
		default:
			act()
		}
	})
}

// resume runs the acts that came due while the process was paused.
func (l *ownClient) resume() {
	later := l.later
	l.later = nil
	for _, act := range later {
		l.at(l.member.now(), act)
	}
}

// open opens the session and starts to work.
func (l *ownClient) open() {
	m := l.member
	if !l.alive() || m.paused {
		if l.alive() {
			l.later = append(l.later, l.open)
		}
		return
	}
	l.sink = m.attach(l)
	m.step(protocol.Event{
		Kind: protocol.Call, Call: protocol.CallID{Sink: l.sink, Op: edge.HelloCall}, Fact: &session.Open{Kind: session.Local},
	})
}

// end ends all beliefs with the process.
func (l *ownClient) end() {
	for _, t := range l.takings {
		t.end("")
	}
}

// hear takes the member's reply. It acts on it after the step.
func (l *ownClient) hear(reply *protocol.Reply) {
	switch result := reply.Result.(type) {
	case *session.Opened:
		if result.Err != nil {
			return // it is leaving already
		}
		l.session = result.ID
		l.plan()
		return
	case nil:
	default:
		return
	}
	d := &reply.Decision
	if edge.CallOf(reply.To.Op) != edge.CallRequest {
		return // the answer to a release or a cancel
	}
	for _, t := range l.takings {
		if t.id == d.Request && !t.over {
			t.decided(d)
			return
		}
	}
}

// plan schedules the user's next call after a pause.
func (l *ownClient) plan() {
	m, w := l.member, l.member.world
	pause := func() time.Duration { return w.rand.between(time.Millisecond, 2*w.settings.think) }
	if w.tape == nil {
		l.at(m.now()+pause(), l.begin)
		return
	}
	before := m.began - m.origin
	if at, call, comes := w.call(l.caller(), m.now()+before, pause); comes {
		l.at(at-before, func() {
			l.call = call
			l.begin()
		})
	}
}

// caller is the actor's name in choices.
func (l *ownClient) caller() string { return l.member.name + ".user" }

// chooses names the choices that follow a call.
func (l *ownClient) chooses(call int) {
	if t := l.member.world.tape; t != nil {
		t.enter(scope{l.caller(), "call", call})
	}
}

// begin asks for a lock, unless the run is about to end.
func (l *ownClient) begin() {
	m, w := l.member, l.member.world
	if w.settling {
		l.resting = true
		return
	}
	if l.forget(); len(l.takings) >= 3 {
		l.plan()
		return
	}
	l.lastID++
	now := m.now()
	l.chooses(l.call)
	t := &taking{local: l, id: l.lastID, call: l.call, want: w.request(nil), holdEnd: protocol.Never}
	l.takings = append(l.takings, t)
	wanted := t.want.request()
	request := &lock.Request{
		Session: l.session, ID: t.id, Name: t.want.name, Attributes: holdfast.Attributes{Shape: holdfast.Shape{Mode: t.want.mode, Units: t.want.units, Capacity: t.want.capacity}, Hold: t.want.hold},
		Try: t.want.try, Arrived: now, WaitEnd: clientsession.WaitEnd(now, &wanted),
	}
	if t.want.hold > 0 {
		t.holdEnd = now + t.want.hold
	}
	w.trace("%s wants %v", l, t.want)
	w.judge.requested(requestKey{l.session, t.id}, l, t.want)
	m.step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: protocol.CallID{Sink: l.sink, Op: t.id}, Fact: request})
	l.chooses(t.call)
	if patience := w.patience(); patience > 0 {
		l.at(now+patience, t.abandon)
	}
	l.plan()
}

// forget drops requests that are over.
func (l *ownClient) forget() {
	l.takings = slices.DeleteFunc(l.takings, func(t *taking) bool { return t.over })
}

// decided takes the outcome of the request.
func (t *taking) decided(d *lock.Decision) {
	l := t.local
	m, w := l.member, l.member.world
	switch d.Kind {
	case lock.Granted:
		if t.held {
			return
		}
		t.held, t.token = true, d.Token
		if t.believes(m.now()) {
			w.judge.noteHolder(t.grant())
		}
		w.count.grants++
		w.trace("%s has %s, token %d", l, t.want.name, t.token)
		l.chooses(t.call)
		l.at(m.now()+w.hold(), t.unlock)
	case lock.Refused:
		w.judge.histories.refused(requestKey{l.session, t.id}, d.Err)
		w.trace("%s does not get %s: %v", l, t.want.name, d.Err)
		w.count.failures++
		t.over = true
	case lock.Lost:
		t.limited = t.held && d.Loss == holdfast.HoldLimit
		t.end(d.Loss)
	case lock.Revoked:
		t.end(d.Loss)
		w.do(w.now, func() {
			if l.alive() {
				t.release()
			}
		})
	}
}

// believes reports whether the lock's context is not done at a time of the member's clock: its lease covers the lock.
// For a lock of an earlier epoch, this ends if the new authority does not confirm it.
func (t *taking) believes(now protocol.Time) bool {
	l := t.local
	if !t.held || t.over || !l.alive() || now >= t.holdEnd || l.member.view == nil {
		return false
	}
	v := l.member.view
	if assured := l.member.assured(); now >= assured {
		return false
	}
	if l.member.world.protocol.Logs {
		return true // leases do not matter there
	}
	end := v.Lease.Member
	if uint64(t.token)>>32 < v.Epoch.Counter {
		end = v.Lease.Carried
	}
	return now < end
}

// believesAt is like believes, at a real instant.
func (t *taking) believesAt(at instant) bool {
	m := t.local.member
	return t.believes(m.clock.read(at) - m.began)
}

func (t *taking) grant() grant {
	return grant{
		name: t.want.name, mode: t.want.mode, units: t.want.units, capacity: t.want.capacity, token: t.token,
		session: t.local.session, request: t.id, who: t.local, holder: t,
	}
}

// end ends the lock here.
func (t *taking) end(why holdfast.Loss) {
	if t.held && !t.over {
		t.local.member.world.judge.ended(t.grant(), why)
	}
	t.over = true
}

// unlock releases the lock, if it is still held.
func (t *taking) unlock() {
	l := t.local
	if t.over {
		if t.limited && l.alive() && l.member.world.settings.known.Grace > 0 {
			t.release() // in its grace (package host, letGo)
		}
		return
	}
	now := l.member.now()
	believed := t.believes(now)
	t.end("")
	// A member whose lease has ended ends the lock itself. If only what was carried over has ended, the process
	// releases it (package host, onEnd).
	if believed || t.want.hold > 0 || l.member.world.protocol.Logs || l.member.view != nil && now < l.member.view.Lease.Member {
		l.member.world.trace("%s unlocks %s, token %d", l, t.want.name, t.token)
		t.release()
	}
}

func (t *taking) release() {
	l := t.local
	l.lastID++
	call := protocol.CallID{Sink: l.sink, Op: edge.NumberOf(edge.CallRelease, l.lastID)}
	l.member.step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: call, Fact: &protocol.Release{
		Session: l.session, Name: t.want.name, Token: t.token, Request: t.id,
	}})
}

// abandon ends a wait.
func (t *taking) abandon() {
	l := t.local
	if t.held || t.over {
		return
	}
	t.over = true
	l.lastID++
	call := protocol.CallID{Sink: l.sink, Op: edge.NumberOf(edge.CallCancel, l.lastID)}
	l.member.step(protocol.Event{Kind: protocol.Call, Port: userSpace, Call: call, Fact: &protocol.Cancel{
		Session: l.session, Name: t.want.name, Request: t.id,
	}})
}
