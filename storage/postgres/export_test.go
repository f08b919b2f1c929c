package postgres

import (
	"context"
	"time"
)

// Sweep deletes what is over, now.
func (s *Store) Sweep(ctx context.Context) error { return s.sweepOnce(ctx) }

// SetQuiet is for before the first Watch.
func (s *Store) SetQuiet(quiet time.Duration) { s.listen.quiet = quiet }
