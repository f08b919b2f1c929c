package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-locks/holdfast/storage"
)

// scanned is how many columns of how many rows a scan reads at first in one statement. It reads more of a row that has
// more.
const scanned = 1000

// Scan reads all rows, some at a time. Both kinds of rows are in one place. It implements storage.Scanner.
func (s *Store) Scan(ctx context.Context, r *storage.Scan, found func(key string, entries []storage.Entry) error) error {
	for from, limit := r.Prefix, scanned; ; {
		all, err := s.scanSome(ctx, r.Prefix, from, limit)
		if err != nil {
			return fmt.Errorf("scan: %w", err)
		}
		if all.columns == limit {
			// There may be more of the last row.
			from = all.keys[len(all.keys)-1]
			if all.keys = all.keys[:len(all.keys)-1]; len(all.keys) == 0 {
				limit *= 2
				continue
			}
		}
		for _, key := range all.keys {
			if err := found(key, all.entries[key]); err != nil {
				return err
			}
		}
		if all.columns < limit {
			return nil
		}
	}
}

// some is a part of the rows.
type some struct {
	columns int // number of them
	keys    []string
	entries map[string][]storage.Entry
}

// scanSome reads up to limit columns of the rows from a key on.
func (s *Store) scanSome(ctx context.Context, prefix, from string, limit int) (all some, err error) {
	ctx, leave, err := s.enter(ctx, nil)
	if err != nil {
		return all, err
	}
	defer leave()
	err = s.do(ctx, false, func(c *pgx.Conn) error {
		all = some{entries: map[string][]storage.Entry{}}
		rows, err := c.Query(ctx, s.statements.scan, []byte(from), []byte(prefix), limit)
		if err != nil {
			return err
		}
		var key, column, value []byte
		_, err = pgx.ForEachRow(rows, []any{&key, &column, &value}, func() error {
			row := string(key)
			if len(all.entries[row]) == 0 {
				all.keys = append(all.keys, row)
			}
			all.entries[row] = append(all.entries[row], storage.Entry{Column: string(column), Value: string(value)})
			all.columns++
			return nil
		})
		return err
	})
	return all, err
}

var _ storage.Scanner = (*Store)(nil)
