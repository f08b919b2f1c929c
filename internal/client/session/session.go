package session

import (
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/mutation"
)

// Session is one session of a member, as its client knows it: its names, and what is believed until when.
type Session struct {
	ID, Secret string
	Member     string // the name of the one that has answered last
	// Generation is this client's place among those that have used the session, in the latest welcome; 0 before the first, and with a
	// member that has none.
	Generation uint64
	Opened     bool          // by this client, and not taken over from another process
	TTL        time.Duration // in the latest answer
	Cut        string        // why it is shorter than was asked for

	anchor  time.Duration        // when what that answered was sent
	at      api.Address          // where it was opened or resumed last
	unknown map[api.Address]bool // whose members say that they do not know it

	// deadline is when the session ends; 0 before the first answer. Negative, it is over: the first reader of a clock that has passed it
	// makes it so, and nothing makes it positive again.
	deadline atomic.Int64
}

// Renew takes an answer, at the time now, to what was sent at the time sent: the session lives for ttl from then. It reports whether the
// session is alive; one that was not is not revived. The deadline may come nearer by it: what the member says last counts. It is
// the one place where the rule of a client's deadline stands (docs/design/membership.md §6).
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

// End makes the session over, at the time now if it was not before.
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

// Look takes a reading of the clock. If the deadline has passed by it the session is over, before
// anything can act on the reading: an answer that is handled meanwhile must not
// revive a session one of whose locks has seen that it ended.
func (s *Session) Look(now time.Duration) {
	if deadline := s.deadline.Load(); deadline > 0 && now >= time.Duration(deadline) {
		s.deadline.CompareAndSwap(deadline, -deadline)
	}
}

// Alive compares with the clock.
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

// LivesUntil reports whether the session is not over, and ends at a deadline.
func (s *Session) LivesUntil(deadline time.Duration) bool {
	return s.deadline.Load() == int64(deadline)
}
