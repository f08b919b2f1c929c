package session

import (
	"maps"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// acknowledged renews the session by the answer to what was sent at the time sent.
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

// onBeaten moves the deadline: to the ttl after this very beat was sent. The answers
// to beats before it say nothing new.
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

// onLate is called when the session's heartbeats have not been acknowledged for half
// of its ttl, or for longer where answers take long (answers.lateAfter). Another stream is opened then; but the one that
// there is goes on until that is welcomed: the answer may be under way, or may have come already, to a process
// that could not read it. One that has stalled looks again before (Session.lookAgain): that it has read no answer says
// little about the member, and thousands of further connections would stall it for longer. Where this process did not
// run for so long that the session has ended, the alarm of the deadline, which is due as well, reports that instead.
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

// Rhythm is the time between two heartbeats of a session: a third of its ttl, or up to a ninth
// less, so that sessions whose ttls are nearly alike have the same.
func Rhythm(ttl time.Duration) time.Duration {
	period := time.Millisecond
	for next := period + period/8; next <= ttl/3; next += next / 8 {
		period = next
	}
	return period
}

// nextBeat is when the heartbeat after the moment at is due: at the next
// of the moments that the phase of the connection and the rhythm make.
func (m *Machine) nextBeat(at, ttl time.Duration) time.Duration {
	period := Rhythm(ttl)
	return at + period - (at+period-m.phase%period)%period
}
