package folder

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// The content of a record: the row's key, and its columns in order. Each has its name, its value, its timestamp and the
// microsecond at which it expires, or 0. Texts are preceded by their length; numbers are of variable length.

// row is the columns of a row, in order.
type row struct {
	key     string
	columns []column
}

// column is a column of a row.
type column struct {
	storage.Entry
	stamp int64
	until int64 // in microseconds since the epoch; 0 means never
}

var errDamaged = errors.New("its columns cannot be read, so the folder is damaged")

func (r *row) encode() []byte {
	b := appendText(nil, r.key)
	for i := range r.columns {
		c := &r.columns[i]
		b = appendText(appendText(b, c.Column), c.Value)
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(c.stamp)), uint64(c.until))
	}
	return b
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decode decodes a row; an empty content is a row without columns.
func decode(content []byte) (r row, err error) {
	if len(content) == 0 {
		return r, nil
	}
	d := decoder{rest: content}
	r.key = d.text()
	for len(d.rest) > 0 && !d.bad {
		c := column{Entry: storage.Entry{Column: d.text(), Value: d.text()}}
		c.stamp, c.until = d.number(), d.number()
		r.columns = append(r.columns, c)
	}
	if d.bad {
		return row{}, errDamaged
	}
	return r, nil
}

type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) number() int64 {
	n, length := binary.Uvarint(d.rest)
	if length <= 0 || n > math.MaxInt64 {
		d.bad, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[length:]
	return int64(n)
}

func (d *decoder) text() string {
	n := d.number()
	if n > int64(len(d.rest)) {
		d.bad, d.rest = true, nil
		return ""
	}
	text := string(d.rest[:n])
	d.rest = d.rest[n:]
	return text
}

// find returns the index of a column, or its insertion point.
func (r *row) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(r.columns, name, func(c column, name string) int { return cmp.Compare(c.Column, name) })
}

// expire removes the columns that are over, and reports whether there were any.
func (r *row) expire(now int64) bool {
	before := len(r.columns)
	r.columns = slices.DeleteFunc(r.columns, func(c column) bool { return c.until != 0 && c.until <= now })
	return len(r.columns) < before
}

// mutate carries out a request.
func (r *row) mutate(m *storage.Mutate, now time.Time) (done outcome) {
	done = alreadyDone
	for _, name := range m.Deletions {
		if i, found := r.find(name); found && r.columns[i].stamp <= m.Timestamp {
			r.columns = slices.Delete(r.columns, i, i+1)
			done = changed
		}
	}
	until := int64(0)
	if m.TTL > 0 {
		until = now.Add((m.TTL + time.Second - 1).Truncate(time.Second)).UnixMicro()
	}
	for _, e := range m.Additions {
		c := column{e, m.Timestamp, until}
		i, found := r.find(e.Column)
		switch {
		case !found:
			r.columns = slices.Insert(r.columns, i, c)
		case r.columns[i].stamp > m.Timestamp, r.columns[i].stamp == m.Timestamp && r.columns[i].Value > e.Value:
			continue
		default:
			r.columns[i] = c
		}
		done = changed
	}
	return done
}

// slice returns a request's columns.
func (r *row) slice(s *storage.Slice) (entries []storage.Entry) {
	from, _ := r.find(s.Start)
	for _, c := range r.columns[from:] {
		if s.End != "" && c.Column >= s.End {
			break
		}
		if entries = append(entries, c.Entry); len(entries) == s.Limit {
			break
		}
	}
	return entries
}

// swap carries out a request, if the column has the expected value.
func (r *row) swap(w *storage.Swap) storage.Swapped {
	i, found := r.find(w.Column)
	switch {
	case found && (w.Absent || r.columns[i].Value != w.Old):
		return storage.Swapped{Present: true, Value: r.columns[i].Value}
	case !found && !w.Absent:
		return storage.Swapped{}
	case !found:
		r.columns = slices.Insert(r.columns, i, column{})
	}
	r.columns[i] = column{Entry: storage.Entry{Column: w.Column, Value: w.New}}
	return storage.Swapped{Done: true}
}
