package sim

import (
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// million is the rate of an exact clock. Rates are integers in millionths, so that every machine computes the same;
// whole millions and the remainder are computed separately, so that runs of days do not overflow.
const million = 1_000_000

// dial is the clock of one process. It runs at its own rate, which may change, and never stops, not even while its
// process is paused.
type dial struct {
	shown time.Duration // at the instant since
	since instant
	rate  int64 // millionths of real time
}

// read returns the clock's reading at a real instant, which is not before the last change of its rate.
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

// longestAhead is a clock reading that no run reaches.
const longestAhead = int64(1000 * 24 * time.Hour)

// change sets the clock's rate from now on.
func (d *dial) change(now instant, rate int64) {
	d.shown, d.since, d.rate = d.read(now), now, rate
}
