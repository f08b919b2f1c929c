package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// table is the contents of a store: by key, the columns of a row in their order.
type table map[string][]column

// column is a column of a row, or the tombstone of a deleted one, which a store that orders by timestamps keeps for a
// while.
type column struct {
	storage.Entry
	stamp   int64
	deleted bool
	since   instant // of the last write
	until   instant // when it expires; 0 means never
}

// forgets reports that a store keeps no tombstones.
type forgets bool

// buried is how long a tombstone is kept: far longer than any write is in flight.
const buried = 10 * time.Minute

// gone reports whether readers no longer see the column.
func (c *column) gone(now instant) bool { return c.deleted || c.until > 0 && c.until <= now }

// mutate executes all parts of a request. The columns that it adds expire at until. The highest timestamp wins; among
// equal ones a deletion wins, and among equal additions the higher value. A store that forgets has no deletions to
// compare with.
func (t table) mutate(m *storage.Mutate, now, until instant, quick forgets) {
	row := slices.DeleteFunc(t[m.Key], func(c column) bool { return c.gone(now) && max(c.since, c.until)+buried < now })
	write := func(c column) {
		i, found := slices.BinarySearchFunc(row, c.Column, func(old column, name string) int { return cmp.Compare(old.Column, name) })
		switch {
		case !found:
			row = slices.Insert(row, i, c)
		case row[i].replacedBy(&c, now):
			row[i] = c
		}
	}
	for _, name := range m.Deletions {
		write(column{Entry: storage.Entry{Column: name}, stamp: m.Timestamp, deleted: true, since: now})
	}
	for _, entry := range m.Additions {
		write(column{Entry: entry, stamp: m.Timestamp, since: now, until: until})
	}
	if quick {
		row = slices.DeleteFunc(row, func(c column) bool { return c.gone(now) })
	}
	t[m.Key] = row
}

// swap replaces a column if it equals the expected value, and returns the present value.
func (t table) swap(s *storage.Swap, now instant) storage.Swapped {
	row := t[s.Key]
	i, found := slices.BinarySearchFunc(row, s.Column, func(c column, name string) int { return cmp.Compare(c.Column, name) })
	value := ""
	if found {
		value = row[i].Value
	}
	if found == s.Absent || value != s.Old {
		return storage.Swapped{ID: s.ID, Present: found, Value: value}
	}
	if !found {
		row = slices.Insert(row, i, column{Entry: storage.Entry{Column: s.Column}})
	}
	row[i].Value, row[i].since = s.New, now
	t[s.Key] = row
	return storage.Swapped{ID: s.ID, Done: true}
}

// replacedBy reports whether a write of the column replaces the present value.
func (c *column) replacedBy(to *column, now instant) bool {
	if to.stamp != c.stamp {
		return to.stamp > c.stamp
	}
	return to.deleted || !c.gone(now) && to.Value >= c.Value
}

// slice returns the requested columns.
func (t table) slice(s *storage.Slice, now instant) (entries []storage.Entry) {
	for i := range t[s.Key] {
		c := &t[s.Key][i]
		if c.Column < s.Start || s.End != "" && c.Column >= s.End || c.gone(now) {
			continue
		}
		if entries = append(entries, c.Entry); len(entries) == s.Limit {
			break
		}
	}
	return entries
}
