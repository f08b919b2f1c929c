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

// What the first word of an error of the server says. None of them comes after a part of a
// script was done: they are about a first command, or about all.
var (
	refusals = []string{
		"LOADING", "BUSY", "TRYAGAIN", "CLUSTERDOWN", "MASTERDOWN", "READONLY", "OOM", "MISCONF", "NOREPLICAS",
	}
	mistakes = []string{"WRONGTYPE", "NOAUTH", "WRONGPASS", "NOPERM", "NOPROTO", "MOVED", "ASK", "CROSSSLOT"}
)

// tooMany begins the text with which a server takes no further connection.
const tooMany = "ERR max number of clients reached"

// tooOld begins the text of a server that does not know what every connection begins with.
const tooOld = "ERR unknown command"

// classify makes an error of the kinds that package storage has, for a request that was sent,
// perhaps: what says what the request was, and writes whether it writes.
func (s *Store) classify(err error, what string, writes bool) error {
	kind := storage.ErrRefused
	if writes {
		kind = storage.ErrUnknown
	}
	dialed := (*dialError)(nil)
	said, ofServer := rueidis.IsRedisErr(err)
	switch {
	case errors.Is(err, storage.ErrInvalid), errors.Is(err, storage.ErrRefused):
		return fmt.Errorf("%s: %w", what, err) // it is of a kind already
	case !ofServer && !writes && (s.connections.isClosed() || errors.Is(err, rueidis.ErrClosing)):
		return fmt.Errorf("%s: %w", what, errClosed) // of a write under way the client says that, too
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

// kindOf is what the text of an error of the server says, and other where it says nothing.
func kindOf(text string, other error) error {
	// Before version 7 what a command in a script has said stands at the end.
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

// early is the error of a request whose context has ended before it was sent.
func early(ctx context.Context, what string) error {
	return fmt.Errorf("%s: %w: %w", what, storage.ErrRefused, ctx.Err())
}

// isWrongType says whether a row is of the other kind than what it was asked for as.
func isWrongType(err error) bool {
	said, ofServer := rueidis.IsRedisErr(err)
	return ofServer && strings.HasPrefix(said.Error(), "WRONGTYPE")
}
