package lock

import (
	"time"

	"github.com/holdfast-locks/holdfast"
)

// HeldBy is the ErrHeld of a request that was not granted: it says who held the name at the
// decision. It has what machines can say to each other: members as ids, and times as
// ages. [HeldBy.ErrorFor] says the rest, to people.
type HeldBy struct {
	Owner  string        // of the first holder; its client where it named none
	Others int           // how many more hold the name
	Holder SessionID     // the session of that hold; zero where none held, because others were about to be granted
	Age    time.Duration // for how long it had held or, where a suspension that waits is in the way, waited; UnknownAge where that is not known
	// Suspended says that the holder has suspended the table, or is about to, and Reason what it
	// gave as its reason for that.
	Suspended bool
	Reason    string
	// Gone says that the holder's member was lost, and Grace that its hold limit has passed and that the
	// name stays taken so that it can stop. Left is how long either lasts, at most; 0 where that is
	// not known.
	Gone  bool
	Grace bool
	Left  time.Duration
}

// UnknownAge is the Age of a hold whose beginning is unknown.
const UnknownAge time.Duration = -1

func (h *HeldBy) Error() string { return h.Unwrap().Error() }

// Unwrap returns what is known without knowing the members' names or the time.
func (h *HeldBy) Unwrap() error { return h.basic() }

func (h *HeldBy) basic() *holdfast.HeldError {
	return &holdfast.HeldError{Owner: h.Owner, Others: h.Others, Suspended: h.Suspended, Reason: h.Reason, Gone: h.Gone, Grace: h.Grace, Until: h.Left}
}

// ErrorFor returns the error for people: with the name of the holder's member, and since when
// it holds by the wall clock that shows now.
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
