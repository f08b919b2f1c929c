package session

import "time"

// Cut says why the ttl of an answer is shorter than its client has asked for. A ttl that is a little shorter because
// part of the lease has passed already is not cut: the next heartbeat is answered with more.
type Cut int

// The causes of a ttl that is cut.
const (
	// Uncut is no cause: the ttl is what was asked for, or nothing was asked for.
	Uncut Cut = iota
	// CutByLimit is the longest that this member allows, Config.MaxTTL.
	CutByLimit
	// CutByHorizon is what members remember beyond a lease: one of them keeps no cell, or cannot write it.
	CutByHorizon
	// CutByEnrolment is what the session was opened with: lasting spaces keep it for no longer.
	CutByEnrolment
)

// LongestTTL returns the longest ttl that a session may ask for where none is configured: 24 h where the locks and
// sessions of all spaces outlast their member, and elsewhere 1 min, or the lease if that is longer. There a long ttl has
// a price: when a member is lost, the others wait for all that it has promised its clients.
func LongestTTL(allLast bool, lease time.Duration) time.Duration {
	if allLast {
		return longestTTL
	}
	return max(time.Minute, lease)
}

// whyCut says what has cut the ttl that a client asked for; 0 asks for none.
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
