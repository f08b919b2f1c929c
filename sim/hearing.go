package sim

import (
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Where nobody is in charge, no queue says which request came first. What is promised is that who
// asks after another one's request was heard by everybody comes after it (P5): so from then on
// that request stands, as one does that an authority has queued.

// Plea is what a member asks the others for.
type Plea struct {
	Name   string
	Number uint64 // it is used once
	Reign  protocol.Epoch
}

// hearers are those that have heard of a request: the members, each in which life.
type hearers map[protocol.ID]uint32

// mostPleas is of how many requests it is known who has heard them, before those are forgotten
// that ask no more.
const mostPleas = 256

// wish returns which request of a client a member asks the others for by a number.
func (m *member) wish(number uint64) (key requestKey, asks bool) {
	if m.space() == nil || m.view == nil {
		return requestKey{}, false
	}
	session, request, asks := m.world.protocol.Peering.Wish(m.space(), number)
	return requestKey{session, request}, asks
}

// heardBy notes that another member has heard of a request. When all have that are in its member's
// view, nobody who asks later comes before it.
func (m *member) heardBy(other *member, plea *Plea) {
	key, asks := m.wish(plea.Number)
	if !asks {
		return
	}
	m.forgetPleas()
	if m.heard == nil {
		m.heard = map[uint64]hearers{}
	}
	if m.heard[plea.Number] == nil {
		m.heard[plea.Number] = hearers{}
	}
	m.heard[plea.Number][other.id] = other.life
	if !m.heardByAll(plea.Number) {
		return
	}
	asked := requestKey{lock.SessionID{Member: uint64(m.id)}, plea.Number}
	m.world.judge.wishes(plea.Name, asked, key)
	m.world.judge.stands(plea.Name, asked, plea.Reign)
}

// heardByAll reports whether all others of the member's view have heard of a request, in the life
// in which they are.
func (m *member) heardByAll(number uint64) bool {
	w := m.world
	for _, listed := range m.view.Members {
		if listed.ID == m.id {
			continue
		}
		place, known := w.network.id[listed.ID]
		life, heard := m.heard[number][listed.ID]
		if !known || !heard || !w.members[place].up || w.members[place].life != life {
			return false
		}
	}
	return true
}

// forgetPleas drops what asks no more, where there is much.
func (m *member) forgetPleas() {
	if len(m.heard) < mostPleas {
		return
	}
	//tidy:unordered each is kept or dropped by itself
	for number := range m.heard {
		if _, asks := m.wish(number); !asks {
			delete(m.heard, number)
		}
	}
}
