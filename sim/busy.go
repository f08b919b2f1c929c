package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/session"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// In half of the runs with pauses a member that wakes reads what has arrived meanwhile before its machine judges time,
// as in package run: then a heartbeat that came before the end of its session counts. In the others the timer and the
// sockets come in any order, as when a driver has reached the limit of its wait.

// drawBusy draws the order of timer and sockets after a pause, from its own source of chance.
func (s *settings) drawBusy(r dice) { s.busy = r.IntN(2) == 0 && s.faults.Has(Pause) }

// hearing is the time that it takes to read what has arrived during a pause.
const hearing = time.Millisecond

// busy is the work of a member that was paused.
type busy struct {
	ends   map[lock.SessionID]protocol.Time // ends of the sessions that it served when it was paused
	came   []came
	beats  map[lock.SessionID]int // heartbeats that came before the ends, and are unread
	unless instant                // time is not judged before it
}

// came is an operation that was sent to a paused member.
type came struct {
	link *link
	at   protocol.Time // by the member's clock
}

// pauses notes the ends of the sessions that a member serves.
func (m *process) pauses() {
	w := m.world
	m.busy = busy{ends: map[lock.SessionID]protocol.Time{}}
	if !w.settings.busy {
		return
	}
	for _, l := range w.links {
		if id := l.server.session; l.member == m && l.life == m.life && !l.broken && id != (lock.SessionID{}) {
			if known, is := m.query(protocol.Below, &session.Who{ID: id}).(*session.Known); is {
				m.busy.ends[id] = known.Until
			}
		}
	}
}

// comes notes that an operation was sent to a paused member.
func (m *process) comes(t *task) {
	if m.world.settings.busy && t.kind == taskOperation {
		m.busy.came = append(m.busy.came, came{t.link, m.now()})
	}
}

// wakes lets a member read what has come before its machine judges time.
func (m *process) wakes() {
	w := m.world
	if !w.settings.busy {
		return
	}
	b := &m.busy
	b.unless, b.beats = w.now+hearing, map[lock.SessionID]int{}
	before := map[*link]int{}
	for _, c := range b.came {
		l := c.link
		place := l.operations.taken + before[l]
		before[l]++
		id := l.server.session
		if until, served := b.ends[id]; served && c.at < until && l.up <= w.now && l.operations.waiting[place].GetBeat() != nil {
			b.beats[id]++
			w.count.busy++
		}
	}
	b.came = b.came[:0]
}

// waits reports whether a tick comes too early, and reschedules it.
func (m *process) waits(t *task) bool {
	w := m.world
	if w.now < m.busy.unless {
		w.at(m.busy.unless, *t)
		return true
	}
	clear(m.busy.beats) // what is still unread was lost with its connection
	return false
}

// hears records that a heartbeat was read.
func (b *busy) hears(id lock.SessionID) {
	if b.beats[id] > 0 {
		b.beats[id]--
	}
}

// expired checks that no heartbeat of a session was unread when the session expired. Where sessions outlast their
// member, the space judges by the heartbeats in its log, and may have done so before the member read this one.
func (m *process) expired(id lock.SessionID, why error) {
	if why == nil && !m.world.protocol.Logs && m.busy.beats[id] > 0 {
		m.world.judge.violate("P5", "%s takes session %v for expired, a heartbeat of which came before its end and was not heard yet", m, id)
	}
}
