package etcd

import (
	"context"
	"encoding/binary"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/rows"
)

// scanned is how many columns a scan reads in one request.
const scanned = 1000

// Scan reads all rows as they are when it begins. Both kinds of rows are in one place. It implements storage.Scanner.
func (s *Store) Scan(ctx context.Context, r *storage.Scan, found func(key string, entries []storage.Entry) error) error {
	all := rows.Rows{Prefix: r.Prefix, Found: found}
	end, revision := clientv3.GetPrefixRangeEnd(s.config.prefix), int64(0)
	for from, more := s.config.prefix, true; more; {
		var read *clientv3.GetResponse
		err := s.try(ctx, "scan etcd", func(ctx context.Context) (err error) {
			read, err = s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(scanned), clientv3.WithRev(revision))
			return err
		}, false)
		if err != nil {
			return err
		}
		revision, more = read.Header.Revision, read.More
		for _, kv := range read.Kvs {
			key, column, ok := s.config.split(string(kv.Key))
			if !ok || len(kv.Value) < stampBytes {
				return fmt.Errorf("scan etcd: key %q was not written by this driver; give locks a prefix of their own: %w", kv.Key, storage.ErrInvalid)
			}
			if err := all.Add(key, storage.Entry{Column: column, Value: string(kv.Value[stampBytes:])}); err != nil {
				return err
			}
			from = string(kv.Key) + "\x00"
		}
	}
	return all.End()
}

// split splits a key into a row's key and a column.
func (c *config) split(at string) (key, column string, ok bool) {
	rest := at[len(c.prefix):]
	if len(rest) < 2 {
		return "", "", false
	}
	length := int(binary.BigEndian.Uint16([]byte(rest)))
	if len(rest) < 2+length {
		return "", "", false
	}
	return rest[2 : 2+length], rest[2+length:], true
}

var _ storage.Scanner = (*Store)(nil)
