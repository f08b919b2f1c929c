package redis

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"github.com/holdfast-locks/holdfast/storage"
)

// scanned is about how many keys a scan reads in one request.
const scanned = 500

// Scan reads all rows: their keys some at a time, and then each row. It implements storage.Scanner.
func (s *Store) Scan(ctx context.Context, r *storage.Scan, found func(key string, entries []storage.Entry) error) error {
	kind, read := "zset", s.sliceSet
	if r.Serial {
		kind, read = "hash", s.sliceHash
	}
	seen := map[string]bool{} // the server may return a key more than once
	for cursor, first := uint64(0), true; first || cursor != 0; first = false {
		var page rueidis.ScanEntry
		err := s.try(ctx, "scan redis", func(ctx context.Context) (err error) {
			scan := s.client.B().Scan().Cursor(cursor).Match(pattern(s.key(r.Prefix))).Count(scanned).Type(kind).Build()
			if page, err = s.client.Do(ctx, scan).AsScanEntry(); err != nil {
				return s.classify(err, "scan redis", false)
			}
			return nil
		})
		if err != nil {
			return err
		}
		cursor = page.Cursor
		for _, name := range page.Elements {
			row := strings.TrimPrefix(name, s.config.prefix)
			if seen[row] {
				continue
			}
			seen[row] = true
			if err := s.foundRow(ctx, row, read, found); err != nil {
				return err
			}
		}
	}
	return nil
}

// foundRow passes one row to a scan's function, unless it has become empty.
func (s *Store) foundRow(ctx context.Context, row string, read func(context.Context, *storage.Slice) ([]storage.Entry, error), found func(string, []storage.Entry) error) error {
	var entries []storage.Entry
	err := s.try(ctx, "scan redis", func(ctx context.Context) (err error) {
		if entries, err = read(ctx, &storage.Slice{Key: row}); err != nil && !isWrongType(err) {
			return s.classify(err, fmt.Sprintf("scan redis: row %q", row), false)
		}
		return nil
	})
	if err != nil || len(entries) == 0 {
		return err
	}
	return found(row, entries)
}

// pattern returns the glob pattern of the keys that begin with a text.
func pattern(prefix string) string {
	var text strings.Builder
	for i := range len(prefix) {
		if strings.IndexByte(`*?[]\^-`, prefix[i]) >= 0 {
			text.WriteByte('\\')
		}
		text.WriteByte(prefix[i])
	}
	return text.String() + "*"
}

var _ storage.Scanner = (*Store)(nil)
