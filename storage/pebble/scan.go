package pebble

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/rows"
)

// Scan reads all rows, as they are when it begins. Both kinds of rows are in one place. It implements storage.Scanner.
func (s *Store) Scan(ctx context.Context, r *storage.Scan, found func(key string, entries []storage.Entry) error) error {
	if err := s.enter(ctx, "scan", nil); err != nil {
		return err
	}
	defer s.underWay.Done()
	columns, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{columnKey}, UpperBound: []byte{columnKey + 1}})
	if err != nil {
		return fmt.Errorf("scan: %w: %w", storage.ErrRefused, err)
	}
	now := s.config.Now().UnixMicro()
	all := rows.Rows{Prefix: r.Prefix, Found: found}
	for ok := columns.First(); ok && err == nil; ok = columns.Next() {
		if err = ctx.Err(); err != nil {
			err = fmt.Errorf("scan: %w: %w", storage.ErrRefused, err)
			break
		}
		key, column := split(columns.Key())
		h, wrong := decode(columns.Value())
		switch {
		case wrong != nil:
			err = fmt.Errorf("scan: %w: %w", storage.ErrInvalid, wrong)
		case !h.over(now):
			err = all.Add(key, storage.Entry{Column: column, Value: string(h.value)})
		}
	}
	if err == nil {
		err = all.End()
	}
	if failed := errors.Join(columns.Error(), columns.Close()); failed != nil {
		err = errors.Join(err, fmt.Errorf("scan: %w: %w", storage.ErrRefused, failed))
	}
	return err
}

// split splits a database key into a row's key and a column.
func split(at []byte) (key, column string) {
	length := int(binary.BigEndian.Uint16(at[1:]))
	return string(at[3 : 3+length]), string(at[3+length:])
}

var _ storage.Scanner = (*Store)(nil)
