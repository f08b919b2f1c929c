package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/holdfast-locks/holdfast/storage"
)

// settings are the driver's own options from a URL.
type settings struct {
	schema, table string
	pool, retries int
	timeout       time.Duration
}

// longestIdentifier is the length to which PostgreSQL silently truncates the names of tables.
const longestIdentifier = 63

// parse removes the driver's own options from a URL, and returns the rest.
func parse(address string) (rest string, is settings, err error) {
	is = settings{table: "holdfast_locks", pool: 16, retries: 3, timeout: 10 * time.Second}
	u, err := url.Parse(address)
	if err != nil {
		// Its error contains the whole address, with the password.
		return "", is, errors.New("it is no URL; it must be like postgres://user:password@host:5432/database")
	}
	if u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return "", is, fmt.Errorf("it begins with %q; it must begin with postgres://", u.Scheme+":")
	}
	// PostgreSQL takes a + literally, and a space is %20.
	options, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B"))
	if err != nil {
		return "", is, fmt.Errorf("read its options: %w", err)
	}
	name := func(to *string) func(string) error {
		return func(text string) error {
			if *to = text; text == "" || len(text) > longestIdentifier {
				return fmt.Errorf("1 to %d bytes are allowed", longestIdentifier)
			}
			return nil
		}
	}
	number := func(to *int, least, most int) func(string) error {
		return func(text string) (err error) {
			if *to, err = strconv.Atoi(text); err != nil || *to < least || *to > most {
				return fmt.Errorf("%d to %d is allowed", least, most)
			}
			return nil
		}
	}
	own := map[string]func(string) error{
		"table": name(&is.table), "schema": name(&is.schema), "pool": number(&is.pool, 1, 1000), "retries": number(&is.retries, 0, 100),
		"timeout": func(text string) (err error) {
			if is.timeout, err = time.ParseDuration(text); err != nil || is.timeout <= 0 {
				return errors.New("a duration of more than 0s is allowed, as 10s")
			}
			return nil
		},
	}
	for option, set := range own {
		if values, said := options[option]; said {
			if err := set(values[len(values)-1]); err != nil {
				return "", is, fmt.Errorf("its option %s is %q; %w", option, values[len(values)-1], err)
			}
			options.Del(option)
		}
	}
	u.RawQuery = strings.ReplaceAll(options.Encode(), "+", "%20")
	return u.String(), is, nil
}

// Open connects to the database of a URL, and creates a missing table, as described in the package documentation. An
// error is an ErrInvalid if the URL, the user's rights or the table are unsuitable, and an ErrRefused if a retry may
// succeed, for example if no server answers there, or a standby does. No error shows a password.
func Open(ctx context.Context, address string) (*Store, error) {
	rest, is, err := parse(address)
	if err != nil {
		return nil, fmt.Errorf("open a PostgreSQL store: %w: %w", err, storage.ErrInvalid)
	}
	config, err := pgxpool.ParseConfig(rest)
	if err != nil {
		return nil, fmt.Errorf("open a PostgreSQL store: %w: %w", err, storage.ErrInvalid)
	}
	config.MaxConns = int32(is.pool)
	if config.ConnConfig.ConnectTimeout == 0 || config.ConnConfig.ConnectTimeout > is.timeout {
		config.ConnConfig.ConnectTimeout = is.timeout
	}
	config.ConnConfig.ValidateConnect = primary(config.ConnConfig.ValidateConnect)
	config.AfterConnect = byIndex
	pool, err := pgxpool.NewWithConfig(context.WithoutCancel(ctx), config)
	if err != nil {
		return nil, fmt.Errorf("open a PostgreSQL store: %w: %w", err, storage.ErrInvalid)
	}
	ready, cancel := context.WithTimeout(ctx, is.timeout)
	defer cancel()
	err = is.prepare(ready, pool)
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the table %s of a PostgreSQL store: %w", is.name(), err)
	}
	return newStore(pool, is), nil
}

// primary refuses connections to a standby, regardless of the address's other requirements.
func primary(also pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, c *pgconn.PgConn) error {
		if err := pgconn.ValidateConnectTargetSessionAttrsPrimary(ctx, c); err != nil {
			return fmt.Errorf("%w, and what it shows may be old; give the address of the primary", err)
		}
		if also == nil {
			return nil
		}
		return also(ctx, c)
	}
}

// byIndex makes PostgreSQL look up every row by its key, one after the other. For a new, and so small, table the
// planner would choose a plan that reads all of it, and keep that when it has grown; the plan would also lock rows in
// physical order. As there is only one plan, the setting also avoids planning for each statement's arguments, which
// takes longer than the execution; servers before 12 do not know that setting, and continue without it.
func byIndex(ctx context.Context, c *pgx.Conn) error {
	_, err := c.Exec(ctx, "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; "+
		"SELECT set_config(name, 'force_generic_plan', false) FROM pg_settings WHERE name = 'plan_cache_mode'")
	return err
}

// name returns the table's name, for SQL.
func (is *settings) name() string {
	if is.schema == "" {
		return pgx.Identifier{is.table}.Sanitize()
	}
	return pgx.Identifier{is.schema, is.table}.Sanitize()
}

// format is written into the table's comment. A change of its format must change it.
const format = "holdfast storage 1"

// prepare creates the table if needed, and verifies that it is Holdfast's.
func (is *settings) prepare(ctx context.Context, pool *pgxpool.Pool) error {
	c, err := pool.Acquire(ctx)
	if err != nil {
		return classify(err, false)
	}
	defer c.Release()
	exists, made, err := is.look(ctx, c)
	if err != nil {
		return classify(err, false)
	}
	if !exists {
		if err := is.create(ctx, c); err != nil {
			return fmt.Errorf("make it: %w", classify(err, false))
		}
		if _, made, err = is.look(ctx, c); err != nil {
			return classify(err, false)
		}
	}
	switch {
	case made == nil:
		return fmt.Errorf("something else has made it; name another by the option table: %w", storage.ErrInvalid)
	case *made != format:
		return fmt.Errorf("it has the format %.100q, and this version reads %q; use the version that made it, or name another by the option table: %w", *made, format, storage.ErrInvalid)
	}
	return nil
}

// queryer is a connection, or a transaction on one.
type queryer interface {
	QueryRow(ctx context.Context, statement string, with ...any) pgx.Row
}

// look returns whether the table exists, and its comment, from the snapshot of one statement. to_regclass alone sees a
// table as soon as it is committed, while the comment committed with it is not in the snapshot yet.
func (is *settings) look(ctx context.Context, from queryer) (exists bool, made *string, err error) {
	err = from.QueryRow(ctx, "SELECT obj_description(oid, 'pg_class') FROM pg_class WHERE oid = to_regclass($1)", is.name()).Scan(&made)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil, nil
	}
	return err == nil, made, err
}

// create creates the table, its index and its schema, unless the table exists by now. A transaction lock lets only one
// Open at a time do so: IF NOT EXISTS alone would not.
func (is *settings) create(ctx context.Context, c *pgxpool.Conn) error {
	table := is.name()
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock(hashtext('holdfast storage'))"); err != nil {
			return err
		}
		if exists, _, err := is.look(ctx, tx); err != nil || exists {
			return err
		}
		var statements []string
		if is.schema != "" {
			var exists bool
			if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", pgx.Identifier{is.schema}.Sanitize()).Scan(&exists); err != nil {
				return err
			}
			if !exists {
				statements = append(statements, "CREATE SCHEMA IF NOT EXISTS "+pgx.Identifier{is.schema}.Sanitize())
			}
		}
		for _, statement := range append(statements,
			"CREATE TABLE "+table+` (
				key bytea NOT NULL, col bytea NOT NULL, value bytea NOT NULL,
				stamp bigint NOT NULL, until timestamptz, PRIMARY KEY (key, col)
			) WITH (fillfactor = 50, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0.05)`,
			"CREATE INDEX IF NOT EXISTS "+pgx.Identifier{short(is.table) + "_until"}.Sanitize()+" ON "+table+" (until) WHERE until IS NOT NULL",
			"COMMENT ON TABLE "+table+" IS '"+format+"'",
		) {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

// short leaves room for the suffix of an index's name.
func short(table string) string { return table[:min(len(table), longestIdentifier-len("_until"))] }
