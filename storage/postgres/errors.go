package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/holdfast-locks/holdfast/storage"
)

// classify returns an error with its kind, which depends on the possible effects of the request: a read has none.
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

// neverTakes reports whether a SQLSTATE says that a retry cannot succeed. They are in appendix A of PostgreSQL's
// documentation; the first two characters are the class.
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

// rolledBack reports whether the server's error means that the request had no effect. This may not hold if the server
// is about to end the connection: while it waits for its replicas the transaction is already done.
func rolledBack(said *pgconn.PgError) bool {
	if said.SeverityUnlocalized == "FATAL" || said.SeverityUnlocalized == "PANIC" || len(said.Code) != 5 {
		return false
	}
	switch said.Code {
	case "40003": // the outcome is unknown
		return false
	case "57014": // cancelled, or statement_timeout has passed
		return true
	}
	switch said.Code[:2] {
	case "25", "40", "53", "55": // read-only, rolled back, no resources, not in a state for it
		return true
	}
	return false
}

// passes reports whether an immediate retry may succeed.
func passes(err error) bool {
	var said *pgconn.PgError
	if !errors.Is(err, storage.ErrRefused) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if !errors.As(err, &said) {
		return pgconn.SafeToRetry(err) // the connection broke while no request used it
	}
	return said.Code == "40001" || said.Code == "40P01" || said.Code == "55P03"
}
