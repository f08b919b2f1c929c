package etcd

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-locks/holdfast/storage"
)

// errClosed is the error of a request after Close.
var errClosed = fmt.Errorf("the store was closed: %w", storage.ErrInvalid)

// classify wraps the error of a request that may have been sent in one of package storage's kinds: what describes the
// request, and writes reports whether it writes.
func classify(err error, what string, writes bool) error {
	if errors.Is(err, storage.ErrInvalid) || errors.Is(err, storage.ErrRefused) || errors.Is(err, storage.ErrUnknown) {
		return fmt.Errorf("%s: %w", what, err)
	}
	kind := kindOf(err)
	if !writes && kind == storage.ErrUnknown {
		kind = storage.ErrRefused
	}
	if errors.Is(err, rpctypes.ErrNoSpace) {
		return fmt.Errorf("%s: %w: %w%s", what, kind, err, fullHint)
	}
	return fmt.Errorf("%s: %w: %w", what, kind, err)
}

// fullHint is the cure for a full etcd.
const fullHint = "; it has reached its quota (--quota-backend-bytes) and takes no writes: compact, defragment and disarm it, as docs/stores.md says"

// The client transport's errors for a request without a connection.
const (
	neverConnected = "Error while dialing"
	neverEncrypted = "authentication handshake failed"
	neverSent      = "larger than max"
)

// kindOf returns the kind of a write's error, which says whether it was done.
func kindOf(err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return storage.ErrUnknown
	case errors.Is(err, rpctypes.ErrNoSpace), errors.Is(err, rpctypes.ErrTooManyRequests),
		errors.Is(err, rpctypes.ErrInvalidAuthToken), errors.Is(err, rpctypes.ErrAuthOldRevision),
		errors.Is(err, rpctypes.ErrLeaseNotFound):
		return storage.ErrRefused
	case errors.Is(err, clientv3.ErrNoAvailableEndpoints):
		return storage.ErrRefused
	}
	code, text := status.Code(err), err.Error()
	if etcdErr := (rpctypes.EtcdError{}); errors.As(err, &etcdErr) {
		code = etcdErr.Code()
	}
	switch code {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.FailedPrecondition, codes.Unimplemented:
		return storage.ErrInvalid
	case codes.ResourceExhausted:
		if strings.Contains(text, neverSent) {
			return storage.ErrInvalid
		}
	case codes.Unavailable:
		if strings.Contains(text, neverConnected) || strings.Contains(text, neverEncrypted) {
			return storage.ErrRefused
		}
	}
	return storage.ErrUnknown
}

// early returns the error of a request whose context has ended before it was sent.
func early(ctx context.Context, what string) error {
	return fmt.Errorf("%s: %w: %w", what, storage.ErrRefused, ctx.Err())
}
