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
	"github.com/holdfast-locks/holdfast/storage/internal/location"
	"github.com/holdfast-locks/holdfast/storage/memory"
	"github.com/holdfast-locks/holdfast/storage/pebble"
	"github.com/holdfast-locks/holdfast/storage/postgres"
	"github.com/holdfast-locks/holdfast/storage/redis"
)

// opener opens a store of one scheme.
type opener func(ctx context.Context, url string) (storage.Store, error)

// as makes an opener of what a driver has, so that no store is nil and no error.
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
		"memory": openMemory, "pebble": as(pebble.Open), "postgres": as(postgres.Open), "postgresql": as(postgres.Open),
		"redis": as(redis.Open), "rediss": as(redis.Open), "etcd": as(etcd.Open), "etcds": as(etcd.Open), "cassandra": as(cassandra.Open),
	}
}

// openMemory makes a store that no other caller has.
func openMemory(ctx context.Context, url string) (storage.Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open a store in memory: %w: %w", storage.ErrRefused, err)
	}
	if _, rest, _ := strings.Cut(url, "://"); rest != "" {
		return nil, fmt.Errorf("open a store in memory: there is text after memory://; nothing may follow it: %w", storage.ErrInvalid)
	}
	return memory.New(memory.Config{}), nil
}

// Schemes lists what a URL may begin with, in the order of the alphabet.
func Schemes() []string { return slices.Sorted(maps.Keys(openers())) }

// Redacted is a URL as it may be shown: without its password, and without the values of options
// that are called after something secret. What is neither a URL nor a folder is not shown at all.
func Redacted(url string) string { return location.Redacted(url) }

// Folder makes a URL of the path of a folder, as Open does.
func Folder(path string) string { return location.Folder(path) }

// Open opens the store of a URL; the path of a folder alone, from its root, stands for pebble://
// and that path. The error is an ErrInvalid where the URL is not one that can be opened, by any
// attempt, and otherwise of the kinds that requests have. It has no password in it.
func Open(ctx context.Context, url string) (storage.Store, error) {
	url = Folder(url)
	scheme, _, found := strings.Cut(url, "://")
	open := openers()[strings.ToLower(scheme)]
	if !found || open == nil {
		// What stands there may be anything, a password too.
		return nil, fmt.Errorf("open a store: it is neither the absolute path of a folder nor a URL that begins with one of %s://: %w", strings.Join(Schemes(), "://, "), storage.ErrInvalid)
	}
	store, err := open(ctx, url)
	if err != nil {
		return nil, hide(err, url)
	}
	return store, nil
}

// hidden is an error whose words are not shown as they were.
type hidden struct {
	text  string
	kinds []error
}

func (h *hidden) Error() string   { return h.text }
func (h *hidden) Unwrap() []error { return h.kinds }

// hide takes what is secret in a URL out of an error that shows it. Drivers do not; what they
// use might. Only the kinds of such an error are left.
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
