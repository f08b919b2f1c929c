package session

import "time"

// Cut is the reason why the ttl of an answer is shorter than requested. A ttl that is slightly shorter because part of
// the lease has passed is not cut: the next heartbeat gets more.
type Cut int

// The reasons for a cut ttl.
const (
	// Uncut means that the ttl is as requested, or that none was requested.
	Uncut Cut = iota
	// CutByLimit is the maximum that this member allows, Config.MaxTTL.
	CutByLimit
	// CutByHorizon is the limit of what members record beyond a lease: one of them has no cell, or cannot write it.
	CutByHorizon
	// CutByEnrolment is the ttl with which the session was opened: lasting spaces keep it no longer.
	CutByEnrolment
)

// LongestTTL returns the default maximum ttl of a session: 24 h if the locks and sessions of all spaces outlast their
// member, and otherwise 1 min, or the lease if that is longer. There a long ttl has a price: when a member is lost, the
// others wait out all its promises to its clients.
func LongestTTL(allLast bool, lease time.Duration) time.Duration {
	if allLast {
		return longestTTL
	}
	return max(time.Minute, lease)
}

// whyCut returns the reason why a client's ttl is shorter than requested; a requested ttl of 0 requests none.
func (m *Machine) whyCut(p *presence, requested time.Duration) Cut {
	wanted := min(requested, m.config.MaxTTL)
	switch {
	case requested <= 0:
		return Uncut
	case p.lasting != nil && p.lasting.ttl < wanted:
		return CutByEnrolment
	case m.horizon.Confirmed < m.reachOf(p, wanted).Span():
		return CutByHorizon
	case wanted < requested:
		return CutByLimit
	}
	return Uncut
}
