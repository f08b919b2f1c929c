package lock

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Unavailable is the ErrUnavailable of a request that was not granted because no authority
// could decide: why, and for how long that was going to last when it was decided. Machines
// say it to each other; [Unavailable.Unwrap] is what users are told.
type Unavailable struct {
	Why  string
	Left time.Duration // 0 where it is not known
}

func (u *Unavailable) Error() string { return u.Unwrap().Error() }

// Unwrap returns the error for users.
func (u *Unavailable) Unwrap() error { return &holdfast.UnavailableError{Why: u.Why, Until: u.Left} }
