package protocol

import (
	"math/bits"
	"time"
)

// Reach is how far beyond its member's lease a client may believe, in a byte: a length of
// time, rounded up by at most an eighth. Members tell each other reaches and wait for them,
// so few values are enough, and a reach seldom changes.
//
// The byte is e·8 + m, and the length (8+m)·2^e units; 0 is none. Less than nine
// units is rounded up to nine.
type Reach uint8

// reachUnit is the unit of a Reach: the shortest one is 0.9 ms, the longest 37 days.
const reachUnit = 100 * time.Microsecond

// MaxReach is the longest Reach.
const MaxReach = ^Reach(0)

// ReachOf returns the least Reach that is at least as long as d; MaxReach where none is.
func ReachOf(d time.Duration) Reach {
	if d <= 0 {
		return 0
	}
	units := uint64((d-1)/reachUnit) + 1
	e := max(0, bits.Len64(units)-4)
	top := (units + 1<<e - 1) >> e // 16 where the rounding carries: (8+8)·2^e = (8+0)·2^(e+1)
	return Reach(min(uint64(MaxReach), max(1, uint64(e)*8+max(top, 8)-8)))
}

// Span returns how long a Reach is.
func (r Reach) Span() time.Duration {
	if r == 0 {
		return 0
	}
	return time.Duration(8+r%8) << (r / 8) * reachUnit
}

// Doubled returns the least Reach that is a power of two of the shortest, and no shorter
// than r.
func (r Reach) Doubled() Reach {
	if r%8 == 0 || r > MaxReach-8 {
		return r
	}
	return (r/8 + 1) * 8
}
