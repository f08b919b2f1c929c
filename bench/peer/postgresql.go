package peer

import (
	"context"
	"errors"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/holdfast-locks/holdfast/internal/load"
	"github.com/holdfast-locks/holdfast/internal/test/realstore/recipe"
)

// MaxConnections is the maximum number of workers or waiters in a measurement of PostgreSQL, each with a connection.
const MaxConnections = 512

// The server has a little more than twice as many, because those of one measurement end while those of the next begin;
// and room for more locks than any workload takes, which is locksPerConnection for each connection.
const (
	serverConnections  = 2*MaxConnections + 16
	locksPerConnection = 128
)

// postgresql is a PostgreSQL server, and session advisory locks over pgx.
func postgresql() service {
	return service{
		name:    "postgresql",
		recipe:  recipe.PostgreSQL(),
		more:    []string{"-c", "max_connections=" + strconv.Itoa(serverConnections), "-c", "max_locks_per_transaction=" + strconv.Itoa(locksPerConnection)},
		bound:   func(_ string, wanted int) int { return min(wanted, MaxConnections) },
		connect: connectPostgresql,
	}
}

// leaveQueue makes a wait whose context has ended end at the server too. By default pgx breaks the connection, and the
// server does not notice until the lock is granted.
func leaveQueue(connection *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{Conn: connection, DeadlineDelay: cancelLimit}
}

// cancelLimit is the server's time limit for ending a wait.
const cancelLimit = 5 * time.Second

// postgresqlClient is a connection for each worker.
type postgresqlClient struct{ connections []*pgx.Conn }

func connectPostgresql(ctx context.Context, address string, workers int) (load.Client, error) {
	config, err := pgx.ParseConfig("postgres://postgres@" + address + "/postgres?sslmode=disable")
	if err != nil {
		return nil, err
	}
	config.BuildContextWatcherHandler = leaveQueue
	c := &postgresqlClient{make([]*pgx.Conn, workers)}
	err = forEach(workers, func(i int) (err error) {
		c.connections[i], err = pgx.ConnectConfig(ctx, config)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *postgresqlClient) Worker(_ context.Context, number int) (load.Locker, error) {
	if number >= len(c.connections) {
		return nil, errTooMany(number, len(c.connections))
	}
	return postgresqlLocker{c.connections[number]}, nil
}

func (c *postgresqlClient) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), dialLimit)
	defer cancel()
	return forEach(len(c.connections), func(i int) error {
		if c.connections[i] == nil {
			return nil
		}
		return c.connections[i].Close(ctx)
	})
}

type postgresqlLocker struct{ connection *pgx.Conn }

// keyOf returns the number for a name: 64 bits, so that two of 100,000 names collide in one of four billion runs.
func keyOf(name string) int64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // a hash never fails
	return int64(hash.Sum64())
}

func (l postgresqlLocker) Lock(ctx context.Context, name string) (load.Held, error) {
	key := keyOf(name)
	if _, err := l.connection.Exec(ctx, "select pg_advisory_lock($1)", key); err != nil {
		return nil, err
	}
	return postgresqlHeld{l.connection, key}, nil
}

type postgresqlHeld struct {
	connection *pgx.Conn
	key        int64
}

var errNotHeld = errors.New("the server says that this connection does not hold the lock")

func (h postgresqlHeld) Unlock(ctx context.Context) error {
	var held bool
	err := h.connection.QueryRow(ctx, "select pg_advisory_unlock($1)", h.key).Scan(&held)
	if err == nil && !held {
		err = errNotHeld
	}
	return err
}

// Check reports whether the connection, with which the lock ends, is known to be broken.
func (h postgresqlHeld) Check() error {
	if h.connection.IsClosed() {
		return errNotHeld
	}
	return nil
}
