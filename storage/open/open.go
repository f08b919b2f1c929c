package open

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/cassandra"
	"github.com/holdfast-locks/holdfast/storage/etcd"
	"github.com/holdfast-locks/holdfast/storage/folder"
	"github.com/holdfast-locks/holdfast/storage/internal/location"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storage/pebble"
	"github.com/holdfast-locks/holdfast/storage/postgres"
	"github.com/holdfast-locks/holdfast/storage/redis"
)

// opener opens a store of one scheme.
type opener func(ctx context.Context, url string) (storage.Store, error)

// as converts a driver's Open to an opener that returns a nil interface with an error.
func as[S storage.Store](open func(ctx context.Context, url string) (S, error)) opener {
	return func(ctx context.Context, url string) (storage.Store, error) {
		store, err := open(ctx, url)
		if err != nil {
			return nil, err
		}
		return store, nil
	}
}

func openers() map[string]opener {
	return map[string]opener{
		"memory": openMemory, "folder": as(folder.Open), "pebble": as(pebble.Open), "postgres": as(postgres.Open), "postgresql": as(postgres.Open),
		"redis": as(redis.Open), "rediss": as(redis.Open), "etcd": as(etcd.Open), "etcds": as(etcd.Open), "cassandra": as(cassandra.Open),
	}
}

// openMemory opens a store of its own for each call.
func openMemory(ctx context.Context, url string) (storage.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open a store in memory: %w: %w", storage.ErrRefused, err)
	}
	if _, rest, _ := strings.Cut(url, "://"); rest != "" {
		return nil, fmt.Errorf("open a store in memory: there is text after memory://; nothing may follow it: %w", storage.ErrInvalid)
	}
	return memory.New(memory.Config{}), nil
}

// Schemes returns the supported schemes in alphabetical order.
func Schemes() []string { return slices.Sorted(maps.Keys(openers())) }

// Redacted returns a URL for display: without its password, and without the values of options with a secret-sounding
// name. A text that is neither a URL nor a folder is not shown at all.
func Redacted(url string) string { return location.Redacted(url) }

// Folder returns the URL of a folder's path, in the way that Open interprets it.
func Folder(path string) string { return location.Folder(path) }

// Open opens the store of a URL. An absolute path alone stands for folder:// and that path. The error is an ErrInvalid
// if the URL can never be opened, and otherwise has one of the kinds of a request's errors. It contains no password.
func Open(ctx context.Context, url string) (storage.Store, error) {
	url = Folder(url)
	scheme, _, found := strings.Cut(url, "://")
	open := openers()[strings.ToLower(scheme)]
	if !found || open == nil {
		// The text may be anything, including a password.
		return nil, fmt.Errorf("open a store: it is neither the absolute path of a folder nor a URL that begins with one of %s://: %w", strings.Join(Schemes(), "://, "), storage.ErrInvalid)
	}
	store, err := open(ctx, url)
	if err != nil {
		return nil, hide(err, url)
	}
	return store, nil
}

// hidden is an error whose original text is not shown.
type hidden struct {
	text  string
	kinds []error
}

func (h *hidden) Error() string   { return h.text }
func (h *hidden) Unwrap() []error { return h.kinds }

// hide removes a URL's secrets from an error that contains them. Drivers' own texts do not; those of their libraries
// might. Only the kinds of such an error remain.
func hide(err error, url string) error {
	text := err.Error()
	for _, secret := range location.Secrets(url) {
		text = strings.ReplaceAll(text, secret, "xxxxx")
	}
	if text == err.Error() {
		return err
	}
	h := &hidden{text: text}
	for _, kind := range []error{storage.ErrRefused, storage.ErrInvalid, storage.ErrUnknown, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			h.kinds = append(h.kinds, kind)
		}
	}
	return h
}
