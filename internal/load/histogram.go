package load

import (
	"math"
	"math/bits"
	"time"
)

// Histogram counts durations in buckets whose width grows with their values, so that every value is known to about 1.6
// %: 64 buckets for each power of two, of nanoseconds, up to about 18 minutes. The zero Histogram is empty. It is not
// safe for concurrent use.
type Histogram struct {
	counts [buckets]uint64
	total  uint64
	sum    time.Duration
	max    time.Duration
}

const (
	subBits = 6
	sub     = 1 << subBits
	octaves = 40 - subBits + 1
	buckets = octaves * sub
)

// bucketOf returns the bucket of a duration: the first two octaves have one for each value.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	shift := max(bits.Len64(v)-subBits-1, 0)
	return min(shift<<subBits+int(v>>shift), buckets-1)
}

// middleOf returns the value in the middle of a bucket.
func middleOf(bucket int) time.Duration {
	if bucket < 2*sub {
		return time.Duration(bucket)
	}
	shift := bucket>>subBits - 1
	low := uint64(bucket-shift<<subBits) << shift
	return time.Duration(low + 1<<shift/2)
}

// Record counts a duration.
func (h *Histogram) Record(d time.Duration) {
	h.counts[bucketOf(d)]++
	h.total++
	h.sum += d
	h.max = max(h.max, d)
}

// Add adds the counts of another histogram.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.sum += other.sum
	h.max = max(h.max, other.max)
}

// Count returns the number of recorded durations.
func (h *Histogram) Count() uint64 { return h.total }

// Max returns the longest duration, exactly; 0 if empty.
func (h *Histogram) Max() time.Duration { return h.max }

// Mean returns the average, exactly; 0 if empty.
func (h *Histogram) Mean() time.Duration {
	if h.total == 0 {
		return 0
	}
	return h.sum / time.Duration(h.total)
}

// Quantile returns the duration that a share of all, from 0 to 1, does not exceed; 0 if empty.
func (h *Histogram) Quantile(share float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(uint64(math.Ceil(share*float64(h.total))), 1)
	var seen uint64
	for i, n := range h.counts {
		if seen += n; seen >= rank {
			return min(middleOf(i), h.max)
		}
	}
	return h.max
}
