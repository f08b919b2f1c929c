package storage

import (
	"context"
	"fmt"
)

// Store is a key-column-value store as a driver offers it: what package storage promises to
// machines, over a database. Its methods may be called from many goroutines.
//
// A method returns when it is done, or ctx ends: then its error wraps ErrUnknown if something
// may have been sent that writes, and ErrRefused with the context's otherwise; nothing is sent
// under a ctx that has ended before. Requests have no IDs here. What
// [Mutate.Check] and its like do not take is an ErrInvalid. Every error wraps one of ErrRefused,
// ErrInvalid and ErrUnknown, and the store's own error as well; a driver tries nothing
// again by itself after an ErrUnknown.
type Store interface {
	// Mutate adds and deletes columns of one row, at one instant.
	Mutate(ctx context.Context, m *Mutate) error
	// Slice reads columns of one row, in their order. A row that was never written is empty.
	// The error of a read that did not come to an end is an ErrRefused.
	Slice(ctx context.Context, s *Slice) ([]Entry, error)
	// Swap replaces a column if it is what is expected. Without Features.Swap it is an
	// ErrInvalid. The Err in what it returns is never set.
	Swap(ctx context.Context, s *Swap) (Swapped, error)
	// Clock returns the store's time, in microseconds since the Unix epoch: one clock for all
	// callers. Without Features.Clock it is an ErrInvalid.
	Clock(ctx context.Context) (int64, error)
	// Watch has changed called after the row of key has changed, until ctx ends: after each
	// Mutate that deletes a column, each Swap with Notify, and, because something may have been
	// missed, whenever a connection was lost and is there again; and at other times, as it
	// pleases. It returns when every later change will be reported. Changed is called on a
	// goroutine of the store's, one call at a time, and must not block. Without Features.Watch
	// it is an ErrInvalid. Several watch one row at a time.
	Watch(ctx context.Context, key string, changed func()) error
	// Features says what the store can do.
	Features() Features
	// Close ends all that is under way, and closes what the driver has opened. Every request
	// from then on is an ErrInvalid; another Close does nothing.
	Close() error
}

// Features is what one store can do and another cannot.
type Features struct {
	// Name says what it is, for people: "postgres".
	Name string
	// Consistent says that a Slice shows all that was answered before it was asked for, row by
	// row. Locks cannot be kept in a store without it.
	Consistent bool
	// Swap says that there is Swap. Durable says that what it has answered is never lost, as
	// long as the store's own rules for its disks and replicas are kept.
	Swap, Durable bool
	// TTL says that Mutate.TTL is heeded: columns are forgotten some time after it.
	TTL bool
	// Clock says that the store has one clock, and answers with its time.
	Clock bool
	// Watch says that it reports changes.
	Watch bool
}

// Lacks makes the error of a store for a request that it cannot serve.
func (f *Features) Lacks(what string) error {
	return fmt.Errorf("%s does not have %s: %w", f.Name, what, ErrInvalid)
}
