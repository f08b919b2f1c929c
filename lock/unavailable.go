package lock

import (
	"errors"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// Unavailable is the ErrUnavailable of a request that was not granted because no authority could decide: the reason,
// and its expected duration at the time of the decision. Machines exchange it; users get the error of
// [Unavailable.Unwrap].
type Unavailable struct {
	Why  string
	Left time.Duration // 0 if unknown
}

func (u *Unavailable) Error() string { return u.Unwrap().Error() }

// Unwrap returns the error for users.
func (u *Unavailable) Unwrap() error { return &holdfast.UnavailableError{Why: u.Why, Until: u.Left} }

// WhyUnavailable returns the reason of an ErrUnavailable, and how long it lasts; "" and 0 if the error has none.
func WhyUnavailable(err error) (why string, left time.Duration) {
	var known *holdfast.UnavailableError
	switch {
	case errors.As(err, &known):
		return known.Why, known.Until
	case err == nil || err == holdfast.ErrUnavailable:
		return "", 0
	}
	return strings.TrimPrefix(err.Error(), holdfast.ErrUnavailable.Error()+": "), 0
}
