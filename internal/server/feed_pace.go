package server

import (
	"context"
	"time"

	"golang.org/x/time/rate"
)

// What all feeds of a member may write together in a second, so that watchers, however many they
// are, leave the processors to those who lock. A watcher that is behind gets more at once; one that
// falls too far behind is dropped (unread_events).
const (
	feedBytes = 32 << 20
	feedWrite = 8 << 10              // what a write costs besides its bytes, counted as bytes
	feedBurst = feedBytes / 4        // how much of it may come at once
	feedPause = 5 * time.Millisecond // between two writes of one feed
)

// feedPace keeps the feeds of a member within what they may write.
type feedPace struct{ limiter *rate.Limiter }

func newFeedPace() feedPace {
	return feedPace{rate.NewLimiter(feedBytes, feedBurst)}
}

// feedTurn is the part of one feed in it.
type feedTurn struct {
	pace feedPace
	next time.Time // not before that
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
