package lock

import (
	"cmp"
	"math"
	"math/bits"
	"time"
)

// drift converts durations between clocks of which one may run faster. It computes in billionths with integers, so that
// every machine gets the same result.
type drift struct{ fast uint64 } // what a fast clock counts while ours counts a billion

const billion = 1_000_000_000

func newDrift(by float64) drift {
	return drift{fast: billion + uint64(math.Ceil(by*billion))}
}

// Stretch returns how long this clock must count so that d has passed on every other one, if one may run faster than
// another by the given drift; 0 means 0.05.
func Stretch(d time.Duration, drift float64) time.Duration {
	return newDrift(cmp.Or(drift, DefaultDrift)).stretch(d)
}

// Shrink returns the minimum that every clock has counted when this one counts d.
func Shrink(d time.Duration, drift float64) time.Duration {
	return newDrift(cmp.Or(drift, DefaultDrift)).shrink(d)
}

// stretch returns d·(1+drift), rounded up: in that time on our clock, d has passed on every clock. It is Never on
// overflow.
func (f drift) stretch(d time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(max(d, 0)), f.fast)
	low, carry := bits.Add64(low, billion-1, 0)
	high += carry
	if high >= billion {
		return Never
	}
	quotient, _ := bits.Div64(high, low, billion)
	if quotient > math.MaxInt64 {
		return Never
	}
	return time.Duration(quotient)
}

// shrink returns d/(1+drift), rounded down: the minimum that every clock has counted when ours counts d.
func (f drift) shrink(d time.Duration) time.Duration {
	high, low := bits.Mul64(uint64(max(d, 0)), billion)
	quotient, _ := bits.Div64(high, low, f.fast)
	return time.Duration(quotient)
}

// after returns t + d, or Never on overflow.
func after(t Time, d time.Duration) Time {
	if d > 0 && t > Never-d {
		return Never
	}
	return t + d
}
