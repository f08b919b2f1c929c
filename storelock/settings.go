package storelock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-locks/holdfast/protocol/claim"
	"github.com/holdfast-locks/holdfast/storage"
)

// ForgetSettings removes the settings that stand in a store beside the locks, so that the next process
// to start writes its own. Nobody may use the locks meanwhile: two processes with different
// settings both get what either has.
func ForgetSettings(ctx context.Context, store storage.Store) error {
	row, timestamp := claim.ForgetSettings()
	entries, err := store.Slice(ctx, &storage.Slice{Key: row})
	if err != nil {
		return fmt.Errorf("read the settings beside the locks: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	m := &storage.Mutate{Key: row, Timestamp: timestamp}
	for _, e := range entries {
		m.Deletions = append(m.Deletions, e.Column)
	}
	if err := store.Mutate(ctx, m); err != nil {
		return fmt.Errorf("remove the settings beside the locks: %w", err)
	}
	return nil
}

// jittered draws a time from half of d to d and a half, so that those who have met do not meet again.
func jittered(d time.Duration) time.Duration { return d/2 + rand.N(max(1, d)) }
