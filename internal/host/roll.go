package host

import (
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// roll records when each other member was last heard: for people, if no coordinator polls the members. No decision
// depends on it.
type roll struct {
	mu    sync.Mutex
	heard map[protocol.ID]protocol.Time
}

// rollBound is the maximum number of members in the roll. The one heard longest ago makes room.
const rollBound = 1000

// note records the senders of events.
func (r *roll) note(now protocol.Time, events []protocol.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range events {
		id := events[i].From
		if events[i].Kind != protocol.Receive || id == protocol.Rumour || id == protocol.Storage {
			continue
		}
		if _, known := r.heard[id]; !known {
			r.makeRoom()
		}
		r.heard[id] = now
	}
}

func (r *roll) makeRoom() {
	if r.heard == nil {
		r.heard = map[protocol.ID]protocol.Time{}
	}
	if len(r.heard) < rollBound {
		return
	}
	var oldest protocol.ID
	first := protocol.Never
	//tidy:unordered the oldest is the oldest in any order
	for id, at := range r.heard {
		if at < first {
			oldest, first = id, at
		}
	}
	delete(r.heard, oldest)
}

// last returns when a member was last heard, if it ever was in this life.
func (r *roll) last(id protocol.ID) (protocol.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.heard[id]
	return at, known
}

// silence returns how long a running, reachable member may be silent: members in search of a coordinator ask each other
// at least as often.
func (n *Member) silence() time.Duration { return max(n.config.Lease, 12*n.config.Patience) }

// alive reports whether a member is this one, or was heard lately.
func (n *Member) alive(now protocol.Time, self *membership.Self, id protocol.ID) bool {
	at, known := n.roll.last(id)
	return id == self.Cell.ID || known && now < at+n.silence()
}
