package holdfast

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors of this API; test for them with errors.Is. A Locker wraps them in an [*Error] that names the operation and
// the lock. When a context ends a wait, the context's own error is returned instead.
var (
	// ErrHeld reports that the name cannot be granted now and the call does not wait, or its wait limit has passed.
	ErrHeld = errors.New("held")
	// ErrLost reports that the lock ended before it was unlocked. [Why] returns the reason.
	ErrLost = errors.New("lost")
	// ErrNotHeld reports that the lock was already unlocked, or never belonged to the caller.
	ErrNotHeld = errors.New("not held")
	// ErrUnavailable reports that no member can decide now; nothing was granted.
	ErrUnavailable = errors.New("unavailable")
	// ErrLimit reports that a configured limit is reached; see [*LimitError].
	ErrLimit = errors.New("limit reached")
	// ErrDenied reports that the caller lacks permission.
	ErrDenied = errors.New("denied")
	// ErrClosed reports that the Locker was closed.
	ErrClosed = errors.New("closed")
	// ErrClass reports that the lockspace does not offer the required safety class.
	ErrClass = errors.New("safety class not available")
	// ErrName reports a malformed name, owner or reason.
	ErrName = errors.New("bad name")
	// ErrSpace reports that the lockspace does not exist.
	ErrSpace = errors.New("unknown space")
	// ErrConflict reports that the request contradicts existing state: another capacity, another mode of the same
	// owner, a name listed twice.
	ErrConflict = errors.New("conflict")
	// ErrDeadlock reports that the request's wait would have been part of a cycle of waits; see [Deadlock] and
	// [*DeadlockError].
	ErrDeadlock = errors.New("deadlock")
	// ErrUnsupported reports that the protocol does not offer the operation.
	ErrUnsupported = errors.New("not offered by this protocol")
)

// Error is the error type of a Locker: the operation, the lock, and the cause. It prints as a sentence: lock
// "orders/42": lost: session expired.
type Error struct {
	Op    string // "lock", "unlock", "extend", …
	Space string // "" and DefaultSpace are not printed
	Name  string // "" if the error is not about a single name
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

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Loss is the reason why a lock was lost. It is an error, and errors.Is(loss, ErrLost) is true.
type Loss string

// The reasons for a loss. All formats use these strings.
const (
	SessionExpired   Loss = "session_expired"   // the holder's session was not renewed in time
	HoldLimit        Loss = "hold_limit"        // the request's hold limit has passed
	AuthorityChanged Loss = "authority_changed" // a new authority does not know the grant
	Duplicate        Loss = "duplicate"         // a merge found two holders; the other one keeps the lock
	Broken           Loss = "broken"            // an operator broke it
	MemberLost       Loss = "member_lost"       // the member through which it was held is gone
	SpaceClosed      Loss = "space_closed"      // the lockspace was closed at the member through which it was held
	// EndedByAnother: another client of the session released the lock, ended the session, or took it over.
	EndedByAnother Loss = "ended_by_another_client"
)

func (l Loss) Error() string { return "lost: " + strings.ReplaceAll(string(l), "_", " ") }

// Is reports whether target is ErrLost.
func (l Loss) Is(target error) bool { return target == ErrLost }

// Why returns the reason for a loss, or "" if err is not an ErrLost or carries no reason.
func Why(err error) Loss {
	loss, _ := errors.AsType[Loss](err)
	return loss
}

// UnavailableError is an ErrUnavailable with the reason why nothing is granted, and for how long.
type UnavailableError struct {
	Why string // a sentence, such as "m1 was lost, and what its clients may hold is not free yet"
	// Until is the remaining time, counted from when the error was made; 0 if unknown.
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

// Is reports whether target is ErrUnavailable.
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// tenths formats a duration in seconds with exactly one decimal.
func tenths(d time.Duration) string {
	const tenth = time.Second / 10
	return ((d + tenth - 1) / tenth * tenth).String()
}

// HeldError is an ErrHeld that names the holder. Unknown fields are zero.
type HeldError struct {
	Owner  string    // the holder's owner id, or its client if it named no owner
	Member string    // the member through which it holds the lock
	Since  time.Time // wall time at the authority, for display
	Others int       // the number of other holders

	// Suspended reports that an operator has suspended the whole lockspace, or is about to; Reason is the operator's
	// reason.
	Suspended bool
	Reason    string

	// Gone reports that the member through which the holder holds was lost. Grace reports that the holder's hold limit
	// has passed and the name is in its grace, in which the holder can stop. Until is the maximum time either lasts,
	// counted from when the error was made; 0 if unknown.
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

// by describes the holder and since when it holds the lock.
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

// suspension describes why the lockspace grants nothing: "suspended: restore (by operator on b since 12:00:03)".
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

// Is reports whether target is ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// LimitError is an ErrLimit that names the limit and its configured value.
type LimitError struct {
	Limit string // the configuration key under limits, e.g. "waiters_per_name"
	Value int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("limit %s of %d reached", e.Limit, e.Value)
}

// Is reports whether target is ErrLimit.
func (e *LimitError) Is(target error) bool { return target == ErrLimit }
