package pebble

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/location"
)

// Config configures the use of a folder.
type Config struct {
	// NoSync answers before a write is on disk. Zero means that it waits for the sync.
	NoSync bool
	// Now returns the time by which columns expire and which Clock returns. Zero means time.Now.
	Now func() time.Time
}

// format is written into a new folder. A change of the entries' format must change it.
const format = "holdfast storage 1"

// sharedFormat is a file of a store of package folder. A Pebble database has none of that name.
const sharedFormat = "format"

// Open opens the folder of a URL, as described in the package documentation. An error is an ErrInvalid if the URL or
// the folder is unsuitable, and an ErrRefused if a retry may succeed, for example while another process has the folder.
func Open(ctx context.Context, address string) (*Store, error) {
	folder, synced, err := location.ParseFolder(address, "pebble")
	if err != nil {
		return nil, fmt.Errorf("open store %q: %w: %w", address, err, storage.ErrInvalid)
	}
	return OpenFS(ctx, vfs.Default, folder, Config{NoSync: !synced})
}

// OpenFS opens a folder of a file system. Its errors are as those of Open.
func OpenFS(ctx context.Context, fs vfs.FS, folder string, config Config) (*Store, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open folder %q: %w: %w", folder, storage.ErrRefused, err)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if err := fs.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("make folder %q for a store: %w: %w", folder, err, storage.ErrInvalid)
	}
	if _, err := fs.Stat(fs.PathJoin(folder, sharedFormat)); err == nil {
		return nil, fmt.Errorf("open folder %q: it is a store of package folder, which processes share; open it as folder://%s, or use another folder: %w", folder, folder, storage.ErrInvalid)
	}
	lock, err := pebble.LockDirectory(folder, fs)
	if err != nil {
		return nil, fmt.Errorf("lock folder %q: another process uses it, or another store of this process; end that one, or use another folder: %w: %w", folder, err, storage.ErrRefused)
	}
	db, err := pebble.Open(folder, &pebble.Options{
		FS: fs, Lock: lock, FormatMajorVersion: pebble.FormatValueSeparation, Logger: logger{folder},
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open folder %q: %w: %w", folder, err, storage.ErrInvalid), lock.Close())
	}
	if err := check(db); err != nil {
		return nil, errors.Join(fmt.Errorf("open folder %q: %w", folder, err), db.Close(), lock.Close())
	}
	return newStore(db, lock, config), nil
}

// check verifies the format of the database, or writes it to a new one.
func check(db *pebble.DB) error {
	found, closer, err := db.Get([]byte{formatKey})
	if err == nil {
		made := string(found)
		if err := closer.Close(); err != nil {
			return fmt.Errorf("read its format: %w: %w", err, storage.ErrRefused)
		}
		if made != format {
			return fmt.Errorf("it has the format %.100q, and this version reads %q; use the version that made it, or another folder: %w", made, format, storage.ErrInvalid)
		}
		return nil
	}
	if !errors.Is(err, pebble.ErrNotFound) {
		return fmt.Errorf("read its format: %w: %w", err, storage.ErrRefused)
	}
	all, err := db.NewIter(nil)
	if err != nil {
		return fmt.Errorf("look whether it is empty: %w: %w", err, storage.ErrRefused)
	}
	used := all.First()
	if err := errors.Join(all.Error(), all.Close()); err != nil {
		return fmt.Errorf("look whether it is empty: %w: %w", err, storage.ErrRefused)
	}
	if used {
		return fmt.Errorf("it has a database that something else has made; use another folder: %w", storage.ErrInvalid)
	}
	if err := db.Set([]byte{formatKey}, []byte(format), pebble.Sync); err != nil {
		return fmt.Errorf("write its format: %w: %w", err, storage.ErrRefused)
	}
	return nil
}

// logger discards everything except the fatal errors of the database.
type logger struct{ folder string }

func (logger) Infof(string, ...any)  {}
func (logger) Errorf(string, ...any) {}

// Fatalf must not return.
func (l logger) Fatalf(text string, args ...any) {
	panic(fmt.Sprintf("the store in folder %q cannot go on: %s", l.folder, fmt.Sprintf(text, args...)))
}
