package host

import (
	"sync"
	"time"

	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// lastSeen says when each other member was heard of last: what a person needs to know where
// no coordinator polls anybody. Nothing is decided by it.
type lastSeen struct {
	mu sync.Mutex
	at map[protocol.ID]protocol.Time
}

// maxLastSeen is how many members it has at most. The one that was heard of longest
// ago makes room.
const maxLastSeen = 1000

// note takes up who has said something.
func (r *lastSeen) note(now protocol.Time, events []protocol.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range events {
		id := events[i].From
		if events[i].Kind != protocol.Receive || id == protocol.Rumour || id == protocol.Storage {
			continue
		}
		if _, known := r.at[id]; !known {
			r.evict()
		}
		r.at[id] = now
	}
}

func (r *lastSeen) evict() {
	if r.at == nil {
		r.at = map[protocol.ID]protocol.Time{}
	}
	if len(r.at) < maxLastSeen {
		return
	}
	var oldest protocol.ID
	first := protocol.Never
	//tidy:unordered the oldest is the oldest in any order
	for id, at := range r.at {
		if at < first {
			oldest, first = id, at
		}
	}
	delete(r.at, oldest)
}

// of returns when a member was heard of, if it ever was in this life.
func (r *lastSeen) of(id protocol.ID) (protocol.Time, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, known := r.at[id]
	return at, known
}

// silence is how long a member that runs and can be reached may say nothing: those that
// look for a coordinator ask each other at least as often.
func (n *Member) silence() time.Duration { return max(n.config.Lease, 12*n.config.Patience) }

// alive reports whether a member is this one, or has said something lately.
func (n *Member) alive(now protocol.Time, self *membership.Self, id protocol.ID) bool {
	at, known := n.lastSeen.of(id)
	return id == self.Cell.ID || known && now < at+n.silence()
}
