package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

// The first byte of a database key, which is the kind of entry.
const (
	formatKey = 0x00 // only the format
	columnKey = 0x01 // followed by two bytes of length, the row's key, and the column
)

// headerSize is the length of a value's header: the column's timestamp, and the microsecond at which it expires, or 0.
const headerSize = 16

// prefix returns the common prefix of exactly the entries of a row.
func prefix(key string) []byte {
	b := make([]byte, 0, 3+len(key)+32)
	b = append(b, columnKey)
	b = binary.BigEndian.AppendUint16(b, uint16(len(key)))
	return append(b, key...)
}

// within returns the key of a column of the row with that prefix.
func within(prefix []byte, column string) []byte {
	return append(prefix[:len(prefix):len(prefix)], column...)
}

// behind returns the first key after the row with that prefix.
func behind(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; ; i-- {
		// The first byte is not 0xFF, so this terminates.
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
}

// held is a column as stored.
type held struct {
	stamp int64
	until int64 // in microseconds since the epoch; 0 means never
	value []byte
}

func decode(b []byte) (held, error) {
	if len(b) < headerSize {
		return held{}, fmt.Errorf("a column has %d bytes; there must be %d or more, so the folder is damaged", len(b), headerSize)
	}
	return held{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:])), b[headerSize:]}, nil
}

func encode(stamp, until int64, value string) []byte {
	b := make([]byte, 0, headerSize+len(value))
	b = binary.BigEndian.AppendUint64(b, uint64(stamp))
	b = binary.BigEndian.AppendUint64(b, uint64(until))
	return append(b, value...)
}

// over reports whether the column has expired at now, in microseconds.
func (h *held) over(now int64) bool { return h.until != 0 && h.until <= now }

// find calls see with a stored column, if it exists and has not expired. The value is valid until see returns.
func find(db *pebble.DB, at []byte, now int64, see func(*held)) error {
	found, closer, err := db.Get(at)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read a column: %w", err)
	}
	h, err := decode(found)
	if err == nil && !h.over(now) {
		see(&h)
	}
	return errors.Join(err, closer.Close())
}

// sweep is how many of a row's first columns a Mutate checks for expiry. Columns with a TTL are usually named by time,
// so expired ones are first.
const sweep = 64

// change adds the changes of a Mutate to a batch.
func change(db *pebble.DB, b *pebble.Batch, m *storage.Mutate, now time.Time) error {
	row, micros := prefix(m.Key), now.UnixMicro()
	until := int64(0)
	if m.TTL > 0 {
		until = now.Add((m.TTL + time.Second - 1).Truncate(time.Second)).UnixMicro()
		// First, because the last operation on a key in a batch wins.
		if err := removeOver(db, b, row, micros); err != nil {
			return err
		}
	}
	for _, column := range m.Deletions {
		at, goes := within(row, column), false
		if err := find(db, at, micros, func(h *held) { goes = h.stamp <= m.Timestamp }); err != nil {
			return err
		}
		if goes {
			if err := b.Delete(at, nil); err != nil {
				return fmt.Errorf("delete column %q: %w", column, err)
			}
		}
	}
	for i := range m.Additions {
		e := &m.Additions[i]
		at, stays := within(row, e.Column), false
		err := find(db, at, micros, func(h *held) {
			stays = h.stamp > m.Timestamp || h.stamp == m.Timestamp && string(h.value) > e.Value
		})
		if err != nil {
			return err
		}
		if !stays {
			if err := b.Set(at, encode(m.Timestamp, until, e.Value), nil); err != nil {
				return fmt.Errorf("add column %q: %w", e.Column, err)
			}
		}
	}
	return nil
}

// removeOver removes the expired ones of a row's first columns.
func removeOver(db *pebble.DB, b *pebble.Batch, row []byte, now int64) error {
	first, err := db.NewIter(&pebble.IterOptions{LowerBound: row, UpperBound: behind(row)})
	if err != nil {
		return fmt.Errorf("look for columns that are over: %w", err)
	}
	for n, ok := 0, first.First(); ok && n < sweep; n, ok = n+1, first.Next() {
		if h, wrong := decode(first.Value()); wrong != nil {
			err = wrong
		} else if h.over(now) {
			err = errors.Join(err, b.Delete(first.Key(), nil))
		}
	}
	return errors.Join(err, first.Error(), first.Close())
}

// read returns the columns of a Slice.
func read(db *pebble.DB, s *storage.Slice, now int64) (entries []storage.Entry, err error) {
	row := prefix(s.Key)
	bounds := &pebble.IterOptions{LowerBound: within(row, s.Start), UpperBound: behind(row)}
	if s.End != "" {
		bounds.UpperBound = within(row, s.End)
	}
	columns, err := db.NewIter(bounds)
	if err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	for ok := columns.First(); ok && (s.Limit == 0 || len(entries) < s.Limit); ok = columns.Next() {
		h, wrong := decode(columns.Value())
		if wrong != nil {
			err = wrong
			break
		}
		if !h.over(now) {
			entries = append(entries, storage.Entry{Column: string(columns.Key()[len(row):]), Value: string(h.value)})
		}
	}
	if err := errors.Join(err, columns.Error(), columns.Close()); err != nil {
		return nil, fmt.Errorf("read columns: %w", err)
	}
	return entries, nil
}
