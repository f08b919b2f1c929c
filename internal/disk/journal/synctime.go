package journal

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Parameters of SyncTime: the number and size of writes, and the time after which no further one starts.
const (
	syncRounds = 7
	syncBytes  = 4096
	syncLimit  = 50 * time.Millisecond
)

// SyncTime measures the latency of a small synced write under a folder, into space that the file already has, like
// those of a journal: the median of a few. fs nil means the machine's. It does a few syncs, none of which starts after
// 50 ms; nothing stays in the folder.
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
