package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// million is the rate of a clock that is right: rates are counted in millionths with
// integers, so that every machine computes the same; whole millions and what is left of
// them apart, so that nothing overflows in runs of days.
const million = 1_000_000

// dial is the clock of one process: what it shows runs at a rate of its own, which
// may change, and never stops, also while its process is paused.
type dial struct {
	shown time.Duration // at the instant since
	since instant
	rate  int64 // millionths of real time
}

// read returns what the clock shows at a real instant, which is not before the last
// change of its rate.
func (d *dial) read(at instant) time.Duration {
	real := int64(at - d.since)
	return d.shown + time.Duration(real/million*d.rate+real%million*d.rate/million)
}

// when returns the first real instant at which the clock shows at least local; Never
// stays Never.
func (d *dial) when(local time.Duration) instant {
	if local == protocol.Never {
		return protocol.Never
	}
	if local <= d.shown {
		return d.since
	}
	ahead := int64(local - d.shown)
	if ahead > longestAhead {
		return protocol.Never
	}
	return d.since + instant(ahead/d.rate*million+(ahead%d.rate*million+d.rate-1)/d.rate)
}

// longestAhead is a time of a clock that no run reaches.
const longestAhead = int64(1000 * 24 * time.Hour)

// change lets the clock run at another rate from now on.
func (d *dial) change(now instant, rate int64) {
	d.shown, d.since, d.rate = d.read(now), now, rate
}
