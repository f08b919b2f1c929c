package folder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-locks/holdfast/storage"
)

// Keys returns the keys of rows with columns, in the order of their bytes: those greater than after, up to limit. It
// reads the files of all rows.
func (s *Store) Keys(ctx context.Context, after string, limit int) ([]string, error) {
	var check error
	if limit <= 0 {
		check = fmt.Errorf("limit %d; more than 0 is allowed: %w", limit, storage.ErrInvalid)
	}
	ctx, leave, err := s.enter(ctx, "list keys", check)
	if err != nil {
		return nil, err
	}
	defer leave()
	var keys []string
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
		key, err := s.keyOf(ctx, path)
		if err == nil && key > after {
			keys = append(keys, key)
		}
		return err
	})
	if err != nil {
		return nil, s.failed("list keys", err)
	}
	slices.Sort(keys)
	return keys[:min(limit, len(keys))], nil
}

// keyOf returns the key of the row in a file, or "" if the row has no columns.
func (s *Store) keyOf(ctx context.Context, path string) (string, error) {
	// Without its lock the file may have an incomplete record; the key is the same in all of them.
	contents, err := os.ReadFile(path)
	if err != nil {
		return "", ignoreMissing(err)
	}
	r := parseRecord(contents)
	found, err := decode(r.content)
	if err != nil || found.key == "" {
		return "", err
	}
	found, err = s.readRow(ctx, found.key)
	if len(found.columns) == 0 {
		return "", err
	}
	return found.key, err
}
