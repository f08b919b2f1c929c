package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/postgres"
	"github.com/holdfast-locks/holdfast/storage/storagetest"
)

// harness is a server, a connection that uses no driver, and drivers.
type harness struct {
	*testing.T
	server *realstore.Server
	admin  *pgx.Conn
}

func newHarness(t *testing.T, more ...string) *harness {
	b := &harness{T: t, server: realstore.StartPostgres(t, more...)}
	b.admin = b.connect()
	return b
}

func (b *harness) connect() *pgx.Conn {
	b.Helper()
	c, err := pgx.Connect(b.Context(), b.server.URL())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close(context.Background()) }) // some tests end its server
	return c
}

// do has the server do something without the driver.
func (b *harness) do(statements ...string) {
	b.Helper()
	for _, statement := range statements {
		if _, err := b.admin.Exec(b.Context(), statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
}

func (b *harness) open(url string) *postgres.Store {
	b.Helper()
	store, err := postgres.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Errorf("Close: %v", err)
		}
	})
	return store
}

// add adds one column.
func add(key, column string) *storage.Mutate {
	return &storage.Mutate{Key: key, Additions: []storage.Entry{{Column: column, Value: "v"}}, Timestamp: 1}
}

// want wants an error of one kind alone, with words in it.
func (b *harness) want(what string, err, kind error, says string) {
	b.Helper()
	n := 0
	for _, k := range []error{storage.ErrRefused, storage.ErrInvalid, storage.ErrUnknown} {
		if errors.Is(err, k) {
			n++
		}
	}
	if n != 1 || !errors.Is(err, kind) || !strings.Contains(err.Error(), says) {
		b.Errorf("%s: %v; want one of the kind %q, with %q in it", what, err, kind, says)
	}
}

// has reads from the server whether a column is there.
func (b *harness) has(column string) bool {
	b.Helper()
	var is bool
	err := b.admin.QueryRow(b.Context(), "SELECT EXISTS (SELECT FROM holdfast_locks WHERE col = $1)", []byte(column)).Scan(&is)
	if err != nil {
		b.Fatal(err)
	}
	return is
}

// TestAnswersLost: a write of which no answer came is of unknown end, and was done here; a read
// is refused; and the next request finds a connection.
func TestAnswersLost(t *testing.T) {
	b := newHarness(t)
	proxy := realstore.NewProxy(t, b.server.Address())
	store := b.open(b.server.URLAt(proxy.Address()))
	swap := func(column string) error {
		_, err := store.Swap(t.Context(), &storage.Swap{Key: "s", Column: column, Absent: true, New: "v"})
		return err
	}
	// What is prepared first is not sent yet.
	if err := errors.Join(store.Mutate(t.Context(), add("k", "first")), swap("first swap")); err != nil {
		t.Fatal(err)
	}
	read := func() error {
		_, err := store.Slice(t.Context(), &storage.Slice{Key: "k"})
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		do   func() error
		kind error
		left string
	}{
		{"mutate", func() error { return store.Mutate(t.Context(), add("k", "cut")) }, storage.ErrUnknown, "cut"},
		{"swap", func() error { return swap("cut swap") }, storage.ErrUnknown, "cut swap"},
		{"slice", read, storage.ErrRefused, "first"},
	} {
		// Each is prepared on the connection that the request before has made.
		if err := errors.Join(store.Mutate(t.Context(), add("k", "again "+c.what)), swap("again "+c.what), read()); err != nil {
			t.Fatal(err)
		}
		cuts := proxy.Cuts()
		proxy.CutAnswers(0)
		b.want(c.what, c.do(), c.kind, "")
		if proxy.Cuts() == cuts {
			t.Errorf("%s: no connection was cut", c.what)
		}
		if !b.has(c.left) {
			t.Errorf("%s: column %q is not there", c.what, c.left)
		}
	}
	// A server that does not answer in time, and one to which there is no connection.
	if err := errors.Join(store.Mutate(t.Context(), add("k", "third")), read()); err != nil {
		t.Fatal(err)
	}
	proxy.Blackhole(true)
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := store.Mutate(soon, add("k", "late"))
	b.want("a mutate without an answer", err, storage.ErrUnknown, "")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a mutate whose context ended: %v", err)
	}
	proxy.Blackhole(false)
	if err := proxy.Refuse(true); err != nil {
		t.Fatal(err)
	}
	b.want("a mutate without a connection", store.Mutate(t.Context(), add("k", "refused")), storage.ErrRefused, "refused")
	if err := proxy.Refuse(false); err != nil {
		t.Fatal(err)
	}
	if err := store.Mutate(t.Context(), add("k", "last")); err != nil {
		t.Errorf("when there is a connection again: %v", err)
	}
	if b.has("refused") {
		t.Error("a write that was refused was done")
	}
}

// TestWhatTheServerSays is of the kind that its SQLSTATE says.
func TestWhatTheServerSays(t *testing.T) {
	b := newHarness(t)
	store := b.open(b.server.URL() + "&retries=1&pool=2")
	// A lock on the column, which a statement waits for.
	b.do("INSERT INTO holdfast_locks (key, col, value, stamp) VALUES ('k', 'held', '', 0)")
	tx, err := b.connect().Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM holdfast_locks WHERE key = 'k' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	for setting, says := range map[string]string{"lock_timeout": "55P03", "statement_timeout": "57014"} {
		limited := b.open(b.server.URL() + "&retries=1&" + setting + "=20ms")
		b.want(setting, limited.Mutate(t.Context(), add("k", "held")), storage.ErrRefused, says)
	}
	// One connection is ended by the server while a statement waits.
	given := make(chan error)
	go func() { given <- store.Mutate(t.Context(), add("k", "held")) }()
	for waiting := 0; waiting == 0; {
		if err := b.admin.QueryRow(t.Context(), "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	b.want("a connection that the server ended", <-given, storage.ErrUnknown, "57P01")
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	readOnly := b.open(b.server.URL() + "&retries=0&default_transaction_read_only=on&target_session_attrs=any")
	b.want("read-only", readOnly.Mutate(t.Context(), add("k", "a")), storage.ErrRefused, "25006")
	b.do("CREATE ROLE weak LOGIN", "GRANT SELECT ON holdfast_locks TO weak")
	weak := b.open(strings.Replace(b.server.URL(), "postgres@", "weak@", 1))
	b.want("without the right", weak.Mutate(t.Context(), add("k", "a")), storage.ErrInvalid, "42501")
	b.do("ALTER TABLE holdfast_locks ADD CONSTRAINT odd CHECK (col <> 'odd')")
	b.want("a constraint", store.Mutate(t.Context(), add("k", "odd")), storage.ErrInvalid, "23514")
	b.do("DROP TABLE holdfast_locks")
	b.want("without the table", store.Mutate(t.Context(), add("k", "a")), storage.ErrInvalid, "42P01")
	_, err = store.Slice(t.Context(), &storage.Slice{Key: "k"})
	b.want("a slice without the table", err, storage.ErrInvalid, "42P01")
}

// TestRolledBackIsTriedAgain, unless the address says otherwise: in a transaction that shows one
// instant to the end, a column that another has changed meanwhile is not to be had.
func TestRolledBackIsTriedAgain(t *testing.T) {
	b := newHarness(t)
	meet := func(retries int) error {
		store := b.open(fmt.Sprintf("%s&retries=%d&default_transaction_isolation=repeatable%%20read", b.server.URL(), retries))
		if err := store.Mutate(t.Context(), add("k", "c")); err != nil {
			t.Fatal(err)
		}
		tx, err := b.connect().Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), "UPDATE holdfast_locks SET value = 'a'"); err != nil {
			t.Fatal(err)
		}
		given := make(chan error)
		go func() { given <- store.Mutate(t.Context(), add("k", "c")) }()
		for waiting := 0; waiting == 0; {
			if err := b.admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&waiting); err != nil {
				t.Fatal(err)
			}
		}
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		return <-given
	}
	b.want("without another try", meet(0), storage.ErrRefused, "40001")
	if err := meet(1); err != nil {
		t.Errorf("with another try: %v", err)
	}
}

// TestFaulty: what holds everywhere holds where requests fail on their way.
func TestFaulty(t *testing.T) {
	url := realstore.Postgres(t)
	seed := uint64(0)
	storagetest.RunFaulty(t, func(tb testing.TB) storage.Store {
		seed++
		return storagetest.NewFaulty(opener(url)(tb), seed, storagetest.Odds{Slow: 3, Refused: 15, Never: 15, Done: 15, Later: 15})
	})
}

// TestRightsOfAUser: docs/stores.md says what a user needs where another user has made the table, and that is
// all that is asked for.
func TestRightsOfAUser(t *testing.T) {
	b := newHarness(t)
	b.open(b.server.URL()) // makes the table
	b.do("CREATE ROLE locker LOGIN", "GRANT SELECT, INSERT, UPDATE, DELETE ON holdfast_locks TO locker")
	store := b.open(strings.Replace(b.server.URL(), "postgres@", "locker@", 1))
	changed := make(chan struct{}, 1)
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	must("watch", store.Watch(t.Context(), "k", func() {
		select {
		case changed <- struct{}{}:
		default:
		}
	}))
	must("add", store.Mutate(t.Context(), &storage.Mutate{Key: "k", Timestamp: 1, TTL: time.Hour, Additions: []storage.Entry{{Column: "a", Value: "v"}, {Column: "b"}}}))
	must("delete", store.Mutate(t.Context(), &storage.Mutate{Key: "k", Timestamp: 1, Deletions: []string{"a"}, Additions: []storage.Entry{{Column: "c"}}}))
	entries, err := store.Slice(t.Context(), &storage.Slice{Key: "k"})
	must("slice", err)
	if len(entries) != 2 {
		t.Errorf("the row has %v", entries)
	}
	swapped, err := store.Swap(t.Context(), &storage.Swap{Key: "s", Column: "c", Absent: true, New: "1"})
	must("swap", err)
	again, err := store.Swap(t.Context(), &storage.Swap{Key: "s", Column: "c", Old: "1", New: "2", Notify: true})
	must("swap again", err)
	if !swapped.Done || !again.Done {
		t.Errorf("swapped %v and %v", swapped.Done, again.Done)
	}
	_, err = store.Clock(t.Context())
	must("clock", err)
	<-changed
}
