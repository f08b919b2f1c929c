package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-locks/holdfast"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/open"
)

// openLimit is the time limit for opening a store.
const openLimit = 10 * time.Second

// openStore opens the store of a URL for a command. The error has its exit code: that of bad configuration if a retry
// is useless, and otherwise that of an unreachable service. It shows no password.
func openStore(ctx context.Context, command, url string, limit time.Duration) (storage.Store, error) {
	opening, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	store, err := open.Open(opening, url)
	switch {
	case err == nil:
		return store, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err() // ended by a signal
	case errors.Is(err, storage.ErrInvalid):
		return nil, misconfigured("%s: store %s: %w", command, open.Redacted(url), err)
	case opening.Err() != nil:
		err = fmt.Errorf("it does not answer within %v: %w", limit, err)
	}
	return nil, &exitError{exitUnavailable, fmt.Errorf("%s: store %s: %w: %w", command, open.Redacted(url), holdfast.ErrUnavailable, err)}
}

// stores are the stores of a member's claims, by URL: spaces with the same URL share one.
type stores map[string]storage.Store

// open opens the store of a URL, unless it is already open.
func (s stores) open(ctx context.Context, url string) error {
	if s[url] != nil {
		return nil
	}
	store, err := openStore(ctx, "serve", url, openLimit)
	if err == nil {
		s[url] = store
	}
	return err
}

// close closes them all. They must not be used afterwards.
func (s stores) close() error {
	var errs []error
	for url, store := range s {
		if err := store.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close store %s: %w", open.Redacted(url), err))
		}
	}
	clear(s)
	return errors.Join(errs...)
}
