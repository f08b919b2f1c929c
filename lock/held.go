package lock

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// HeldBy is the ErrHeld of a request that was not granted, with the holder at the time of the decision. Machines
// exchange it: members are ids, and times are ages. [HeldBy.ErrorFor] returns the form for people.
type HeldBy struct {
	Owner  string        // of the first holder; its client if it named none
	Others int           // number of other holders of the name
	Holder SessionID     // the session of that hold; zero if there was no holder because others were about to be granted
	Age    time.Duration // how long it had held or, for a waiting suspension, waited; UnknownAge if unknown
	// Suspended reports that the holder has suspended the table, or is about to; Reason is the holder's reason.
	Suspended bool
	Reason    string
	// Gone reports that the holder's member was lost; Grace that its hold limit has passed and the name stays taken so
	// that it can stop. Left is how long either lasts, at most; 0 if unknown.
	Gone  bool
	Grace bool
	Left  time.Duration
}

// UnknownAge is the Age of a hold with an unknown start.
const UnknownAge time.Duration = -1

func (h *HeldBy) Error() string { return h.Unwrap().Error() }

// Unwrap returns the error without the members' names and the time.
func (h *HeldBy) Unwrap() error { return h.basic() }

func (h *HeldBy) basic() *holdfast.HeldError {
	return &holdfast.HeldError{Owner: h.Owner, Others: h.Others, Suspended: h.Suspended, Reason: h.Reason, Gone: h.Gone, Grace: h.Grace, Until: h.Left}
}

// ErrorFor returns the error for people: with the name of the holder's member, and since when it holds by the wall
// clock, which shows now.
func (h *HeldBy) ErrorFor(member string, now time.Time) error {
	if h.Holder == (SessionID{}) {
		return h.Unwrap()
	}
	held := h.basic()
	if held.Member = member; h.Age >= 0 {
		held.Since = now.Add(-h.Age).UTC()
	}
	return held
}
