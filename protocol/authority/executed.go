package authority

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/admin"
)

// A Break is executed once, although the authority may change in the meantime. The authority that received it remembers
// the answer, even after its reign has ended: it then reports the result of the Break, or that it has not executed it
// and never will. Only in the second case does the member send it to the next authority. Until it has received either,
// it asks the former one again.

// executed is the executed operations of another member's process.
type executed struct {
	incarnation uint64
	low         uint64        // Queries below have been answered, and are asked no more
	answers     []Answer      // to its Breaks, by number
	gone        protocol.Time // since when the view has that process no more; Never while it has
}

// executedFor returns those of a process of another member.
func (m *Machine) executedFor(id protocol.ID, incarnation uint64) *executed {
	e := m.executed[id]
	if e == nil || e.incarnation != incarnation {
		e = &executed{incarnation: incarnation, gone: protocol.Never}
		m.executed[id] = e
	}
	return e
}

// forget drops the answers that have been heard.
func (e *executed) forget(low uint64) {
	e.low = max(e.low, low)
	e.answers = slices.DeleteFunc(e.answers, func(a Answer) bool { return a.Number < e.low })
}

// answer returns the answer to a Break that was executed.
func (e *executed) answer(number uint64) (Answer, bool) {
	i := slices.IndexFunc(e.answers, func(a Answer) bool { return a.Number == number })
	if i < 0 {
		return Answer{}, false
	}
	return e.answers[i], true
}

// AnswerFormer answers a Break that was sent to this member under an ended reign of its own, if it was executed in
// that. It reports false if it was not.
func (m *Machine) AnswerFormer(from protocol.ID, msg *Query, out *protocol.Effects) bool {
	e := m.executed[from]
	if e == nil || e.incarnation != msg.Tenure.Incarnation {
		return false
	}
	answer, is := e.answer(msg.Number)
	if is {
		answer.Stamp = Stamp{Epoch: msg.Epoch, Version: msg.Version, Tenure: msg.Tenure}
		out.Send(from, answer)
	}
	return is
}

// TakeFormer handles the answer of a former authority to a Break that it has executed. It reports false if no operator
// waits for it.
func (m *Machine) TakeFormer(now protocol.Time, from protocol.ID, msg *Answer, out *protocol.Effects) bool {
	waits := func(o *operation, _ addressee) bool {
		return m.doubted(o) && o.Of.authority == from && o.Of.version == msg.Version
	}
	return msg.Tenure == m.lease.Tenure && m.calls.Take(now, &msg.Answer, waits, out)
}

// Refused handles a process's statement that it has not executed a Break sent to it under a version, and never will.
// The Break goes to the present authority, or as soon as one is known.
func (m *Machine) Refused(now protocol.Time, from protocol.ID, incarnation uint64, version Version, number uint64, out *protocol.Effects) {
	for _, o := range m.calls.Waiting() {
		sentTo := addressee{from, incarnation, version, o.Of.name}
		if o.Of != sentTo || !mayBeBroken(o) || o.Query.Number != number || now >= o.Deadline {
			continue
		}
		o.Of, o.Due, o.Pause = addressee{name: o.Of.name}, protocol.Never, 0
		if m.reign.Authority != from || m.reign.Version != version { // else until the next one is known
			m.calls.Restart(now, o, out)
		}
	}
}

// rememberGone is how long the executed operations of a departed member's process are remembered, in units of patience.
// The process may come back, and may never have seen a view without this member: then it repeats its question. An
// operator waits for PatienceOfQuery by its member's clock, and has asked before the Break was executed.
const rememberGone = 2 * admin.PatienceOfQuery

// forgetGone forgets departed members: their operators' executed operations, once none of them can ask any more, and
// their possible answers about a Break that was sent to them. Such a Break then counts as possibly executed.
func (m *Machine) forgetGone(now protocol.Time, out *protocol.Effects) {
	//tidy:unordered each is judged by itself
	maps.DeleteFunc(m.executed, func(id protocol.ID, e *executed) bool { return m.forgets(now, id, e) })
	for _, o := range m.calls.Waiting() {
		member, listed := m.view.Of(o.Of.authority)
		if m.doubted(o) && (!listed || member.Tenure.Incarnation != o.Of.incarnation) {
			what := "has left the view"
			if listed {
				what = "was started anew"
			}
			gone := fmt.Sprintf("%s was asked, and %s before it answered", m.targetOf(o), what)
			m.calls.Fail(now, o, &lock.Unavailable{Why: gone + ofBreak(o)}, out)
		}
	}
}

// sendWaiting sends the calls that waited for an authority.
func (m *Machine) sendWaiting(now protocol.Time, out *protocol.Effects) {
	for _, o := range m.calls.Waiting() {
		if o.Due == protocol.Never {
			m.calls.Ask(now, o, out)
		}
	}
}

// forgets reports whether a process's executed operations are to be forgotten.
func (m *Machine) forgets(now protocol.Time, id protocol.ID, e *executed) bool {
	member, listed := m.view.Of(id)
	switch {
	case listed && member.Tenure.Incarnation != e.incarnation:
		return true // that process has ended
	case listed:
		e.gone = protocol.Never
		return false
	}
	e.gone = min(e.gone, now)
	return protocol.Mutated("a break is forgotten with its view") || now-e.gone > rememberGone*m.config.Patience
}
