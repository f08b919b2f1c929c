package postgres

import (
	"context"
	"time"
)

// Sweep deletes what is over, now.
func (s *Store) Sweep(ctx context.Context) error { return s.sweepOnce(ctx) }

// SetQuiet is for before the first Watch.
func (s *Store) SetQuiet(quiet time.Duration) { s.listen.quiet = quiet }

// Replanned is how often a plan was made for what a statement was given, on the idle
// connections.
func (s *Store) Replanned(ctx context.Context) (count int, err error) {
	for _, c := range s.pool.AcquireAllIdle(ctx) {
		var here int
		if scanned := c.QueryRow(ctx, "SELECT coalesce(sum(custom_plans), 0) FROM pg_prepared_statements WHERE from_sql = false").Scan(&here); scanned != nil {
			err = scanned
		}
		count += here
		c.Release()
	}
	return count, err
}
