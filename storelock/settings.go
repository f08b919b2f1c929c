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

// Types of protocol claim, which takes the locks, for use by other programs.
type (
	// Settings are the settings that all users of a store share, and those that each may choose.
	Settings = claim.Options
	// Written is a process's settings as stored next to the locks.
	Written = claim.Written
)

// Unit sets the unit of timestamps in claims: claim.Micro, the default, Milli or Nano. It must be the same in all
// processes.
func Unit(u claim.Unit) Option { return func(c *config) { c.claim.Unit = u } }

// spaceOver returns one lockspace over a store.
func spaceOver(store storage.Store, name string, options *Settings) host.Space {
	return host.Space{Name: name, Protocol: claim.Descriptor().Name, Store: store, Options: options.List().Given()}
}

// cellName returns the name of a cell's lock.
func cellName(key, column string) string { return claim.CellName(key, column) }

// StoredSettings returns the settings stored next to the locks: the current ones, and those that a process is about to
// agree to. There are none before the first process has started.
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

// ForgetSettings removes the settings stored next to the locks, so that the next process to start writes its own. No
// process may use the locks in the meantime: two processes with different settings can hold the same lock.
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

// jittered returns a random time from half of d to d and a half, so that colliding processes do not collide again.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(max(1, d)) }
