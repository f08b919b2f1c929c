package postgres

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-locks/holdfast/storage"
)

// statements are all the statements for one table.
type statements struct {
	add, remove, change          string // for any number of columns
	addOne, removeOne, changeOne string // for one, and for one each
	slice, sliceTo, scan         string
	swapAbsent, swap             string
	swapPlain, swapMany          string
	clock, notify, sweep         string
}

const (
	into = ` INSERT INTO {table} AS t (key, col, value, stamp, until) `
	// Columns are added in order, so that two additions of the same columns take their locks in the same order.
	many = `SELECT $1::bytea, a.col, a.value, $4::bigint, clock_timestamp() + $5::bigint * interval '1 second'
		FROM unnest($2::bytea[], $3::bytea[]) AS a (col, value)`
	// Without lists the server takes half the time.
	one = `VALUES ($1::bytea, $2::bytea, $3::bytea, $4::bigint, clock_timestamp() + $5::bigint * interval '1 second')`
	// Any addition replaces an expired column.
	unless = ` ON CONFLICT (key, col) DO UPDATE SET value = excluded.value, stamp = excluded.stamp, until = excluded.until
		WHERE (t.stamp, t.value) <= (excluded.stamp, excluded.value) OR t.until <= clock_timestamp()`
	live = ` (until IS NULL OR until > clock_timestamp()) `
	// The snapshot is older than the change that the statement has waited for: then it shows nothing, or the expected
	// value, although nothing was done.
	currentValue = ` SELECT true, NULL::bytea FROM done UNION ALL SELECT false, value FROM {table} WHERE key = $1 AND col = $2 AND NOT EXISTS (SELECT FROM done)`
)

func prepareStatements(table string) *statements {
	in := func(text string) string { return strings.ReplaceAll(text, "{table}", table) }
	const read = `SELECT col, value FROM {table} WHERE key = $1 AND col >= $2 AND `
	return &statements{
		add:       in(into + many + unless),
		addOne:    in(into + one + unless),
		remove:    in(`DELETE FROM {table} AS t USING unnest($2::bytea[]) AS r (col) WHERE t.key = $1 AND t.col = r.col AND t.stamp <= $3`),
		removeOne: in(`DELETE FROM {table} WHERE key = $1 AND col = $2 AND stamp <= $3`),
		change: in(`WITH removed AS (DELETE FROM {table} AS t USING unnest($6::bytea[]) AS r (col)
			WHERE t.key = $1 AND t.col = r.col AND t.stamp <= $4)` + into + many + unless),
		changeOne: in(`WITH removed AS (DELETE FROM {table} WHERE key = $1 AND col = $6 AND stamp <= $4)` + into + one + unless),
		slice:     in(read + live + `ORDER BY col LIMIT $3`),
		sliceTo:   in(read + `col < $4 AND` + live + `ORDER BY col LIMIT $3`),
		scan: in(`SELECT key, col, value FROM {table} WHERE key >= $1 AND substring(key FROM 1 FOR length($2::bytea)) = $2 AND ` + live +
			`ORDER BY key, col LIMIT $3`),
		swapAbsent: in(`WITH done AS (INSERT INTO {table} (key, col, value, stamp)
			SELECT $1::bytea, $2::bytea, $3::bytea, 0 WHERE NOT EXISTS (SELECT FROM {table} WHERE key = $1 AND col = $2)
			ON CONFLICT (key, col) DO NOTHING RETURNING 1)` + currentValue),
		swap:      in(`WITH done AS (UPDATE {table} SET value = $3 WHERE key = $1 AND col = $2 AND value = $4 RETURNING 1)` + currentValue),
		swapPlain: in(`UPDATE {table} SET value = $3 WHERE key = $1 AND col = $2 AND value = $4`),
		swapMany: in(`UPDATE {table} AS t SET value = a.value FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bytea[], $5::bigint[])
			AS a (key, col, value, old, n) WHERE t.key = a.key AND t.col = a.col AND t.value = a.old RETURNING a.n`),
		clock:  `SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint`,
		notify: `SELECT pg_notify($1, row) FROM unnest($2::text[]) AS row`,
		sweep: in(`DELETE FROM {table} WHERE (key, col) IN
			(SELECT key, col FROM {table} WHERE until < clock_timestamp() LIMIT 1000 FOR UPDATE SKIP LOCKED)`),
	}
}

// mutation returns the statement of a Mutate, and its arguments.
func (s *statements) mutation(m *storage.Mutate) (statement string, with []any) {
	key, remove := []byte(m.Key), make([][]byte, len(m.Deletions))
	for i, column := range m.Deletions {
		remove[i] = []byte(column)
	}
	switch {
	case len(m.Additions) == 0 && len(remove) == 1:
		return s.removeOne, []any{key, remove[0], m.Timestamp}
	case len(m.Additions) == 0:
		return s.remove, []any{key, remove, m.Timestamp}
	}
	var seconds *int64 // NULL means no end
	if m.TTL > 0 {
		n := int64((m.TTL + time.Second - 1) / time.Second)
		seconds = &n
	}
	if len(m.Additions) == 1 && len(remove) < 2 {
		with = []any{key, []byte(m.Additions[0].Column), []byte(m.Additions[0].Value), m.Timestamp, seconds}
		if len(remove) == 0 {
			return s.addOne, with
		}
		return s.changeOne, append(with, remove[0])
	}
	additions := slices.SortedFunc(slices.Values(m.Additions), func(a, b storage.Entry) int { return cmp.Compare(a.Column, b.Column) })
	columns, values := make([][]byte, len(additions)), make([][]byte, len(additions))
	for i := range additions {
		columns[i], values[i] = []byte(additions[i].Column), []byte(additions[i].Value)
	}
	with = []any{key, columns, values, m.Timestamp, seconds}
	if len(remove) == 0 {
		return s.add, with
	}
	return s.change, append(with, remove)
}
