package storelock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/internal/host"
	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
)

// What other programs need of protocol claim, which takes the locks.
type (
	// Settings are what all users of a store agree on, and what each may choose.
	Settings = claim.Options
	// Written is what a process has written next to the locks.
	Written = claim.Written
)

// Unit sets what timestamps in claims count: claim.Micro, the default, Milli or Nano. It must be the same in all
// processes.
func Unit(u claim.Unit) Option { return func(c *config) { c.claim.Unit = u } }

// spaceOver is one lockspace.
func spaceOver(store storage.Store, name string, options *Settings) host.Space {
	return host.Space{Name: name, Protocol: claim.Descriptor().Name, Store: store, Options: options.List().Given()}
}

// cellName is the name of the lock of a cell.
func cellName(key, column string) string { return claim.CellName(key, column) }

// StoredSettings returns the settings that stand in a store next to the locks: those that hold, and those that
// a process is about to agree to. Nothing stands there before the first process has started.
func StoredSettings(ctx context.Context, store storage.Store) ([]Written, error) {
	entries, err := readSettings(ctx, store)
	return claim.ReadSettings(entries), err
}

func readSettings(ctx context.Context, store storage.Store) ([]storage.Entry, error) {
	entries, err := store.Slice(ctx, &storage.Slice{Key: claim.SettingsRow})
	if err != nil {
		return nil, fmt.Errorf("read the settings: %w", err)
	}
	return entries, nil
}

// ForgetSettings removes the settings that stand in a store next to the locks, so that the next process
// to start writes its own. No process may use the locks meanwhile: two processes with different
// settings both get what either has.
func ForgetSettings(ctx context.Context, store storage.Store) error {
	entries, err := readSettings(ctx, store)
	if err != nil || len(entries) == 0 {
		return err
	}
	if err := store.Mutate(ctx, claim.ForgetSettings(entries)); err != nil {
		return fmt.Errorf("remove the settings: %w", err)
	}
	return nil
}

// jittered draws a time from half of d to d and a half, so that those who have met do not meet again.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(max(1, d)) }
