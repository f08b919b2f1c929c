package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff draws the pauses between attempts. Each is random, more than 0 and at most a bound, which is Least at first and
// doubles with each pause up to Most: exponential backoff with full jitter (Brooker, "Exponential Backoff And Jitter",
// AWS Architecture Blog, 2015). Least has to be more than 0.
type Backoff struct {
	Least, Most time.Duration
	bound       time.Duration // of the last pause; 0 before the first
}

// Next draws the next pause.
func (b *Backoff) Next() time.Duration {
	b.bound = min(max(2*b.bound, b.Least), b.Most)
	return rand.N(b.bound) + 1
}

// Reset makes the next pause a first one, as after a success.
func (b *Backoff) Reset() { b.bound = 0 }

// Sleep waits for d, or until ctx ends, and then returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
