package sim

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Without a coordinator, no queue defines which request came first. The promise is that a member that asks after all
// members have heard of another member's request comes after it (P5). From then on that request has a place, like one
// that an authority has queued. "All members" are those that can grant: those of the view, and those outside the view
// while their leases last. Such a member still grants by permissions that it got before, and nothing reaches it.

// hearers are the members that have heard of a request, each with its life.
type hearers struct {
	of probe.PeerRequest
	by map[protocol.ID]uint32
}

// mostPeerRequests is the number of tracked requests above which settled ones are forgotten.
const mostPeerRequests = 256

// request returns the client's request for which a member asks the others under a number.
func (m *process) request(number uint64) (key requestKey, waits bool) {
	if m.space() == nil || m.view == nil {
		return requestKey{}, false
	}
	session, request, waits := m.world.protocol.PeerProbe.Request(m.space(), number)
	return requestKey{session, request}, waits
}

// heardBy records that another member has heard of a request. When all members of the view have, no later request comes
// before it.
func (m *process) heardBy(other *process, plea *probe.PeerRequest) {
	if _, waits := m.request(plea.Number); !waits {
		return
	}
	m.forgetPeerRequests()
	if m.heard == nil {
		m.heard = map[uint64]hearers{}
	}
	h, known := m.heard[plea.Number]
	if !known {
		h = hearers{by: map[protocol.ID]uint32{}}
	}
	h.of, h.by[other.id] = *plea, other.life
	m.heard[plea.Number] = h
	m.stand(plea.Number)
}

// stand gives a request its place if all members have heard of it.
func (m *process) stand(number uint64) {
	key, waits := m.request(number)
	if !waits || !m.heardByAll(number) {
		return
	}
	plea, memberKey := m.heard[number].of, requestKey{lock.SessionID{Member: uint64(m.id)}, number}
	m.world.judge.requestsOf(plea.Name, memberKey, key)
	m.world.judge.stands(plea.Name, memberKey, plea.Reign)
}

// opened gives requests their place if the only members that have not heard of them can no longer grant.
func (m *process) opened() {
	for _, number := range slices.Sorted(maps.Keys(m.heard)) {
		m.stand(number)
	}
}

// heardByAll reports whether all other members of the view have heard of a request in their present life, and no member
// outside the view can grant.
func (m *process) heardByAll(number uint64) bool {
	w := m.world
	if slices.ContainsFunc(w.members, m.leftOut) {
		return false
	}
	for _, listed := range m.view.Members {
		if listed.ID == m.id {
			continue
		}
		other := w.network.of[listed.ID]
		life, heard := m.heard[number].by[listed.ID]
		if other == nil || !heard || !other.up || other.life != life {
			return false
		}
	}
	return true
}

// leftOut reports whether another member has a lease, but no place in this member's view.
func (m *process) leftOut(other *process) bool {
	if other == m || !other.leased() {
		return false
	}
	at, listed := m.view.Of(other.id)
	return !listed || at.Tenure != other.view.Lease.Tenure
}

// forgetPeerRequests drops settled requests if there are many.
func (m *process) forgetPeerRequests() {
	if len(m.heard) < mostPeerRequests {
		return
	}
	//tidy:unordered each is kept or dropped on its own
	for number := range m.heard {
		if _, waits := m.request(number); !waits {
			delete(m.heard, number)
		}
	}
}
