package holdfast_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast"
)

var sentinels = []error{
	holdfast.ErrHeld, holdfast.ErrLost, holdfast.ErrNotHeld, holdfast.ErrUnavailable, holdfast.ErrLimit,
	holdfast.ErrDenied, holdfast.ErrClosed, holdfast.ErrClass, holdfast.ErrName, holdfast.ErrSpace,
	holdfast.ErrConflict, holdfast.ErrUnsupported,
}

func TestErrorsReadLikeSentences(t *testing.T) {
	since := time.Date(2026, 3, 1, 14, 2, 3, 0, time.Local)
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&holdfast.Error{Op: "lock", Name: "orders/42", Err: holdfast.SessionExpired}, `lock "orders/42": lost: session expired`},
		{&holdfast.Error{Op: "lock", Space: holdfast.DefaultSpace, Name: "a", Err: holdfast.ErrClosed}, `lock "a": closed`},
		{&holdfast.Error{Op: "unlock", Space: "billing", Name: "a\nb", Err: holdfast.ErrNotHeld}, `unlock "a\nb" in space "billing": not held`},
		{&holdfast.Error{Op: "open", Err: holdfast.ErrDenied}, `open: denied`},
		{&holdfast.Error{Op: "open", Space: "billing", Err: holdfast.ErrSpace}, `open in space "billing": unknown space`},
		{holdfast.HoldLimit, "lost: hold limit"},
		{holdfast.AuthorityChanged, "lost: authority changed"},
		{holdfast.MemberLost, "lost: member lost"},
		{holdfast.Broken, "lost: broken"},
		{&holdfast.HeldError{}, "held"},
		{&holdfast.HeldError{Owner: "deploy", Since: since}, "held by deploy since 14:02:03"},
		{&holdfast.HeldError{Owner: "a", Member: "n1", Others: 2, Since: since}, "held by a on n1 and 2 more since 14:02:03"},
		{&holdfast.HeldError{Suspended: true}, "suspended"},
		{&holdfast.HeldError{Owner: "operator", Member: "n1", Since: since, Suspended: true, Reason: "restore"}, "suspended: restore (by operator on n1 since 14:02:03)"},
		{&holdfast.LimitError{Limit: "waiters_per_name", Value: 10000}, "limit waiters_per_name of 10000 reached"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// TestErrorsAreTheirKindAlone has every rich error match its sentinel, through
// wrapping, and no other.
func TestErrorsAreTheirKindAlone(t *testing.T) {
	kinds := map[error]error{
		holdfast.Broken:                            holdfast.ErrLost,
		&holdfast.HeldError{Owner: "a"}:            holdfast.ErrHeld,
		&holdfast.LimitError{Limit: "x", Value: 1}: holdfast.ErrLimit,
	}
	for _, err := range sentinels {
		kinds[err] = err
	}
	for err, kind := range kinds {
		wrapped := fmt.Errorf("do something: %w", &holdfast.Error{Op: "lock", Name: "a", Err: err})
		for _, sentinel := range sentinels {
			if got, want := errors.Is(wrapped, sentinel), sentinel == kind; got != want {
				t.Errorf("errors.Is(%v, %v) = %v", wrapped, sentinel, got)
			}
		}
		var opErr *holdfast.Error
		if !errors.As(wrapped, &opErr) || opErr.Name != "a" {
			t.Errorf("%v does not give its *Error", wrapped)
		}
	}
}

func TestWhy(t *testing.T) {
	for _, loss := range []holdfast.Loss{
		holdfast.SessionExpired, holdfast.HoldLimit, holdfast.AuthorityChanged, holdfast.Duplicate, holdfast.Broken, holdfast.MemberLost,
	} {
		err := fmt.Errorf("work: %w", &holdfast.Error{Op: "lock", Name: "a", Err: loss})
		if got := holdfast.Why(err); got != loss {
			t.Errorf("Why(%v) = %q", err, string(got))
		}
		if strings.ContainsRune(loss.Error(), '_') {
			t.Errorf("%q is no sentence", loss.Error())
		}
	}
	for _, err := range []error{nil, holdfast.ErrLost, holdfast.ErrHeld, errors.New("other")} {
		if got := holdfast.Why(err); got != "" {
			t.Errorf("Why(%v) = %q, want nothing", err, string(got))
		}
	}
}
