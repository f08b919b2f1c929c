package holdfast

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// What can go wrong. Test for these with errors.Is; what a Locker returns wraps
// them in an [*Error] that names the operation and the lock. When a context ends
// a wait, the context's own error is returned instead.
var (
	// ErrHeld: the name cannot be granted now, and the call did not want to wait,
	// or its wait limit is over.
	ErrHeld = errors.New("held")
	// ErrLost: the lock ended before it was unlocked. [Why] says why.
	ErrLost = errors.New("lost")
	// ErrNotHeld: the lock was unlocked already, or never was the caller's.
	ErrNotHeld = errors.New("not held")
	// ErrUnavailable: no member can decide now; nothing was granted.
	ErrUnavailable = errors.New("unavailable")
	// ErrLimit: a configured bound is reached; see [*LimitError].
	ErrLimit = errors.New("limit reached")
	// ErrDenied: the caller is not allowed to do that.
	ErrDenied = errors.New("denied")
	// ErrClosed: the Locker was closed.
	ErrClosed = errors.New("closed")
	// ErrClass: the lockspace does not offer the safety class that was required.
	ErrClass = errors.New("safety class not available")
	// ErrName: a malformed name, owner or reason.
	ErrName = errors.New("bad name")
	// ErrSpace: no such lockspace.
	ErrSpace = errors.New("unknown space")
	// ErrConflict: the request contradicts what is live: another capacity, another
	// mode of the same owner, a name listed twice.
	ErrConflict = errors.New("conflict")
	// ErrUnsupported: this protocol does not offer that.
	ErrUnsupported = errors.New("not offered by this protocol")
)

// Error is an error of a Locker: the operation, the lock, and what went wrong.
// It reads like a sentence: lock "orders/42": lost: session expired.
type Error struct {
	Op    string // "lock", "unlock", "extend", …
	Space string // "" or DefaultSpace is not printed
	Name  string // "" where the error is not about one name
	Err   error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Name != "" {
		fmt.Fprintf(&b, " %q", e.Name)
	}
	if e.Space != "" && e.Space != DefaultSpace {
		fmt.Fprintf(&b, " in space %q", e.Space)
	}
	b.WriteString(": ")
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns what went wrong.
func (e *Error) Unwrap() error { return e.Err }

// Loss says why a lock was lost. It is an error that errors.Is ErrLost.
type Loss string

// Why a lock is lost. The strings are those of every format.
const (
	SessionExpired   Loss = "session_expired"   // the holder's session was not renewed in time
	HoldLimit        Loss = "hold_limit"        // the hold limit that the request named is over
	AuthorityChanged Loss = "authority_changed" // a new authority does not know the grant
	Duplicate        Loss = "duplicate"         // a merge found two holders; the other one stays
	Broken           Loss = "broken"            // an operator broke it
	MemberLost       Loss = "member_lost"       // the member it was held through is gone
	SpaceClosed      Loss = "space_closed"      // the lockspace was closed at the member it was held through
	// Another client of the session has released the lock, ended the session, or taken it over.
	EndedByAnother Loss = "ended_by_another_client"
)

func (l Loss) Error() string { return "lost: " + strings.ReplaceAll(string(l), "_", " ") }

// Is makes every Loss an ErrLost.
func (l Loss) Is(target error) bool { return target == ErrLost }

// Why returns why a lock was lost, or "" if err is no ErrLost or does not say.
func Why(err error) Loss {
	loss, _ := errors.AsType[Loss](err)
	return loss
}

// UnavailableError is an ErrUnavailable that says why nothing is granted, and until when.
type UnavailableError struct {
	Why string // a sentence, such as "m1 was lost, and what its clients may hold is not free yet"
	// Until is how long that lasts, from when the error was made; 0 where that is not known.
	Until time.Duration
}

func (e *UnavailableError) Error() string {
	text := ErrUnavailable.Error()
	if e.Why != "" {
		text += ": " + e.Why
	}
	if e.Until > 0 {
		text += "; that ends in " + tenths(e.Until)
	}
	return text
}

// Is makes every UnavailableError an ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// tenths writes a time in tenths of a second, none of which is left out.
func tenths(d time.Duration) string {
	const tenth = time.Second / 10
	return ((d + tenth - 1) / tenth * tenth).String()
}

// HeldError is an ErrHeld that names the holder. Fields that are not known are zero.
type HeldError struct {
	Owner  string    // the holder's owner id, or its client where it named none
	Member string    // the member that it holds through
	Since  time.Time // wall time at the authority, for people
	Others int       // how many more hold it

	// Suspended says that the whole lockspace is suspended, or is about to be, by an operator,
	// who gave Reason for that.
	Suspended bool
	Reason    string

	// Gone says that the member that it holds through was lost. Grace says that its hold limit has
	// passed and that the name has a grace, in which the holder can stop. Until is how long either
	// lasts at most, from when the error was made; 0 where that is not known.
	Gone  bool
	Grace bool
	Until time.Duration
}

func (e *HeldError) Error() string {
	text := "held" + e.by()
	if e.Suspended {
		text = e.suspension()
	}
	switch {
	case e.Grace:
		text += "; its hold limit has passed"
		if e.Until > 0 {
			text += ", and its grace ends in " + tenths(e.Until)
		}
	case e.Gone && e.Until > 0:
		text += "; " + cmp.Or(e.Member, "its member") + " was lost, and its names are free in " + tenths(e.Until)
	case e.Gone:
		text += "; " + cmp.Or(e.Member, "its member") + " was lost, and its names are not free yet"
	}
	return text
}

// by names the holder, and says since when it holds.
func (e *HeldError) by() string {
	var b strings.Builder
	if e.Owner != "" {
		b.WriteString(" by " + e.Owner)
	}
	if e.Member != "" {
		b.WriteString(" on " + e.Member)
	}
	if e.Others > 0 {
		fmt.Fprintf(&b, " and %d more", e.Others)
	}
	if !e.Since.IsZero() {
		b.WriteString(" since " + e.Since.Local().Format(time.TimeOnly))
	}
	return b.String()
}

// suspension says why the lockspace grants nothing: "suspended: restore (by operator on b since 12:00:03)".
func (e *HeldError) suspension() string {
	text := "suspended"
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	if by := strings.TrimPrefix(e.by(), " "); by != "" {
		text += " (" + by + ")"
	}
	return text
}

// Is makes every HeldError an ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// LimitError is an ErrLimit that names the limit and its configured value.
type LimitError struct {
	Limit string // the configuration key below limits, e.g. "waiters_per_name"
	Value int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit %s of %d reached", e.Limit, e.Value)
}

// Is makes every LimitError an ErrLimit.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }
