package storage

import (
	"context"
	"fmt"
)

// Store is a key-column-value store with the guarantees of package storage, implemented by a driver over a database.
// Its methods are safe for concurrent use.
//
// A method returns when it is done or ctx ends. If ctx ends, the error wraps ErrUnknown if a write may have been sent,
// and ErrRefused with the context's error otherwise; under a ctx that has already ended nothing is sent. Requests have
// no IDs here. Requests that [Mutate.Check] and the other Check methods reject are an ErrInvalid. Every error wraps one
// of ErrRefused, ErrInvalid and ErrUnknown, and the store's own error as well; a driver never retries after an
// ErrUnknown.
type Store interface {
	// Mutate adds and deletes columns of one row, at one instant.
	Mutate(ctx context.Context, m *Mutate) error
	// Slice reads columns of one row, in their order. A row that was never written is empty. The error of an incomplete
	// read is an ErrRefused.
	Slice(ctx context.Context, s *Slice) ([]Entry, error)
	// Swap replaces a column if it has the expected value. Without Features.Swap it is an ErrInvalid. The Err field of
	// the result is never set.
	Swap(ctx context.Context, s *Swap) (Swapped, error)
	// Clock returns the store's time, in microseconds since the Unix epoch: one clock for all
	// callers. Without Features.Clock it is an ErrInvalid.
	Clock(ctx context.Context) (int64, error)
	// Watch calls changed after the row of key has changed, until ctx ends: after each Mutate that deletes a column,
	// after each Swap with Notify, and after each reconnection, because changes may have been missed. It may call
	// changed at other times as well. Watch returns when every later change will be reported. The store calls changed
	// on its own goroutine, one call at a time, and changed must not block. Without Features.Watch it is an ErrInvalid.
	// A row can have several watches at the same time.
	Watch(ctx context.Context, key string, changed func()) error
	// Features returns the store's capabilities.
	Features() Features
	// Close ends all calls in progress, and closes everything the driver has opened. Every later request is an
	// ErrInvalid; a second Close does nothing.
	Close() error
}

// Attender is a Store that learns when a process has ended, because all its processes run on one machine. Its
// Features have Ends.
type Attender interface {
	Store
	// Attend records that the process named rid lives: until Close, or until the process has ended, however it ends.
	// The name must be unique for all time.
	Attend(ctx context.Context, rid string) error
	// Await reports whether the process named rid has ended. If it has not, the store calls ended once when it has,
	// on its own goroutine, until ctx ends; ended must not block. A process that has not called Attend, or has closed
	// its store, need not be reported.
	Await(ctx context.Context, rid string, ended func()) (bool, error)
}

// Features are the capabilities in which stores differ.
type Features struct {
	// Name is the kind of store, for display: "postgres".
	Name string
	// Consistent reports that a Slice shows everything that was answered before it was sent, row by row. A store
	// without it cannot keep locks.
	Consistent bool
	// Swap reports that the store has Swap. Durable reports that an answered request is never lost, as long as the
	// store's own rules for its disks and replicas are kept.
	Swap, Durable bool
	// TTL reports that the store deletes columns some time after their Mutate.TTL.
	TTL bool
	// Clock reports that the store has one clock, and returns its time.
	Clock bool
	// Watch reports that the store notifies of changes.
	Watch bool
	// Ends reports that the store is an [Attender].
	Ends bool
	// PrefersSwap reports that locks are taken by Swap unless their settings say otherwise.
	PrefersSwap bool
}

// Lacks returns the store's error for a request that it cannot serve.
func (f *Features) Lacks(what string) error {
	return fmt.Errorf("%s does not have %s: %w", f.Name, what, ErrInvalid)
}
