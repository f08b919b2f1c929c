package host

import (
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// roll is when each other member was heard of last: what a person needs to know where
// no coordinator polls the members. Nothing is decided by it.
type roll struct {
	mu    sync.Mutex
	heard map[protocol.ID]protocol.Time
}

// rollBound is how many members the roll has at most. The one that was heard of longest
// ago makes room.
const rollBound = 1000

// note takes up who has said something.
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

// last returns when a member was heard of, if it ever was in this life.
func (r *roll) last(id protocol.ID) (protocol.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.heard[id]
	return at, known
}

// silence is how long a member that runs and can be reached may say nothing: those that
// look for a coordinator ask each other at least as often.
func (n *Member) silence() time.Duration { return max(n.config.Lease, 12*n.config.Patience) }

// alive reports whether a member is this one, or has said something lately.
func (n *Member) alive(now protocol.Time, self *membership.Self, id protocol.ID) bool {
	at, known := n.roll.last(id)
	return id == self.Cell.ID || known && now < at+n.silence()
}
