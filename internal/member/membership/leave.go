package membership

import (
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/election"
	"github.com/holdfast-locks/holdfast/protocol"
)

// leaving is the state of a member on its way out.
type leaving struct {
	calls []protocol.CallID
	clean bool // it has no holds, and no promises to clients
	out   bool // no view contains it any more
	again protocol.Time
	last  int // number of surveys in a row without a member that stays and can lead
}

// empty reports whether the member has declared that there is nothing of it to wait for.
func (e *leaving) empty() bool { return e != nil && e.clean }

// ended reports whether the member accepts no lease any more.
func (e *leaving) ended() bool { return e.empty() }

// onLeave starts to leave.
func (m *Machine) onLeave(now protocol.Time, call protocol.CallID, leave *Leave, out *protocol.Effects) {
	if !m.saving {
		m.urgent = true
		m.remember()
	}
	if m.exit == nil {
		m.exit = &leaving{again: now}
		m.abandon()
	}
	m.exit.calls = append(m.exit.calls, call)
	if m.exit.clean || !leave.Empty || m.need.Clients || m.wait > 0 || m.alone() {
		return
	}
	m.exit.clean = true
	if m.leased && m.reign == nil {
		m.lapse(now, out)
	}
}

// resign is a coordinator's way to leave: it gives up its role, and the members elect the next at once. It promises
// itself to that one, so that there is no wait for it.
func (m *Machine) resign(now protocol.Time, out *protocol.Effects) {
	r := m.reign
	heirs := false
	for _, member := range r.view.Members {
		if member.ID != m.self {
			heirs = heirs || member.Founder && !r.track(member.ID, now).leaving
			out.Send(member.ID, Resign{Epoch: r.epoch})
		}
	}
	m.cease(now, out)
	if m.exit.clean && m.leased {
		m.lapse(now, out)
	}
	m.exit.again = now + m.config.poll()
	if !heirs {
		m.exit.out = true // no member is left to lead the staying ones
	}
}

// leaveBehind ends the survey of a leaving member without a coordinator: it does not elect one either, so another
// founder must. If all that answer are leaving as well, there is no member to wait for. A silent one is asked twice.
func (m *Machine) leaveBehind(now protocol.Time, survey *election.Survey) {
	m.tryAt = now + m.jitter(m.patience())
	m.exit.last++
	stays := func(a election.StatusAnswer) bool { return a.Self.Founder && !a.Leaving || a.Well }
	if slices.ContainsFunc(survey.Answers, stays) {
		m.exit.last = 0
	}
	m.exit.out = m.exit.last > 1 || m.exit.last > 0 && len(survey.Silent()) == 0
}

func (m *Machine) exitWake() protocol.Time {
	if m.exit == nil || m.exit.out {
		return protocol.Never
	}
	return m.exit.again
}

// goOnLeaving repeats the leave to the coordinator, until no view contains this member any more.
func (m *Machine) goOnLeaving(now protocol.Time, out *protocol.Effects) {
	if m.exit == nil || m.exit.out {
		return
	}
	v := m.cell.Accepted
	switch {
	case v == nil, !m.publishing, v.Installed && v.Rank(m.self) < 0:
		m.exit.out = true
	case now >= m.exit.again:
		m.exit.again = now + m.config.poll()
		if m.content(now) {
			m.exit.last = 0
		}
		m.announceLeaving(now, out)
	}
}

// announceLeaving repeats to the coordinator that this member is leaving; if the accepted view has no place for it, to
// the coordinator of that view, which no longer polls it. It never mentions an unwritten view: a later life of this
// member would know only the previous one, and could be its quorum.
func (m *Machine) announceLeaving(now protocol.Time, out *protocol.Effects) {
	v, written := m.cell.Accepted, m.written.Accepted
	to := m.coordinator
	if !m.followed {
		if v.Rank(m.self) >= 0 {
			return
		}
		to = v.Epoch.Candidate
	}
	if v.Epoch != m.cell.promised() || written == nil || written.Epoch != v.Epoch {
		return
	}
	answer := m.pollAnswer(now, 0)
	if !protocol.Mutated("leaver answers for what is not written") {
		answer.View = written.Number
	}
	out.Send(to, answer)
}

// answerLeave answers when the member is out and the cell records the promises.
func (m *Machine) answerLeave(out *protocol.Effects) {
	if m.exit == nil || m.saving || !m.exit.out && !m.alone() {
		return
	}
	for _, call := range m.exit.calls {
		out.Reply(call, &Left{Err: m.failed})
	}
	m.exit.calls = nil
	if m.alone() {
		m.exit = nil // it continues if its process does not end
	}
}

// onResign handles an orderly resignation of the coordinator. The most senior member becomes a candidate at once: all
// hear of it in the same instant, and of two simultaneous candidates one would leave the other without a place, and its
// holders without time. Each other member gives each of those before it T to become one.
func (m *Machine) onResign(now protocol.Time, from protocol.ID, resigned Resign) {
	if m.reign != nil || from != m.coordinator || !m.followed || resigned.Epoch != m.cell.promised() {
		return
	}
	m.followed, m.resigned = false, resigned.Epoch
	m.tryAt = now
	if m.exit == nil {
		m.tryAt += m.patience() * time.Duration(m.seniorsBut(from))
	}
}

// seniorsBut counts the founders of the accepted view that are more senior than this member, except one.
func (m *Machine) seniorsBut(leaver protocol.ID) (count int) {
	v := m.cell.Accepted
	own := election.Rank{ID: m.self, Name: m.config.Name, Priority: m.config.Priority}
	for _, member := range v.Members {
		rank := election.Rank{ID: member.ID, Name: member.Name}
		if member.ID != m.self && member.ID != leaver && member.Founder && m.rules.Senior(v, rank, own) {
			count++
		}
	}
	return count
}
