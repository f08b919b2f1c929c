package memory

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// table is all rows, with the expiry times of their columns.
type table struct {
	rows map[string][]column // in column order
	ends ends
}

// column is a column of a row, or the memory of a deleted one.
type column struct {
	storage.Entry
	stamp   int64
	deleted bool
	until   time.Time // when it expires; zero means never
}

// hidden reports whether the column is invisible.
func (c *column) hidden(now time.Time) bool { return c.deleted || c.over(now) }

func (c *column) over(now time.Time) bool { return !c.until.IsZero() && !now.Before(c.until) }

// supersededBy reports whether another write of the column, which is not over, replaces it.
func (c *column) supersededBy(to *column) bool {
	switch {
	case to.stamp != c.stamp:
		return to.stamp > c.stamp
	case c.deleted:
		return to.deleted
	}
	return to.deleted || to.Value >= c.Value
}

// find returns the index of a column in its row, or its insertion point.
func find(row []column, name string) (at int, found bool) {
	return slices.BinarySearchFunc(row, name, func(c column, name string) int { return cmp.Compare(c.Column, name) })
}

// mutate carries out a request.
func (t *table) mutate(m *storage.Mutate, now time.Time, remember time.Duration) {
	t.forget(now)
	for _, name := range m.Deletions {
		if remember > 0 {
			t.write(m.Key, &column{Entry: storage.Entry{Column: name}, stamp: m.Timestamp, deleted: true, until: now.Add(remember)})
			continue
		}
		row := t.rows[m.Key]
		if i, found := find(row, name); found && row[i].stamp <= m.Timestamp {
			t.remove(m.Key, i)
		}
	}
	until := time.Time{}
	if m.TTL > 0 {
		until = now.Add((m.TTL + time.Second - 1).Truncate(time.Second))
	}
	for _, entry := range m.Additions {
		t.write(m.Key, &column{Entry: entry, stamp: m.Timestamp, until: until})
	}
}

// write stores a column in its row, unless the existing one prevails.
func (t *table) write(key string, c *column) {
	row := t.rows[key]
	i, found := find(row, c.Column)
	switch {
	case !found:
		t.rows[key] = slices.Insert(row, i, *c)
	case row[i].supersededBy(c):
		row[i] = *c
	default:
		return
	}
	if !c.until.IsZero() {
		heap.Push(&t.ends, end{c.until, key, c.Column})
	}
}

// remove removes a column, and the row with its last column.
func (t *table) remove(key string, i int) {
	if t.rows[key] = slices.Delete(t.rows[key], i, i+1); len(t.rows[key]) == 0 {
		delete(t.rows, key)
	}
}

// forget removes expired columns from all rows.
func (t *table) forget(now time.Time) {
	for len(t.ends) > 0 && !now.Before(t.ends[0].at) {
		e := heap.Pop(&t.ends).(end)
		row := t.rows[e.key]
		if i, found := find(row, e.column); found && row[i].over(now) {
			t.remove(e.key, i)
		}
	}
}

// slice returns a request's columns.
func (t *table) slice(s *storage.Slice, now time.Time) (entries []storage.Entry) {
	row := t.rows[s.Key]
	from, _ := find(row, s.Start)
	for i := from; i < len(row) && (s.End == "" || row[i].Column < s.End); i++ {
		if row[i].hidden(now) {
			continue
		}
		if entries = append(entries, row[i].Entry); len(entries) == s.Limit {
			break
		}
	}
	return entries
}

// swap carries out a request, if the column has the expected value.
func (t *table) swap(s *storage.Swap, now time.Time) storage.Swapped {
	row := t.rows[s.Key]
	i, found := find(row, s.Column)
	present := found && !row[i].hidden(now)
	switch {
	case present && (s.Absent || row[i].Value != s.Old):
		return storage.Swapped{Present: true, Value: row[i].Value}
	case !present && !s.Absent:
		return storage.Swapped{}
	}
	c := column{Entry: storage.Entry{Column: s.Column, Value: s.New}}
	if found {
		row[i] = c
	} else {
		t.rows[s.Key] = slices.Insert(row, i, c)
	}
	return storage.Swapped{Done: true}
}

// end is when a column may expire. The column may have been rewritten since then.
type end struct {
	at          time.Time
	key, column string
}

// ends is a heap, the earliest on top.
type ends []end

func (e ends) Len() int           { return len(e) }
func (e ends) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e ends) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ends) Push(x any)        { *e = append(*e, x.(end)) }
func (e *ends) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
