package sim

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// What coverage counts of a protocol whose members ask one another: what a crash takes with it,
// which members join while others ask, late replies, and what becomes of permissions that are kept. It
// draws nothing and changes nothing.

// PeerProbe reads that off spaces and messages.
type PeerProbe interface {
	// PeerRequestIn reads off a message that it asks for an exclusive lock and waits for it, under which
	// number, and in which reign it was given its place. Nothing else has a place.
	PeerRequestIn(message any) (PeerRequest, bool)
	// Wish reads off the asker's space which request of a client asks by a number; of one that
	// has entered it reads the same, and that it does not ask.
	Request(space protocol.Machine, number uint64) (session lock.SessionID, request uint64, waits bool)
	// Heard reads off a space whether it has taken in what a peer asks for.
	Heard(space protocol.Machine, from protocol.ID, message any) bool
	// Dealings reads off a space what its member has to do with its peers.
	Dealings(space protocol.Machine) Dealings
	// Meets reads off a message that is about to reach a space what it finds there.
	Meets(space protocol.Machine, from protocol.ID, message any) Meeting
}

// Dealings is what a member has to do with its peers: how many requests of its clients hold and
// how many ask, at how many names it lets peers wait because one of its own has asked before them,
// and of how many it keeps permissions.
type Dealings struct{ Holds, Waits, Defers, Keeps int }

// Meeting is what a message finds that reaches a peer.
type Meeting uint8

// What a message finds.
const (
	MeetsNothing Meeting = iota
	MeetsKept            // it asks for what the peer keeps the asker's permission for
	MeetsNewer           // it answers a request that has ended, and the peer has asked again
	MeetsSeveral         // it settles more requests of the peer than one
)

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
func (m *process) dealings() Dealings {
	if m.space() == nil {
		return Dealings{}
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
	case MeetsNewer:
		w.count.peers[peerLate]++
	case MeetsSeveral:
		w.count.peers[peerDebts]++
	}
	plea, is := w.protocol.PeerProbe.PeerRequestIn(message)
	if !is && met != MeetsKept {
		return nil
	}
	return func() {
		if met == MeetsKept && m.space() == space && w.protocol.PeerProbe.Meets(space, from, message) != MeetsKept {
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
