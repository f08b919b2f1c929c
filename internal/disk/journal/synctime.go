package journal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// How SyncTime measures: so many writes of so many bytes, and no further one once so much time has passed.
const (
	syncRounds = 7
	syncBytes  = 4096
	syncLimit  = 50 * time.Millisecond
)

// SyncTime measures how long the disk under a folder takes to sync a small write into room that a file has already, as
// those to a journal are: the median of a few. fs nil means the machine's. It takes a few syncs, and no more than one
// that begins after 50 ms; nothing stays in the folder.
func SyncTime(fs vfs.FS, folder string) (took time.Duration, err error) {
	if fs == nil {
		fs = vfs.Default
	}
	path := fs.PathJoin(folder, "sync-time")
	file, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return 0, fmt.Errorf("measure syncs: %w", err)
	}
	defer func() {
		if ended := errors.Join(file.Close(), fs.Remove(path)); err == nil && ended != nil {
			err = fmt.Errorf("measure syncs: %w", ended)
		}
	}()
	block := make([]byte, syncBytes)
	if _, err := file.WriteAt(block, 0); err != nil {
		return 0, fmt.Errorf("measure syncs: %w", err)
	}
	if err := file.Sync(); err != nil {
		return 0, fmt.Errorf("measure syncs: %w", err)
	}
	var all []time.Duration
	for began := time.Now(); len(all) == 0 || len(all) < syncRounds && time.Since(began) < syncLimit; {
		block[0]++
		at := time.Now()
		if _, err := file.WriteAt(block, 0); err != nil {
			return 0, fmt.Errorf("measure syncs: %w", err)
		}
		if err := file.SyncData(); err != nil {
			return 0, fmt.Errorf("measure syncs: %w", err)
		}
		all = append(all, time.Since(at))
	}
	slices.Sort(all)
	return all[len(all)/2], nil
}
