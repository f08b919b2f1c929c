package bakery

import (
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/protocol"
	"github.com/holdfast-locks/holdfast/protocol/local"
)

// TestGracesThatAreOverAreNotReported checks that leaders of a new term get a grace only while some of it is left, and
// not one that is over but has not been processed yet.
func TestGracesThatAreOverAreNotReported(t *testing.T) {
	for _, tt := range []struct {
		now, left protocol.Time // 0 left: it is not reported
	}{{time.Second, 2 * time.Second}, {3 * time.Second, 0}, {4 * time.Second, 0}} {
		m := leading(t)
		m.term.After = Term{4, 0} // leaders that have followed others: a ticket's master continues
		key := Key{Member: 1, Number: 1}
		held := &request{ticket: Ticket{Key: key, Name: "n"}, master: local.Place{ID: 2, Since: 1}}
		m.mine[key], m.graces = held, []grace{{held, 3 * time.Second}}
		var out protocol.Effects
		m.claimAll(tt.now, &out)
		got := protocol.Time(0)
		for _, sent := range out.Sends {
			if envelope, is := sent.Message.(Envelope); is {
				if unlocking, is := envelope.Body.(Unlocking); is {
					got = unlocking.Left
				}
			}
		}
		if got != tt.left {
			t.Errorf("at %v %v are reported, want %v", tt.now, got, tt.left)
		}
	}
}
