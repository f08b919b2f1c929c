package session

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// Session is one session of a member, as its client knows it: its names, and its deadline.
type Session struct {
	ID, Secret string
	Member     string // name of the member that answered last
	// Generation is this client's position among those that have used the session, from the latest welcome; 0 before
	// the first, and with a member that has none.
	Generation uint64
	Opened     bool          // by this client, not taken over from another process
	TTL        time.Duration // in the latest answer
	Cut        string        // why it is shorter than requested

	longer  bool                 // a heartbeat with its first grant gives it a longer ttl
	anchor  time.Duration        // sending time of the acknowledged message
	at      api.Address          // where it was last opened or resumed
	unknown map[api.Address]bool // addresses whose members do not know it

	// deadline is when the session ends; 0 before the first answer. If negative, it is over: the first reader whose
	// clock is past it makes it so, and nothing makes it positive again.
	deadline atomic.Int64
}

// Renew applies an answer, at now, to a message sent at sent: the session lives for ttl from then. It reports whether
// the session is alive; an ended one is not revived. The deadline may move closer: the member's last answer counts.
// This is the only implementation of the rule of a client's deadline (docs/design/membership.md §6).
func (s *Session) Renew(now, sent, ttl time.Duration) bool {
	if mutation.Off("client deadline counted from receipt") {
		sent = now
	}
	for {
		old := s.deadline.Load()
		if old < 0 {
			return false
		}
		if old != 0 && now >= time.Duration(old) || now >= sent+ttl {
			s.End(now)
			return false
		}
		if s.deadline.CompareAndSwap(old, int64(sent+ttl)) {
			return true
		}
	}
}

// End ends the session, at now if it had not ended before.
func (s *Session) End(now time.Duration) {
	for {
		old := s.deadline.Load()
		if old < 0 {
			return
		}
		at := max(1, min(old, int64(now)))
		if s.deadline.CompareAndSwap(old, -at) {
			return
		}
	}
}

// Look applies a reading of the clock. If it is past the deadline the session is over, before the reading can have any
// effect: an answer handled meanwhile must not revive a session one of whose locks has seen its end.
func (s *Session) Look(now time.Duration) {
	if deadline := s.deadline.Load(); deadline > 0 && now >= time.Duration(deadline) {
		s.deadline.CompareAndSwap(deadline, -deadline)
	}
}

// Alive reports whether the deadline is after now.
func (s *Session) Alive(now time.Duration) bool {
	s.Look(now)
	return s.deadline.Load() > 0
}

// Answered reports whether the session has a deadline, or has had one.
func (s *Session) Answered() bool { return s.deadline.Load() != 0 }

// Deadline returns when the session ends, or when it has ended.
func (s *Session) Deadline() time.Duration {
	deadline := s.deadline.Load()
	return time.Duration(max(deadline, -deadline))
}

// LivesUntil reports whether the session is alive, with that deadline.
func (s *Session) LivesUntil(deadline time.Duration) bool {
	return s.deadline.Load() == int64(deadline)
}
