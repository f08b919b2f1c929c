package membership

import (
	"errors"
	"strings"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/lock"
	"github.com/holdfast-locks/holdfast/protocol"
)

// Unavailable adds to an ErrUnavailable the reason, as in its status, why the member cannot serve clients, and until
// when that is expected to last. Other errors are returned unchanged, and so are all if the member can serve.
func (s *Self) Unavailable(now protocol.Time, err error) error {
	why, left := lock.WhyUnavailable(err)
	var ofSpace *holdfast.UnavailableError
	switch {
	case !errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, holdfast.ErrLimit) || s.Why == "":
		return err
	case strings.Contains(why, s.Why):
		return err // the error has the reason already
	case errors.As(err, &ofSpace) && s.State != Joining:
		return err // the space has given the reason
	case why == "":
		why = "this member is " + s.State.String() + ": " + s.Why
	case errors.As(err, &ofSpace):
		why += "; this member is " + s.State.String() + ": " + s.Why
	default: // the member itself refuses
		why += ": " + s.Why
	}
	if left == 0 && s.Until != protocol.Never {
		left = max(0, s.Until-now)
	}
	return &holdfast.UnavailableError{Why: why, Until: left}
}
