package consensus

import (
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// election returns how long a leader may be silent: the configured time, or longer if round trips are long
// (group.Group.Election).
func (m *Machine) election() protocol.Time { return max(m.config.Election, m.longest) }

// pace keeps the longest such time of any shard, and notes one that is longer than configured.
func (m *Machine) pace(p *part, out *protocol.Effects) {
	if takes := p.shard.Election(); takes != p.election {
		p.election, m.longest = takes, 0
		for _, other := range m.parts {
			m.longest = max(m.longest, other.election)
		}
		m.slow(p, out)
	}
}

// slow notes when links are so slow that leaders are given longer than is configured; again, when that is half as long again.
func (m *Machine) slow(p *part, out *protocol.Effects) {
	switch takes := p.election; {
	case takes == m.config.Election:
		p.noted = 0
		return
	case takes <= p.noted*3/2:
		return
	}
	p.noted = p.election
	out.Note(Slow{Space: m.config.Space, Shard: p.index, Trip: p.shard.Trip(), Configured: m.config.Election, Election: p.election, Lease: m.config.Lease})
}

// Slow notes that links are too slow for the configuration.
type Slow struct {
	Space                      string
	Shard                      int
	Trip, Configured, Election time.Duration
	Lease                      time.Duration
}

func (n Slow) String() string {
	return fmt.Sprintf("links are slow: a round trip to a majority takes %v, so who leads shard %d may be silent for %v, and not %v; raise lease",
		n.Trip.Round(time.Millisecond), n.Shard, n.Election.Round(time.Millisecond), n.Configured)
}

// Log says how slow links are.
func (n Slow) Log(func(protocol.ID) string) (protocol.Severity, string, []any) {
	return protocol.Warn, "links are slow: the leader of a shard may be silent for longer than usual; lease is to be more than ten times a round trip: raise it on all members", []any{
		"space", n.Space, "shard", n.Shard, "round_trip", n.Trip, "silent", n.Election, "usual", n.Configured, "lease", n.Lease,
	}
}
