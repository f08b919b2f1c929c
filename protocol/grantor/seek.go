package grantor

import (
	"fmt"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/authority"
)

// seek is the one question to the elder that is under way (the original's election slot).
type seek struct {
	question Question
	elder    Place
	due      protocol.Time
	pause    protocol.Time
}

// ask sends a question to the elder, and drops one in progress: a late answer to that matches no question.
func (m *Machine) ask(now protocol.Time, kind Kind, out *protocol.Effects) {
	m.questions++
	m.seekFrom = protocol.Never
	m.seek = &seek{question: Question{Tenure: m.view.Lease.Tenure, Number: m.questions, Kind: kind, Version: m.reign.Version}}
	switch {
	case kind == Clear || kind == ClearWithLocks:
		m.seek.question.Reign, m.seek.question.Count = m.part.Reign(), m.part.Count()
	case kind == Count && m.successor != nil:
		m.seek.question.Version = m.successor.version
	case kind != Count:
		m.seek.question.Version = authority.Version{}
	}
	m.sendQuestion(now, out)
}

func (m *Machine) sendQuestion(now protocol.Time, out *protocol.Effects) {
	s := m.seek
	s.elder = m.elderPlace()
	s.pause = protocol.Longer(s.pause, m.config.Patience)
	s.due = now + s.pause
	if s.elder.ID == m.self {
		s.due = protocol.Never // it answers by itself
		m.onQuestion(now, m.self, &s.question, out)
		return
	}
	out.Send(s.elder.ID, s.question)
}

func (m *Machine) seekWake() protocol.Time {
	if m.seek == nil {
		return protocol.Never
	}
	return m.seek.due
}

func (m *Machine) seekTick(now protocol.Time, out *protocol.Effects) {
	if m.seekFrom <= now {
		m.seekFrom = protocol.Never
	}
	if m.seek != nil && m.seek.due <= now && m.admitted() {
		m.sendQuestion(now, out)
	}
}

// turnQuestion sends the question in progress to the elder of another view. A late answer of the previous one is void:
// the new one does not know of it.
func (m *Machine) turnQuestion(now protocol.Time, out *protocol.Effects) {
	s := m.seek
	switch {
	case s == nil:
	case s.elder == m.elderPlace() && s.elder.ID == m.self:
		m.onQuestion(now, m.self, &s.question, out) // it may have ceased to be elder meanwhile, and forgotten
	case s.elder == m.elderPlace():
	case s.question.Kind == Clear || s.question.Kind == ClearWithLocks:
		m.seek = nil // a new elder learns by itself that this member does not grant
		m.retire(now, out)
	default:
		m.ask(now, s.question.Kind, out)
	}
}

// onInfo handles the elder's answer.
func (m *Machine) onInfo(now protocol.Time, from protocol.ID, msg *Info, out *protocol.Effects) {
	s := m.seek
	if (s == nil || msg.Number != s.question.Number) && m.isNamed(from, msg) {
		m.seek = nil
		m.begin(now, msg, out)
		return
	}
	if s == nil || msg.Number != s.question.Number || from != s.elder.ID || msg.Tenure != m.view.Lease.Tenure {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: it was not asked for", msg, from)})
		return
	}
	if err := msg.malformed(); err != nil {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: %v", msg, from, err)})
		return // it is asked again
	}
	if msg.Grantor.ID == m.self && msg.Grantor != m.own() {
		return // the view that the elder has is on its way: it is asked again
	}
	m.seek = nil
	switch {
	case s.question.Kind == Clear || s.question.Kind == ClearWithLocks:
		m.retire(now, out)
	case msg.Grantor == m.own() && !msg.Version.Before(m.heard):
		m.begin(now, msg, out)
	case msg.Grantor == m.own():
		// Another one was named since, and this member heard of that first.
	case msg.Grantor.ID != 0:
		m.successor, m.becoming = nil, false
		m.learn(now, msg.Grantor, msg.Version, out)
	case s.question.Kind == Count:
		m.successor = nil // the elder knows nothing of this reign
		m.forget(now, out)
	case msg.Left:
		m.ask(now, Get, out) // some member has to recover, before anything is known
	default:
		m.part.AnswerUndecided(now, out)
	}
	if m.seek == nil && m.successor == nil && !m.part.Decides() {
		m.answered = true
		m.unpark(now, out)
		m.answered = false
	}
}

// isNamed reports whether the elder names this member in answer to a dropped question: the elder relies on it, and the
// previous grantor keeps its table for this member. An epoch has one elder, which forgets nothing in it; and a later
// named one has a higher version.
func (m *Machine) isNamed(from protocol.ID, msg *Info) bool {
	return m.admitted() && from == m.elderPlace().ID && msg.Tenure == m.view.Lease.Tenure && msg.Grantor == m.own() &&
		m.heard.Before(msg.Version) && msg.Version.Epoch == m.view.Epoch.Counter && msg.malformed() == nil
}

// malformed returns the error of a reign that no elder reports.
func (m *Info) malformed() error {
	begins := m.Beginning == Settled || m.Beginning == Recovering
	switch {
	case m.Beginning > Inheriting:
		return fmt.Errorf("a reign does not begin in way %d", uint8(m.Beginning))
	case begins && (m.Reign < 1 || m.Reign > lock.MaxReign || m.Count > lock.MaxCount):
		return fmt.Errorf("reign %d from count %d: want a reign of 1 to %d, and a count of at most %d", m.Reign, m.Count, uint64(lock.MaxReign), lock.MaxCount)
	}
	return nil
}

// learn follows the grantor that the elder has named, if no newer one is known. One that has just refused is asked
// again after a while: it, or the elder, may not be informed yet.
func (m *Machine) learn(now protocol.Time, grantor Place, version authority.Version, out *protocol.Effects) {
	if version.Before(m.heard) || !m.present(grantor) {
		m.seekFrom = now + m.refusedPause()
		return
	}
	m.follow(now, grantor, authority.Reign{Authority: grantor.ID, Version: version}, out)
}

// refusedPause is how long a refused member waits before it asks the elder again (100 ms in the original).
func (m *Machine) refusedPause() protocol.Time { return max(1, m.config.Patience*2/5) }

// follow makes a grantor's reign the one that this member believes. Everything of an older one ends.
func (m *Machine) follow(now protocol.Time, grantor Place, reign authority.Reign, out *protocol.Effects) {
	m.heard = reign.Version
	m.reign, m.place = reign, grantor
	m.part.Follow(now, m.view, reign, out)
}

// forget leaves the grantor that this member follows.
func (m *Machine) forget(now protocol.Time, out *protocol.Effects) {
	m.reign, m.place = authority.Reign{}, Place{}
	m.part.Follow(now, m.view, m.reign, out)
}

// onNotGrantor handles the refusal of a member that was assumed to be the grantor.
func (m *Machine) onNotGrantor(now protocol.Time, from protocol.ID, msg *NotGrantor, out *protocol.Effects) {
	if msg.Query != 0 && !protocol.Mutated("refused break not sent again") {
		m.part.Refused(now, from, msg.By, msg.Version, msg.Query, out)
	}
	if msg.Version != m.reign.Version || from != m.reign.Authority || msg.Tenure != m.view.Lease.Tenure {
		return
	}
	believed := !m.foretells(msg.Known)
	if !believed {
		out.Note(Ignored{What: fmt.Sprintf("%v from member %d: no such epoch is known here", msg, from)})
	}
	if believed && m.heard.Before(msg.Known) && m.present(msg.Grantor) && msg.Grantor.ID != m.self {
		m.follow(now, msg.Grantor, authority.Reign{Authority: msg.Grantor.ID, Version: msg.Known}, out)
		return
	}
	m.forget(now, out)
	m.seekFrom = now + m.refusedPause()
}
