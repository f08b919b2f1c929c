package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/rueidis"

	"github.com/holdfast-locks/holdfast/storage"
)

// The first words of the server's errors. None of them occurs after a part of a script was done: they concern its first
// command, or all of it.
var (
	refusals = []string{
		"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "OOM", "MISCONF", "NOREPLICAS",
	}
	mistakes = []string{"WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM", "NOPROTO", "MOVED", "ASK", "CROSSSLOT"}
)

// tooMany is the start of the error with which a server refuses further connections.
const tooMany = "ERR max number of clients reached"

// tooOld is the start of the error of a server that does not know the commands that begin every connection.
const tooOld = "ERR unknown command"

// classify wraps the error of a request that may have been sent in one of package storage's kinds: what describes the
// request, and writes reports whether it writes.
func (s *Store) classify(err error, what string, writes bool) error {
	kind := storage.ErrRefused
	if writes {
		kind = storage.ErrUnknown
	}
	dialed := (*dialError)(nil)
	said, ofServer := rueidis.IsRedisErr(err)
	switch {
	case errors.Is(err, storage.ErrInvalid), errors.Is(err, storage.ErrRefused):
		return fmt.Errorf("%s: %w", what, err) // it already has a kind
	case !ofServer && !writes && (s.connections.isClosed() || errors.Is(err, rueidis.ErrClosing)):
		return fmt.Errorf("%s: %w", what, errClosed) // the client also returns that for a write in progress
	case errors.As(err, &dialed):
		kind = storage.ErrRefused
	case ofServer:
		kind = kindOf(said.Error(), kind)
		if strings.Contains(said.Error(), "WRONGTYPE") {
			err = fmt.Errorf("%w; claims and cas keep different kinds of rows: use another prefix in the store's URL (?prefix=NAME), or delete the old keys", err)
		}
	}
	return fmt.Errorf("%s: %w: %w", what, kind, err)
}

// kindOf returns the kind of a server error by its text, or other if the text is not conclusive.
func kindOf(text string, other error) error {
	// Before version 7 the error of a command in a script is at the end.
	if _, inner, found := strings.Cut(text, "@user_script: "); found && strings.HasPrefix(text, "ERR Error running script") {
		_, text, _ = strings.Cut(inner, ": ")
		text = strings.TrimPrefix(text, "-")
	}
	code, _, _ := strings.Cut(text, " ")
	switch {
	case slices.Contains(refusals, code), strings.HasPrefix(text, tooMany):
		return storage.ErrRefused
	case slices.Contains(mistakes, code), strings.HasPrefix(text, tooOld):
		return storage.ErrInvalid
	}
	return other
}

// early returns the error of a request whose context has ended before it was sent.
func early(ctx context.Context, what string) error {
	return fmt.Errorf("%s: %w: %w", what, storage.ErrRefused, ctx.Err())
}

// isWrongType reports whether a row is of the other kind than requested.
func isWrongType(err error) bool {
	said, ofServer := rueidis.IsRedisErr(err)
	return ofServer && strings.HasPrefix(said.Error(), "WRONGTYPE")
}
