package sim

import (
	"maps"
	"slices"

	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/probe"
)

// Where no member is in charge, no queue says which request came first. The promise is that a member that
// asks after all members have heard of another one's request comes after it (P5). So from then on
// that request stands, as one does that an authority has queued. All members means those that can
// grant: those of the view, and those that it has left out while their leases last. Such a member goes on granting
// by permissions that it was given before, and nothing reaches it.

// hearers are those that have heard of a request: the members, each in which life.
type hearers struct {
	of probe.PeerRequest
	by map[protocol.ID]uint32
}

// mostPeerRequests is of how many requests it is known who has heard them, before those are forgotten
// that ask no more.
const mostPeerRequests = 256

// request returns which request of a client a member asks the others for by a number.
func (m *process) request(number uint64) (key requestKey, waits bool) {
	if m.space() == nil || m.view == nil {
		return requestKey{}, false
	}
	session, request, waits := m.world.protocol.PeerProbe.Request(m.space(), number)
	return requestKey{session, request}, waits
}

// heardBy notes that another member has heard of a request. When all have that are in its member's
// view, no request that is made later comes before it.
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

// stand lets a request stand, if all members have heard of it.
func (m *process) stand(number uint64) {
	key, waits := m.request(number)
	if !waits || !m.heardByAll(number) {
		return
	}
	plea, memberKey := m.heard[number].of, requestKey{lock.SessionID{Member: uint64(m.id)}, number}
	m.world.judge.requestsOf(plea.Name, memberKey, key)
	m.world.judge.stands(plea.Name, memberKey, plea.Reign)
}

// opened lets those requests stand of which only members have not heard that can grant nothing any more.
func (m *process) opened() {
	for _, number := range slices.Sorted(maps.Keys(m.heard)) {
		m.stand(number)
	}
}

// heardByAll reports whether all others of the member's view have heard of a request, in the life
// in which they are, and no member that the view has left out can grant anything.
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

// leftOut reports whether another member has a lease, and no place in this one's view.
func (m *process) leftOut(other *process) bool {
	if other == m || !other.leased() {
		return false
	}
	at, listed := m.view.Of(other.id)
	return !listed || at.Tenure != other.view.Lease.Tenure
}

// forgetPeerRequests drops what asks no more, where there is much.
func (m *process) forgetPeerRequests() {
	if len(m.heard) < mostPeerRequests {
		return
	}
	//tidy:unordered each is kept or dropped by itself
	for number := range m.heard {
		if _, waits := m.request(number); !waits {
			delete(m.heard, number)
		}
	}
}
