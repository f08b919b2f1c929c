package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-locks/holdfast/internal/test/realstore"
	"github.com/holdfast-locks/holdfast/storage"
	"github.com/holdfast-locks/holdfast/storage/postgres"
)

// TestAddresses that are refused say what is wrong and what is allowed, and no password.
func TestAddresses(t *testing.T) {
	for address, says := range map[string]string{
		"mysql://u:secret@h/d":                          "must begin with postgres://",
		"postgres://u:secret@h:x/d":                     "it must be like postgres://",
		"postgres://u:secret@h/d?table=":                "option table is \"\"; 1 to 63 bytes",
		"postgres://u:secret@h/d?table=" + long(64):     "1 to 63 bytes",
		"postgres://u:secret@h/d?schema=" + long(64):    "1 to 63 bytes",
		"postgres://u:secret@h/d?pool=0":                `option pool is "0"; 1 to 1000 is allowed`,
		"postgres://u:secret@h/d?retries=-1":            "0 to 100 is allowed",
		"postgres://u:secret@h/d?timeout=10":            "more than 0s is allowed, as 10s",
		"postgres://u:secret@h/d?sslmode=maybe":         "sslmode",
		"postgres://u:secret@h/d?connect_timeout=never": "connect_timeout",
		"postgres://u:secret@h/d?x=%zz":                 "read its options",
	} {
		_, err := postgres.Open(t.Context(), address)
		if !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v; want %q in it, and no password", address, err, says)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// TestServersThatAreRefused for now, or for good.
func TestServersThatAreRefused(t *testing.T) {
	b := newHarness(t)
	refuse := func(what, url string, kind error, says string) {
		t.Helper()
		_, err := postgres.Open(t.Context(), url)
		b.want(what, err, kind, says)
	}
	refuse("no server", "postgres://u@127.0.0.1:1/d", storage.ErrRefused, "refused")
	refuse("no database", strings.Replace(b.server.URL(), "/postgres?", "/nowhere?", 1), storage.ErrInvalid, "3D000")
	refuse("no user", strings.Replace(b.server.URL(), "postgres@", "stranger@", 1), storage.ErrInvalid, "28000")
	refuse("no such option", b.server.URL()+"&nonsense=1", storage.ErrInvalid, "42704")
	b.do("CREATE TABLE others (key bytea)", "CREATE TABLE newer (key bytea)", "COMMENT ON TABLE newer IS 'holdfast storage 2'")
	refuse("a table of others", b.server.URL()+"&table=others", storage.ErrInvalid, "something else has made it")
	refuse("a later format", b.server.URL()+"&table=newer", storage.ErrInvalid, `the format "holdfast storage 2"`)
	b.do("CREATE ROLE poor LOGIN", "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
	refuse("no right", strings.Replace(b.server.URL(), "postgres@", "poor@", 1)+"&table=mine", storage.ErrInvalid, "42501")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := postgres.Open(ended, b.server.URL())
	b.want("a context that has ended", err, storage.ErrRefused, "canceled")
}

// TestManyMakeTheTable at a time, with its schema, and none is in another's way. Names are taken
// as they are.
func TestManyMakeTheTable(t *testing.T) {
	b := newHarness(t)
	url := b.server.URL() + `&schema=Odd%20"schema"&table=` + `a%20'table'%3B%20` + long(50)
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			store, err := postgres.Open(t.Context(), url+"&pool=2&timeout=30s")
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(store.Mutate(t.Context(), add("k", "c")), store.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	entries, err := b.open(url).Slice(t.Context(), &storage.Slice{Key: "k"})
	if err != nil || len(entries) != 1 {
		t.Errorf("the row has %v, %v", entries, err)
	}
}

// TestTableMadeMeanwhile opens a table that is committed while the first statement of Open runs: that
// statement has looked at no table of its snapshot, and PostgreSQL's to_regclass finds the new one. A
// function of that name, which the search path finds first, waits for the test.
func TestTableMadeMeanwhile(t *testing.T) {
	b := newHarness(t)
	b.do("CREATE SCHEMA first", `CREATE FUNCTION first.to_regclass(name text) RETURNS regclass LANGUAGE plpgsql AS $$ BEGIN
		PERFORM pg_advisory_lock_shared(7);
		PERFORM pg_advisory_unlock_shared(7);
		RETURN pg_catalog.to_regclass(name);
	END $$`)
	// open returns what Open does while the statements are done.
	open := func(table string, statements ...string) error {
		t.Helper()
		b.do("SELECT pg_advisory_lock(7)")
		opened := make(chan error)
		go func() {
			store, err := postgres.Open(t.Context(), b.server.URL()+"&search_path=first,pg_catalog&schema=public&table="+table)
			if err == nil {
				err = store.Close()
			}
			opened <- err
		}()
		for waiting := 0; waiting == 0; {
			if err := b.admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'").Scan(&waiting); err != nil {
				t.Fatal(err)
			}
		}
		b.do(append(statements, "SELECT pg_advisory_unlock(7)")...)
		return <-opened
	}
	if err := open("ours", "BEGIN", "CREATE TABLE ours (key bytea)", "COMMENT ON TABLE ours IS 'holdfast storage 1'", "COMMIT"); err != nil {
		t.Errorf("a table that another Open has made: %v", err)
	}
	b.want("a table that something else has made", open("others", "CREATE TABLE others (key bytea)"), storage.ErrInvalid, "something else has made it")
}

// TestWatchersHearOfALostConnection when it is there again, and of what comes then.
func TestWatchersHearOfALostConnection(t *testing.T) {
	b := newHarness(t)
	proxy := realstore.NewProxy(t, b.server.Address())
	watching, other := b.open(b.server.URLAt(proxy.Address())), b.open(b.server.URL())
	deaf := b.open(b.server.URLAt(proxy.Address()))
	notified := make(chan struct{}, 1)
	err := watching.Watch(t.Context(), "k", func() {
		select {
		case notified <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	await := func(what string) {
		t.Helper()
		select {
		case <-notified:
		case <-time.After(30 * time.Second):
			t.Fatalf("%s: no notice", what)
		}
	}
	remove := storage.Mutate{Key: "k", Deletions: []string{"c"}, Timestamp: 1}
	for round := range 3 {
		if err := proxy.Refuse(true); err != nil {
			t.Fatal(err)
		}
		select {
		case <-notified:
		default:
		}
		// The watcher does not hear of this one.
		if err := other.Mutate(t.Context(), &remove); err != nil {
			t.Fatal(err)
		}
		if round == 1 {
			soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			err := deaf.Watch(soon, "other", func() {})
			cancel()
			b.want("a watch without a connection", err, storage.ErrRefused, "no connection that listens")
		}
		if err := proxy.Refuse(false); err != nil {
			t.Fatal(err)
		}
		await("the connection is there again")
		// It listens since before its notice.
		if err := other.Mutate(t.Context(), &remove); err != nil {
			t.Fatal(err)
		}
		await("a deletion")
	}
	if proxy.Cuts() == 0 {
		t.Error("no connection was cut")
	}
}

// TestStandbyIsRefused by Open, and by a Store whose server has become one.
func TestStandbyIsRefused(t *testing.T) {
	b := newHarness(t)
	store := b.open(b.server.URL() + "&retries=5")
	if err := store.Mutate(t.Context(), add("k", "c")); err != nil {
		t.Fatal(err)
	}
	// A server with this file follows another: here one that it does not find.
	var folder string
	if err := b.admin.QueryRow(t.Context(), "SHOW data_directory").Scan(&folder); err != nil {
		t.Fatal(err)
	}
	b.do("COPY (SELECT) TO '" + folder + "/standby.signal'")
	b.server.Kill()
	b.server.Restart()
	_, err := postgres.Open(t.Context(), b.server.URL())
	b.want("a standby", err, storage.ErrRefused, "give the address of the primary")
	_, err = postgres.Open(t.Context(), b.server.URL()+"&target_session_attrs=any")
	b.want("a standby that the address allows", err, storage.ErrRefused, "give the address of the primary")
	// Its connections are broken; the first request may learn only of that.
	_, _ = store.Slice(t.Context(), &storage.Slice{Key: "k"})
	_, err = store.Slice(t.Context(), &storage.Slice{Key: "k"})
	b.want("a slice of what has become a standby", err, storage.ErrRefused, "standby")
}

// TestServerThatIsGoneSilently is missed by who listens, though nothing comes from one that is
// there either; and watchers get a notice when it is back.
func TestServerThatIsGoneSilently(t *testing.T) {
	b := newHarness(t)
	proxy := realstore.NewProxy(t, b.server.Address())
	store := b.open(b.server.URLAt(proxy.Address()) + "&timeout=200ms")
	store.SetQuiet(20 * time.Millisecond)
	notified := make(chan struct{}, 1)
	err := store.Watch(t.Context(), "k", func() {
		select {
		case notified <- struct{}{}:
		default:
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	proxy.DropAnswers(true)
	for missed := false; !missed; {
		ctx, cancel := context.WithCancel(t.Context())
		err := store.Watch(ctx, "other", func() {})
		cancel()
		missed = err != nil && strings.Contains(err.Error(), "no connection that listens")
		if t.Context().Err() != nil {
			t.Fatal("it is not missed")
		}
	}
	select {
	case <-notified:
	default:
	}
	proxy.DropAnswers(false)
	select {
	case <-notified:
	case <-time.After(30 * time.Second):
		t.Fatal("the watcher was not notified when the server was back")
	}
}
