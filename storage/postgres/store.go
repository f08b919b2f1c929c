package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-locks/holdfast/internal/backoff"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/internal/gather"
	"github.com/holdfast-locks/holdfast/storage/internal/watch"
)

// Store is a table, as used by one process.
type Store struct {
	pool       *pgxpool.Pool
	settings   settings
	statements *statements
	swaps      *gather.Gatherer
	hub        watch.Hub
	channel    string          // of notifications about the table
	ctx        context.Context // ends with Close
	stop       context.CancelFunc
	helpers    sync.WaitGroup
	news       news
	listen     listener
	expiring   chan struct{} // has room for one: a column with a TTL was written

	mu       sync.Mutex // guards the following fields
	closed   bool
	underWay sync.WaitGroup
}

func newStore(pool *pgxpool.Pool, is settings) *Store {
	s := &Store{
		pool: pool, settings: is, statements: prepareStatements(is.name()), channel: channel(is.schema, is.table),
		news: news{waiting: map[string]struct{}{}, come: make(chan struct{}, 1)}, expiring: make(chan struct{}, 1),
	}
	s.listen.ready, s.listen.quiet = make(chan struct{}), 10*time.Second
	s.swaps = gather.New(gather.Config{Lanes: min(lanes, is.pool), Most: mostSwaps, One: s.swapOne, Many: s.swapMany})
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.helpers.Go(s.spread)
	s.helpers.Go(s.sweep)
	return s
}

// enter starts a request, and returns its context. On success the caller must call the function.
func (s *Store) enter(ctx context.Context, check error) (context.Context, func(), error) {
	if check != nil {
		return nil, nil, check
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", storage.ErrRefused, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, fmt.Errorf("the store was closed: %w", storage.ErrInvalid)
	}
	s.underWay.Add(1)
	ctx, cancel := context.WithTimeout(ctx, s.settings.timeout)
	forget := context.AfterFunc(s.ctx, cancel)
	return ctx, func() {
		forget()
		cancel()
		s.underWay.Done()
	}, nil
}

// do calls f with a connection, and retries if the server has rolled it back.
func (s *Store) do(ctx context.Context, writes bool, f func(*pgx.Conn) error) error {
	for try := 0; ; try++ {
		err := s.once(ctx, writes, f)
		if err == nil || try >= s.settings.retries || !passes(err) {
			return err
		}
		// Requests that conflicted must not return at the same time.
		if backoff.Sleep(ctx, time.Duration(rand.Int64N(int64(time.Millisecond)<<min(try, 6)))) != nil {
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

func (s *Store) once(ctx context.Context, writes bool, f func(*pgx.Conn) error) error {
	c, err := s.pool.Acquire(ctx)
	if err != nil {
		return classify(err, false) // nothing was sent
	}
	defer c.Release()
	return classify(f(c.Conn()), writes)
}

// Mutate adds and deletes columns of one row.
func (s *Store) Mutate(ctx context.Context, m *storage.Mutate) error {
	ctx, leave, err := s.enter(ctx, m.Check())
	if err != nil {
		return fmt.Errorf("mutate: %w", err)
	}
	defer leave()
	statement, with := s.statements.mutation(m)
	err = s.do(ctx, true, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx, statement, with...)
		return err
	})
	// If the outcome is unknown, they may have been deleted.
	if len(m.Deletions) > 0 && (err == nil || errors.Is(err, storage.ErrUnknown)) {
		s.publish(m.Key)
	}
	if m.TTL > 0 {
		select {
		case s.expiring <- struct{}{}:
		default:
		}
	}
	if err != nil {
		return fmt.Errorf("mutate: %w", err)
	}
	return nil
}

// Slice reads columns of one row.
func (s *Store) Slice(ctx context.Context, r *storage.Slice) (entries []storage.Entry, err error) {
	ctx, leave, err := s.enter(ctx, r.Check())
	if err != nil {
		return nil, fmt.Errorf("slice: %w", err)
	}
	defer leave()
	var limit *int64 // NULL means no limit
	if r.Limit > 0 {
		n := int64(r.Limit)
		limit = &n
	}
	statement, with := s.statements.slice, []any{[]byte(r.Key), []byte(r.Start), limit}
	if r.End != "" {
		statement, with = s.statements.sliceTo, append(with, []byte(r.End))
	}
	err = s.do(ctx, false, func(c *pgx.Conn) error {
		entries = nil
		rows, err := c.Query(ctx, statement, with...)
		if err != nil {
			return err
		}
		var column, value []byte
		_, err = pgx.ForEachRow(rows, []any{&column, &value}, func() error {
			entries = append(entries, storage.Entry{Column: string(column), Value: string(value)})
			return nil
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("slice: %w", err)
	}
	return entries, nil
}

// Clock returns the server's time.
func (s *Store) Clock(ctx context.Context) (at int64, err error) {
	ctx, leave, err := s.enter(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("clock: %w", err)
	}
	defer leave()
	err = s.do(ctx, false, func(c *pgx.Conn) error { return c.QueryRow(ctx, s.statements.clock).Scan(&at) })
	if err != nil {
		return 0, fmt.Errorf("clock: %w", err)
	}
	return at, nil
}

// Features returns all features.
func (s *Store) Features() storage.Features {
	return storage.Features{Name: "postgres", Consistent: true, Swap: true, Durable: true, TTL: true, Clock: true, Watch: true}
}

// Close ends the requests in progress, sends pending notifications to watchers elsewhere, ends the watches of this
// Store, and closes its connections.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.underWay.Wait()
	s.helpers.Wait()
	s.hub.Close()
	if first {
		s.last()
		s.pool.Close()
	}
	return nil
}

// sweepPause is the time between two searches for expired columns.
const sweepPause = time.Minute

// sweep deletes expired columns, as long as this process writes columns with a TTL.
func (s *Store) sweep() {
	for {
		select {
		case <-s.expiring:
		case <-s.ctx.Done():
			return
		}
		if backoff.Sleep(s.ctx, sweepPause/2+rand.N(sweepPause)) != nil {
			return
		}
		// A column that is not deleted now is invisible anyway, and is deleted another time.
		_ = s.sweepOnce(s.ctx)
	}
}

// sweepOnce deletes expired columns in batches.
func (s *Store) sweepOnce(ctx context.Context) error {
	for deleted := int64(1); deleted > 0; {
		err := s.do(ctx, true, func(c *pgx.Conn) error {
			ended, err := c.Exec(ctx, s.statements.sweep)
			deleted = ended.RowsAffected()
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var _ storage.Store = (*Store)(nil)
