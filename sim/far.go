package sim

import (
	"slices"
	"time"
)

// Members that are far from each other. In an eighth of the runs that may have delays, every message between two
// members takes 40 to 300 ms longer than elsewhere, for the whole run or a part of it. This is not a fault that is
// healed: if it lasts for the whole run, members form views and their clients get grants over these links to the end. A
// round trip then takes up to a fifth of the lease, the longest with which members keep their leases (docs/limits.md).
// Clients are as close to their members as ever.

// farStream is mixed with the seed to draw whether members are far from each other.
const farStream = 0x666172206177

// leastFar is the minimum extra latency.
const leastFar = 40 * time.Millisecond

// beatWays is the number of one-way trips of a session's heartbeat in a space whose members keep logs: to the leader,
// there and back in a round of the leader's, and back. A client gets a beat confirmed within a quarter of its ttl, or
// goes to another member.
const beatWays = 4

// afar describes the extra latency between members.
type afar struct {
	way         time.Duration // extra time of a message between two members; 0 means that they are near
	from, until time.Duration // the period of extra latency; an until of 0 means to the end
}

// drawFar draws the extra latency between members, from its own source of chance.
func (s *settings) drawFar(c *Config, r dice) {
	most := s.lease/10 - s.weather.latency
	drawn, part := r.IntN(8) == 0 && s.faults.Has(Delay) && s.members > 1, r.IntN(2) == 0
	far := afar{way: r.between(leastFar, max(most, leastFar)).Round(time.Millisecond)}
	from, length := r.below(s.duration/2), r.between(s.duration/8, s.duration/2)
	switch {
	case c.Bias.Far && s.faults.Has(Delay) && s.members > 1:
		far.way = max(most, leastFar).Round(time.Millisecond)
	case !drawn:
		return
	case part:
		far.from = from.Round(time.Millisecond)
		far.until = far.from + length.Round(time.Millisecond)
	}
	s.far = far
	if c.Protocol.Logs {
		s.ttl = slices.DeleteFunc(s.ttl, func(ttl time.Duration) bool { return ttl > 0 && ttl < leastTTL(far.way) })
		if len(s.ttl) == 0 {
			s.ttl = []time.Duration{0}
		}
	}
}

// leastTTL is the minimum ttl of a session in a space whose members keep logs: a beat is confirmed within a quarter of
// it, with a fifth of that for the disk and for a late message.
func leastTTL(way time.Duration) time.Duration { return 5 * beatWays * way }

// now reports whether members are far from each other at an instant.
func (f *afar) now(at instant) bool {
	return f.way > 0 && at >= instant(f.from) && (f.until == 0 || at < instant(f.until))
}

// way is the extra time of a message between two members.
func (w *world) way() time.Duration {
	if !w.settings.far.now(w.now) {
		return 0
	}
	return w.settings.far.way
}

// slower is the extra time that a number of consecutive one-way trips may take.
func (w *world) slower(ways int) time.Duration { return time.Duration(ways) * w.way() }

// slow reports whether members wait for longer than their initial timeout, a twelfth of the lease: they do if a round
// trip takes four fifths of that.
func (w *world) slow() bool { return 2*w.way() > w.settings.lease/15 }

// beyondSurvival reports whether a round trip takes more than a tenth of the lease. Then a core's promises to clients
// without the others' cells end with the lease, before a client can have it renewed.
func (w *world) beyondSurvival() bool { return 2*w.way() > w.settings.lease/10 }

// Rows of coverage for slow links.
var (
	farAlways  = mark{"far", "far in the whole run"}
	farPartly  = mark{"far", "far in a part of the run"}
	farViewed  = mark{"far", "a view is formed over slow links"} // with others
	farGranted = mark{"far", "a lock is granted over slow links"}
	farSettled = mark{"far", "a run settles over slow links"}
)

// begins counts a run whose members are far from each other.
func (f *afar) begins(c *counts) {
	switch {
	case f.way == 0:
	case f.until == 0:
		c.hits[farAlways]++
	default:
		c.hits[farPartly]++
	}
}

// afar counts an event over slow links.
func (w *world) afar(what mark) { w.exercises(what, w.slow()) }
