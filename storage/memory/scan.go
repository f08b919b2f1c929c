package memory

import (
	"context"
	"strings"

	"github.com/holdfast-locks/holdfast/storage"
)

// Scan reads all rows. It implements storage.Scanner.
func (s *Store) Scan(ctx context.Context, r *storage.Scan, found func(key string, entries []storage.Entry) error) error {
	if err := s.enter(ctx, "scan", "", nil); err != nil {
		return err
	}
	table := &s.table
	if r.Serial {
		table = &s.swaps
	}
	now, all := s.config.Now(), map[string][]storage.Entry{}
	for key := range table.rows {
		if strings.HasPrefix(key, r.Prefix) {
			all[key] = table.slice(&storage.Slice{Key: key}, now)
		}
	}
	s.mu.Unlock()
	for key, entries := range all {
		if len(entries) == 0 {
			continue
		}
		if err := found(key, entries); err != nil {
			return err
		}
	}
	return nil
}

var _ storage.Scanner = (*Store)(nil)
