package server

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
)

// dumb is a space that answers nothing.
type dumb struct{ protocol.Machine }

func (dumb) Step(protocol.Time, protocol.Event, *protocol.Effects) {}
func (dumb) Wake() protocol.Time                                   { return protocol.Never }

// TestWaitLimitOfAnAcquire: where nothing that it asks is answered, an acquire ends with its
// wait limit and says why, whether its request has an id or not. Without the limit's being
// kept here these calls would not end at all.
func TestWaitLimitOfAnAcquire(t *testing.T) {
	b := newWebHarnessOf(t, calm{}, func(m protocol.Machine) protocol.Machine { return dumb{m} }, nil)
	for _, body := range []object{
		{"name": "x", "wait": "100ms"},
		{"name": "x", "wait": "100ms", "request": "r-1"},
		{"names": []string{"x", "y"}, "wait": "1ms"},
	} {
		began := time.Now()
		got := b.post(http.StatusServiceUnavailable, "/v1/spaces/any/acquire", body)
		if !strings.Contains(got.raw, "the member that decides does not answer") {
			t.Errorf("%v: %s", body, got.raw)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%v took %v", body, took)
		}
	}
}
