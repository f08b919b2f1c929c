package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/storage"
)

// longestTTL is Cassandra's maximum: 20 years. A server with a lower one reports it.
const longestTTL = 20 * 365 * 24 * time.Hour

// Pauses between retries: each is twice as long as the previous one.
const (
	firstPause   = 20 * time.Millisecond
	longestPause = time.Second
)

// Store is two tables in Cassandra, with its own connections.
type Store struct {
	session *gocql.Session
	table   string // keyspace.table
	serial  gocql.Consistency
	retries int
	// ctx ends with Close, which ends every request.
	ctx    context.Context
	cancel context.CancelFunc
}

// Open connects to the Cassandra cluster of a URL, described in the package documentation, and creates the keyspace and
// the tables if they are missing. The error wraps storage.ErrInvalid if a retry is pointless, and storage.ErrRefused
// otherwise.
func Open(ctx context.Context, url string) (*Store, error) {
	o, err := parse(url)
	if err != nil {
		return nil, err
	}
	session, err := connect(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("open a Cassandra: %w", err)
	}
	s := newStore(ctx, session, o)
	if err := s.prepare(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("open a Cassandra: %w", err), s.Close())
	}
	return s, nil
}

func newStore(ctx context.Context, session *gocql.Session, o *options) *Store {
	s := &Store{session: session, table: o.keyspace + "." + o.table, retries: o.retries}
	_, s.serial = o.levels()
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// Mutate adds and deletes columns of one row, by one statement or one batch, which each replica applies at one instant.
func (s *Store) Mutate(ctx context.Context, m *storage.Mutate) error {
	err := m.Check()
	if err == nil && m.TTL > longestTTL {
		err = fmt.Errorf("ttl %v; up to %v is allowed: %w", m.TTL, longestTTL, storage.ErrInvalid)
	}
	if err == nil {
		err = s.again(ctx, writing, func(ctx context.Context) error { return s.mutate(ctx, m) })
	}
	if err != nil {
		return fmt.Errorf("mutate row %q: %w", shorten(m.Key), err)
	}
	return nil
}

func (s *Store) mutate(ctx context.Context, m *storage.Mutate) error {
	insert := "INSERT INTO " + s.table + " (key, column1, value) VALUES (?, ?, ?) USING TIMESTAMP ? AND TTL ?"
	remove := "DELETE FROM " + s.table + " USING TIMESTAMP ? WHERE key = ? AND column1 = ?"
	key := []byte(m.Key)
	inserted := func(i int) []any {
		return []any{key, []byte(m.Additions[i].Column), []byte(m.Additions[i].Value), m.Timestamp, seconds(m.TTL)}
	}
	removed := func(i int) []any { return []any{m.Timestamp, key, []byte(m.Deletions[i])} }
	switch {
	case len(m.Additions) == 1 && len(m.Deletions) == 0:
		return s.session.Query(insert, inserted(0)...).ExecContext(ctx)
	case len(m.Additions) == 0 && len(m.Deletions) == 1:
		return s.session.Query(remove, removed(0)...).ExecContext(ctx)
	}
	batch := s.session.Batch(gocql.UnloggedBatch)
	for i := range m.Deletions {
		batch.Query(remove, removed(i)...)
	}
	for i := range m.Additions {
		batch.Query(insert, inserted(i)...)
	}
	return batch.ExecContext(ctx)
}

// Slice reads columns of one row, in their order. With Serial it reads the table of swaps.
func (s *Store) Slice(ctx context.Context, r *storage.Slice) (entries []storage.Entry, err error) {
	if err = r.Check(); err == nil {
		err = s.again(ctx, reading, func(ctx context.Context) (err error) {
			entries, err = s.slice(ctx, r)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("slice row %q: %w", shorten(r.Key), err)
	}
	return entries, nil
}

// selection returns the statement that reads a slice, and its values.
func (s *Store) selection(r *storage.Slice) (statement string, values []any) {
	table := s.table
	if r.Serial {
		table += swapSuffix
	}
	statement, values = "SELECT column1, value FROM "+table+" WHERE key = ?", []any{[]byte(r.Key)}
	if r.Start != "" {
		statement, values = statement+" AND column1 >= ?", append(values, []byte(r.Start))
	}
	if r.End != "" {
		statement, values = statement+" AND column1 < ?", append(values, []byte(r.End))
	}
	if r.Limit > 0 {
		const most = 1<<31 - 1
		statement, values = statement+" LIMIT ?", append(values, min(r.Limit, most))
	}
	return statement, values
}

func (s *Store) slice(ctx context.Context, r *storage.Slice) (entries []storage.Entry, err error) {
	statement, values := s.selection(r)
	query := s.session.Query(statement, values...)
	if r.Serial {
		query.Consistency(s.serial)
	}
	found := query.IterContext(ctx)
	var column, value []byte
	for found.Scan(&column, &value) {
		entries = append(entries, storage.Entry{Column: string(column), Value: string(value)})
	}
	if err := found.Close(); err != nil {
		return nil, err
	}
	return entries, nil
}

// Swap replaces a column of the table of swaps, by a lightweight transaction.
func (s *Store) Swap(ctx context.Context, w *storage.Swap) (swapped storage.Swapped, err error) {
	if err = w.Check(); err == nil {
		err = s.again(ctx, swapping, func(ctx context.Context) (err error) {
			swapped, err = s.swap(ctx, w)
			return err
		})
	}
	if err != nil {
		return storage.Swapped{}, fmt.Errorf("swap in row %q: %w", shorten(w.Key), err)
	}
	return swapped, nil
}

func (s *Store) swap(ctx context.Context, w *storage.Swap) (storage.Swapped, error) {
	table := s.table + swapSuffix
	key, column, value := []byte(w.Key), []byte(w.Column), []byte(w.New)
	var query *gocql.Query
	if w.Absent {
		query = s.session.Query("INSERT INTO "+table+" (key, column1, value) VALUES (?, ?, ?) IF NOT EXISTS", key, column, value)
	} else {
		query = s.session.Query("UPDATE "+table+" SET value = ? WHERE key = ? AND column1 = ? IF value = ?", value, key, column, []byte(w.Old))
	}
	present := map[string]any{}
	done, err := query.MapScanCASContext(ctx, present)
	if err != nil {
		return storage.Swapped{}, err
	}
	if done {
		return storage.Swapped{Done: true}, nil
	}
	// Every swap writes a value, even an empty one: nil means that the column does not exist.
	has, ok := present["value"].([]byte)
	return storage.Swapped{Present: ok && has != nil, Value: string(has)}, nil
}

// again does a request, and retries a refused one as often as the URL allows, until the store is closed. The error has
// a kind.
func (s *Store) again(ctx context.Context, of doing, do func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	pause := firstPause
	for tries := 0; ; tries++ {
		if s.ctx.Err() != nil {
			return fmt.Errorf("the store was closed: %w", storage.ErrInvalid)
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: %w", err, storage.ErrRefused)
		}
		err := wrap(do(ctx), of)
		if err == nil || tries == s.retries || !errors.Is(err, storage.ErrRefused) {
			return err
		}
		if backoff.Sleep(ctx, pause) != nil {
			return err
		}
		pause = min(2*pause, longestPause)
	}
}

// Clock always fails: each node has a separate clock.
func (s *Store) Clock(context.Context) (int64, error) {
	features := s.Features()
	return 0, features.Lacks("a clock")
}

// Watch always fails: Cassandra reports no changes.
func (s *Store) Watch(context.Context, string, func()) error {
	features := s.Features()
	return features.Lacks("watches")
}

// Features returns Cassandra's capabilities.
func (s *Store) Features() storage.Features {
	return storage.Features{Name: "cassandra", Consistent: true, Swap: true, Durable: true, TTL: true}
}

// Close ends all requests and closes the connections. A second call does nothing.
func (s *Store) Close() error {
	s.cancel()
	s.session.Close()
	return nil
}

// shorten keeps errors readable if keys are long.
func shorten(key string) string {
	const enough = 100
	if len(key) <= enough {
		return key
	}
	return key[:enough] + "…"
}
