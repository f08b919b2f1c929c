package sim

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// table is what a store has: by key, the columns of a row in their order.
type table map[string][]column

// column is one of a row, or what is left of one that was deleted: a store that goes by
// timestamps must remember that for a while.
type column struct {
	storage.Entry
	stamp   int64
	deleted bool
	since   instant // of the last write
	until   instant // when it is forgotten by itself; 0 means never
}

// forgets says that a store keeps no memory of what was deleted.
type forgets bool

// buried is for how long it is remembered that a column was deleted: far longer than any
// write is under way.
const buried = 10 * time.Minute

// gone reports whether no reader sees the column any more.
func (c *column) gone(now instant) bool { return c.deleted || c.until > 0 && c.until <= now }

// mutate does all that a request asks for. The columns that it adds are forgotten at until.
// The highest timestamp wins, of equals a deletion, and of equal additions the higher value;
// but a store that forgets has no deletions to compare with.
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

// swap replaces a column if it is what is expected, and returns what it is.
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

// replacedBy reports whether a write of the column takes the place of what is there.
func (c *column) replacedBy(to *column, now instant) bool {
	if to.stamp != c.stamp {
		return to.stamp > c.stamp
	}
	return to.deleted || !c.gone(now) && to.Value >= c.Value
}

// slice returns what a request asks for.
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
