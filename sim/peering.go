package sim

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Coverage for a protocol whose members ask one another: what a crash destroys, members that join while others ask,
// late replies, and the fate of permissions that are kept. It draws nothing and changes nothing.

// Rows of coverage for peers.
var (
	peerHeld     = mark{"peers", "crash of a holder while others ask"}
	peerDefers   = mark{"peers", "crash of who asks and lets others wait"}
	peerIdle     = mark{"peers", "crash of who is idle while others ask"}
	peerKeeps    = mark{"peers", "crash of who keeps permissions"}
	peerJoins    = mark{"peers", "a member joins while others ask"}
	peerRecalled = mark{"peers", "a kept permission is asked back"}
	peerLate     = mark{"peers", "a late reply to a former request"}
	peerDebts    = mark{"peers", "a reply to several requests"}
)

// dealings returns a member's open business with its peers.
func (m *process) dealings() probe.Dealings {
	if m.space() == nil {
		return probe.Dealings{}
	}
	return m.world.protocol.PeerProbe.Dealings(m.space())
}

// othersWait reports whether another member has an open request.
func (m *process) othersWait() bool {
	for _, other := range m.world.members {
		if other != m && other.dealings().Waits > 0 {
			return true
		}
	}
	return false
}

// bereaves is called when a member is about to crash.
func (w *world) bereaves(m *process) {
	if m.space() == nil || m.view == nil {
		return
	}
	d, others := m.dealings(), m.othersWait()
	w.exercises(peerKeeps, d.Keeps > 0)
	w.exercises(peerDefers, d.Defers > 0)
	w.exercises(peerHeld, others && d.Holds > 0)
	w.exercises(peerIdle, others && d.Holds == 0 && d.Waits == 0)
}

// joins is called when a member has a view. A member that was not in the previous one, or had another tenure there,
// repeats its open requests.
func (w *world) joins(m *process, v *protocol.View) {
	now, listed := v.Of(m.id)
	before := protocol.Member{}
	if m.view != nil {
		before, _ = m.view.Of(m.id)
	}
	if now.Since == before.Since && now.Tenure == before.Tenure {
		return
	}
	w.judge.lapsed(uint64(m.id))
	switch {
	case !listed:
	case w.protocol.LeaderProbe != nil:
		w.returns(m)
	case m.othersWait():
		w.count.hits[peerJoins]++
	}
}

// meets is called before a message reaches a member, and returns a function to call afterwards.
func (w *world) meets(m *process, from protocol.ID, message any) (after func()) {
	space := m.space()
	if space == nil {
		return nil
	}
	met := w.protocol.PeerProbe.Meets(space, from, message)
	switch met {
	case probe.MeetsNewer:
		w.count.hits[peerLate]++
	case probe.MeetsSeveral:
		w.count.hits[peerDebts]++
	}
	plea, is := w.protocol.PeerProbe.PeerRequestIn(message)
	if !is && met != probe.MeetsKept {
		return nil
	}
	return func() {
		if met == probe.MeetsKept && m.space() == space && w.protocol.PeerProbe.Meets(space, from, message) != probe.MeetsKept {
			w.count.hits[peerRecalled]++
		}
		if asks := w.network.of[from]; is && asks != nil && m.space() == space && w.protocol.PeerProbe.Heard(space, from, message) {
			asks.heardBy(m, &plea)
		}
	}
}
