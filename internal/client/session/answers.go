package session

import "time"

// answers holds the latencies of the latest two answers to heartbeats, or to hellos that resume a session.
type answers struct {
	latest, before time.Duration
	known          int // number of latencies
}

func (a *answers) note(took time.Duration) {
	a.latest, a.before = took, a.latest
	a.known = min(a.known+1, 2)
}

// lateAfter returns how long after the sending of the last acknowledged heartbeat an acknowledgement counts as late. It
// is half of the ttl. But the next heartbeat goes out after a third of it, so an answer that always takes more than a
// sixth would always be late: so the limit allows for one and a half times the shorter of the two latencies; a single
// slow answer does not predict the next.
func (a *answers) lateAfter(ttl time.Duration) time.Duration {
	took := a.latest
	if a.known == 2 {
		took = min(took, a.before)
	}
	return max(ttl/2, min(ttl/3+took+took/2, lateAtMost(ttl)))
}

// lateAtMost keeps the last quarter of the ttl for another stream.
func lateAtMost(ttl time.Duration) time.Duration { return ttl - ttl/4 }

// Stalled is how late an alarm must be for this process to count as stalled: it did not run, or is overloaded, and may
// not have read pending input.
const Stalled = 50 * time.Millisecond

// leastAnswer is the minimum wait for an answer after a stall.
const leastAnswer = time.Second

// lookAgain returns when a stalled process, whose session has no acknowledgement at now, checks again: when the
// heartbeat that it sends now, also late, should be answered. It is no later than lateAtMost.
func (s *Session) lookAgain(now time.Duration) time.Duration {
	return min(now+min(s.TTL/6, leastAnswer), s.anchor+lateAtMost(s.TTL))
}
