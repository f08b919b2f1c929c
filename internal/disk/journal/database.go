package journal

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/internal/descriptors"
)

// databaseOptions are those of a log: little memory, nothing in the background but what makes
// room, and no word on standard error.
func databaseOptions(d *disk, folder string, listener *pebble.EventListener) *pebble.Options {
	if listener == nil {
		// A reader finds the fault in what it reads, and the disk knows its errors.
		listener = &pebble.EventListener{BackgroundError: func(error) {}, DataCorruption: func(pebble.DataCorruptionInfo) {}}
	}
	return &pebble.Options{
		FS: d, Logger: logger{folder}, EventListener: listener,
		// From this one on, the database's own log tells what was cut by a crash from what has
		// rotted.
		FormatMajorVersion:          pebble.FormatValueSeparation,
		MemTableSize:                8 << 20,
		MemTableStopWritesThreshold: 3,
		CacheSize:                   2 << 20,
		MaxOpenFiles:                64,
		MaxManifestFileSize:         1 << 20,
		// What is superseded goes soon, and a writer that is faster than that waits for it.
		L0CompactionThreshold: 2,
		L0StopWritesThreshold: 8,
		LBaseMaxBytes:         16 << 20,
	}
}

// openDatabase opens the database of a journal. What is wrong with it is a CorruptError, also
// where the database panics about it.
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

// logger keeps silent but where the database cannot go on.
type logger struct{ folder string }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf must not return. An error of the disk does not lead here, see disk: it is the database's
// own invariants that are broken.
func (l logger) Fatalf(text string, args ...any) {
	panic(fmt.Sprintf("the journal in folder %q cannot go on: %s", l.folder, fmt.Sprintf(text, args...)))
}

// inOrder goes through the keys of a map in their order.
func inOrder[V any](m map[uint64]V) iter.Seq[uint64] {
	return slices.Values(slices.Sorted(maps.Keys(m)))
}
