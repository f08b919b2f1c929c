package session

import (
	"maps"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// acknowledged renews the session by the answer to a message sent at sent.
func (m *Machine) acknowledged(sent, ttl time.Duration) bool {
	s := m.session
	if !s.Renew(m.now, sent, ttl) {
		m.lose()
		return false
	}
	s.TTL, s.anchor, m.doubted = ttl, sent, false
	m.out.add(Effect{Kind: Renewed})
	m.alarms.Set(&m.deadline, s.Deadline())
	m.alarms.Set(&m.late, sent+m.answers.lateAfter(ttl))
	return true
}

// onBeaten moves the deadline: to the ttl after this beat was sent. Answers to earlier beats have no effect.
func (m *Machine) onBeaten(id uint64, beaten *schema.Beaten) {
	sent, known := m.beats[id]
	if !known {
		return
	}
	//tidy:unordered each is forgotten by itself
	maps.DeleteFunc(m.beats, func(earlier uint64, _ time.Duration) bool { return earlier <= id })
	ttl, cut := time.Duration(beaten.GetTtl()), beaten.GetTtlCut()
	begins := cut != "" && m.session.Cut == ""
	if m.session.Cut = cut; begins {
		m.out.add(Effect{Kind: CutTTL, At: ttl, Detail: &Detail{Session: m.session}})
	}
	m.answers.note(m.now - sent)
	m.acknowledged(sent, ttl)
}

// onLate runs when the session's heartbeats have not been acknowledged for half of its ttl, or for longer if answers
// take long (answers.lateAfter). It opens another stream; but the current one continues until the other is welcomed:
// the answer may be under way, or may have reached a process that could not read it. A stalled process checks again
// first (Session.lookAgain): that it has read no answer says little about the member, and thousands of further
// connections would stall it longer. If this process did not run for so long that the session has ended, the deadline's
// alarm, which is due as well, reports that instead.
func (m *Machine) onLate() {
	s := m.session
	if s == nil || !s.Alive(m.now) {
		return
	}
	if again := s.lookAgain(m.now); m.lag >= Stalled && again > m.now {
		m.alarms.Set(&m.late, again)
		return
	}
	m.doubted = m.stream != nil
	m.out.add(Effect{Kind: Late, At: s.Deadline() - m.now, Detail: &Detail{Session: s}})
	m.hasten()
}

// onBeat sends a heartbeat.
func (m *Machine) onBeat() {
	if m.session != nil && m.stream != nil {
		m.push(sendBeat, nil)
		m.alarms.Set(&m.beat, m.nextBeat(m.now, m.session.TTL))
	}
}

// Rhythm returns the interval of a session's heartbeats: a third of its ttl, or up to a ninth less, so that sessions
// with similar ttls have the same.
func Rhythm(ttl time.Duration) time.Duration {
	period := time.Millisecond
	for next := period + period/8; next <= ttl/3; next += next / 8 {
		period = next
	}
	return period
}

// nextBeat returns when the heartbeat after at is due: at the next time given by the connection's phase and the rhythm.
func (m *Machine) nextBeat(at, ttl time.Duration) time.Duration {
	period := Rhythm(ttl)
	return at + period - (at+period-m.phase%period)%period
}
