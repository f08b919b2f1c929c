package session

import "time"

// wantedFor returns the ttl that a renewal is to give, and notes whether the client still asks for none.
func (m *Machine) wantedFor(p *presence, ttl time.Duration) time.Duration {
	p.byDefault = p.byDefault && ttl <= 0
	if p.byDefault && p.lasting != nil {
		return m.defaultFor(p)
	}
	return m.wanted(ttl, p.ttl)
}

// defaultFor returns the ttl of a session whose client asks for none from now on. One that uses lasting spaces alone
// has to outlast an election of theirs; in other spaces, each second of it is one in which a lost member's names stay
// taken.
func (m *Machine) defaultFor(p *presence) time.Duration {
	switch {
	case !p.byDefault || p.kind == Local:
		return p.ttl
	case p.entered || len(p.entries) > 0:
		return min(m.config.TTL, m.config.MaxTTL)
	}
	return min(m.config.LastingTTL, m.config.MaxTTL)
}

func (m *Machine) wanted(ttl, otherwise time.Duration) time.Duration {
	if ttl <= 0 {
		ttl = otherwise
	}
	return min(ttl, m.config.MaxTTL)
}
