package storelock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
)

// StoredSettings returns the settings that stand in a store beside the locks: those that hold, and those that
// a process is about to agree to. Nothing stands there before the first process has started.
func StoredSettings(ctx context.Context, store storage.Store) ([]claim.Written, error) {
	entries, err := readSettings(ctx, store)
	return claim.ReadSettings(entries), err
}

func readSettings(ctx context.Context, store storage.Store) ([]storage.Entry, error) {
	row, _ := claim.ForgetSettings()
	entries, err := store.Slice(ctx, &storage.Slice{Key: row})
	if err != nil {
		return nil, fmt.Errorf("read the settings beside the locks: %w", err)
	}
	return entries, nil
}

// ForgetSettings removes the settings that stand in a store beside the locks, so that the next process
// to start writes its own. No process may use the locks meanwhile: two processes with different
// settings both get what either has.
func ForgetSettings(ctx context.Context, store storage.Store) error {
	entries, err := readSettings(ctx, store)
	if err != nil || len(entries) == 0 {
		return err
	}
	row, timestamp := claim.ForgetSettings()
	changed := claim.Changed()
	m := &storage.Mutate{Key: row, Timestamp: timestamp, Additions: []storage.Entry{changed}}
	for _, e := range entries {
		if e.Column != changed.Column {
			m.Deletions = append(m.Deletions, e.Column)
		}
	}
	if err := store.Mutate(ctx, m); err != nil {
		return fmt.Errorf("remove the settings beside the locks: %w", err)
	}
	return nil
}

// jittered draws a time from half of d to d and a half, so that those who have met do not meet again.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(max(1, d)) }
