package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestPausesGrow draws many series, and looks at the longest pause at each place of one.
func TestPausesGrow(t *testing.T) {
	bounds := []time.Duration{10, 20, 40, 70, 70, 10, 20}
	longest := make([]time.Duration, len(bounds))
	for range 10_000 {
		b := Backoff{Least: 10, Most: 70}
		for i := range bounds {
			if i == 5 {
				b.Reset()
			}
			pause := b.Next()
			if pause <= 0 {
				t.Fatalf("pause %d is %d", i, pause)
			}
			longest[i] = max(longest[i], pause)
		}
	}
	for i, bound := range bounds { // that a pause never reaches its bound has a chance of 69/70 to the power of 10,000
		if longest[i] != bound {
			t.Errorf("pause %d was up to %d, want %d", i, longest[i], bound)
		}
	}
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(began) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		closed := errors.New("closed")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Minute, func() { cancel(closed) })
		began = time.Now()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, closed) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
