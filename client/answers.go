package client

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

// lateAfter is for how long after the sending of what was acknowledged last no acknowledgement is missed. It is half of the ttl;
// but the next heartbeat goes out after a third of it, so an answer that always takes more than a sixth would always
// be late. One and a half times the shorter of the two is waited for: one answer that was slow says nothing of the
// next. The last quarter of the ttl is kept for another stream.
func (a *answers) lateAfter(ttl time.Duration) time.Duration {
	took := a.latest
	if a.known == 2 {
		took = min(took, a.before)
	}
	return max(ttl/2, min(ttl/3+took+took/2, ttl-ttl/4))
}
