package journal

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/internal/descriptors"
)

// databaseOptions returns options for a log: little memory, no background work except compaction, and no output on
// standard error.
func databaseOptions(d *disk, folder string, listener *pebble.EventListener) *pebble.Options {
	if listener == nil {
		// A reader finds the fault in its data, and the disk knows its errors.
		listener = &pebble.EventListener{BackgroundError: func(error) {}, DataCorruption: func(pebble.DataCorruptionInfo) {}}
	}
	return &pebble.Options{
		FS: d, Logger: logger{folder}, EventListener: listener,
		// From this version on, the database's own log distinguishes data cut off by a crash from rotten data.
		FormatMajorVersion:          pebble.FormatValueSeparation,
		MemTableSize:                8 << 20,
		MemTableStopWritesThreshold: 3,
		CacheSize:                   2 << 20,
		MaxOpenFiles:                64,
		MaxManifestFileSize:         1 << 20,
		// Superseded data is removed soon, and a faster writer waits for it.
		L0CompactionThreshold: 2,
		L0StopWritesThreshold: 8,
		LBaseMaxBytes:         16 << 20,
	}
}

// openDatabase opens the database of a journal. A fault in it is a CorruptError, even if the database panics.
func openDatabase(d *disk, folder, at string, listener *pebble.EventListener) (db *pebble.DB, err error) {
	options := databaseOptions(d, folder, listener)
	options.ErrorIfNotExists = true
	options.ReadOnly = d.sealed
	options.FileCache = pebble.NewFileCache(1, descriptors.ForTables(descriptors.Limit()))
	defer options.FileCache.Unref() // the database has it as long as it is open
	defer func() {
		if fact := recover(); fact != nil {
			db, err = nil, &CorruptError{folder, partDatabase, 0, 0, fmt.Errorf("%v", fact)}
		}
	}()
	db, err = pebble.Open(d.PathJoin(at, recordsName), options)
	if err == nil {
		return db, nil
	}
	if broken := d.broken(); broken != nil {
		return nil, fmt.Errorf("open folder %q: %w", folder, broken)
	}
	return nil, &CorruptError{folder, partDatabase, 0, 0, err}
}

// logger is silent unless the database cannot continue.
type logger struct{ folder string }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf must not return. Disk errors do not lead here, see disk: only broken invariants of the database itself.
func (l logger) Fatalf(text string, args ...any) {
	panic(fmt.Sprintf("the journal in folder %q cannot go on: %s", l.folder, fmt.Sprintf(text, args...)))
}

// inOrder yields the keys of a map in order.
func inOrder[V any](m map[uint64]V) iter.Seq[uint64] {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}
