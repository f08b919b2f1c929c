package cassandra

import (
	"errors"
	"fmt"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// doing is the kind of a request, which determines what an error says about its effect.
type doing int

const (
	reading  doing = iota // a slice of either kind
	writing               // a plain mutation
	swapping              // compare-and-set: several rounds, any of which can fail
)

// The reasons for a replica's failure in RequestErrReadFailure and RequestErrWriteFailure.
const (
	tooManyTombstones  = 1
	incompatibleSchema = 3
)

// wrap adds an error's kind.
func wrap(err error, of doing) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", err, kind(err, of))
}

// kind returns which of storage's errors an error is. Unknown errors may have had any effect.
func kind(err error, of doing) error {
	switch {
	case invalid(err):
		return storage.ErrInvalid
	case of == reading && failedFor(err, tooManyTombstones):
		// Only compaction, after gc_grace_seconds, makes that row readable again.
		return storage.ErrInvalid
	case of == reading || refused(err, of):
		return storage.ErrRefused
	}
	return storage.ErrUnknown
}

// invalid reports whether no node will ever serve the request.
func invalid(err error) bool {
	return is[*gocql.RequestErrInvalid](err) || is[*gocql.RequestErrSyntax](err) || is[*gocql.RequestErrUnauthorized](err) ||
		is[*gocql.RequestErrConfig](err) || is[*gocql.RequestErrCredentials](err) || is[*gocql.RequestErrAlreadyExists](err) ||
		errors.Is(err, gocql.ErrSessionClosed) || errors.Is(err, gocql.ErrTooManyStmts)
}

// refused reports whether a write has had no effect.
func refused(err error, of doing) bool {
	if errors.Is(err, gocql.ErrNoConnections) || errors.Is(err, gocql.ErrNoStreams) || is[*gocql.RequestErrBootstrapping](err) {
		return true
	}
	var unavailable *gocql.RequestErrUnavailable
	if !errors.As(err, &unavailable) {
		// A swap may meet an overload after it is agreed, while only its spreading is left.
		return of == writing && is[*gocql.RequestErrOverloaded](err)
	}
	// The same, but then the error names the consistency of the spreading.
	return of == writing || unavailable.Consistency == gocql.Serial || unavailable.Consistency == gocql.LocalSerial
}

// failedFor reports whether a replica has failed for this reason.
func failedFor(err error, reason uint16) bool {
	var read *gocql.RequestErrReadFailure
	var write *gocql.RequestErrWriteFailure
	reasons := gocql.ErrorMap{}
	switch {
	case errors.As(err, &read):
		reasons = read.ErrorMap
	case errors.As(err, &write):
		reasons = write.ErrorMap
	}
	for _, found := range reasons {
		if found == reason {
			return true
		}
	}
	return false
}

func is[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}
