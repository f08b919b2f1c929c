package protocol

import (
	"testing"
	"time"
)

// TestReach checks that every duration is rounded up, by an eighth at most, and that longer ones have no shorter reach.
func TestReach(t *testing.T) {
	for r := range MaxReach {
		span, next := r.Span(), (r + 1).Span()
		if span >= next {
			t.Fatalf("reach %d is %v long, and %d is %v", r, span, r+1, next)
		}
		if ReachOf(span) != r || ReachOf(span+1) != r+1 {
			t.Errorf("%v is reach %d, %v is %d; they are %d and %d", span, ReachOf(span), span+1, ReachOf(span+1), r, r+1)
		}
		if r > 0 && (next-span)*8 > span {
			t.Errorf("%v is rounded up to %v: by more than an eighth", span+1, next)
		}
		if d := r.Doubled(); d < r || d.Span() > 2*span || d%8 != 0 && r <= MaxReach-8 {
			t.Errorf("%v doubled is %v", span, d.Span())
		}
	}
	if ReachOf(-1) != 0 || ReachOf(0) != 0 || ReachOf(1<<62) != MaxReach || MaxReach.Span() < 24*time.Hour {
		t.Errorf("the ends: %d, %d, %d, %v", ReachOf(-1), ReachOf(0), ReachOf(1<<62), MaxReach.Span())
	}
}
