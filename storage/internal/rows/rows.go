package rows

import (
	"strings"

	"github.com/holdfast-locks/holdfast/storage"
)

// Rows passes the entries of a scan, which arrive one by one with their keys, to a scan's function, row by row.
type Rows struct {
	Prefix string
	Found  func(key string, entries []storage.Entry) error

	key     string
	entries []storage.Entry
}

// Add adds an entry of a row. All entries of a row must come one after the other.
func (r *Rows) Add(key string, e storage.Entry) error {
	if key != r.key {
		if err := r.End(); err != nil {
			return err
		}
		r.key = key
	}
	r.entries = append(r.entries, e)
	return nil
}

// End ends the last row.
func (r *Rows) End() error {
	entries := r.entries
	if r.entries = nil; len(entries) == 0 || !strings.HasPrefix(r.key, r.Prefix) {
		return nil
	}
	return r.Found(r.key, entries)
}
