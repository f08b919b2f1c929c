package api

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/internal/api/schema"
)

// ToStatus converts an error for a gRPC handler: to a status whose details hold the problem. nil stays nil, and so does
// a status. A context's error keeps its gRPC code, because the caller's context has ended as well.
func ToStatus(err error) error {
	if _, is := err.(interface{ GRPCStatus() *status.Status }); is || err == nil {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled) && !coded(err):
		return status.Error(codes.Canceled, clean(err.Error()))
	case errors.Is(err, context.DeadlineExceeded) && !coded(err):
		return status.Error(codes.DeadlineExceeded, clean(err.Error()))
	}
	p := ToProblem(err)
	plain := status.New(find(p.GetCode()).grpc, p.GetDetail())
	detailed, err := plain.WithDetails(p)
	if err != nil {
		return plain.Err()
	}
	return detailed.Err()
}

// coded reports whether the table has the error, regardless of what else it wraps.
func coded(err error) bool {
	code := codeOf(err)
	return code != CodeInternal && code != CodeUnavailable || errors.Is(err, holdfast.ErrUnavailable)
}

// FromStatus restores the error sent by ToStatus, or one made by gRPC itself: a context's error unchanged, any other as
// a [*holdfast.Error] of op. nil stays nil.
func FromStatus(op string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	s, ok := status.FromError(err)
	if !ok {
		return &holdfast.Error{Op: op, Err: err}
	}
	for _, detail := range s.Details() {
		if p, ok := detail.(*schema.Problem); ok {
			return FromProblem(op, p)
		}
	}
	switch s.Code() {
	case codes.Canceled:
		return context.Canceled
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	}
	return FromProblem(op, &schema.Problem{Code: codeOfStatus(s.Code()), Detail: s.Message()})
}

// codeOfStatus returns the code for a refusal by gRPC itself.
func codeOfStatus(c codes.Code) string {
	switch c {
	case codes.Unavailable:
		return CodeUnavailable
	case codes.Unauthenticated:
		return CodeUnauthenticated
	case codes.PermissionDenied:
		return CodeDenied
	case codes.ResourceExhausted: // a message above the other side's limit
		return CodeTooLarge
	case codes.Unimplemented: // an older server
		return CodeUnsupported
	case codes.InvalidArgument:
		return CodeBadRequest
	}
	return CodeInternal
}

// LatestKey is the header of a feed of the audit log that has the number of entries that come at once.
const LatestKey = "holdfast-latest"
