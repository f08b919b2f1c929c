package client

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
)

// session is one session of the server: the backing of the locks that it holds.
type session struct {
	client *Client
	id     string
	secret string
	// generation is this Client's place among those that have used the session, in the latest welcome; 0 before the first,
	// and with a server that has none.
	generation uint64
	opened     bool          // by this Client, and not taken over from another process
	member     string        // who opened it
	at         api.Address   // where it was opened or resumed last; the Client's mutex guards it
	ttl        time.Duration // in the latest answer; likewise
	cut        string        // why it is shorter than was asked for; likewise
	anchor     time.Duration // when what that answered was sent; likewise

	// unknown has the addresses whose members say that they do not know the session.
	unknown map[api.Address]bool

	// deadline is when the session ends. Negative, it is over: the first reader of a
	// clock that has passed it makes it so, and nothing makes it positive again.
	deadline atomic.Int64
}

// renew takes an answer to what was sent at the time sent: the session lives for
// ttl from then. It reports whether the session is alive; one that was not is not
// revived. The deadline may come nearer by it: what the server says last counts. It is
// the one place where the rule of a client's deadline stands (docs/design/membership.md §6).
func (s *session) renew(sent, ttl time.Duration) bool {
	for {
		old := s.deadline.Load()
		if old < 0 {
			return false
		}
		now := s.client.clock.Now()
		if old != 0 && now >= time.Duration(old) || now >= sent+ttl {
			s.end()
			return false
		}
		if s.deadline.CompareAndSwap(old, int64(sent+ttl)) {
			return true
		}
	}
}

// end makes the session over, now if it was not before.
func (s *session) end() {
	for {
		old := s.deadline.Load()
		if old < 0 {
			return
		}
		at := max(1, min(old, int64(s.client.clock.Now())))
		if s.deadline.CompareAndSwap(old, -at) {
			return
		}
	}
}

// alive compares with the clock.
func (s *session) alive() bool {
	s.Now()
	return s.deadline.Load() > 0
}

// Now reads the clock. If the deadline has passed by it the session is over, before
// anybody can act on the reading: an answer that is handled meanwhile must not
// revive a session one of whose locks has seen that it ended.
func (s *session) Now() time.Duration {
	now := s.client.clock.Now()
	if deadline := s.deadline.Load(); deadline > 0 && now >= time.Duration(deadline) {
		s.deadline.CompareAndSwap(deadline, -deadline)
	}
	return now
}

// Deadline returns when the session ends, or when it has ended.
func (s *session) Deadline() time.Duration {
	deadline := s.deadline.Load()
	return time.Duration(max(deadline, -deadline))
}

// UnlockLock releases l, and waits until the authority has taken that.
func (s *session) UnlockLock(ctx context.Context, l *holdfast.Lock) error {
	return s.client.unlock(ctx, s, l)
}

// QueueUnlock queues the release of l.
func (s *session) QueueUnlock(l *holdfast.Lock) error {
	_, err := s.client.beginUnlock(s, l, false)
	return err
}

// ExtendLock asks for a new hold limit and waits for the answer.
func (s *session) ExtendLock(ctx context.Context, l *holdfast.Lock, hold time.Duration) error {
	return s.client.extend(ctx, s, l, hold)
}
