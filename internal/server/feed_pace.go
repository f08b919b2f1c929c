package server

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// Limits on the writes of all feeds of a member per second, so that watchers, however many, leave CPU time for locks. A
// watcher that is behind gets more at once; one that falls too far behind is dropped (unread_events).
const (
	feedBytes = 32 << 20
	feedWrite = 8 << 10              // overhead of a write, counted as bytes
	feedBurst = feedBytes / 4        // maximum burst
	feedPause = 5 * time.Millisecond // between two writes of one feed
)

// feedPace limits the write rate of a member's feeds.
type feedPace struct{ limiter *rate.Limiter }

func newFeedPace() feedPace {
	return feedPace{rate.NewLimiter(feedBytes, feedBurst)}
}

// feedTurn is the share of one feed.
type feedTurn struct {
	pace feedPace
	next time.Time // earliest time of the next write
}

// wait waits until the feed may write these texts, or ctx ends.
func (t *feedTurn) wait(ctx context.Context, texts ...[]byte) {
	cost := feedWrite
	for _, text := range texts {
		cost += len(text)
	}
	now := time.Now()
	delay := max(t.next.Sub(now), t.pace.limiter.ReserveN(now, min(cost, feedBurst)).DelayFrom(now))
	t.next = now.Add(max(delay, 0) + feedPause)
	if delay <= 0 {
		return
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
