package folder

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-locks/holdfast/storage"
)

// Scan reads the files of all rows. Both kinds of rows are in one place. It implements storage.Scanner.
func (s *Store) Scan(ctx context.Context, r *storage.Scan, found func(key string, entries []storage.Entry) error) error {
	ctx, leave, err := s.enter(ctx, "scan", nil)
	if err != nil {
		return err
	}
	defer leave()
	var stopped error
	err = filepath.WalkDir(filepath.Join(s.path, rowsFolder), func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // no row was written yet, or this one has been removed
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir():
			return nil
		}
		row, err := s.rowIn(ctx, path, r.Prefix)
		if err != nil || len(row.columns) == 0 {
			return err
		}
		entries := make([]storage.Entry, len(row.columns))
		for i := range row.columns {
			entries[i] = row.columns[i].Entry
		}
		stopped = found(row.key, entries)
		return stopped
	})
	switch {
	case stopped != nil:
		return stopped
	case err != nil:
		return s.failed("scan", err)
	}
	return nil
}

// rowIn returns the row in a file; one without columns if its key does not begin with the prefix.
func (s *Store) rowIn(ctx context.Context, path, prefix string) (row, error) {
	// Without its lock the file may have an incomplete record; the key is the same in all of them.
	contents, err := os.ReadFile(path)
	if err != nil {
		return row{}, ignoreMissing(err)
	}
	r := parseRecord(contents)
	found, err := decode(r.content)
	if err != nil || found.key == "" || !strings.HasPrefix(found.key, prefix) {
		return row{}, err
	}
	return s.readRow(ctx, found.key)
}

var _ storage.Scanner = (*Store)(nil)
