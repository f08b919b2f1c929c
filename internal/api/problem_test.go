package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// TestTable is the table of codes to which docs/design/formats.md §1 points, row by row.
func TestTable(t *testing.T) {
	for _, row := range []struct {
		code   string
		why    holdfast.Loss
		status int
		exit   int
		err    error
	}{
		{"held", "", 409, 75, holdfast.ErrHeld},
		{"not_held", "", 409, 79, holdfast.ErrNotHeld},
		{"lost", holdfast.SessionExpired, 410, 79, holdfast.ErrLost},
		{"lost", holdfast.Broken, 410, 81, holdfast.ErrLost},
		{"unavailable", "", 503, 69, holdfast.ErrUnavailable},
		{"limit", "", 429, 77, holdfast.ErrLimit},
		{"unauthenticated", "", 401, 77, holdfast.ErrDenied},
		{"denied", "", 403, 77, holdfast.ErrDenied},
		{"class", "", 412, 82, holdfast.ErrClass},
		{"unsupported", "", 422, 76, holdfast.ErrUnsupported},
		{"conflict", "", 409, 65, holdfast.ErrConflict},
		{"deadlock", "", 409, 80, holdfast.ErrDeadlock},
		{"name", "", 400, 65, holdfast.ErrName},
		{"bad_request", "", 400, 64, nil},
		{"unknown_space", "", 404, 65, holdfast.ErrSpace},
		{"unknown_session", "", 404, 79, holdfast.ErrLost},
		{"unknown_path", "", 404, 64, nil},
		{"too_large", "", 413, 65, nil},
		{"internal", "", 500, 70, nil},
		{"of_a_newer_server", "", 500, 70, nil},
	} {
		if got := api.HTTPStatus(row.code); got != row.status {
			t.Errorf("%s: status %d, want %d", row.code, got, row.status)
		}
		if got := api.ExitCode(row.code, row.why); got != row.exit {
			t.Errorf("%s %s: exit code %d, want %d", row.code, row.why, got, row.exit)
		}
		if api.Title(row.code) == "" {
			t.Errorf("%s has no title", row.code)
		}
		err := api.FromProblem("lock", &schema.Problem{Code: row.code, Detail: "the sentence", Why: string(row.why), Name: "x"})
		if got := err.Error(); got != `lock "x": the sentence` {
			t.Errorf("%s: reads %q", row.code, got)
		}
		if row.err != nil && !errors.Is(err, row.err) {
			t.Errorf("%s: %v is no %v", row.code, err, row.err)
		}
		if holdfast.Why(err) != row.why && row.code == "lost" {
			t.Errorf("%s: lost because of %q, want %q", row.code, holdfast.Why(err), row.why)
		}
		for _, other := range sentinels() {
			if other != row.err && errors.Is(err, other) {
				t.Errorf("%s: %v is a %v as well", row.code, err, other)
			}
		}
		if got := api.Code(err); got != row.code {
			t.Errorf("%s: passed on as %s", row.code, got)
		}
	}
}

func sentinels() []error {
	return []error{
		holdfast.ErrHeld, holdfast.ErrLost, holdfast.ErrNotHeld, holdfast.ErrUnavailable, holdfast.ErrLimit,
		holdfast.ErrDenied, holdfast.ErrClosed, holdfast.ErrClass, holdfast.ErrName, holdfast.ErrSpace,
		holdfast.ErrConflict, holdfast.ErrUnsupported,
	}
}

// problems are errors as engines return them.
func problems() map[string]error {
	held := &holdfast.HeldError{Owner: "job-7", Member: "b", Since: time.Now().Add(-time.Hour), Others: 2}
	all := map[string]error{
		"who holds it":      held,
		"suspended":         &holdfast.HeldError{Owner: "operator", Member: "b", Since: time.Now().Add(-time.Hour), Suspended: true, Reason: "restore"},
		"gone":              &holdfast.HeldError{Owner: "job-7", Member: "b", Gone: true, Until: 3 * time.Second},
		"in its grace":      &holdfast.HeldError{Owner: "job-7", Member: "b", Grace: true, Until: 3 * time.Second},
		"recovering":        &holdfast.UnavailableError{Why: "b was lost", Until: 3 * time.Second},
		"without an end":    &holdfast.UnavailableError{Why: "there is no view yet"},
		"held by a since":   &holdfast.HeldError{Owner: "waits since yesterday"},
		"limit":             &holdfast.LimitError{Limit: "waiters_per_name", Value: 10_000},
		"bare limit":        holdfast.ErrLimit,
		"lost for no cause": holdfast.ErrLost,
		"deadlock": &holdfast.DeadlockError{
			Cycle: []holdfast.DeadlockStep{{Session: "a-1", Client: "c1", Name: "a"}, {Owner: "o", Client: "c2", Name: "b", Ahead: true}}, More: 3,
		},
		"conflict":        fmt.Errorf("%w: capacity 5 is asked for", holdfast.ErrConflict),
		"nested":          &holdfast.Error{Op: "hold limit -1s", Err: holdfast.ErrConflict},
		"name":            holdfast.CheckName("a\x00b"),
		"bad request":     api.Fail(api.CodeBadRequest, `field "nam" is not known`),
		"unknown session": api.Fail(api.CodeUnknownSession, "no session 1-2"),
		"unauthenticated": api.Fail(api.CodeUnauthenticated, "the token is not valid"),
		"no detail":       api.Fail(api.CodeTooLarge, ""),
	}
	for _, loss := range []holdfast.Loss{
		holdfast.SessionExpired, holdfast.HoldLimit, holdfast.AuthorityChanged,
		holdfast.Duplicate, holdfast.Broken, holdfast.MemberLost,
	} {
		all[string(loss)] = loss
	}
	for _, sentinel := range sentinels() {
		if sentinel != holdfast.ErrClosed {
			all["bare "+sentinel.Error()] = sentinel
		}
	}
	return all
}

// TestSameOnBothSides sends errors over, by each of the ways.
func TestSameOnBothSides(t *testing.T) {
	for name, inner := range problems() {
		err := &holdfast.Error{Op: "lock", Space: "billing", Name: "orders/42", Err: inner}
		bytes, failure := proto.Marshal(api.ToProblem(err))
		if failure != nil {
			t.Fatal(failure)
		}
		var problem schema.Problem
		if failure := proto.Unmarshal(bytes, &problem); failure != nil {
			t.Fatal(failure)
		}
		for way, got := range map[string]error{
			"problem": api.FromProblem("lock", &problem),
			"status":  api.FromStatus("lock", api.ToStatus(err)),
		} {
			if got.Error() != err.Error() {
				t.Errorf("%s by %s: reads %q, want %q", name, way, got, err)
			}
			for _, sentinel := range sentinels() {
				if errors.Is(got, sentinel) != errors.Is(err, sentinel) {
					t.Errorf("%s by %s: being %q is %t on this side", name, way, sentinel, errors.Is(got, sentinel))
				}
			}
			if api.Code(got) != api.Code(err) {
				t.Errorf("%s by %s: code %s became %s", name, way, api.Code(err), api.Code(got))
			}
			if holdfast.Why(got) != holdfast.Why(err) {
				t.Errorf("%s by %s: lost because of %q, want %q", name, way, holdfast.Why(got), holdfast.Why(err))
			}
		}
		if document := api.NewProblem(err); document.Detail != err.Error() || int(document.Status) != api.HTTPStatus(api.Code(err)) {
			t.Errorf("%s: document %+v", name, document)
		}
	}
}

func TestTypedErrorsComeBack(t *testing.T) {
	since := time.Unix(1_800_000_000, 5)
	err := api.FromProblem("lock", api.ToProblem(&holdfast.HeldError{Owner: "o", Member: "b", Since: since, Others: 3}))
	var held *holdfast.HeldError
	if !errors.As(err, &held) || held.Owner != "o" || held.Member != "b" || !held.Since.Equal(since) || held.Others != 3 {
		t.Errorf("held: %#v", held)
	}
	err = api.FromProblem("lock", api.ToProblem(&holdfast.LimitError{Limit: "sessions", Value: 7}))
	var limit *holdfast.LimitError
	if !errors.As(err, &limit) || limit.Limit != "sessions" || limit.Value != 7 {
		t.Errorf("limit: %#v", limit)
	}
	if api.FromProblem("lock", nil) != nil || api.ToProblem(nil) != nil || api.ToStatus(nil) != nil || api.FromStatus("lock", nil) != nil || api.Code(nil) != "" {
		t.Error("no error became one")
	}
}

// TestTimeOfDay: a time in a sentence of another zone is given in this one.
func TestTimeOfDay(t *testing.T) {
	p := api.ToProblem(&holdfast.HeldError{Owner: "o", Since: time.Unix(1_800_000_000, 0)})
	want := api.FromProblem("lock", p).Error()
	p.Detail = "held by o since 99:00:00"
	if got := api.FromProblem("lock", p).Error(); got != want {
		t.Errorf("reads %q, want %q", got, want)
	}
}

func TestContextErrors(t *testing.T) {
	for _, err := range []error{context.Canceled, context.DeadlineExceeded} {
		if got := api.FromStatus("lock", api.ToStatus(fmt.Errorf("wait: %w", err))); got != err {
			t.Errorf("by status: %v became %v", err, got)
		}
		if got := api.FromProblem("lock", api.ToProblem(err)); !errors.Is(got, holdfast.ErrUnavailable) {
			t.Errorf("by problem: %v became %v", err, got)
		}
	}
	if got := api.Code(holdfast.ErrClosed); got != api.CodeUnavailable {
		t.Errorf("a server that is closed has code %s", got)
	}
	if got := api.Code(errors.New("disk on fire")); got != api.CodeInternal {
		t.Errorf("an error of no known kind has code %s", got)
	}
}

func TestStatusOfGRPCItself(t *testing.T) {
	for code, want := range map[codes.Code]string{
		codes.Unavailable: "unavailable", codes.Unauthenticated: "unauthenticated", codes.PermissionDenied: "denied",
		codes.ResourceExhausted: "too_large", codes.Unimplemented: "unsupported", codes.InvalidArgument: "bad_request",
		codes.Internal: "internal",
	} {
		err := api.FromStatus("list", status.Error(code, "why"))
		if api.Code(err) != want || err.Error() != "list: why" {
			t.Errorf("%v: %v with code %s, want %s", code, err, api.Code(err), want)
		}
	}
}

func TestNotUTF8(t *testing.T) {
	p := api.ToProblem(api.Fail(api.CodeBadRequest, "body \xff"))
	if _, err := proto.Marshal(p); err != nil {
		t.Errorf("a sentence that is not UTF-8: %v", err)
	}
}

// FuzzFromProblem takes what any server may say.
func FuzzFromProblem(f *testing.F) {
	for _, err := range problems() {
		if bytes, err := proto.Marshal(api.ToProblem(err)); err == nil {
			f.Add(bytes)
		}
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var p schema.Problem
		if proto.Unmarshal(bytes, &p) != nil {
			return
		}
		err := api.FromProblem("lock", &p)
		if err == nil || err.Error() == "" {
			t.Fatalf("%v became %v", &p, err)
		}
		again := api.ToProblem(err)
		if again.GetCode() != p.GetCode() {
			t.Fatalf("code %q became %q", p.GetCode(), again.GetCode())
		}
		if _, failure := json.Marshal(api.NewProblem(err)); failure != nil {
			t.Fatalf("%v is no document: %v", err, failure)
		}
	})
}
