package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/holdfast-locks/holdfast/storage"
)

const (
	// agreementLimit is how long nodes may take to agree on a schema.
	agreementLimit = 10 * time.Second
	// settleLimit is how long replicas may reject a new table, and settlePause the pause between attempts.
	settleLimit = 3 * time.Second
	settlePause = 50 * time.Millisecond
)

// swapSuffix is appended to a table's name for its table of swaps.
const swapSuffix = "_swap"

// prepare creates the keyspace and the tables if they are missing, and tries each kind of request on them, so that a
// missing object or permission shows now.
func (s *Store) prepare(ctx context.Context, o *options) error {
	made, err := s.make(ctx, o)
	if err != nil {
		return err
	}
	if made {
		if err := s.session.AwaitSchemaAgreement(ctx); err != nil {
			return fmt.Errorf("wait until the nodes agree on the schema: %w: %w", err, storage.ErrRefused)
		}
	}
	if err := settle(ctx, s.probe); err != nil {
		return fmt.Errorf("try the tables %s and %s%s: %w", s.table, s.table, swapSuffix, wrap(err, reading))
	}
	return nil
}

// make creates the missing objects, and reports whether there were any.
func (s *Store) make(ctx context.Context, o *options) (made bool, err error) {
	replication, err := s.lookUp(ctx, "SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?", o.keyspace)
	if err != nil {
		return false, err
	}
	if replication == nil {
		if o.replication == "" {
			return false, fmt.Errorf("keyspace %s is not there; make it, or let it be made by an option like replication=dc1:3: %w", o.keyspace, storage.ErrInvalid)
		}
		made = true
		if err := s.define(ctx, "CREATE KEYSPACE IF NOT EXISTS "+o.keyspace+" WITH replication = "+o.replication); err != nil {
			return false, err
		}
	}
	grace := o.grace
	if grace == 0 {
		grace = defaultGrace
	}
	for _, table := range []string{o.table, o.table + swapSuffix} {
		row, err := s.lookUp(ctx, "SELECT gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?", o.keyspace, table)
		if err != nil {
			return false, err
		}
		if row != nil {
			if has, ok := row["gc_grace_seconds"].(int); ok && table == o.table && o.grace != 0 && has != seconds(o.grace) {
				return false, fmt.Errorf("table %s.%s has gc_grace_seconds %d, and the URL says gc_grace=%v; change one of both: %w", o.keyspace, table, has, o.grace, storage.ErrInvalid)
			}
			continue
		}
		made = true
		text := "CREATE TABLE IF NOT EXISTS " + o.keyspace + "." + table + " (key blob, column1 blob, value blob, PRIMARY KEY (key, column1))"
		if table == o.table {
			text += fmt.Sprintf(" WITH gc_grace_seconds = %d", seconds(grace))
		}
		if err := s.define(ctx, text); err != nil {
			return false, err
		}
	}
	return made, nil
}

// lookUp reads one row, or returns nil if there is none.
func (s *Store) lookUp(ctx context.Context, statement string, names ...any) (map[string]any, error) {
	row := map[string]any{}
	err := s.session.Query(statement, names...).MapScanContext(ctx, row)
	switch {
	case errors.Is(err, gocql.ErrNotFound):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the schema: %w", wrap(err, reading))
	}
	return row, nil
}

// define changes the schema. Doing so twice does no harm, so an unknown outcome counts as not done.
func (s *Store) define(ctx context.Context, statement string) error {
	err := s.session.Query(statement).ExecContext(ctx)
	if err == nil || is[*gocql.RequestErrAlreadyExists](err) {
		return nil
	}
	return fmt.Errorf("%s: %w", statement, wrap(err, reading))
}

// settle repeats do until no replica reports the table as unknown.
func settle(ctx context.Context, do func(context.Context) error) error {
	until, cancel := context.WithTimeout(ctx, settleLimit)
	defer cancel()
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		err := do(ctx)
		if !failedFor(err, incompatibleSchema) {
			return err
		}
		pause.Reset(settlePause)
		select {
		case <-pause.C:
		case <-until.Done():
			return err
		}
	}
}

// probe reads both tables and makes a write without effect to both: the deletion of a column that is never added, and a
// swap whose expected value is already the new one. An error therefore leaves no effect either.
func (s *Store) probe(ctx context.Context) error {
	const row = "\x00holdfast"
	if _, err := s.slice(ctx, &storage.Slice{Key: row, Limit: 1}); err != nil {
		return err
	}
	if err := s.mutate(ctx, &storage.Mutate{Key: row, Deletions: []string{row}}); err != nil {
		return err
	}
	_, err := s.swap(ctx, &storage.Swap{Key: row, Column: row, Old: row, New: row})
	return err
}

// seconds rounds up to full seconds.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
