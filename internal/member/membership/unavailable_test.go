package membership_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/member/membership"
	"github.com/holdfast-locks/holdfast/protocol"
)

// TestARefusalSaysWhatKeepsAMemberFromServing: with the member's own reason, and until when, where that is known.
func TestARefusalSaysWhatKeepsAMemberFromServing(t *testing.T) {
	self := &membership.Self{State: membership.Joining, Why: "m2 is missing", Until: protocol.Never}
	soon := &membership.Self{State: membership.Recovering, Why: "waiting", Until: 5 * time.Second}
	own := fmt.Errorf("%w: this member's lease has run out", holdfast.ErrUnavailable)
	for _, tt := range []struct {
		self  *membership.Self
		err   error
		why   string
		until time.Duration
	}{
		{self, own, "this member's lease has run out: m2 is missing", 0},
		{self, holdfast.ErrUnavailable, "this member is joining: m2 is missing", 0},
		{self, &holdfast.UnavailableError{Why: "no leader", Until: time.Second}, "no leader; this member is joining: m2 is missing", time.Second},
		{soon, own, "this member's lease has run out: waiting", 3 * time.Second},
	} {
		var unavailable *holdfast.UnavailableError
		if got := tt.self.Unavailable(2*time.Second, tt.err); !errors.As(got, &unavailable) || unavailable.Why != tt.why || unavailable.Until != tt.until {
			t.Errorf("%v: got %v, want %q for %v", tt.err, got, tt.why, tt.until)
		}
	}
	once := self.Unavailable(0, own)
	if got := self.Unavailable(0, once); got.Error() != once.Error() {
		t.Errorf("asked twice it says %v, and once %v", got, once)
	}
	if got := (&membership.Self{}).Unavailable(0, own); got != own {
		t.Errorf("a member that serves makes of it %v", got)
	}
	if got := self.Unavailable(0, holdfast.ErrHeld); got != holdfast.ErrHeld {
		t.Errorf("held became %v", got)
	}
}
