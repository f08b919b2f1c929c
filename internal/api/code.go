package api

import (
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/holdfast-locks/holdfast"
)

// The codes of problems. They are fixed; a newer server may have more.
const (
	CodeHeld            = "held"
	CodeNotHeld         = "not_held"
	CodeLost            = "lost"
	CodeUnavailable     = "unavailable"
	CodeLimit           = "limit"
	CodeUnauthenticated = "unauthenticated"
	CodeDenied          = "denied"
	CodeClass           = "class"
	CodeUnsupported     = "unsupported"
	CodeConflict        = "conflict"
	CodeDeadlock        = "deadlock"
	CodeName            = "name"
	CodeBadRequest      = "bad_request"
	CodeUnknownSpace    = "unknown_space"
	CodeUnknownSession  = "unknown_session"
	CodeUnknownPath     = "unknown_path"
	CodeTooLarge        = "too_large"
	CodeInternal        = "internal"
)

// row has the properties of a code.
type row struct {
	code   string
	title  string
	status int
	exit   int
	grpc   codes.Code
	err    error // the Go error of the code, or nil
}

// exitBroken is the exit code of a lock that an operator broke.
const exitBroken = 81

// table has the codes in order of specificity: an error of two kinds gets the first row.
var table = [...]row{
	{CodeHeld, "Held", http.StatusConflict, 75, codes.Aborted, holdfast.ErrHeld},
	{CodeNotHeld, "Not held", http.StatusConflict, 79, codes.FailedPrecondition, holdfast.ErrNotHeld},
	{CodeLost, "Lost", http.StatusGone, 79, codes.FailedPrecondition, holdfast.ErrLost},
	{CodeUnavailable, "Unavailable", http.StatusServiceUnavailable, 69, codes.Unavailable, holdfast.ErrUnavailable},
	{CodeLimit, "Limit reached", http.StatusTooManyRequests, 77, codes.ResourceExhausted, holdfast.ErrLimit},
	{CodeDenied, "Denied", http.StatusForbidden, 77, codes.PermissionDenied, holdfast.ErrDenied},
	{CodeUnauthenticated, "Not authenticated", http.StatusUnauthorized, 77, codes.Unauthenticated, holdfast.ErrDenied},
	{CodeClass, "Safety class not available", http.StatusPreconditionFailed, 82, codes.FailedPrecondition, holdfast.ErrClass},
	{CodeUnsupported, "Not offered by this protocol", http.StatusUnprocessableEntity, 76, codes.Unimplemented, holdfast.ErrUnsupported},
	{CodeDeadlock, "Deadlock", http.StatusConflict, 80, codes.Aborted, holdfast.ErrDeadlock},
	{CodeConflict, "Conflict", http.StatusConflict, 65, codes.FailedPrecondition, holdfast.ErrConflict},
	{CodeName, "Bad name", http.StatusBadRequest, 65, codes.InvalidArgument, holdfast.ErrName},
	{CodeBadRequest, "Bad request", http.StatusBadRequest, 64, codes.InvalidArgument, nil},
	{CodeUnknownSpace, "Unknown space", http.StatusNotFound, 65, codes.NotFound, holdfast.ErrSpace},
	{CodeUnknownSession, "Unknown session", http.StatusNotFound, 79, codes.NotFound, holdfast.SessionExpired},
	{CodeUnknownPath, "Unknown path", http.StatusNotFound, 64, codes.NotFound, nil},
	{CodeTooLarge, "Too large", http.StatusRequestEntityTooLarge, 65, codes.ResourceExhausted, nil},
	{CodeInternal, "Internal error", http.StatusInternalServerError, 70, codes.Internal, nil},
}

// find returns the row of a code. An unknown one counts as internal, and has no error.
func find(code string) row {
	for _, r := range table {
		if r.code == code {
			return r
		}
	}
	return table[len(table)-1]
}

// Title returns the meaning of the code in a few words.
func Title(code string) string { return find(code).title }

// HTTPStatus returns the status of an HTTP answer with that code.
func HTTPStatus(code string) int { return find(code).status }

// ExitCode returns the exit code of a command that ends with that code; why is the reason of a lost lock.
func ExitCode(code string, why holdfast.Loss) int {
	if code == CodeLost && why == holdfast.Broken {
		return exitBroken
	}
	return find(code).exit
}
