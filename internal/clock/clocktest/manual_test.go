package clocktest_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-locks/holdfast/internal/clock/clocktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestManual(t *testing.T) {
	c := clocktest.NewManual()
	timer := c.NewTimer()
	timer.Reset(2 * time.Second)
	c.Advance(time.Second)
	select {
	case <-timer.C():
		t.Fatal("timer for 2s fired at 1s")
	default:
	}
	c.Advance(time.Second)
	<-timer.C()
	timer.Reset(c.Now())
	<-timer.C()
	timer.Stop()
}
