package sim

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// TestDialIsExact compares the clock with arithmetic that cannot overflow, over days.
func TestDialIsExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		d := dial{shown: time.Duration(r.Int64N(int64(time.Hour))), since: instant(r.Int64N(int64(time.Hour))), rate: million + r.Int64N(million/4)}
		at := d.since + instant(r.Int64N(int64(10*24*time.Hour)))
		shown := new(big.Int).Mul(big.NewInt(int64(at-d.since)), big.NewInt(d.rate))
		want := d.shown + time.Duration(shown.Div(shown, big.NewInt(million)).Int64())
		if got := d.read(at); got != want {
			t.Fatalf("%+v shows %v at %v; it should show %v", d, got, at, want)
		}
		when := d.when(want)
		if d.read(when) < want || when > d.since && d.read(when-1) >= want {
			t.Fatalf("%+v shows %v first at %v? %v there, %v before", d, want, when, d.read(when), d.read(when-1))
		}
	}
	if d := (dial{rate: million}); d.when(protocol.Never) != protocol.Never || d.when(protocol.Never-time.Hour) != protocol.Never {
		t.Error("a clock reaches what is never")
	}
}
