package cassandra

import (
	"context"
	"fmt"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/rows"
)

// Scan reads all rows, in the order of Cassandra's tokens. With Serial it reads the table of swaps, without a vote of
// the replicas about swaps in progress: Cassandra has that for single rows only. It implements storage.Scanner.
func (s *Store) Scan(ctx context.Context, r *storage.Scan, found func(key string, entries []storage.Entry) error) error {
	table := s.table
	if r.Serial {
		table += swapSuffix
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("scan: %w: %w", storage.ErrRefused, err)
	}
	all := rows.Rows{Prefix: r.Prefix, Found: found}
	read := s.session.Query("SELECT key, column1, value FROM " + table).IterContext(ctx)
	var key, column, value []byte
	var stopped error
	for stopped == nil && read.Scan(&key, &column, &value) {
		stopped = all.Add(string(key), storage.Entry{Column: string(column), Value: string(value)})
	}
	err := read.Close()
	switch {
	case stopped != nil:
		return stopped
	case err != nil:
		return fmt.Errorf("scan: %w", wrap(err, reading))
	}
	return all.End()
}

var _ storage.Scanner = (*Store)(nil)
