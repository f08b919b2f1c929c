package session

import "time"

// answers is how long the latest two heartbeats, or hellos that resume a session, took to be answered.
type answers struct {
	latest, before time.Duration
	known          int // how many of them
}

func (a *answers) note(took time.Duration) {
	a.latest, a.before = took, a.latest
	a.known = min(a.known+1, 2)
}

// lateAfter is how long after the sending of what was acknowledged last no acknowledgement is missed. It is half of the ttl;
// but the next heartbeat goes out after a third of it, so an answer that always takes more than a sixth would always
// be late. One and a half times the shorter of the two is waited for: one answer that was slow says nothing of the
// next.
func (a *answers) lateAfter(ttl time.Duration) time.Duration {
	took := a.latest
	if a.known == 2 {
		took = min(took, a.before)
	}
	return max(ttl/2, min(ttl/3+took+took/2, lateAtMost(ttl)))
}

// lateAtMost keeps the last quarter of the ttl for another stream.
func lateAtMost(ttl time.Duration) time.Duration { return ttl - ttl/4 }

// Stalled is how late an alarm rings if this process did not run, or has more to do than it can. What has come meanwhile
// it may not have read.
const Stalled = 50 * time.Millisecond

// leastAnswer is how long an answer is waited for at most, once a process has stalled.
const leastAnswer = time.Second

// lookAgain is when a process that has stalled, and finds a session without an acknowledgement at the time now, looks
// again: when the heartbeat that it sends now, late as well, would be answered. It is no later than lateAtMost.
func (s *Session) lookAgain(now time.Duration) time.Duration {
	return min(now+min(s.TTL/6, leastAnswer), s.anchor+lateAtMost(s.TTL))
}
