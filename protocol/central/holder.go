package central

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// The holder's role: it speaks for this member's clients. Each wish becomes a
// message to the coordinator; the coordinator being this member too, the message is
// its within the same step.

func (m *Machine) holderAcquire(now protocol.Time, call protocol.CallID, r *lock.Request, out *protocol.Effects) {
	m.asked = asked{call, r.Session, r.ID}
	m.coordAcquire(now, Acquire{m.coord.epoch, r}, out)
	m.asked = asked{}
}

func (m *Machine) holderRelease(now protocol.Time, call protocol.CallID, r *protocol.Release, out *protocol.Effects) {
	m.asked = asked{call, r.Session, r.Request}
	m.coordRelease(now, Release{m.coord.epoch, r}, out)
	m.asked = asked{}
}

func (m *Machine) holderCancel(now protocol.Time, call protocol.CallID, r *protocol.Cancel, out *protocol.Effects) {
	m.asked = asked{call, r.Session, r.Request}
	m.coordCancel(now, Cancel{m.coord.epoch, r}, out)
	m.asked = asked{}
}

func (m *Machine) holderExtend(now protocol.Time, call protocol.CallID, r *protocol.Extend, out *protocol.Effects) {
	m.asked = asked{call, r.Session, r.Request}
	m.coordExtend(now, Extend{m.coord.epoch, r}, out)
	m.asked = asked{}
}

func (m *Machine) holderEndSession(now protocol.Time, r *protocol.EndSession, out *protocol.Effects) {
	m.coordEndSession(now, EndSession{m.coord.epoch, r.Session, r.Why}, out)
}

// holderDecided passes on a decision: the first one about what is being asked in
// this step answers the call; every other goes where its session can be reached.
// A release by token alone (request 0) is answered by the release it caused.
func (m *Machine) holderDecided(d *lock.Decision, out *protocol.Effects) {
	var to protocol.CallID
	if a := &m.asked; a.call != (protocol.CallID{}) && d.Session == a.session && (d.Request == a.request || a.request == 0) {
		to = a.call
		a.call = protocol.CallID{}
	}
	out.Decide(to, d)
}
