package protocol

import (
	"math/bits"
	"time"
)

// Reach is how far beyond its member's lease a client's belief may last, in a byte: a duration, rounded up by at most
// an eighth. Members exchange reaches and wait for them, so few values are enough, and a reach seldom changes.
//
// The byte is e·8 + m, and the duration (8+m)·2^e units; 0 is none. Less than nine units is rounded up to nine.
type Reach uint8

// reachUnit is the unit of a Reach: the shortest one is 0.9 ms, the longest 37 days.
const reachUnit = 100 * time.Microsecond

// MaxReach is the longest Reach.
const MaxReach = ^Reach(0)

// ReachOf returns the least Reach that is at least as long as d; MaxReach if there is none.
func ReachOf(d time.Duration) Reach {
	if d <= 0 {
		return 0
	}
	units := uint64((d-1)/reachUnit) + 1
	e := max(0, bits.Len64(units)-4)
	top := (units + 1<<e - 1) >> e // 16 if the rounding carries: (8+8)·2^e = (8+0)·2^(e+1)
	return Reach(min(uint64(MaxReach), max(1, uint64(e)*8+max(top, 8)-8)))
}

// Span returns the duration of a Reach.
func (r Reach) Span() time.Duration {
	if r == 0 {
		return 0
	}
	return time.Duration(8+r%8) << (r / 8) * reachUnit
}

// Doubled returns the least Reach that is a power of two of the shortest, and no shorter than r.
func (r Reach) Doubled() Reach {
	if r%8 == 0 || r > MaxReach-8 {
		return r
	}
	return (r/8 + 1) * 8
}
