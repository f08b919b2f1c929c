package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-locks/holdfast/storage"
)

// classify says of what kind an error is that came instead of an answer, by what may have been
// done: of a read nothing.
func classify(err error, writes bool) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", kind(err, writes), err)
}

func kind(err error, writes bool) error {
	var connect *pgconn.ConnectError
	var said *pgconn.PgError
	isSaid := errors.As(err, &said)
	switch {
	case isSaid && neverTakes(said.Code):
		return storage.ErrInvalid
	case errors.As(err, &connect), !writes, pgconn.SafeToRetry(err):
		return storage.ErrRefused
	case isSaid && rolledBack(said):
		return storage.ErrRefused
	}
	return storage.ErrUnknown
}

// neverTakes reports whether a SQLSTATE says that the same will not do another time, either. They
// are in appendix A of PostgreSQL's documentation; the first two characters are the class.
func neverTakes(code string) bool {
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "0A", // feature not supported
		"22", "23", // data exception, integrity constraint violation
		"28", "3D", "3F", // wrong password, no such database, no such schema
		"42", "54": // syntax error or access rule violation, program limit exceeded
		return true
	}
	return false
}

// rolledBack reports whether what the server says means that it has done nothing. Where it is
// about to end the connection that may not be so: while it waits for its replicas the
// transaction has been done.
func rolledBack(said *pgconn.PgError) bool {
	if said.SeverityUnlocalized == "FATAL" || said.SeverityUnlocalized == "PANIC" || len(said.Code) != 5 {
		return false
	}
	switch said.Code {
	case "40003": // it does not know
		return false
	case "57014": // it was asked to stop, or its statement_timeout was over
		return true
	}
	switch said.Code[:2] {
	case "25", "40", "53", "55": // read-only, rolled back, no resources, not in a state for it
		return true
	}
	return false
}

// passes reports whether what was rolled back may do when it is tried again at once.
func passes(err error) bool {
	var said *pgconn.PgError
	if !errors.Is(err, storage.ErrRefused) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if !errors.As(err, &said) {
		return pgconn.SafeToRetry(err) // a connection that was broken while no request used it
	}
	return said.Code == "40001" || said.Code == "40P01" || said.Code == "55P03"
}
