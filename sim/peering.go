package sim

import (
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// What coverage counts of a protocol whose members ask one another: what a crash takes with it,
// which members join while others ask, late replies, and what becomes of permissions that are kept. It
// draws nothing and changes nothing.

// What is counted of peers.
const (
	peerHeld     = iota // a member crashed that held something, and others asked
	peerDefers          // one that wanted something and let others wait
	peerIdle            // one that wanted nothing, while others asked
	peerKeeps           // one that kept permissions
	peerJoins           // a member came into a view while others asked
	peerRecalled        // a permission that was kept was asked back
	peerLate            // a reply to a former request came
	peerDebts           // a reply settled several requests
	peerCount
)

var peerNames = [peerCount]string{
	"crash of a holder while others ask", "crash of who asks and lets others wait", "crash of who is idle while others ask",
	"crash of who keeps permissions", "a member joins while others ask", "a kept permission is asked back",
	"a late reply to a former request", "a reply to several requests",
}

// dealings reads off a member what it has to do with its peers.
func (m *process) dealings() probe.Dealings {
	if m.space() == nil {
		return probe.Dealings{}
	}
	return m.world.protocol.PeerProbe.Dealings(m.space())
}

// othersWait reports whether a member but this one asks for something.
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
	hit := &w.count.peers
	if d.Keeps > 0 {
		hit[peerKeeps]++
	}
	if d.Defers > 0 {
		hit[peerDefers]++
	}
	switch {
	case others && d.Holds > 0:
		hit[peerHeld]++
	case others && d.Waits == 0:
		hit[peerIdle]++
	}
}

// joins is called when a member has a view. A member that was not in the one before, or was there
// otherwise, asks anew for what it waits for.
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
		w.count.peers[peerJoins]++
	}
}

// meets is called before a message reaches a member, and returns what to call when it has.
func (w *world) meets(m *process, from protocol.ID, message any) (after func()) {
	space := m.space()
	if space == nil {
		return nil
	}
	met := w.protocol.PeerProbe.Meets(space, from, message)
	switch met {
	case probe.MeetsNewer:
		w.count.peers[peerLate]++
	case probe.MeetsSeveral:
		w.count.peers[peerDebts]++
	}
	plea, is := w.protocol.PeerProbe.PeerRequestIn(message)
	if !is && met != probe.MeetsKept {
		return nil
	}
	return func() {
		if met == probe.MeetsKept && m.space() == space && w.protocol.PeerProbe.Meets(space, from, message) != probe.MeetsKept {
			w.count.peers[peerRecalled]++
		}
		if place, known := w.network.id[from]; is && known && m.space() == space && w.protocol.PeerProbe.Heard(space, from, message) {
			w.members[place].heardBy(m, &plea)
		}
	}
}

// listPeers lists what can be hit of members that ask one another.
func (c *counts) listPeers(config *Config, row func(sort, name string, n int)) {
	if config.Protocol.PeerProbe == nil || config.Faults == 0 {
		return
	}
	for i, name := range peerNames {
		switch i {
		case peerHeld, peerDefers, peerIdle, peerKeeps, peerJoins:
			if !config.Faults.Has(Crash) {
				continue
			}
		}
		row("peers", name, c.peers[i])
	}
}
