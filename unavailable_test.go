package holdfast_test

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

// TestUnavailableErrorSaysWhyAndUntil in one sentence, as far as it is known.
func TestUnavailableErrorSaysWhyAndUntil(t *testing.T) {
	for want, err := range map[string]*holdfast.UnavailableError{
		"unavailable":                                      {},
		"unavailable: there is no view yet":                {Why: "there is no view yet"},
		"unavailable: m1 was lost; that ends in 3.2s":      {Why: "m1 was lost", Until: 3140 * time.Millisecond},
		"unavailable: m1 was lost; that ends in 100ms":     {Why: "m1 was lost", Until: 1},
		"unavailable: m1 was lost; that ends in 1h16m0.1s": {Why: "m1 was lost", Until: 76*time.Minute + time.Millisecond},
	} {
		if err.Error() != want || !errors.Is(err, holdfast.ErrUnavailable) || errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("%+v reads %q; want %q, an ErrUnavailable", *err, err, want)
		}
	}
}

// TestHeldErrorSaysThatTheMemberWasLost, and until when its names are taken.
func TestHeldErrorSaysThatTheMemberWasLost(t *testing.T) {
	for want, err := range map[string]*holdfast.HeldError{
		"held by job on m1; m1 was lost, and its names are free in 3.2s":           {Owner: "job", Member: "m1", Gone: true, Until: 3200 * time.Millisecond},
		"held by job on m1; m1 was lost, and its names are not free yet":           {Owner: "job", Member: "m1", Gone: true},
		"held by job; its member was lost, and its names are not free yet":         {Owner: "job", Gone: true},
		"suspended (by job); its member was lost, and its names are not free yet":  {Owner: "job", Gone: true, Suspended: true},
		"held by job on m1; its hold limit has passed, and its grace ends in 3.2s": {Owner: "job", Member: "m1", Grace: true, Until: 3200 * time.Millisecond},
		"held by job; its hold limit has passed":                                   {Owner: "job", Gone: true, Grace: true},
	} {
		if err.Error() != want || !errors.Is(err, holdfast.ErrHeld) {
			t.Errorf("%+v reads %q; want %q, an ErrHeld", *err, err, want)
		}
	}
}
