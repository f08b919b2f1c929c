package storage

import "fmt"

// Attend records that the process named RID lives. Attended is the answer. Only a store with Features.Ends answers.
type Attend struct{ RID string }

// Attended answers an Attend.
type Attended struct {
	RID string
	Err error // the end of the process will not be reported
}

// Await asks whether the process named RID has ended. Awaited is the answer, at once and, if the process lives, again
// when it has ended, until an Unawait. Only a store with Features.Ends answers.
type Await struct{ RID string }

// Unawait ends an Await. An Awaited in flight may still arrive.
type Unawait struct{ RID string }

// Awaited answers an Await. Ended means that the process has ended: no request of it takes effect any more, except one
// that was under way, and no part of it acts on a lock. Without Ended nothing is known.
type Awaited struct {
	RID   string
	Ended bool
}

func (a Attend) String() string { return fmt.Sprintf("attend as %q", a.RID) }

func (a Attended) String() string {
	if a.Err != nil {
		return fmt.Sprintf("attend as %q: %v", a.RID, a.Err)
	}
	return fmt.Sprintf("attends as %q", a.RID)
}

func (a Await) String() string   { return fmt.Sprintf("await the end of %q", a.RID) }
func (u Unawait) String() string { return fmt.Sprintf("unawait the end of %q", u.RID) }

func (a Awaited) String() string {
	if a.Ended {
		return fmt.Sprintf("%q has ended", a.RID)
	}
	return fmt.Sprintf("%q is not known to have ended", a.RID)
}
